"""The statistics of one column of scores, and the replicates that it is compared with others by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.graded.differences import extreme_steps, replicates_of
from experiments.graded.dose import Curve
from experiments.graded.seeds import seed_spread
from metaeval.stats.dose.record import dose_record
from metaeval.stats.ordering.graded import graded_result
from metaeval.stats.ordering.inversions import worst_first, worst_inversion
from metaeval.stats.ordering.selected import selected_statistics
from metaeval.stats.resampling.bootstrap import Counts

WORST_IMAGES = 200  # how many of a column's worst inversions are named

Floats = npt.NDArray[np.float64]


class Design(NamedTuple):
    """All that the statistics of a column depend on but its scores: the same for every column.

    Attributes
    ----------
    names, levels
        [n_sets]: the sets' names, and their levels, 0 = worst.
    applied
        bool [n_images, n_sets]: which versions really differ from the human caption.
    floor
        Whether the lowest set holds other images' captions and no degree of corruption.
    groups
        Images that are alike in some respect, bool [n_images] each.
    curve
        The rates in their order, where there are enough for a curve of dose and response.
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
    """What `column_statistics` returns.

    Attributes
    ----------
    record
        What statistics.json tells of the column; of its worst images the positions.
    groups
        `selected_statistics` of each group.
    dose
        `dose_record`, where the design has a curve.
    replicates
        Measure → its replicates, float64 [replicates].
    """

    record: dict[str, Any]
    groups: list[dict[str, Any]]
    dose: dict[str, Any] | None
    replicates: dict[str, Floats]


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

    def selected(scores: Floats, sets: slice = slice(None)) -> dict[str, Any]:
        return selected_statistics(scores[:, sets], grades[sets], confidence=confidence)

    result = graded_result(
        values,
        grades,
        design.names,
        higher_is_better=higher_is_better,
        counts=counts,
        confidence=confidence,
        tie_seeds=design.tie_seeds,
    )
    everywhere, replicates = applied.all(), replicates_of(result)
    error = float(np.nanstd(replicates["rank_order_rho"], ddof=1)) if len(counts) > 1 else np.nan
    severity = worst_inversion(values.T, levels, applied.T, higher_is_better=higher_is_better)
    record = {
        "n": values.size,
        "n_nan": int(np.isnan(values).sum()),
        **result.record,
        **extreme_steps(result, len(values), confidence),
        "every_level_applied": None if everywhere else selected(better[applied.all(axis=1)]),
        "without_floor": selected(better, slice(1, None))
        if design.floor and len(levels) > 2
        else None,
        "seeds": seed_spread(by_seed, levels, error, result.record["rank_order_rho_tie_std"]),
        "worst_images": worst_first(severity)[:WORST_IMAGES].tolist(),
    }
    dose = None
    if (curve := design.curve) is not None:
        scores = np.stack(by_seed)
        lowest = scores[:, :, 0] if design.floor else None
        dose = dose_record(
            scores[:, :, curve.order], curve.doses, counts, floor=lowest, confidence=confidence
        )
    of_groups = [selected(better[members]) for members in design.groups]
    return ColumnStatistics(record, of_groups, dose, replicates)
