"""The statistics of one column of scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.experiments.graded.differences import Comparable, extreme_steps
from metaeval.experiments.graded.seeds import order_measures, seed_spread
from metaeval.experiments.measure import ResampledValue
from metaeval.results.base import Cell, Estimate, Measured, Model
from metaeval.results.graded import MEASURES, SWEEP_MEASURES, dose_rows, record_cells
from metaeval.stats.correlation.rank_order import rank_orders_within
from metaeval.stats.dose import dose_record
from metaeval.stats.ordering.graded import (
    GradedRecord,
    ResampledGraded,
    graded_result,
    selected_statistics,
)
from metaeval.stats.ordering.pairwise import worst_first, worst_inversion
from metaeval.stats.resampling.bootstrap import Counts, defined_replicates, resampled_means
from metaeval.stats.resampling.items import Floats
from metaeval.stats.resampling.replicates import Replicates, replicate_statistics

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
        Name of an extra → the column's rows in it.
    worst_images
        Positions of images with the worst inversions, worst first.
    """

    measured: Measured
    rows: Mapping[str, tuple[Row, ...]]
    worst_images: tuple[int, ...]


def column_statistics(
    design: Design, tables: Sequence[Floats], higher_is_better: bool
) -> tuple[ColumnRecord, Comparable]:
    """The statistics of one column from its scores [n_images, n_sets] of each corruption seed, and
    its measures with their replicates.

    The run's own seed comes first. NaN = not scored.
    """
    values = tables[0]
    result = graded_result(
        values,
        design.levels,
        design.names,
        higher_is_better=higher_is_better,
        counts=design.counts,
        confidence=design.confidence,
        tie_seeds=design.tie_seeds,
    )
    n_images = int((~np.isnan(values)).any(axis=1).sum())
    estimates: dict[str, Any] = record_cells(result.record, [each.key for each in SWEEP_MEASURES])
    lowest, highest = result.record.rank_order_rho_bounds
    image, level, rest, _ = result.record.variance
    least, clearest = extreme_steps(result, n_images, design.confidence)
    measured = Measured(
        values={
            key: each if isinstance(each, Estimate) else Estimate(value=each)
            for key, each in estimates.items()
        },
        facts={
            "n": values.size,
            "n_nan": int(np.isnan(values).sum()),
            "rank_order_rho_tie_mean": result.record.rank_order_rho_tie_mean,
            "rank_order_rho_tie_std": result.record.rank_order_rho_tie_std,
            "rank_order_rho_lowest": lowest,
            "rank_order_rho_highest": highest,
            "pairwise_ties": result.record.pairwise_ties,
            "variance_image": image,
            "variance_level": level,
            "variance_rest": rest,
            "least_seen_step": least,
            "clearest_step": clearest,
        },
    )
    severity = worst_inversion(
        values.T, design.levels, design.applied.T, higher_is_better=higher_is_better
    )
    by_seed = list(tables) if higher_is_better else [-table for table in tables]
    record = ColumnRecord(
        measured=measured,
        rows=_rows_of_extras(design, result, by_seed, n_images),
        worst_images=tuple(worst_first(severity)[:WORST_IMAGES].tolist()),
    )
    return record, comparable_of(result, n_images)


def _rows_of_extras(
    design: Design, result: ResampledGraded, by_seed: Sequence[Floats], n_images: int
) -> dict[str, tuple[Row, ...]]:
    """Name of an extra → the column's rows in it, of scores of each seed, higher is better."""
    levels, better = np.array(design.levels), by_seed[0]

    def selected(scores: Floats, first: int = 0) -> Row:
        part = scores[:, first:]
        record = selected_statistics(part, levels[first:], confidence=design.confidence)
        return record_cells(record, record._fields)

    rows: dict[str, tuple[Row, ...]] = {
        "scores_by_set": tuple(_set_rows(result.record)),
        "steps": ({step.name: Estimate.of(step.auc) for step in result.record.adjacent_auc},),
    }
    if not design.applied.all():
        rows["applied"] = (selected(better[design.applied.all(axis=1)]),)
    if design.floor and len(levels) > 2:
        rows["degrees"] = (selected(better, 1),)
    drawn = defined_replicates(result.resampled.rank_order_rho, n_images)
    error = float(drawn.std(ddof=1)) if len(drawn) > 1 else np.nan
    if spread := seed_spread(by_seed, design.levels, error, result.record.rank_order_rho_tie_std):
        rows["seeds"] = (spread,)
    if (curve := design.curve) is not None:
        scores = np.stack(by_seed)
        record = dose_record(
            scores[:, :, curve.order],
            curve.doses,
            design.counts,
            floor=scores[:, :, 0] if design.floor else None,
            confidence=design.confidence,
        )
        of_dose, points = dose_rows(record, curve.doses, curve.realised)
        rows["dose"], rows["dose_points"] = (of_dose,), tuple(points)
    return rows


def _set_rows(record: GradedRecord) -> Iterator[Row]:
    """Yield the scores of each set: number, mean, standard deviation and quantiles."""
    for name, summary in record.sets.items():
        row = summary._asdict()
        quantiles = row.pop("quantiles")
        yield {"set": name, **row, **{f"quantile_{q}": x for q, x in quantiles.items()}}


def comparable_of(result: ResampledGraded, n_images: int) -> Comparable:
    """The measures of a column of so many images, and their replicates."""
    values = {name: getattr(result.record, name).value for name in MEASURES}
    return _comparable(values, result.resampled, result.within, n_images)


def comparable_statistics(scores: Floats, levels: Sequence[int], counts: Counts) -> Comparable:
    """The measures alone, of scores [n_images, n_sets], higher is better, with replicates."""
    within = resampled_means(rank_orders_within(scores, levels), counts)
    resampled = replicate_statistics(scores, np.array(levels), counts)
    n_images = int((~np.isnan(scores)).any(axis=1).sum())
    return _comparable(order_measures(scores, levels), resampled, within, n_images)


def _comparable(
    values: Mapping[str, float], resampled: Replicates, within: Floats, n: int
) -> Comparable:
    drawn = (resampled.rank_order_rho, within, resampled.pairwise_accuracy)
    return {
        name: ResampledValue(values[name], replicates, n, n)
        for name, replicates in zip(MEASURES, drawn, strict=True)
    }
