"""The ranking of metrics by rank-order ρ, what ties decide, and published values."""

from __future__ import annotations

import math

from metaeval.reports.graded.run import GradedRun, Metric
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.training import NEW
from metaeval.results.graded import CorruptionSeeds

# the width of the exact tie bounds from which on ties, not scores, decide a good part of ρ
TIES_DECIDE = 0.2
# found by `benchmarks/numbers/published_gaps.py` (docs/statistics.md)
CAUSES = {
    "METEOR": "nltk's METEOR, averaged over the references, comes nearer: metrics=[meteor_nltk] "
    "metric.meteor_nltk.references=mean"
}
NEAR_SD = 2.0  # standard deviations within which a published value is not a surprise


TRAINED = "trained"  # the block of columns that were chosen or trained on this kind of test


def is_trained_on_test(metric: Metric, experiment: str) -> bool:
    """Whether a column was chosen on this experiment, or trained on captions like these.

    Its value is then not comparable with those of metrics that have not learned from the test.
    """
    training = metric.training
    if training is None:
        return False
    drawn = set((training.versions or {}).values()) - {NEW}
    return experiment in training.chosen_on or bool(drawn)


def block(metric: Metric, experiment: str) -> str:
    """The kind of a metric's row (`kind_of`), or "trained"."""
    kind = kind_of(metric)
    return TRAINED if kind == "result" and is_trained_on_test(metric, experiment) else kind


def results(run: GradedRun) -> list[Metric]:
    """All results, best rank-order ρ first."""
    rows = [
        (value, m) for m in run.metrics if kind_of(m) == "result" and (value := rho(m)) is not None
    ]
    return [m for _, m in sorted(rows, key=lambda row: -row[0])]


def ranked(run: GradedRun) -> list[Metric]:
    """The results that sentences rank: without those chosen or trained on this kind of test."""
    experiment = run.result.experiment
    return [m for m in results(run) if not is_trained_on_test(m, experiment)]


def trained(run: GradedRun) -> list[Metric]:
    """The results that were chosen or trained on this kind of test, best first."""
    experiment = run.result.experiment
    return [m for m in results(run) if is_trained_on_test(m, experiment)]


def rho(metric: Metric) -> float | None:
    """The pooled rank-order ρ; `None` where it is undefined."""
    return metric.statistics.rank_order_rho.value if metric.statistics else None


def tie_width(metric: Metric) -> float:
    """The distance between the ρ of the worst and of the best tie-breaking."""
    worst, best = metric.numbers.rank_order_rho_bounds
    return 0.0 if worst is None or best is None else best - worst


def paper_distance(spread: CorruptionSeeds | None, published: float) -> float | None:
    """How many standard deviations of corruption seeds and tie breaking a published value lies
    above the mean over seeds; `None` without seeds, or without any spread.

    The published value is one draw of seed and ties, the mean one of n seeds: the variance is
    seed² (1 + 1/n) + ties². The spread over images has no part in it: the images are the same.
    """
    if spread is None or spread.components.seed is None or spread.rank_order_rho.mean is None:
        return None
    seed, ties = spread.components.seed, spread.components.ties or 0.0
    sd = math.sqrt(seed**2 * (1 + 1 / spread.n) + ties**2)
    if sd < 1e-9:
        return None
    return (published - spread.rank_order_rho.mean) / sd


def cause(metric: Metric) -> str:
    """The cause of a published value that is far off, where it is known."""
    return CAUSES.get(metric.name, "the cause is unknown")


def against_paper(metric: Metric, published: float) -> tuple[str, str]:
    """A short and a long word on how a ρ relates to the published value.

    A paper that used the same images differs by its corruption's seed and by one way of breaking
    ties, so these are what it is compared by: with several seeds in their standard deviations,
    with one by the spread of random tie-breaking alone.
    """
    value = rho(metric)
    if value is None:
        return "", ""
    spread = metric.numbers.seeds
    distance = paper_distance(spread, published)
    if distance is not None and spread is not None:
        where = "above" if distance > 0 else "below"
        long = (
            f"The published value lies {abs(distance):.1f} standard deviations of corruption seeds "
            f"and random tie-breaking {where} our mean over {spread.n} seeds."
        )
        if abs(distance) <= NEAR_SD:
            return "within seeds", long
        return f"{abs(distance):.0f} sd {where}", f"{long[:-1]}: {cause(metric)}."
    tie_sd = metric.numbers.rank_order_rho_tie_std
    if tie_sd and abs(value - published) <= NEAR_SD * tie_sd:
        return "ties", (
            f"Within the spread of random tie-breaking (sd {tie_sd:.4f}): ties can explain it."
        )
    return "beyond ties", (
        "Beyond what random tie-breaking does. How much the corruption's seed does was not "
        "measured for it: corruption.seeds=5, with the metric in corruption.reseeded, does. The "
        "interval over images does not measure it, as the paper used the same images."
    )
