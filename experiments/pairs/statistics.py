"""How often metrics prefer the truth: the records of `statistics.json` of an experiment `pairs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig

from experiments.controls import against_controls, is_ranked
from experiments.pairs.outcomes import (
    MEAN,
    TRUE,
    Groups,
    Outcomes,
    Shares,
    outcomes_of,
    shares_of,
)
from experiments.pairs.refinement import refined
from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.progress import progress_bar
from metaeval.scoring import Scored
from metaeval.stats.resampling.bootstrap import bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.holm import holm
from metaeval.stats.significance.paired_differences import paired_difference
from metaeval.stats.significance.paired_permutation import permutation_of_gaps

Record = dict[str, Any]


class PairScores(NamedTuple):
    """The scores of one column, more is better, float64 [n] each."""

    true: Floats
    false: Floats
    paraphrase: Floats | None


class Settings(NamedTuple):
    """What the statistics depend on beside the scores."""

    permutations: int
    alpha: float
    confidence: float
    seed: int
    refine: str | None
    bins: int


def statistics(
    pairs: CaptionPairs,
    scored: Sequence[Scored],
    scores: Mapping[str, PairScores],
    config: DictConfig,
    settings: Settings,
) -> dict[str, Any]:
    """Everything in `statistics.json` but its head.

    `scores` is column → its scores. Every comparison has accuracies by kind, with intervals by
    resampling images; what the controls get, and which metrics do better; and the differences
    between all pairs of metrics.
    """
    groups = Groups.of(pairs.kinds, [p.kind for p in pairs.pairs], [p.image for p in pairs.pairs])
    weights = bootstrap_counts(groups.n_images, config.stats.replicates, config.stats.seed).astype(
        np.float64
    )
    records = [s.record(c).as_dict() for s in scored for c in range(len(s.columns))]
    outcomes = {name: outcomes_of(*given) for name, given in scores.items()}
    by_name = {record["metric"]: record for record in records}
    with progress_bar(outcomes.items(), desc="intervals") as bar:
        for name, of_column in bar:
            given = scores[name]
            unscored = np.isnan(given.true) | np.isnan(given.false)
            by_name[name]["n"] = int((~unscored).sum())
            by_name[name]["n_nan"] = int(unscored.sum())
            by_name[name]["accuracy"] = {
                comparison: accuracies(outcome, groups, weights, settings.confidence)
                for comparison, outcome in of_column.items()
            }
    comparisons = list(next(iter(outcomes.values()), {TRUE: None}))
    ranked = [r["metric"] for r in records if is_ranked(r) and r["metric"] in outcomes]
    controls = [r["metric"] for r in records if r["control"] and r["metric"] in outcomes]
    rights = {
        comparison: {name: of[comparison].right for name, of in outcomes.items()}
        for comparison in comparisons
    }
    return {
        "kinds": {k: int((groups.kind == i).sum()) for i, k in enumerate(groups.kinds)},
        "comparisons": comparisons,
        "metrics": records,
        "controls": {
            comparison: controls_by_kind(
                by_name, rights[comparison], ranked, controls, groups, comparison, settings
            )
            for comparison in comparisons
        },
        "differences": {
            comparison: differences(rights[comparison], ranked, groups, weights, settings)
            for comparison in comparisons
        },
        "refinement": refinement(scores, outcomes, groups, weights, settings),
    }


def accuracies(
    outcome: Outcomes,
    groups: Groups,
    weights: Floats,
    confidence: float,
    rows: npt.NDArray[np.bool_] | None = None,
) -> Record:
    """By kind and as their mean: `value`, the share of pairs put right; `ci`; `ties`, the share of
    pairs with equal scores, which are not right; `untied`, the share of right ones among the
    others; `n` (the mean's is their sum)."""
    right, tied = (shares_of(v, groups, weights, rows) for v in outcome)
    names = [*groups.kinds, MEAN]
    sizes = [*right.n.tolist(), int(right.n.sum())]
    return {
        name: {
            "value": float(right.point[k]),
            "ci": percentile_interval(right.replicates[:, k], confidence),
            "ties": float(tied.point[k]),
            "untied": _ratio(float(right.point[k]), 1 - float(tied.point[k])),
            "n": sizes[k],
        }
        for k, name in enumerate(names)
    }


def controls_by_kind(
    by_name: Mapping[str, Record],
    right: Mapping[str, Floats],
    ranked: Sequence[str],
    controls: Sequence[str],
    groups: Groups,
    comparison: str,
    settings: Settings,
) -> Record | None:
    """By kind the control that is right most often, and the metrics that are surely more often
    (`against_controls`)."""
    values = {
        kind: {
            name: float(by_name[name]["accuracy"][comparison][kind]["value"])
            for name in (*ranked, *controls)
        }
        for kind in groups.kinds
    }

    def gaps(kind: str, name: str, control: str) -> Floats:
        return _gaps(right[name], right[control], groups)[:, groups.kinds.index(kind)]

    return against_controls(
        values, ranked, controls, gaps,
        permutations=settings.permutations, alpha=settings.alpha, seed=settings.seed,
    )  # fmt: skip


def differences(
    right: Mapping[str, Floats],
    ranked: Sequence[str],
    groups: Groups,
    weights: Floats,
    settings: Settings,
) -> Record:
    """Every pair of metrics in the mean accuracy over kinds, on the pairs that both could score: by
    swapping images and by resampling them, each with Holm's correction over all pairs."""
    tests = list(combinations(ranked, 2))
    gaps = [_gaps(right[a], right[b], groups).mean(axis=1) for a, b in tests]
    table = np.stack(gaps, axis=1) if gaps else np.empty((groups.n_images, 0))
    _, p = permutation_of_gaps(table, replicates=settings.permutations, seed=settings.seed)
    resampled = []
    for a, b in tests:
        gap: Shares = shares_of(right[a] - right[b], groups, weights)
        resampled.append(
            paired_difference(
                float(gap.point[-1]), 0.0, gap.replicates[:, -1], np.zeros(len(weights)),
                groups.n_images, settings.confidence,
            )
        )  # fmt: skip
    adjusted = zip(holm(p), holm([r.p for r in resampled]), strict=True)
    return {
        "statistic": "accuracy",
        "pairs": [
            {
                "a": a,
                "b": b,
                "difference": r.difference,
                "permutation": {"p": float(p_one), "p_holm": float(holm_one)},
                "bootstrap": {"p": r.p, "p_holm": float(holm_two), "ci": [r.low, r.high]},
            }
            for (a, b), r, p_one, (holm_one, holm_two) in zip(
                tests, resampled, p, adjusted, strict=True
            )
        ],
    }


def refinement(
    scores: Mapping[str, PairScores],
    outcomes: Mapping[str, Mapping[str, Outcomes]],
    groups: Groups,
    weights: Floats,
    settings: Settings,
) -> Record | None:
    """The accuracies on the pairs that are left when a control cannot tell them: `None` without a
    control to refine by, or where it did not run."""
    if settings.refine is None or settings.refine not in scores:
        return None
    control = scores[settings.refine]
    rows = refined(control.true - control.false, groups, settings.bins, settings.seed)
    return {
        "control": settings.refine,
        "bins": settings.bins,
        "kinds": {k: int((rows & (groups.kind == i)).sum()) for i, k in enumerate(groups.kinds)},
        "accuracy": {
            name: {
                comparison: accuracies(outcome, groups, weights, settings.confidence, rows)
                for comparison, outcome in of_column.items()
            }
            for name, of_column in outcomes.items()
        },
    }


def _gaps(a: Floats, b: Floats, groups: Groups) -> Floats:
    """What each image adds to the difference of two accuracies by kind, [n_images, kinds]."""
    both = ~(np.isnan(a) | np.isnan(b))
    sums = groups.sums(np.where(both, a - b, 0.0), both)
    sizes = groups.sums(np.ones(len(a)), both).sum(axis=0)
    with np.errstate(invalid="ignore"):
        gaps: Floats = sums / sizes
    return gaps


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")
