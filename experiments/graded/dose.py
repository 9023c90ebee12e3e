"""Dose and response of a run with several rates of one corruption: `dose` in statistics.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.stats.dose.record import dose_record
from metaeval.stats.resampling.bootstrap import Counts

Floats = npt.NDArray[np.float64]

FEWEST = 3  # rates that make a curve: with fewer the records of the metrics say all


def dose_of_run(
    sets: Sequence[Mapping[str, Any]],
    tables: Mapping[str, Sequence[Floats]],
    counts: Counts,
    confidence: float,
    floor: bool,
) -> dict[str, Any] | None:
    """The curve of every metric, or `None` where the run has fewer than FEWEST rates.

    Parameters
    ----------
    sets
        The run's sets, worst first (see `set_table`); the last holds the human captions, and with
        `floor` the first those of other images.
    tables
        Column → its scores [n_images, n_sets] of each corruption seed, more is better, the run's
        own first.
    """
    rated = [k for k in range(int(floor), len(sets) - 1) if sets[k]["requested_rate"] is not None]
    if len(rated) < FEWEST or len(rated) < len(sets) - 1 - floor:
        return None
    # human captions first, then by rate
    order = [len(sets) - 1, *sorted(rated, key=lambda k: float(sets[k]["requested_rate"]))]
    doses = [0.0, *(float(sets[k]["requested_rate"]) for k in order[1:])]
    metrics = {}
    for name, by_seed in tables.items():
        values = np.stack(by_seed)
        lowest = values[:, :, 0] if floor else None
        metrics[name] = dose_record(
            values[:, :, order], doses, counts, floor=lowest, confidence=confidence
        )
    return {
        "doses": doses,
        "sets": [sets[k]["name"] for k in order],
        "realised": [sets[k]["mean_realised_rate"] for k in order],
        "floor": sets[0]["name"] if floor else None,
        "metrics": metrics,
    }
