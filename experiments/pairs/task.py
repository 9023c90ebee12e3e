"""True against false captions: `python -m metaeval experiment=pairs dataset=sugarcrepe`.

Pairs of a true and a false caption of one image, scored by every metric and control: which of the
two does it prefer? See docs/pairs.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.config import build_all, selected
from metaeval.data.dataset import Absent
from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.experiments import (
    ConfigError,
    Estimate,
    Extra,
    Floats,
    Measure,
    MeasuredResult,
    Metric,
    MetricExperiment,
    MetricScores,
    RunRecord,
    ToScore,
    dataset_info,
    fill_sentences,
    score_all,
)
from metaeval.experiments.choices import (
    MEAN,
    PairSample,
    credit,
    equally_long,
    greatest_errors,
    restricted,
)
from metaeval.experiments.fitted import TEXT, caption_features, fitted_row, predictions
from metaeval.experiments.measure import Items, Mask, Measurements, Outcomes, measure, of_stats
from metaeval.experiments.record import counted_noun, language_note
from metaeval.experiments.scores import scored_columns, upward
from metaeval.options import PositiveInt, checked, unknown
from metaeval.runs import files
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, RIVAL, ScoreColumn
from metaeval.stats.ordering.detection import classification
from metaeval.stats.resampling.items import encode, mean_of_known

DESCRIBED = (
    "{title}: {facts[pairs]:,} {what} of {facts[images]:,} images, {kinds}; the true caption of "
    "{facts[true_among_references]:,} was among the references and was taken out{near}; "
    "{records}{language}"
)
NEAR_COPIES = {True: ", near-copies of {:,} too", False: ", near-copies of {:,} stay"}  # dropped?
TRUE, PARAPHRASE, BOTH = "true > false", "paraphrase > false", "both"
SHOWN = "mean of kinds that show something"
EXAMPLES = 5  # of each metric
EQUAL_LENGTH = 100  # pairs within one word of each other, for an accuracy of them
WITHIN_ONE_WORD = Measure("accuracy_equal_length", "within one word", unit="share")
POOLED = (
    Measure("auroc", "AUROC, pooled", shown=False, unit="share"),
    Measure("average_precision", "AP, pooled", shown=False, unit="share"),
)
NOTES = (
    "Equal scores count {equal}, for metrics and controls.",
    "The mean over the kinds gives every kind the same weight.",
    "Refinement: {n_left:,} pairs are left when {control} is as often right as wrong in each of "
    "{bins} mirrored bins of its gap.",
)
EQUAL = {"half": "half", "wrong": "as wrong"}
CREDIT = {"half": 0.5, "wrong": 0.0}  # of equal scores
ACCURACY_COLUMNS = (
    "comparison",
    "metric",
    "control",
    "kind",
    "accuracy",
    "low",
    "high",
    "ties",
    "untied",
    "n",
    "refined_accuracy",
    "refined_n",
)
AFTER = " after refinement by {}"
MISSING = "{}: no score for {} of {:,} pairs"
_STREAM = 0x4EF1  # keeps the choice of pairs apart from the resampling under the same seed

Accuracies = Mapping[tuple[str, str], Mapping[str, Any]]  # by metric and kind
Ties = Literal["half", "wrong"]


def measure_key(comparison: str, kind: str = "") -> str:
    """The key of the measure: the mean over kinds, or one kind.

    >>> measure_key("true > false"), measure_key("both", "swap_obj")
    ('accuracy_true___false', 'accuracy_both_swap_obj')
    """
    key = "accuracy_" + "".join(c if c.isalnum() else "_" for c in comparison)
    return f"{key}_{kind}" if kind else key


class ScoredPairs(NamedTuple):
    """The pairs, what is compared with what in them, and what they have been scored by.

    Attributes
    ----------
    columns, roles
        The columns that ran, and column → the scores of the true captions, the false ones and, if
        any, the paraphrases, each [n]; higher is better.
    sample
        The pairs as items of their images; the groups are the kinds.
    tied
        The credit of equal scores.
    rows
        [n] The pairs that the refinement keeps; `None` without one.
    """

    pairs: CaptionPairs
    comparisons: Sequence[str]
    columns: Sequence[ScoreColumn]
    roles: Mapping[str, Sequence[Floats]]
    sample: PairSample
    tied: float
    rows: Mask | None = None


def comparison_credit(roles: Sequence[Floats], comparison: str, tied: float) -> Floats:
    """[n] 1 where the metric is right, 0 where it is wrong; NaN where a caption has no score.

    `roles` are the scores of the true captions, the false ones and the true paraphrases; higher is
    better. "both" is right where both true captions are above the false one. `tied` is the credit
    of equal scores: with 1/2 the chance of being right where a coin decides every tie, for "both"
    the product of the two credits.
    """
    true, false, *paraphrases = roles
    above = {TRUE: [true], PARAPHRASE: paraphrases, BOTH: [true, *paraphrases]}[comparison]
    return np.asarray(np.prod([credit(caption - false, tied) for caption in above], axis=0))


def refined(gap: Floats, kinds: Sequence[Mask], bins: int, seed: int) -> Mask:
    """Which pairs stay, [n], for a control that gives the true caption `gap` more than the false.

    `kinds` are bool [n] each.

    Notes
    -----
    Definition
        Within each kind the sizes |gap| up to the greatest are cut into equal bins. A bin and its
        mirror image (the pairs in which the control is wrong by as much) keep equally many pairs,
        as many as the smaller of the two has, drawn at random. So the control's gap contains
        no information about the truth, except for what differs within a bin. Pairs that the control
        ties stay all; those that it cannot score go.
    Source
        The adversarial refinement of C.-Y. Hsieh et al. (2023), SugarCrepe, NeurIPS: there by the
        gaps of two models at once, here by that of one control.
    """
    rng = np.random.default_rng([_STREAM, seed])
    stays, size = np.asarray(gap == 0), np.abs(gap)
    for kind in kinds:
        of_kind = kind & (size > 0)
        greatest = size[of_kind].max(initial=0)
        # (0, 1/bins], (1/bins, 2/bins], … of the greatest
        place = np.ceil(size[of_kind] / greatest * bins - 1e-9)
        for number in np.unique(place):
            there = np.flatnonzero(of_kind)[place == number]
            right, wrong = there[gap[there] > 0], there[gap[there] < 0]
            n = min(len(right), len(wrong))
            for side in (right, wrong):
                stays[rng.permutation(side)[:n]] = True
    return stays


class TrueAgainstFalse(
    MetricExperiment[CaptionPairs, list[MetricScores]],
    name="pairs",
    title="True against false captions",
    question="Which metric prefers the truth, and where does a control do as well?",
    data=CaptionPairs,
    needs=(
        "experiment=pairs needs true and false captions: dataset=sugarcrepe, sugarcrepe_pp, valse, "
        "foil, rococo, discourse_foil or pairs"
    ),
):
    """How often each metric prefers the truth, next to controls that do not see the image.

    Parameters
    ----------
    refine
        A control's column ("Brevity"): accuracies again on pairs thinned so that this control is
        right as often as wrong.
    bins
        How many bins of the control's gap that thinning has.
    ties
        How equal scores count, for metrics and controls alike: "half", as if a coin decided, or
        "wrong".
    fitted
        Whether a control is fitted to the answers: a ridge regression on the caption alone, out of
        fold by image.
    """

    @checked
    def __init__(
        self,
        refine: str | None = None,
        bins: PositiveInt = 50,
        ties: Ties = "half",
        fitted: bool = True,
    ) -> None:
        self.refine, self.bins, self.ties, self.fitted = refine, bins, ties, fitted

    def check(self, config: DictConfig) -> None:
        self._control(config)

    def _control(self, config: DictConfig) -> Metric | None:
        """The control to refine by; ConfigError for a column that is not a control of this run."""
        if self.refine is None or not (metrics := build_all(selected(config), config)):
            return None
        controls = {c.name: m for m in metrics.values() for c in m.columns if c.control}
        if self.refine not in controls:
            raise unknown("task.refine", "control", self.refine, controls)
        return controls[self.refine]

    def load(self, config: DictConfig) -> CaptionPairs:
        pairs: CaptionPairs = super().load(config)
        if (control := self._control(config)) is not None:
            absent = control.bind(pairs.dataset)
            if isinstance(absent, Absent):
                raise ConfigError(f"task.refine: '{self.refine}' cannot run here: {absent}")
        return pairs

    def describe(self, data: CaptionPairs) -> str:
        n, dropped = data.facts["near_copies"], bool(data.facts["near_copies_dropped"])
        return DESCRIBED.format(
            title=data.title,
            facts=data.facts,
            what="triplets" if data.triplets else "pairs",
            kinds=counted_noun(len(data.kinds), "kind"),
            near=NEAR_COPIES[dropped].format(n) if n else "",
            records=data.dataset.records,
            language=language_note(data.dataset),
        )

    def write_versions(self, data: CaptionPairs, record: RunRecord) -> None:
        """pairs.parquet: one pair a row."""
        columns = {
            "pair": pa.array(range(len(data)), pa.int64()),
            "image_id": pa.array([p.image for p in data.pairs], pa.string()),
            "kind": pa.array([p.kind for p in data.pairs], pa.string()),
            "true": pa.array([p.true for p in data.pairs], pa.string()),
            "false": pa.array([p.false for p in data.pairs], pa.string()),
            "paraphrase": pa.array([p.paraphrase for p in data.pairs], pa.string()),
            "references": pa.array(
                [list(p.references or ()) for p in data.pairs], pa.list_(pa.string())
            ),
        }
        files.write_arrow(record.out / files.PAIRS, pa.table(columns))
        record.update(dataset=dataset_info(data.dataset))

    def to_score(self, data: CaptionPairs, record: RunRecord) -> Iterable[ToScore]:
        return [ToScore(data.dataset, paired_captions(data))]

    def score(
        self, data: CaptionPairs, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[MetricScores]:
        """Every caption; in scores.parquet, a pair and metric a row, are the scores as the metric
        gave them: `true`, `false` and, of triplets, `paraphrase`."""
        captions = paired_captions(data)
        results = score_all(metrics.values(), data.dataset, captions, record.config)
        if self.fitted:
            predicted = predict_truth(data, captions, record.config.stats.seed)
            results.append(fitted_row(TEXT, predicted))
        given = list(scored_columns(results))
        n, roles = len(data), ("true", "false", "paraphrase")[: len(data.roles)]
        of_roles = np.array([values for _, values in given]).reshape(len(given), len(roles), n)
        columns: dict[str, object] = {
            "pair": pa.array(np.tile(np.arange(n), len(given)), pa.int64()),
            "metric": pa.array(np.repeat([column.name for column, _ in given], n), pa.string()),
            **{
                role: pa.array(of_roles[:, k].ravel(), pa.float64()) for k, role in enumerate(roles)
            },
        }
        files.write_arrow(record.out / files.SCORES, pa.table(columns))
        return results

    def statistics(
        self, data: CaptionPairs, scores: list[MetricScores], record: RunRecord
    ) -> MeasuredResult:
        """Also written: accuracies.csv, a line a comparison, metric and kind, in full precision."""
        stats = record.config.stats
        items = Items(encode([p.image for p in data.pairs])[1])
        sample = PairSample.of(items, [p.kind for p in data.pairs], stats)
        columns = [column for column, _ in scored_columns(scores)]
        roles = {name: np.split(of, len(data.roles)) for name, of in upward(scores).items()}
        comparisons = [TRUE, PARAPHRASE, BOTH] if data.triplets else [TRUE]
        made = ScoredPairs(data, comparisons, columns, roles, sample, CREDIT[self.ties])
        if self.refine is not None and self.refine in roles:
            true, false, *_ = roles[self.refine]
            rows = refined(true - false, list(sample.groups.values()), self.bins, stats.seed)
            made = made._replace(rows=rows)
        tested = list(_outcomes(made))
        measured = measure(tested, columns, stats.confidence)
        facts = {}
        for name, (true, false, *_) in roles.items():
            measured.values[name].update(_pooled_estimates(true, false, sample, stats.confidence))
            missing = int(np.isnan(true - false).sum())
            facts[name] = {"n": len(data) - missing, "n_nan": missing}
        notes = fill_sentences(
            NOTES,
            equal=EQUAL[self.ties],
            n_left=None if made.rows is None else int(made.rows.sum()) or None,
            control=self.refine,
            bins=self.bins,
        )
        extras = _extras(made, measured, facts, stats.confidence, AFTER.format(self.refine))
        result = measured.result(
            scores,
            facts,
            experiment="pairs",
            dataset=data.name,
            title=data.title,
            declared=(*(o.measure for o in sorted(tested, key=lambda o: not o.pairs)), *POOLED),
            settings={**of_stats(stats), "ties": self.ties},
            extras=tuple(extra for extra in extras if extra.rows or extra.kind == "data"),
            notes=(
                *notes,
                *(
                    MISSING.format(k, of["n_nan"], len(data))
                    for k, of in facts.items()
                    if of["n_nan"]
                ),
            ),
            facts={
                "Triplets" if data.triplets else "Pairs": data.facts["pairs"],
                "Images": data.facts["images"],
                "Kinds": len(data.kinds),
            },
        )
        table = result.extra("accuracies")
        text = files.csv_text([table.columns, *table.rows])
        files.atomic(record.out / files.ACCURACIES, lambda p: p.write_text(text, encoding="utf-8"))
        return result


def _outcomes(data: ScoredPairs) -> Iterator[Outcomes]:
    """What each pair adds to the accuracy: in the mean over kinds, by which metrics are compared,
    and in each kind; and on the pairs within one word, where these are some of the pairs."""
    kinds, mean = list(data.sample.groups), data.sample.mean
    what = "accuracy" if len(kinds) == 1 else "mean over kinds"
    for c in data.comparisons:
        key = measure_key(c)
        credits = {name: comparison_credit(of, c, data.tied) for name, of in data.roles.items()}
        of_all = Measure(key, f"{what}, {c}", unit="share")
        yield Outcomes(of_all, credits, mean(*kinds), family=key)
        for kind in kinds:
            of_kind = Measure(measure_key(c, kind), f"{kind}, {c}", shown=False, unit="share")
            yield Outcomes(of_kind, credits, mean(kind), family=f"kinds, {c}", pairs=False)
    true, false = data.pairs.roles[:2]
    rows = equally_long(true, false)
    if EQUAL_LENGTH <= rows.sum() < len(rows):
        credits = restricted(
            rows, {name: comparison_credit(of, TRUE, data.tied) for name, of in data.roles.items()}
        )
        yield Outcomes(WITHIN_ONE_WORD, credits, mean(), family="within one word")


def _pooled_estimates(
    true: Floats, false: Floats, sample: PairSample, confidence: float
) -> dict[str, Estimate]:
    """How well a score separates false from true captions, over all images together.

    Average precision and AUROC of the false captions, which are expected to have the lowest scores,
    among both captions of all scored pairs. A score that says nothing has 0.5 of both.
    """
    scored = ~np.isnan(true - false)
    separation = classification(
        -np.concatenate([true[scored], false[scored]]),
        np.repeat([False, True], scored.sum()),
        np.tile(sample.items.image[scored], 2),
        sample.counts,
        confidence=confidence,
    )
    return {m.key: Estimate.of(getattr(separation, m.key)) for m in POOLED}


def _extras(
    data: ScoredPairs,
    measured: Measurements,
    facts: Mapping[str, Mapping[str, int]],
    confidence: float,
    after: str,
) -> Iterator[Extra]:
    """The tables of the page, and every accuracy."""
    by_kind = [accuracies(data, c, measured, confidence) for c in data.comparisons]
    rows = [row for of_comparison in by_kind for row in of_comparison.values()]
    value = {name: row["accuracy"] for (name, kind), row in by_kind[0].items() if kind == MEAN}
    whole = [c for c in data.columns if c.part_of is None]  # best first, controls below
    whole.sort(key=lambda c: (c.control, 2.0 if value[c.name] is None else -value[c.name]))
    order = [c.name for c in whole]
    tables = list(zip(data.comparisons, by_kind, strict=True))
    yield from (_matrix(data, c, of, order) for c, of in tables)
    yield _controls_table(data, measured)
    if data.rows is not None:
        yield from (_matrix(data, c, of, order, after) for c, of in tables)
    ties = [
        {
            "metric": name,
            **{
                title.format(c): of[name, MEAN][key]
                for c, of in tables
                for key, title in (("ties", "ties, {}"), ("untied", "accuracy without ties, {}"))
            },
            "pairs": facts[name]["n"],
            "pairs without a score": facts[name]["n_nan"],
            "AUROC": measured.values[name]["auroc"],
            "average precision": measured.values[name]["average_precision"],
        }
        for name in order
    ]
    yield Extra.of("ties", "Ties, and both captions of all pairs together", ties, folded=True)
    yield _examples(data)
    yield Extra.of(
        "facts",
        "How the pairs were made",
        ({"what": key.replace("_", " "), "number": n} for key, n in data.pairs.facts.items()),
        folded=True,
    )
    yield Extra(
        name="accuracies",
        title="Every accuracy",
        kind="data",
        columns=ACCURACY_COLUMNS,
        rows=tuple(tuple(row.values()) for row in rows),
    )


def accuracies(
    data: ScoredPairs, comparison: str, measured: Measurements, confidence: float
) -> Accuracies:
    """What accuracies.csv has of every metric and kind, of the mean over all kinds and, where there
    are any, over those that show something: for all pairs, and for those that the refinement keeps.

    `n` is the number of pairs that the metric could score, `ties` the share of pairs with equal
    scores, and `untied` the share with the true caption higher among the other pairs.
    """
    kinds = data.sample.groups
    against = {kind: measured.controls.get(measure_key(comparison, kind)) for kind in kinds}
    shown = [kind for kind, of in against.items() if of is not None and of.shows == "something"]
    groups = {**{kind: [kind] for kind in kinds}, MEAN: list(kinds)}
    groups |= {SHOWN: shown} if shown else {}
    means = {name: data.sample.mean(*of_group) for name, of_group in groups.items()}
    table = {}
    for column, (name, of_group) in product(data.columns, groups.items()):
        mean, left = means[name], Estimate(value=None)
        right, credits, not_below = (
            comparison_credit(data.roles[column.name], comparison, tied)
            for tied in (0.0, data.tied, 1.0)
        )
        value = mean.estimate(credits, confidence)
        if data.rows is not None and name != SHOWN:
            left = mean.estimate(np.where(data.rows, credits, np.nan), confidence)
        tied, rights = (
            float(np.mean([mean_of_known(of[kinds[kind]]) for kind in of_group]))
            for of in (not_below - right, right)
        )
        untied = rights / (1 - tied) if tied < 1 else None
        row = (comparison, column.name, int(column.control), name, value.value, value.low,
               value.high, tied, untied, value.n, left.value, left.n)  # fmt: skip
        table[column.name, name] = dict(zip(ACCURACY_COLUMNS, row, strict=True))
    return table


def _matrix(
    data: ScoredPairs,
    comparison: str,
    accuracies: Accuracies,
    order: Sequence[str],
    after: str = "",
) -> Extra:
    """The accuracies of every metric and kind; `after` a refinement, those of the pairs left."""
    name, what = ("refined", "refined_accuracy") if after else ("kinds", "accuracy")
    rows = data.rows if after and data.rows is not None else np.bool_(True)
    heads = {MEAN: MEAN, **({} if after else {SHOWN: "mean of shown"})}
    heads |= {kind: f"{kind} ({(of & rows).sum():,})" for kind, of in data.sample.groups.items()}
    several = len(data.comparisons) > 1
    records = (
        {"metric": m}
        | {h: accuracies[m, k][what] for k, h in heads.items() if (m, k) in accuracies}
        for m in order
    )
    return Extra.of(
        f"{name}_{measure_key(comparison).removeprefix('accuracy_')}" if several else name,
        f"Accuracy by kind (pairs){after}" + (f", {comparison}" if several else ""),
        records,
        kind="matrix",
        folded=bool(after),
    )


def _controls_table(data: ScoredPairs, measured: Measurements) -> Extra:
    return Extra.of(
        "controls",
        "Metrics against the best control of each kind",
        (
            {
                **({"comparison": comparison} if len(data.comparisons) > 1 else {}),
                "kind": kind,
                "pairs": int(data.sample.groups[kind].sum()),
                "best control": entry.control,
                "its accuracy": entry.control_value,
                "best metric": entry.best,
                "accuracy of the best": entry.best_value,
                "metrics above the control": f"{len(entry.above)} of {len(entry.comparisons)}",
                "shows": entry.shows,
            }
            for comparison in data.comparisons
            for kind in data.sample.groups
            if (entry := measured.controls.get(measure_key(comparison, kind)))
        ),
    )


def _examples(data: ScoredPairs) -> Extra:
    """The pairs on which each metric prefers the false caption by most."""
    gaps = {name: true - false for name, (true, false, *_) in data.roles.items()}
    records = []
    for column, k in greatest_errors(data.columns, gaps, np.ones(len(data.pairs)), EXAMPLES):
        sign = 1 if column.higher_is_better else -1
        pair, (true, false, *_) = data.pairs.pairs[k], data.roles[column.name]
        records.append(
            {
                "image_id": pair.image,
                "metric": column.name,
                "kind": pair.kind,
                "true": pair.true,
                "score of the true caption": sign * float(true[k]),
                "false": pair.false,
                "score of the false caption": sign * float(false[k]),
            }
        )
    return Extra.of("examples", "Where metrics err most", records, kind="examples", folded=True)


def paired_captions(data: CaptionPairs) -> pd.DataFrame:
    """The true captions of all pairs, the false ones and, if all have one, the paraphrases."""
    roles = data.roles
    rivals = {RIVAL: [caption for role in roles[::-1] for caption in role]}
    return pd.DataFrame(
        {
            IMAGE_ID: [p.image for p in data.pairs] * len(roles),
            ITEM: np.tile(data.image_index, len(roles)),
            CAPTION: [caption for role in roles for caption in role],
            **({} if data.triplets else rivals),  # a pairwise metric compares two, not three
        }
    )


def predict_truth(pairs: CaptionPairs, captions: pd.DataFrame, seed: int) -> Floats:
    """[n] How true each of the `paired_captions` looks without image and references, fitted on
    other images' pairs.

    A control of the references or of the image alone has nothing to tell: both captions of a pair
    have the same, and so the same prediction.
    """
    roles = len(pairs.roles)
    photograph = np.unique([p.image for p in pairs.pairs], return_inverse=True)[1]
    features = caption_features(pairs.dataset, list(captions[CAPTION]), captions[ITEM].to_numpy())
    target = np.repeat([1.0, 0.0, 1.0][:roles], len(pairs))
    return predictions(features, target, np.tile(photograph, roles), seed)
