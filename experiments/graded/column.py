"""The statistics of one column of scores."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.experiments.graded.differences import Comparable, extreme_steps
from metaeval.experiments.graded.seeds import seed_spread
from metaeval.results.base import Cell, Estimate, Measured, Model
from metaeval.results.graded import dose_rows
from metaeval.stats.correlation.rank_order import rank_order, rank_orders_within
from metaeval.stats.dose import dose_record
from metaeval.stats.ordering.graded import (
    GradedRecord,
    ResampledGraded,
    graded_result,
    selected_statistics,
)
from metaeval.stats.ordering.pairwise import pairwise, worst_first, worst_inversion
from metaeval.stats.resampling.bootstrap import Counts, defined_replicates, resampled_means
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.replicates import replicate_statistics

WORST_IMAGES = 200  # how many of a column's worst inversions are named

Row = Mapping[str, Estimate | Cell]


class Curve(NamedTuple):
    """The sets of a dose-response curve: their places, from the human captions on, their rates, and
    the shares of words that were really changed."""

    order: list[int]
    doses: list[float]
    realised: list[float | None]


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


class ColumnRecord(Model):
    """The statistics of a column.

    Attributes
    ----------
    measured
        Its measures and facts.
    rows
        Name of an extra → the column's rows in it; of "groups" one for each group of the design.
    worst_images
        Positions of images with the worst inversions, worst first.
    """

    measured: Measured
    rows: Mapping[str, tuple[Row, ...]]
    worst_images: tuple[int, ...]


class ColumnStatistics(NamedTuple):
    """The statistics of a column, and its measures with their replicates."""

    record: ColumnRecord
    comparable: Comparable


def column_statistics(
    design: Design, tables: Sequence[Floats], higher_is_better: bool
) -> ColumnStatistics:
    """The statistics of one column from its scores [n_images, n_sets] of each corruption seed.

    The run's own seed comes first. NaN = not scored.
    """
    levels, applied, counts = design.levels, design.applied, design.counts
    grades, values = np.array(levels), tables[0]
    by_seed = list(tables) if higher_is_better else [-table for table in tables]
    better = by_seed[0]

    def selected(scores: Floats, sets: slice = slice(None)) -> Row:
        record = selected_statistics(scores[:, sets], grades[sets], confidence=design.confidence)
        return {
            "n_images": record.n_images,
            "rank_order_rho": record.rank_order_rho,
            "rank_order_rho_within": Estimate.of(record.rank_order_rho_within),
            "pairwise_accuracy": Estimate.of(record.pairwise_accuracy),
            "monotone_rate": Estimate.of(record.monotone_rate),
        }

    result = graded_result(
        values,
        grades,
        design.names,
        higher_is_better=higher_is_better,
        counts=counts,
        confidence=design.confidence,
        tie_seeds=design.tie_seeds,
    )
    graded = result.record
    comparable = comparable_of(result)
    n_images = int((~np.isnan(values)).any(axis=1).sum())
    drawn = defined_replicates(comparable.replicates["rank_order_rho"], n_images)
    error = float(drawn.std(ddof=1)) if len(drawn) > 1 else np.nan
    severity = worst_inversion(values.T, levels, applied.T, higher_is_better=higher_is_better)
    least, clearest = extreme_steps(result, n_images, design.confidence)
    rows: dict[str, tuple[Row, ...]] = {
        "scores_by_set": tuple(_set_rows(graded)),
        "steps": ({step.name: Estimate.of(step.auc) for step in graded.adjacent_auc},),
        "groups": tuple(selected(better[members]) for members in design.groups),
    }
    if not applied.all():
        rows["applied"] = (selected(better[applied.all(axis=1)]),)
    if design.floor and len(levels) > 2:
        rows["degrees"] = (selected(better, slice(1, None)),)
    if spread := seed_spread(by_seed, levels, error, graded.rank_order_rho_tie_std):
        rows["seeds"] = (spread,)
    if (curve := design.curve) is not None:
        scores = np.stack(by_seed)
        record = dose_record(
            scores[:, :, curve.order],
            curve.doses,
            counts,
            floor=scores[:, :, 0] if design.floor else None,
            confidence=design.confidence,
        )
        of_dose, points = dose_rows(record, curve.doses, curve.realised)
        rows["dose"], rows["dose_points"] = (of_dose,), tuple(points)
    lowest, highest = graded.rank_order_rho_bounds
    measured = Measured(
        values={
            "rank_order_rho": Estimate.of(graded.rank_order_rho),
            "rank_order_rho_within": Estimate.of(graded.rank_order_rho_within),
            "pairwise_accuracy": Estimate.of(graded.pairwise_accuracy),
            "spearman_rho": Estimate.of(graded.spearman_rho),
            "kendall_tau_b": Estimate.of(graded.kendall_tau_b),
            "tie_fraction": Estimate(value=graded.tie_fraction),
            "monotone_rate": Estimate.of(graded.monotone_rate),
            "inversion_rate": Estimate.of(graded.inversion_rate),
        },
        facts={
            "n": values.size,
            "n_nan": int(np.isnan(values).sum()),
            "rank_order_rho_tie_mean": graded.rank_order_rho_tie_mean,
            "rank_order_rho_tie_std": graded.rank_order_rho_tie_std,
            "rank_order_rho_lowest": lowest,
            "rank_order_rho_highest": highest,
            "pairwise_ties": graded.pairwise_ties,
            "variance_image": graded.variance.image,
            "variance_level": graded.variance.level,
            "variance_rest": graded.variance.rest,
            "least_seen_step": least,
            "clearest_step": clearest,
        },
    )
    worst = tuple(worst_first(severity)[:WORST_IMAGES].tolist())
    return ColumnStatistics(
        ColumnRecord(measured=measured, rows=rows, worst_images=worst), comparable
    )


def _set_rows(record: GradedRecord) -> list[dict[str, Any]]:
    """The scores of each set: number, mean, standard deviation and quantiles."""
    return [
        {
            "set": name,
            "level": summary.level,
            "n": summary.n,
            "mean": summary.mean,
            "std": summary.std,
            **{f"quantile_{q}": value for q, value in summary.quantiles.items()},
        }
        for name, summary in record.sets.items()
    ]


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
