"""How often metrics prefer the true caption: the result of the experiment `pairs`."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.experiments.pairs.outcomes import (
    TRUE,
    Groups,
    Outcomes,
    Shares,
    Ties,
    outcomes_of,
    refined,
    shares_of,
)
from metaeval.progress import progress_bar
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.comparison import (
    AgainstControl,
    Comparison,
    Comparisons,
    groups_by_verdict,
    hypotheses,
)
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.results.sentences import names
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores
from metaeval.stats.ordering.detection import classification
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    gap_differences,
    replicates_needed,
    resampled_difference,
    with_intervals,
)

MEAN, SHOWN = "mean", "mean of kinds that show something"
EXAMPLES = 5  # of each metric
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
CAVEATS = (
    "{permutations:,} permutations cannot decide {family:,} hypotheses: set "
    "task.permutations={needed} or more.",
    "On {kinds} no metric is significantly above the best control.",
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
Mask = npt.NDArray[np.bool_]


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
    """What the statistics depend on, besides the data.

    Attributes
    ----------
    replicates
        Bootstrap replicates of the intervals.
    permutations
        Random arrangements of the paired permutation tests.
    ties
        How equal scores count: "half" (as by a coin) or "wrong", for metrics and controls alike.
    """

    replicates: int
    confidence: float
    seed: int
    permutations: int
    alpha: float
    ties: Ties


class PairSample(NamedTuple):
    """What all statistics share: groups of pairs, resampled images, settings."""

    groups: Groups
    weights: Floats
    settings: PairsSettings


class ShareCounts(NamedTuple):
    """The shares of one column under one comparison."""

    credit: Shares
    right: Shares
    tied: Shares


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


def key_of(comparison: str, kind: str = "") -> str:
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
    refine: RefineBy | None = None,
) -> MeasuredResult:
    """The result of a run; `scores` is column → its scores.

    Every comparison has accuracies by kind with intervals by resampling images, the metrics against
    the best control of each kind and in the mean, and the differences between all pairs of metrics.
    """
    groups = Groups.of(pairs.kinds, [p.kind for p in pairs.pairs], [p.image for p in pairs.pairs])
    weights = bootstrap_counts(groups.n_images, settings.replicates, settings.seed)
    shared = PairSample(groups, weights.astype(np.float64), settings)
    outcomes = {name: outcomes_of(*given, settings.ties) for name, given in scores.items()}
    comparisons = tuple(next(iter(outcomes.values()), {TRUE: None}))
    columns = [column for s in scored for column in s.columns if column.name in outcomes]
    ranked = [c.name for c in columns if c.is_ranked]
    controls = [c.name for c in columns if c.control]
    rows = _kept(scores, shared, refine)
    accuracy: dict[str, dict[str, Accuracies]] = {}
    left: dict[str, dict[str, Accuracies]] = {}  # of the pairs that the refinement keeps
    of_kinds: dict[str, dict[str, AgainstControl]] = {}
    of_means: dict[str, AgainstControl] = {}
    differences_of: dict[str, Comparisons] = {}
    with progress_bar(comparisons, desc="intervals") as bar:
        for c in bar:
            credits_of = {name: of[c].credit for name, of in outcomes.items()}
            counted = {name: count(of[c], shared) for name, of in outcomes.items()}
            of_kinds[c] = against_controls(counted, credits_of, ranked, controls, shared)
            mean = against_controls(counted, credits_of, ranked, controls, shared, in_mean=True)
            of_means |= {key_of(c): entry for entry in mean.values()}
            differences_of[key_of(c)] = differences(credits_of, ranked, shared)
            # the kinds on which some metric is significantly above the best control
            shows = [
                kind in of_kinds[c] and of_kinds[c][kind].shows == "something"
                for kind in groups.kinds
            ]
            accuracy[c] = {
                name: accuracies(of, shared, np.array(shows)) for name, of in counted.items()
            }
            if rows is not None:
                left[c] = {
                    name: accuracies(count(of[c], shared, rows), shared)
                    for name, of in outcomes.items()
                }
    n_pairs = {kind: int((groups.kind == k).sum()) for k, kind in enumerate(groups.kinds)}

    def numbers(name: str) -> Measured:
        unscored = np.isnan(scores[name].true) | np.isnan(scores[name].false)
        values = {key_of(c): accuracy[c][name][MEAN].estimate for c in comparisons}
        values |= {
            key_of(c, kind): accuracy[c][name][kind].estimate
            for c in comparisons
            for kind in groups.kinds
        }
        return Measured(
            values=values | pooled(scores[name], shared),
            facts={"n": int((~unscored).sum()), "n_nan": int(unscored.sum())},
        )

    metrics = tuple(
        s.result(k, numbers(column.name) if column.name in outcomes else None)
        for s in scored
        for k, column in enumerate(s.columns)
    )
    order = _in_order(columns, accuracy[comparisons[0]])
    extras = [_by_kind(accuracy[c], order, n_pairs, c, len(comparisons)) for c in comparisons]
    extras += _controls_table(of_kinds, n_pairs)
    if rows is not None and refine is not None:
        n_left = {kind: int(rows[groups.kind == k].sum()) for k, kind in enumerate(groups.kinds)}
        after = f"after refinement by {refine.control}"
        extras += [
            _by_kind(left[c], order, n_left, c, len(comparisons), after) for c in comparisons
        ]
    extras += [
        _ties(order, accuracy, {metric.name: metric.numbers for metric in metrics if metric.ok}),
        _examples(pairs, [c for c in columns if c.is_ranked and c.headline], scores),
        _facts_table(pairs.facts),
        _every_accuracy(metrics, accuracy, left),
    ]
    what = "Triplets" if pairs.triplets else "Pairs"
    return MeasuredResult(
        experiment="pairs",
        dataset=pairs.name,
        title=pairs.title,
        facts={
            what: pairs.facts["pairs"],
            "Images": pairs.facts["images"],
            "Kinds": len(groups.kinds),
        },
        settings=settings._asdict(),
        metrics=metrics,
        declared=_declared(comparisons, groups.kinds),
        comparisons=differences_of,
        controls={
            **of_means,
            **{
                key_of(c, kind): entry
                for c, by_kind in of_kinds.items()
                for kind, entry in by_kind.items()
            },
        },
        extras=tuple(extra for extra in extras if extra.rows or extra.kind == "data"),
        notes=(
            *fill_sentences(
                NOTES,
                equal="half" if settings.ties == "half" else "as wrong",
                n_left=int(rows.sum()) or None if rows is not None else None,
                control=refine and refine.control,
                bins=refine and refine.bins,
            ),
            *(
                f"{metric.name}: no score for {missing} of {len(pairs):,} pairs"
                for metric in metrics
                if metric.statistics is not None and (missing := metric.numbers.facts["n_nan"])
            ),
        ),
        caveat=_caveat(of_kinds, len(ranked), settings),
    )


def _declared(comparisons: Sequence[str], kinds: Sequence[str]) -> tuple[Measure, ...]:
    """The accuracy of each comparison in the mean and by kind, and of all captions together."""
    return (
        *(Measure(key_of(c), f"accuracy, {c}", unit="share") for c in comparisons),
        *(
            Measure(key_of(c, kind), f"{kind}, {c}", shown=False, unit="share")
            for c in comparisons
            for kind in kinds
        ),
        *POOLED,
    )


def count(outcome: Outcomes, shared: PairSample, rows: Mask | None = None) -> ShareCounts:
    """The shares of right, tied and credited pairs by kind, of the chosen rows."""
    right, tied, credit = (shares_of(v, shared.groups, shared.weights, rows) for v in outcome)
    return ShareCounts(credit, right, tied)


def accuracies(
    counted: ShareCounts, shared: PairSample, shown: Mask | None = None
) -> dict[str, Accuracy]:
    """The accuracies by kind, their mean, and the mean over the kinds that are `shown`."""
    chosen = {**shared.groups.masks(), MEAN: np.ones(len(shared.groups.kinds), dtype=bool)}
    if shown is not None and shown.any():
        chosen[SHOWN] = shown
    found = {}
    for name, kinds in chosen.items():
        value, replicates = counted.credit.mean(kinds)
        n, images = counted.credit.n[kinds], counted.credit.images[kinds]
        right, tied = counted.right.mean(kinds)[0], counted.tied.mean(kinds)[0]
        estimate = Estimate.resampled(
            value, replicates, shared.settings.confidence, int(images.min()), int(n.sum())
        )
        found[name] = Accuracy(estimate, tied, right / (1 - tied) if tied < 1 else float("nan"))
    return found


def pooled(scores: PairScores, shared: PairSample) -> dict[str, Estimate]:
    """How well a score separates false from true captions, over all images together.

    Average precision and AUROC of the false captions, which are expected to have the lowest scores,
    among both captions of all scored pairs. A score that says nothing has 0.5 of both.
    """
    scored = ~(np.isnan(scores.true) | np.isnan(scores.false))
    true, false, image = (v[scored] for v in (scores.true, scores.false, shared.groups.image))
    found = classification(
        -np.concatenate([true, false]),
        np.arange(2 * len(true)) >= len(true),
        np.tile(image, 2),
        shared.weights,
        confidence=shared.settings.confidence,
    )
    (low, high), (ap_low, ap_high) = found.auroc_ci, found.average_precision_ci
    return {
        "auroc": Estimate(value=found.auroc, low=low, high=high, n=found.n),
        "average_precision": Estimate(
            value=found.average_precision, low=ap_low, high=ap_high, n=found.n
        ),
    }


def against_controls(
    counted: Mapping[str, ShareCounts],
    credits_of: Mapping[str, Floats],
    ranked: Sequence[str],
    controls: Sequence[str],
    shared: PairSample,
    *,
    in_mean: bool = False,
) -> dict[str, AgainstControl]:
    """Kind → the metrics against its best control; one correction over metrics times kinds.

    With `in_mean` there is one group, the mean over all kinds.
    """
    groups, settings = shared.groups, shared.settings
    chosen = {MEAN: np.ones(len(groups.kinds), dtype=bool)} if in_mean else groups.masks()
    family = "metrics" if in_mean else "metrics × kinds"
    values = {
        group: {name: counted[name].credit.mean(kinds)[0] for name in (*ranked, *controls)}
        for group, kinds in chosen.items()
    }

    def tests(hypotheses: Sequence[tuple[str, str, str]]) -> list[PairTest]:
        gaps, n = [], []
        for group, metric, control in hypotheses:
            a, b = credits_of[metric], credits_of[control]
            gaps.append(_gaps(a, b, groups)[:, chosen[group]].mean(axis=1))
            n.append(_common_images(a, b, groups, chosen[group]))
        swapped = gap_differences(
            np.stack(gaps, axis=1), replicates=settings.permutations, seed=settings.seed, n=n
        )
        return with_intervals(swapped, map(resampled, hypotheses))

    def resampled(hypothesis: tuple[str, str, str]) -> PairTest:
        """The difference by resampling images."""
        group, metric, control = hypothesis
        shares = shares_between(metric, control)
        value, replicates = shares.mean(chosen[group])
        none = np.zeros(len(replicates))
        n = int(shares.images[chosen[group]].min())
        return resampled_difference(value, 0.0, replicates, none, n, confidence=settings.confidence)

    @cache
    def shares_between(metric: str, control: str) -> Shares:
        return shares_of(credits_of[metric] - credits_of[control], groups, shared.weights)

    @cache
    def by_kind(metric: str, control: str) -> Floats:
        return _gaps(credits_of[metric], credits_of[control], groups).sum(axis=0)

    tested = against_best_control(
        values,
        ranked,
        controls,
        tests,
        f"{family}, each against the best control",
        alpha=settings.alpha,
        gapped=[name for name in ranked if np.isnan(credits_of[name]).any()],
        difference=lambda group, m, c: float(by_kind(m, c)[chosen[group]].mean()),
    )
    return {
        group: AgainstControl.of(entry, "accuracy", settings.alpha)
        for group, entry in tested.items()
    }


def differences(
    credits_of: Mapping[str, Floats], ranked: Sequence[str], shared: PairSample
) -> Comparisons:
    """Every pair of metrics in the mean accuracy over kinds, on the pairs that both could score.

    Two tests, by swapping images and by resampling them, each corrected over all pairs.
    """
    groups, settings = shared.groups, shared.settings
    pairs = list(combinations(ranked, 2))
    gaps = [_gaps(credits_of[a], credits_of[b], groups).mean(axis=1) for a, b in pairs]
    table = np.stack(gaps, axis=1) if gaps else np.empty((groups.n_images, 0))
    swapped = gap_differences(table, replicates=settings.permutations, seed=settings.seed)
    resampled = {}
    for a, b in pairs:
        difference = credits_of[a] - credits_of[b]
        shares = shares_of(difference, groups, shared.weights)
        value, replicates = shares.mean()
        tested = resampled_difference(
            value,
            0.0,
            replicates,
            np.zeros(len(shared.weights)),
            int(shares.images.min()),
            confidence=settings.confidence,
        )
        n = len(np.unique(groups.image[~np.isnan(difference)]))
        resampled[a, b] = tested._replace(method="bootstrap", n=n)
    family = "pairs of metrics"
    by_swaps = compare(dict(zip(pairs, swapped, strict=True)), family, alpha=settings.alpha)
    by_resampling = compare(resampled, family, alpha=settings.alpha)
    records = []
    for one, two in zip(by_swaps, by_resampling, strict=True):
        first, second = Comparison.of(one, "accuracy"), Comparison.of(two, "accuracy")
        records.append(second.model_copy(update={"tests": (*first.tests, *second.tests)}))
    return Comparisons(measure="accuracy", alpha=settings.alpha, pairs=tuple(records))


def _kept(
    scores: Mapping[str, PairScores], shared: PairSample, refine: RefineBy | None
) -> Mask | None:
    """The pairs that the refinement keeps; `None` without one."""
    if refine is None or refine.control not in scores:
        return None
    control = scores[refine.control]
    gap = control.true - control.false
    return refined(gap, shared.groups, refine.bins, shared.settings.seed)


def _gaps(a: Floats, b: Floats, groups: Groups) -> Floats:
    """What each image adds to the difference of two accuracies by kind, [n_images, kinds]."""
    both = ~(np.isnan(a) | np.isnan(b))
    sums = groups.sums(np.where(both, a - b, 0.0), both)
    sizes = groups.sums(np.ones(len(a)), both).sum(axis=0)
    with np.errstate(invalid="ignore"):
        gaps: Floats = sums / sizes
    return gaps


def _common_images(a: Floats, b: Floats, groups: Groups, kinds: Mask) -> int:
    """The number of images with a pair of these kinds that both columns could score."""
    both = ~(np.isnan(a) | np.isnan(b)) & kinds[groups.kind]
    return len(np.unique(groups.image[both]))


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
    return Extra(
        name=name if of == 1 else f"{name}_{key_of(comparison).removeprefix('accuracy_')}",
        title=title if of == 1 else f"{title}, {comparison}",
        kind="matrix",
        columns=("metric", *heads.values()),
        rows=tuple(
            (metric, *(accuracy[metric][kind].estimate.value for kind in heads)) for metric in order
        ),
        folded=bool(after),
    )


def _controls_table(
    controls: Mapping[str, Mapping[str, AgainstControl]], n_pairs: Mapping[str, int]
) -> list[Extra]:
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
    return [Extra.of("controls", "Metrics against the best control of each kind", records)]


def _ties(
    order: Sequence[str],
    accuracy: Mapping[str, Mapping[str, Accuracies]],
    numbers: Mapping[str, Measured],
) -> Extra:
    records = []
    for metric in order:
        record: dict[str, Any] = {"metric": metric}
        for comparison, by_metric in accuracy.items():
            record[f"ties, {comparison}"] = by_metric[metric][MEAN].ties
            record[f"accuracy without ties, {comparison}"] = by_metric[metric][MEAN].untied
        facts = numbers[metric].facts
        record |= {"pairs": facts["n"], "pairs without a score": facts["n_nan"]}
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
    metrics: Sequence[MetricResult],
    accuracy: Mapping[str, Mapping[str, Accuracies]],
    left: Mapping[str, Mapping[str, Accuracies]],
) -> Extra:
    """A row a comparison, metric and kind: what accuracies.csv has."""
    rows: list[tuple[Any, ...]] = []
    for comparison, by_metric in accuracy.items():
        for metric in metrics:
            for kind, (a, ties, untied) in by_metric.get(metric.name, {}).items():
                after = left.get(comparison, {}).get(metric.name, {}).get(kind)
                refined = (after.estimate.value, after.estimate.n) if after else (None, None)
                of = (comparison, metric.name, int(metric.column.control), kind)
                rows.append((*of, a.value, a.low, a.high, ties, untied, a.n, *refined))
    return Extra(
        name="accuracies",
        title="Every accuracy",
        kind="data",
        columns=ACCURACY_COLUMNS,
        rows=tuple(rows),
    )


def _caveat(
    controls: Mapping[str, Mapping[str, AgainstControl]], n_ranked: int, settings: PairsSettings
) -> str:
    """Tests that so few permutations cannot decide, or the kinds that show nothing of metrics."""
    family = max(
        n_ranked * (n_ranked - 1) // 2, *(hypotheses(by_kind) for by_kind in controls.values())
    )
    needed = replicates_needed(family, 1, settings.alpha) if family else 0
    groups = groups_by_verdict(next(iter(controls.values())))
    caveats = fill_sentences(
        CAVEATS,
        permutations=settings.permutations,
        family=family,
        needed=needed if settings.permutations < needed else None,
        kinds=names([kind for shows, of in groups.items() if shows != "something" for kind in of]),
    )
    return next(caveats, "")
