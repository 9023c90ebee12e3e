"""The statistics of one column of scores, and the replicates that it is compared with others by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.experiments.graded.differences import Comparable, extreme_steps
from metaeval.experiments.graded.dose import Curve
from metaeval.experiments.graded.seeds import seed_spread
from metaeval.results.graded import DoseCurve, GradedStatistics, SelectedStatistics
from metaeval.stats.correlation.rank_order import rank_order
from metaeval.stats.correlation.rank_order_within import rank_orders_within
from metaeval.stats.dose import dose_record
from metaeval.stats.ordering.graded import ResampledGraded, graded_result
from metaeval.stats.ordering.pairwise import pairwise, worst_first, worst_inversion
from metaeval.stats.ordering.selected import selected_statistics
from metaeval.stats.resampling.bootstrap import Counts, defined_replicates
from metaeval.stats.resampling.means import resampled_means
from metaeval.stats.resampling.replicates import replicate_statistics

WORST_IMAGES = 200  # how many of a column's worst inversions are named

Floats = npt.NDArray[np.float64]


class Design(NamedTuple):
    """What the statistics of a column depend on besides its scores: the same for every column.

    Attributes
    ----------
    names, levels
        [n_sets]: the sets' names, and their levels, 0 = worst.
    applied
        bool [n_images, n_sets]: which versions really differ from the human caption.
    floor
        Whether the lowest set holds captions of other images, which is not a degree of corruption.
    groups
        Images that are alike in some respect, bool [n_images] each.
    curve
        The rates in their order, if enough for a dose-response curve.
    counts
        int [replicates, n_images] from `bootstrap_counts`.
    confidence, tie_seeds
        See `graded_result`.
    """

    names: list[str]
    levels: list[int]
    applied: npt.NDArray[np.bool_]
    floor: bool
    groups: list[npt.NDArray[np.bool_]]
    curve: Curve | None
    counts: Counts
    confidence: float
    tie_seeds: list[int]


class ColumnStatistics(NamedTuple):
    """Result of `column_statistics`.

    Attributes
    ----------
    statistics
        The statistics of the column; `worst_images` holds positions of images, not their ids.
    groups
        The measures in each group of images.
    dose
        The curve, where the design has one.
    comparable
        The measures and their replicates.
    """

    statistics: GradedStatistics
    groups: list[SelectedStatistics]
    dose: DoseCurve | None
    comparable: Comparable


def column_statistics(
    design: Design, tables: Sequence[Floats], higher_is_better: bool
) -> ColumnStatistics:
    """The statistics of one column from its scores [n_images, n_sets] of each corruption seed.

    The run's own seed comes first. NaN = not scored.
    """
    levels, applied = design.levels, design.applied
    counts, confidence = design.counts, design.confidence
    grades, values = np.array(levels), tables[0]
    by_seed = list(tables) if higher_is_better else [-table for table in tables]
    better = by_seed[0]

    def selected(scores: Floats, sets: slice = slice(None)) -> SelectedStatistics:
        return SelectedStatistics.of(
            selected_statistics(scores[:, sets], grades[sets], confidence=confidence)
        )

    result = graded_result(
        values,
        grades,
        design.names,
        higher_is_better=higher_is_better,
        counts=counts,
        confidence=confidence,
        tie_seeds=design.tie_seeds,
    )
    comparable = comparable_of(result)
    n_images = int((~np.isnan(values)).any(axis=1).sum())
    drawn = defined_replicates(comparable.replicates["rank_order_rho"], n_images)
    error = float(drawn.std(ddof=1)) if len(drawn) > 1 else np.nan
    severity = worst_inversion(values.T, levels, applied.T, higher_is_better=higher_is_better)
    least, clearest = extreme_steps(result, n_images, confidence)
    statistics = GradedStatistics.of(
        result.record,
        n=values.size,
        n_nan=int(np.isnan(values).sum()),
        least_seen_step=least,
        clearest_step=clearest,
        every_level_applied=None if applied.all() else selected(better[applied.all(axis=1)]),
        without_floor=selected(better, slice(1, None))
        if design.floor and len(levels) > 2
        else None,
        seeds=seed_spread(by_seed, levels, error, result.record.rank_order_rho_tie_std),
        worst_images=tuple(worst_first(severity)[:WORST_IMAGES].tolist()),
    )
    dose = None
    if (curve := design.curve) is not None:
        scores = np.stack(by_seed)
        lowest = scores[:, :, 0] if design.floor else None
        dose = DoseCurve.of(
            dose_record(
                scores[:, :, curve.order], curve.doses, counts, floor=lowest, confidence=confidence
            )
        )
    of_groups = [selected(better[members]) for members in design.groups]
    return ColumnStatistics(statistics, of_groups, dose, comparable)


def comparable_of(result: ResampledGraded) -> Comparable:
    """The measures of a column and their replicates."""
    return Comparable(
        {
            "rank_order_rho": result.record.rank_order_rho.value,
            "rank_order_rho_within": result.record.rank_order_rho_within.value,
            "pairwise_accuracy": result.record.pairwise_accuracy.value,
        },
        {
            "rank_order_rho": result.resampled.rank_order_rho,
            "rank_order_rho_within": result.within,
            "pairwise_accuracy": result.resampled.pairwise_accuracy,
        },
    )


def comparable_statistics(
    values: Floats, levels: Sequence[int], counts: Counts, higher_is_better: bool
) -> Comparable:
    """The measures alone, of scores [n_images, n_sets], with their replicates."""
    better, grades = values if higher_is_better else -values, np.array(levels)
    resampled = replicate_statistics(better, grades, counts)
    rhos = rank_orders_within(better, grades)
    of_images = rhos[~np.isnan(rhos)]
    return Comparable(
        {
            "rank_order_rho": rank_order(better, grades).rho,
            "rank_order_rho_within": float(of_images.mean()) if len(of_images) else float("nan"),
            "pairwise_accuracy": pairwise(better, grades).accuracy,
        },
        {
            "rank_order_rho": resampled.rank_order_rho,
            "rank_order_rho_within": resampled_means(rhos, counts),
            "pairwise_accuracy": resampled.pairwise_accuracy,
        },
    )
