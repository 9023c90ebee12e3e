"""How often metrics prefer the true caption: the result of the experiment `pairs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.experiments.pairs.outcomes import (
    TRUE,
    Groups,
    Outcomes,
    Shares,
    outcomes_of,
    shares_of,
)
from metaeval.experiments.pairs.refinement import refined
from metaeval.progress import progress_bar
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.pairs import (
    Accuracy,
    AccuracyByKind,
    PairFacts,
    PairsResult,
    PairsSettings,
    PairsStatistics,
    Pooled,
    Refinement,
)
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores
from metaeval.stats.ordering.classification import classification
from metaeval.stats.resampling.bootstrap import bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    gap_differences,
    resampled_difference,
)

_MEASURE = "accuracy"


class PairScores(NamedTuple):
    """The scores of one column, higher is better, float64 [n] each."""

    true: Floats
    false: Floats
    paraphrase: Floats | None


class RefineBy(NamedTuple):
    """The refinement that is asked for: a control's column, and the bins of its gap."""

    control: str
    bins: int


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


def statistics(
    pairs: CaptionPairs,
    scored: Sequence[MetricScores],
    scores: Mapping[str, PairScores],
    settings: PairsSettings,
    refine: RefineBy | None = None,
) -> PairsResult:
    """The result of a run; `scores` is column → its scores.

    Every comparison has accuracies by kind with intervals by resampling images, the metrics against
    the best control of each kind, and the differences between all pairs of metrics.
    """
    groups = Groups.of(pairs.kinds, [p.kind for p in pairs.pairs], [p.image for p in pairs.pairs])
    weights = bootstrap_counts(groups.n_images, settings.replicates, settings.seed)
    shared = PairSample(groups, weights.astype(np.float64), settings)
    outcomes = {name: outcomes_of(*given, settings.ties) for name, given in scores.items()}
    comparisons = tuple(next(iter(outcomes.values()), {TRUE: None}))
    columns = [column for s in scored for column in s.columns if column.name in outcomes]
    ranked = [c.name for c in columns if is_ranked(c)]
    controls = [c.name for c in columns if c.control]
    counted: dict[str, dict[str, ShareCounts]] = {}
    with progress_bar(outcomes.items(), desc="intervals") as bar:
        for name, of_column in bar:
            counted[name] = {c: count(outcome, shared) for c, outcome in of_column.items()}
    credits_of = {c: {name: of[c].credit for name, of in outcomes.items()} for c in comparisons}
    against = {
        c: against_controls(
            {name: of[c] for name, of in counted.items()}, credits_of[c], ranked, controls, shared
        )
        for c in comparisons
    }
    shown = {
        c: np.array([kind in entry and entry[kind].shows == "something" for kind in groups.kinds])
        for c, entry in against.items()
    }
    rows, refinement = _refinement(scores, shared, refine)

    def numbers(name: str) -> PairsStatistics:
        given = scores[name]
        unscored = np.isnan(given.true) | np.isnan(given.false)
        return PairsStatistics(
            n=int((~unscored).sum()),
            n_nan=int(unscored.sum()),
            accuracy={c: accuracies(counted[name][c], shared, shown[c]) for c in comparisons},
            pooled=pooled(given, shared),
            refined=None
            if rows is None
            else {
                c: accuracies(count(outcomes[name][c], shared, rows), shared) for c in comparisons
            },
        )

    return PairsResult(
        experiment="pairs",
        dataset=pairs.name,
        title=pairs.title,
        metrics=tuple(
            s.result(k, numbers(column.name) if column.name in outcomes else None)
            for s in scored
            for k, column in enumerate(s.columns)
        ),
        settings=settings,
        facts=PairFacts(**pairs.facts),
        kinds={k: int((groups.kind == i).sum()) for i, k in enumerate(groups.kinds)},
        comparisons=comparisons,
        controls=against,
        differences={c: differences(credits_of[c], ranked, shared) for c in comparisons},
        refinement=refinement,
    )


def is_ranked(column: ScoreColumn) -> bool:
    """Whether a column takes part in comparisons: not a part, not untrained, not a control."""
    return column.part_of is None and not column.untrained and not column.control


def count(
    outcome: Outcomes, shared: PairSample, rows: npt.NDArray[np.bool_] | None = None
) -> ShareCounts:
    """The shares of right, tied and credited pairs by kind, of the chosen rows."""
    right, tied, credit = (shares_of(v, shared.groups, shared.weights, rows) for v in outcome)
    return ShareCounts(credit, right, tied)


def accuracies(
    counted: ShareCounts, shared: PairSample, shown: npt.NDArray[np.bool_] | None = None
) -> AccuracyByKind:
    """The accuracies by kind, their mean, and the mean over the kinds that are `shown`."""
    confidence = shared.settings.confidence

    def accuracy(
        value: float, replicates: Floats, right: float, tied: float, n: int, images: int
    ) -> Accuracy:
        low, high = percentile_interval(replicates, confidence, images)
        untied = right / (1 - tied) if tied < 1 else float("nan")
        return Accuracy(value=value, low=low, high=high, n=n, ties=tied, untied=untied)

    def mean(chosen: npt.NDArray[np.bool_] | None) -> Accuracy:
        value, replicates = counted.credit.mean(chosen)
        kinds = slice(None) if chosen is None else chosen
        n, images = counted.credit.n[kinds], counted.credit.images[kinds]
        right, tied = counted.right.mean(chosen)[0], counted.tied.mean(chosen)[0]
        return accuracy(value, replicates, right, tied, int(n.sum()), int(images.min()))

    return AccuracyByKind(
        kinds={
            kind: accuracy(
                float(counted.credit.point[k]), counted.credit.replicates[:, k],
                float(counted.right.point[k]), float(counted.tied.point[k]),
                int(counted.credit.n[k]), int(counted.credit.images[k]),
            )
            for k, kind in enumerate(shared.groups.kinds)
        },
        mean=mean(None),
        mean_of_shown=mean(shown) if shown is not None and shown.any() else None,
    )  # fmt: skip


def pooled(scores: PairScores, shared: PairSample) -> Pooled:
    """Average precision and AUROC of the false captions among those of all scored pairs."""
    scored = ~(np.isnan(scores.true) | np.isnan(scores.false))
    true, false, image = (v[scored] for v in (scores.true, scores.false, shared.groups.image))
    found = classification(
        -np.concatenate([true, false]), np.arange(2 * len(true)) >= len(true), np.tile(image, 2),
        shared.weights, confidence=shared.settings.confidence,
    )  # fmt: skip
    precision, area = found.average_precision_ci, found.auroc_ci
    return Pooled(
        average_precision=Estimate(
            value=found.average_precision, low=precision[0], high=precision[1], n=found.n
        ),
        auroc=Estimate(value=found.auroc, low=area[0], high=area[1], n=found.n),
    )


def against_controls(
    counted: Mapping[str, ShareCounts],
    credits_of: Mapping[str, Floats],
    ranked: Sequence[str],
    controls: Sequence[str],
    shared: PairSample,
) -> dict[str, AgainstControl]:
    """Kind → the metrics against its best control; one correction over metrics times kinds."""
    groups, settings = shared.groups, shared.settings
    place = {kind: k for k, kind in enumerate(groups.kinds)}
    values = {
        kind: {name: float(counted[name].credit.point[k]) for name in (*ranked, *controls)}
        for kind, k in place.items()
    }

    def tests(hypotheses: Sequence[tuple[str, str, str]]) -> list[PairTest]:
        gaps, n = [], []
        for kind, metric, control in hypotheses:
            a, b = credits_of[metric], credits_of[control]
            gaps.append(_gaps(a, b, groups)[:, place[kind]])
            n.append(_common_images(a, b, groups, place[kind]))
        return gap_differences(
            np.stack(gaps, axis=1), replicates=settings.permutations, seed=settings.seed, n=n
        )

    @cache
    def by_kind(metric: str, control: str) -> Floats:
        gaps: Floats = _gaps(credits_of[metric], credits_of[control], groups).sum(axis=0)
        return gaps

    tested = against_best_control(
        values, ranked, controls, tests, "metrics × kinds, each against the best control",
        alpha=settings.alpha, gapped=[name for name in ranked if np.isnan(credits_of[name]).any()],
        difference=lambda kind, m, c: float(by_kind(m, c)[place[kind]]),
    )  # fmt: skip
    return {
        kind: AgainstControl.of(entry, _MEASURE, settings.alpha) for kind, entry in tested.items()
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
        n = len(np.unique(groups.image[~np.isnan(difference)]))
        resampled[a, b] = resampled_difference(
            value, 0.0, replicates, np.zeros(len(shared.weights)), int(shares.images.min()),
            confidence=settings.confidence,
        )._replace(method="bootstrap", n=n)  # fmt: skip
    family = "pairs of metrics"
    by_swaps = compare(dict(zip(pairs, swapped, strict=True)), family, alpha=settings.alpha)
    by_resampling = compare(resampled, family, alpha=settings.alpha)
    records = []
    for one, two in zip(by_swaps, by_resampling, strict=True):
        first, second = Comparison.of(one, _MEASURE), Comparison.of(two, _MEASURE)
        records.append(second.model_copy(update={"tests": (*first.tests, *second.tests)}))
    return Comparisons(measure=_MEASURE, alpha=settings.alpha, pairs=tuple(records))


def _refinement(
    scores: Mapping[str, PairScores], shared: PairSample, refine: RefineBy | None
) -> tuple[npt.NDArray[np.bool_] | None, Refinement | None]:
    """The pairs that the refinement keeps, and its record; `None` without one."""
    if refine is None or refine.control not in scores:
        return None, None
    control, groups = scores[refine.control], shared.groups
    rows = refined(control.true - control.false, groups, refine.bins, shared.settings.seed)
    left = {k: int((rows & (groups.kind == i)).sum()) for i, k in enumerate(groups.kinds)}
    return rows, Refinement(control=refine.control, bins=refine.bins, kinds=left)


def _gaps(a: Floats, b: Floats, groups: Groups) -> Floats:
    """What each image adds to the difference of two accuracies by kind, [n_images, kinds]."""
    both = ~(np.isnan(a) | np.isnan(b))
    sums = groups.sums(np.where(both, a - b, 0.0), both)
    sizes = groups.sums(np.ones(len(a)), both).sum(axis=0)
    with np.errstate(invalid="ignore"):
        gaps: Floats = sums / sizes
    return gaps


def _common_images(a: Floats, b: Floats, groups: Groups, kind: int) -> int:
    """The number of images with a pair of this kind that both columns could score."""
    both = ~(np.isnan(a) | np.isnan(b)) & (groups.kind == kind)
    return len(np.unique(groups.image[both]))
