"""How often metrics prefer the true caption: the result of the experiment `pairs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from omegaconf import DictConfig

from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.experiments.measure import (
    Items,
    Mask,
    MeanOutcome,
    Measurements,
    Outcomes,
    measure,
    of_stats,
)
from metaeval.experiments.pairs.outcomes import (
    TRUE,
    PairOutcomes,
    Ties,
    comparison_outcomes,
    refined,
)
from metaeval.results.base import Estimate, Measured
from metaeval.results.comparison import AgainstControl
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores
from metaeval.stats.ordering.detection import classification
from metaeval.stats.resampling.items import Floats, mean_of_known

MEAN, SHOWN = "mean", "mean of kinds that show something"
EXAMPLES = 5  # of each metric
EQUAL_LENGTH = 100  # pairs within one word of each other, for an accuracy of them
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


class PairScores(NamedTuple):
    """The scores of one column, higher is better, float64 [n] each."""

    true: Floats
    false: Floats
    paraphrase: Floats | None


class RefineBy(NamedTuple):
    """The refinement that is asked for: a control's column, and the bins of its gap."""

    control: str
    bins: int


class PairsSettings(NamedTuple):
    """The level of significance, and how equal scores count: "half" (as by a coin) or "wrong", for
    metrics and controls alike."""

    alpha: float
    ties: Ties


class PairSample(NamedTuple):
    """The pairs as items, kind → bool [n], the resampled images [replicates, images], and the
    means over kinds that were asked for, which know what they have computed."""

    items: Items
    kinds: Mapping[str, Mask]
    counts: Floats
    means: dict[tuple[str, ...], MeanOutcome]

    @classmethod
    def of(
        cls, kinds: Sequence[str], kind: Sequence[str], image: Sequence[str], stats: DictConfig
    ) -> PairSample:
        """From the kind and the image of each pair."""
        of_pair = np.array(kind, dtype=object)
        number = np.unique(np.array(image, dtype=object), return_inverse=True)[1].reshape(-1)
        items = Items(number)
        masks = {name: np.asarray(of_pair == name, np.bool_) for name in kinds}
        return cls(items, masks, items.resamples(stats), {})

    def groups(self, shown: Sequence[str] = ()) -> dict[str, list[str]]:
        """Group → its kinds: every kind, the mean over all and, where there are any, over those
        that are `shown`."""
        of_shown = {SHOWN: list(shown)} if shown else {}
        return {**{kind: [kind] for kind in self.kinds}, MEAN: list(self.kinds), **of_shown}

    def mean(self, kinds: Sequence[str]) -> MeanOutcome:
        """The mean outcome over these kinds."""
        masks = [self.kinds[kind] for kind in kinds]
        return self.means.setdefault(tuple(kinds), MeanOutcome(self.items, self.counts, masks))


class Accuracy(NamedTuple):
    """The share of pairs in which the true caption has the higher score.

    `estimate.n` is the number of pairs that the metric could score, `ties` the share of pairs with
    equal scores, and `untied` the share with the true caption higher among the other pairs (NaN
    where all are tied).
    """

    estimate: Estimate
    ties: float
    untied: float


Accuracies = Mapping[str, Accuracy]  # of each kind, then MEAN and, where there is one, SHOWN


def measure_key(comparison: str, kind: str = "") -> str:
    """The key of the measure: the mean over kinds, or one kind.

    >>> key_of("true > false"), key_of("both", "swap_obj")
    ('accuracy_true___false', 'accuracy_both_swap_obj')
    """
    key = "accuracy_" + "".join(c if c.isalnum() else "_" for c in comparison)
    return f"{key}_{kind}" if kind else key


def statistics(
    pairs: CaptionPairs,
    scored: Sequence[MetricScores],
    scores: Mapping[str, PairScores],
    settings: PairsSettings,
    stats: DictConfig,
    refine: RefineBy | None = None,
) -> MeasuredResult:
    """The result of a run; `scores` is column → its scores.

    Every comparison has accuracies by kind with intervals by resampling images, the metrics against
    the best control of each kind and in the mean, and the differences between all pairs of metrics.
    """
    sample = PairSample.of(
        pairs.kinds, [p.kind for p in pairs.pairs], [p.image for p in pairs.pairs], stats
    )
    outcomes = {name: comparison_outcomes(*given, settings.ties) for name, given in scores.items()}
    comparisons = tuple(next(iter(outcomes.values()), {TRUE: None}))
    columns = [column for s in scored for column in s.columns if column.name in outcomes]
    tested = [each for c in comparisons for each in outcomes_by_group(outcomes, c, sample)]
    tested += _of_equal_length(pairs, outcomes, sample)
    measured = measure(tested, columns, stats.confidence, settings.alpha)
    facts = {}
    for name, given in scores.items():
        measured.values[name].update(_pooled_estimates(given, sample, stats.confidence))
        unscored = np.isnan(given.true) | np.isnan(given.false)
        facts[name] = {"n": int((~unscored).sum()), "n_nan": int(unscored.sum())}
    rows = _kept(scores, sample, refine, stats.seed)
    extras = _extras(pairs, columns, scores, outcomes, measured, sample, stats, rows, refine)
    return MeasuredResult(
        experiment="pairs",
        dataset=pairs.name,
        title=pairs.title,
        facts={
            "Triplets" if pairs.triplets else "Pairs": pairs.facts["pairs"],
            "Images": pairs.facts["images"],
            "Kinds": len(pairs.kinds),
        },
        settings={**of_stats(stats), **settings._asdict()},
        metrics=tuple(
            s.result(k, measured.of(column.name, facts.get(column.name)))
            for s in scored
            for k, column in enumerate(s.columns)
        ),
        declared=(*(each.measure for each in tested if each.pairs), *_hidden(tested)),
        comparisons=measured.comparisons,
        controls=measured.controls,
        resampled=tuple(measured.resampled),
        extras=tuple(extra for extra in extras if extra.rows or extra.kind == "data"),
        notes=(*_notes(settings, refine, rows), *_missing(facts, len(pairs))),
    )


def outcomes_by_group(
    outcomes: Mapping[str, Mapping[str, PairOutcomes]], comparison: str, sample: PairSample
) -> Iterator[Outcomes]:
    """What each pair adds to the accuracy: in the mean over kinds, by which metrics are compared,
    and in each kind."""
    credit = {name: of[comparison].credit for name, of in outcomes.items()}
    what = "accuracy" if len(sample.kinds) == 1 else "mean over kinds"
    key = measure_key(comparison)
    mean = Measure(key, f"{what}, {comparison}", unit="share")
    yield Outcomes(mean, credit, sample.mean(list(sample.kinds)), family=key)
    for kind in sample.kinds:
        yield Outcomes(
            Measure(
                measure_key(comparison, kind), f"{kind}, {comparison}", shown=False, unit="share"
            ),
            credit,
            sample.mean([kind]),
            family=f"kinds, {comparison}",
            pairs=False,
        )


def _of_equal_length(
    pairs: CaptionPairs, outcomes: Mapping[str, Mapping[str, PairOutcomes]], sample: PairSample
) -> Iterator[Outcomes]:
    """The accuracy on the pairs whose captions differ by at most one word, where these are some of
    the pairs: what is left of a metric when length decides nothing."""
    words = [(len(p.true.split()), len(p.false.split())) for p in pairs.pairs]
    matched = np.array([abs(true - false) <= 1 for true, false in words], np.bool_)
    if EQUAL_LENGTH <= matched.sum() < len(matched):
        yield Outcomes(
            Measure("accuracy_equal_length", "within one word", unit="share"),
            {name: np.where(matched, of[TRUE].credit, np.nan) for name, of in outcomes.items()},
            MeanOutcome(sample.items, sample.counts),
            family="within one word",
        )


def _hidden(tested: Sequence[Outcomes]) -> tuple[Measure, ...]:
    """The accuracies by kind, and of all captions together."""
    return (*(each.measure for each in tested if not each.pairs), *POOLED)


def of_kinds(
    measured: Measurements, comparison: str, sample: PairSample
) -> dict[str, AgainstControl]:
    """Kind → the metrics against its best control; empty without controls or metrics."""
    keys = {kind: measure_key(comparison, kind) for kind in sample.kinds}
    return {kind: measured.controls[k] for kind, k in keys.items() if k in measured.controls}


def accuracies(
    outcome: PairOutcomes,
    sample: PairSample,
    confidence: float,
    shown: Sequence[str] = (),
    rows: Mask | None = None,
) -> dict[str, Accuracy]:
    """The accuracies by kind, their mean, and the mean over the kinds that are `shown`; of the
    chosen rows, or of all."""
    right, tied, credit = outcome
    if rows is not None:
        right, tied, credit = (np.where(rows, values, np.nan) for values in outcome)
    estimates = {}
    for name, kinds in sample.groups(shown).items():
        ties, rights = (
            float(np.mean([mean_of_known(values[sample.kinds[kind]]) for kind in kinds]))
            for values in (tied, right)
        )
        estimates[name] = Accuracy(
            sample.mean(kinds).estimate(credit, confidence),
            ties,
            rights / (1 - ties) if ties < 1 else float("nan"),
        )
    return estimates


def _pooled_estimates(
    scores: PairScores, sample: PairSample, confidence: float
) -> dict[str, Estimate]:
    """How well a score separates false from true captions, over all images together.

    Average precision and AUROC of the false captions, which are expected to have the lowest scores,
    among both captions of all scored pairs. A score that says nothing has 0.5 of both.
    """
    scored = ~(np.isnan(scores.true) | np.isnan(scores.false))
    true, false, image = (v[scored] for v in (scores.true, scores.false, sample.items.image))
    separation = classification(
        -np.concatenate([true, false]),
        np.arange(2 * len(true)) >= len(true),
        np.tile(image, 2),
        sample.counts,
        confidence=confidence,
    )
    return {name: Estimate.of(getattr(separation, name)) for name in ("auroc", "average_precision")}


def _extras(
    pairs: CaptionPairs,
    columns: Sequence[ScoreColumn],
    scores: Mapping[str, PairScores],
    outcomes: Mapping[str, Mapping[str, PairOutcomes]],
    measured: Measurements,
    sample: PairSample,
    stats: DictConfig,
    rows: Mask | None,
    refine: RefineBy | None,
) -> Iterator[Extra]:
    """The tables of the page, and every accuracy."""
    comparisons = tuple(next(iter(outcomes.values()), {TRUE: None}))
    against = {c: of_kinds(measured, c, sample) for c in comparisons}
    shown = {
        c: [kind for kind, entry in of.items() if entry.shows == "something"]
        for c, of in against.items()
    }
    accuracy = {
        c: {n: accuracies(of[c], sample, stats.confidence, shown[c]) for n, of in outcomes.items()}
        for c in comparisons
    }
    left = {} if rows is None else {
        c: {n: accuracies(of[c], sample, stats.confidence, (), rows) for n, of in outcomes.items()}
        for c in comparisons
    }  # fmt: skip
    order = _in_order(columns, accuracy[comparisons[0]])
    n_pairs = {kind: int(mask.sum()) for kind, mask in sample.kinds.items()}
    for c in comparisons:
        yield _by_kind(accuracy[c], order, n_pairs, c, len(comparisons))
    yield _controls_table(against, n_pairs)
    if rows is not None and refine is not None:
        n_left = {kind: int(rows[mask].sum()) for kind, mask in sample.kinds.items()}
        after = f"after refinement by {refine.control}"
        for c in comparisons:
            yield _by_kind(left[c], order, n_left, c, len(comparisons), after)
    numbers = {name: numbers for name in order if (numbers := measured.of(name)) is not None}
    yield _ties(order, accuracy, numbers, scores)
    yield _examples(pairs, [c for c in columns if c.is_ranked and c.headline], scores)
    yield _facts_table(pairs.facts)
    yield _every_accuracy(columns, accuracy, left)


def _notes(settings: PairsSettings, refine: RefineBy | None, rows: Mask | None) -> Iterator[str]:
    yield from fill_sentences(
        NOTES,
        equal="half" if settings.ties == "half" else "as wrong",
        n_left=int(rows.sum()) or None if rows is not None else None,
        control=refine and refine.control,
        bins=refine and refine.bins,
    )


def _missing(facts: Mapping[str, Mapping[str, int]], n: int) -> Iterator[str]:
    """The metrics that could not score all pairs."""
    for name, of in facts.items():
        if of["n_nan"]:
            yield f"{name}: no score for {of['n_nan']} of {n:,} pairs"


def _kept(
    scores: Mapping[str, PairScores], sample: PairSample, refine: RefineBy | None, seed: int
) -> Mask | None:
    """The pairs that the refinement keeps; `None` without one."""
    if refine is None or refine.control not in scores:
        return None
    control = scores[refine.control]
    gap = control.true - control.false
    return refined(gap, list(sample.kinds.values()), refine.bins, seed)


def _in_order(columns: Sequence[ScoreColumn], accuracy: Mapping[str, Accuracies]) -> list[str]:
    """The columns that are not parts, best first, controls below."""

    def sort_key(column: ScoreColumn) -> tuple[bool, float]:
        value = accuracy[column.name][MEAN].estimate.value
        return column.control, 2.0 if value is None else -value

    return [c.name for c in sorted((c for c in columns if c.part_of is None), key=sort_key)]


def _by_kind(
    accuracy: Mapping[str, Accuracies],
    order: Sequence[str],
    n_pairs: Mapping[str, int],
    comparison: str,
    of: int,
    after: str = "",
) -> Extra:
    """The accuracies of every metric and kind under one of so many comparisons."""
    name = "refined" if after else "kinds"
    title = f"Accuracy by kind (pairs) {after}".rstrip()
    heads = {MEAN: MEAN, SHOWN: "mean of shown"} | {
        kind: f"{kind} ({n:,})" for kind, n in n_pairs.items()
    }
    heads = {
        kind: head for kind, head in heads.items() if any(kind in a for a in accuracy.values())
    }
    if of > 1:
        name = f"{name}_{measure_key(comparison).removeprefix('accuracy_')}"
        title = f"{title}, {comparison}"
    records = (
        {"metric": m} | {head: accuracy[m][k].estimate.value for k, head in heads.items()}
        for m in order
    )
    return Extra.of(name, title, records, kind="matrix", folded=bool(after))


def _controls_table(
    controls: Mapping[str, Mapping[str, AgainstControl]], n_pairs: Mapping[str, int]
) -> Extra:
    records = [
        {
            **({"comparison": comparison} if len(controls) > 1 else {}),
            "kind": kind,
            "pairs": n_pairs[kind],
            "best control": entry.control,
            "its accuracy": entry.control_value,
            "best metric": entry.best,
            "accuracy of the best": entry.best_value,
            "metrics above the control": f"{len(entry.above)} of {len(entry.comparisons)}",
            "shows": entry.shows,
        }
        for comparison, by_kind in controls.items()
        for kind, entry in by_kind.items()
    ]
    return Extra.of("controls", "Metrics against the best control of each kind", records)


def _ties(
    order: Sequence[str],
    accuracy: Mapping[str, Mapping[str, Accuracies]],
    numbers: Mapping[str, Measured],
    scores: Mapping[str, PairScores],
) -> Extra:
    records = []
    for metric in order:
        record: dict[str, Any] = {"metric": metric}
        for comparison, by_metric in accuracy.items():
            record[f"ties, {comparison}"] = by_metric[metric][MEAN].ties
            record[f"accuracy without ties, {comparison}"] = by_metric[metric][MEAN].untied
        missing = np.isnan(scores[metric].true + scores[metric].false)
        record |= {"pairs": int((~missing).sum()), "pairs without a score": int(missing.sum())}
        record["AUROC"] = numbers[metric]["auroc"]
        record["average precision"] = numbers[metric]["average_precision"]
        records.append(record)
    return Extra.of("ties", "Ties, and both captions of all pairs together", records, folded=True)


def _examples(
    pairs: CaptionPairs, columns: Sequence[ScoreColumn], scores: Mapping[str, PairScores]
) -> Extra:
    """The pairs on which each metric prefers the false caption by most."""
    records = []
    for column in columns:
        sign = 1 if column.higher_is_better else -1
        given = scores[column.name]
        gap = np.nan_to_num(given.false - given.true)
        for k in np.argsort(-gap, kind="stable")[:EXAMPLES]:
            if gap[k] > 0:
                pair = pairs.pairs[k]
                records.append(
                    {
                        "image_id": pair.image,
                        "metric": column.name,
                        "kind": pair.kind,
                        "true": pair.true,
                        "score of the true caption": sign * float(given.true[k]),
                        "false": pair.false,
                        "score of the false caption": sign * float(given.false[k]),
                    }
                )
    return Extra.of("examples", "Where metrics err most", records, kind="examples", folded=True)


def _facts_table(facts: Mapping[str, int]) -> Extra:
    """Counts of the data: `metaeval.data.pairs.pairs.arrange_pairs`."""
    records = [{"what": name.replace("_", " "), "number": n} for name, n in facts.items()]
    return Extra.of("facts", "How the pairs were made", records, folded=True)


def _every_accuracy(
    columns: Sequence[ScoreColumn],
    accuracy: Mapping[str, Mapping[str, Accuracies]],
    left: Mapping[str, Mapping[str, Accuracies]],
) -> Extra:
    """A row a comparison, metric and kind: what accuracies.csv has."""
    rows: list[tuple[Any, ...]] = []
    for comparison, by_metric in accuracy.items():
        for column in columns:
            for kind, (a, ties, untied) in by_metric[column.name].items():
                after = left.get(comparison, {}).get(column.name, {}).get(kind)
                refined = (after.estimate.value, after.estimate.n) if after else (None, None)
                of = (comparison, column.name, int(column.control), kind)
                rows.append((*of, a.value, a.low, a.high, ties, untied, a.n, *refined))
    return Extra(
        name="accuracies",
        title="Every accuracy",
        kind="data",
        columns=ACCURACY_COLUMNS,
        rows=tuple(rows),
    )
