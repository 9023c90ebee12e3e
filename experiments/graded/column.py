"""The statistics of one column of scores."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.experiments import Floats, Measure, ScoreColumn
from metaeval.experiments.measure import (
    Outcomes,
    ResampledValue,
    Statistic,
    measure,
    once_each,
)
from metaeval.results.base import Cell, Estimate, Measured
from metaeval.results.comparison import AgainstControl, Comparisons, Power
from metaeval.results.files import Resampled
from metaeval.results.graded import CEILING, MEASURES, SWEEP_MEASURES, dose_rows, record_cells
from metaeval.stats.correlation.rank_order import rank_order, rank_orders_within
from metaeval.stats.dose import dose_record
from metaeval.stats.ordering.graded import (
    Replicates,
    ResampledGraded,
    graded_result,
    pair_counts,
    replicate_statistics,
    selected_statistics,
    worst_first,
    worst_inversion,
)
from metaeval.stats.resampling.bootstrap import Counts, defined_replicates, resampled_means
from metaeval.stats.resampling.items import mean_of_known
from metaeval.stats.significance.comparison import on_common_items
from metaeval.stats.significance.paired_differences import (
    detectable_difference,
    images_needed,
    paired_difference,
)

POWER = 0.8
WORST_IMAGES = 200  # how many of a column's worst inversions are named

Comparable = Mapping[str, ResampledValue]  # measure → its value, of the same resampled images
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


class ColumnRecord(NamedTuple):
    """The statistics of a column that ran.

    Attributes
    ----------
    column, family
        What it is, and the metric that it belongs to.
    scores
        float64 [n_images, n_sets], higher is better; NaN = not scored.
    comparable
        Its measures on all its scores.
    measured
        Its measures and facts.
    rows
        Name of an extra → the column's rows in it.
    worst_images
        Positions of images with the worst inversions, worst first.
    """

    column: ScoreColumn
    family: str
    scores: Floats
    comparable: Comparable
    measured: Measured
    rows: Mapping[str, Sequence[Row]]
    worst_images: Sequence[int]


def column_statistics(
    design: Design, column: ScoreColumn, family: str, tables: Sequence[Floats]
) -> ColumnRecord:
    """The statistics of one column from its scores [n_images, n_sets] of each corruption seed.

    The run's own seed comes first. NaN = not scored.
    """
    values, higher = tables[0], column.higher_is_better
    by_seed = list(tables) if higher else [-table for table in tables]
    result = graded_result(
        values,
        design.levels,
        design.names,
        higher_is_better=higher,
        counts=design.counts,
        confidence=design.confidence,
        tie_seeds=design.tie_seeds,
    )
    n_images = int((~np.isnan(values)).any(axis=1).sum())
    estimates: dict[str, Any] = record_cells(result.record, [each.key for each in SWEEP_MEASURES])
    lowest, highest = result.record.rank_order_rho_bounds
    image, level, rest, _ = result.record.variance
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
        },
    )
    severity = worst_inversion(values.T, design.levels, design.applied.T, higher_is_better=higher)
    # the scores of the ceiling are levels, which have no curve
    has_curve = column.part_of is None and family != CEILING
    return ColumnRecord(
        column,
        family,
        by_seed[0],
        comparable_of(result, n_images),
        measured,
        _rows_of_extras(
            design if has_curve else design._replace(curve=None), result, by_seed, n_images
        ),
        worst_first(severity)[:WORST_IMAGES].tolist(),
    )


def _rows_of_extras(
    design: Design, result: ResampledGraded, by_seed: Sequence[Floats], n_images: int
) -> dict[str, Sequence[Row]]:
    """Name of an extra → the column's rows in it, of scores of each seed, higher is better."""
    levels, better = np.array(design.levels), by_seed[0]

    def selected(scores: Floats, first: int = 0) -> Row:
        part = scores[:, first:]
        record = selected_statistics(part, levels[first:], confidence=design.confidence)
        return record_cells(record, record._fields)

    rows: dict[str, Sequence[Row]] = {
        "steps": [{step.name: Estimate.of(step.auc) for step in result.record.adjacent_auc}],
    }
    if not design.applied.all():
        rows["applied"] = [selected(better[design.applied.all(axis=1)])]
    if design.floor and len(levels) > 2:
        rows["degrees"] = [selected(better, 1)]
    drawn = defined_replicates(result.resampled.rank_order_rho, n_images)
    error = float(drawn.std(ddof=1)) if len(drawn) > 1 else np.nan
    if spread := seed_spread(by_seed, design.levels, error, result.record.rank_order_rho_tie_std):
        rows["seeds"] = [spread]
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
        rows["dose"], rows["dose_points"] = [of_dose], points
    return rows


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


# How much results depend on the words that a corruption chose


def order_measures(scores: Floats, levels: Sequence[int]) -> dict[str, float]:
    """ρ, ρ within images and pairwise accuracy of a table [n_images, n_sets], higher is better."""
    correct, tied, inverted = (int(part.sum()) for part in pair_counts(scores, levels))
    pairs = correct + tied + inverted
    values = (
        rank_order(scores, levels).rho,
        mean_of_known(rank_orders_within(scores, levels)),
        correct / pairs if pairs else float("nan"),
    )
    return dict(zip(MEASURES, values, strict=True))


def seed_spread(
    tables: Sequence[Floats], levels: Sequence[int], error: float, tie_sd: float
) -> dict[str, float | int] | None:
    """Mean and standard deviation of the measures over seeds, and the components of ρ's variance.

    Parameters
    ----------
    tables
        The scores [n_images, n_sets] of each seed, higher is better, the run's own first.
    levels
        [n_sets]
    error
        Standard deviation of the pooled ρ over bootstrap replicates of the images.
    tie_sd
        Its standard deviation over random ways of breaking ties.

    Returns
    -------
    dict or None
        The number of seeds `n`; of each measure `NAME_mean` and `NAME_sd` (n − 1 in the
        denominator); and standard deviations of the pooled ρ: `sd_seed`; `sd_ties`; and `sd_image`,
        the root of what the bootstrap's variance exceeds the seeds' by, as each image's corruption
        is resampled with the image. `None` with fewer than two seeds.
    """
    if len(tables) < 2:
        return None
    drawn = [order_measures(table, levels) for table in tables]
    spread: dict[str, float | int] = {"n": len(tables)}
    for name in MEASURES:
        values = np.array([each[name] for each in drawn])
        spread[f"{name}_mean"], spread[f"{name}_sd"] = values.mean(), values.std(ddof=1)
    seed = spread["rank_order_rho_sd"]
    return {
        **spread,
        "sd_image": float(np.sqrt(max(error**2 - np.nan_to_num(seed) ** 2, 0.0))),
        "sd_seed": seed,
        "sd_ties": tie_sd,
    }


# Which metrics differ: from each other, and from the best control


class OrderStatistic(Statistic):
    """One of the measures of scores [n_images, n_sets]; the units are images with a score.

    `compute` gives all measures of a table.
    """

    span = math.inf

    def __init__(self, measure: str, compute: Callable[[Floats], Comparable]) -> None:
        self.measure, self.compute = measure, compute

    def of(self, column: Floats) -> ResampledValue:
        return self.compute(column)[self.measure]


def compare_columns(
    columns: Sequence[ColumnRecord], compute: Callable[[Floats], Comparable], confidence: float
) -> tuple[dict[str, Comparisons], dict[str, AgainstControl], list[Resampled]]:
    """All pairs of the ranked metrics with their power, every other column against the best
    control, by each measure, and the replicates.

    Parts and networks without training are compared with controls, too. The ceiling is not a
    control to beat.
    """
    compute = once_each(compute, [(c.scores, c.comparable) for c in columns])
    tables = {c.column.name: c.scores for c in columns}
    ceiling = next((c.scores for c in columns if c.family == CEILING), None)
    outcomes = {
        key: Outcomes(Measure(key, key), tables, statistic, family=key, ceiling=ceiling)
        for key in MEASURES
        for statistic in [OrderStatistic(key, compute)]
    }
    pairs = measure(
        [each._replace(family="") for each in outcomes.values()],
        [c.column for c in columns],
        confidence,
    )
    controls = measure(
        [each._replace(pairs=False) for each in outcomes.values()],
        [replace(c.column, part_of=None, untrained=False) for c in columns if c.family != CEILING],
        confidence,
    )
    comparisons = {
        key: _with_power(made, outcomes[key], confidence) for key, made in pairs.comparisons.items()
    }
    return comparisons, controls.controls, controls.resampled


def _with_power(comparisons: Comparisons, outcomes: Outcomes, confidence: float) -> Comparisons:
    """The pairs with what they could show, at the level of the hardest of them, α/m."""
    level = comparisons.alpha / max(len(comparisons.pairs), 1)
    pairs = []
    for pair in comparisons.pairs:
        common = on_common_items(outcomes.columns[pair.a], outcomes.columns[pair.b])
        a, b = map(outcomes.statistic.known, common)
        n = a.n_units
        paired = paired_difference(a.value, b.value, a.replicates, b.replicates, n, confidence)
        power = Power(
            effect=paired.effect,
            detectable=detectable_difference(paired.error, level, POWER),
            images_needed=None
            if math.isnan(paired.error)
            else images_needed(n, paired.difference, paired.error, level, POWER),
        )
        pairs.append(pair.model_copy(update={"power": power}))
    return comparisons.model_copy(update={"pairs": tuple(pairs)})
