"""Dose and response of a run with several rates of one corruption: `dose` in statistics.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

FEWEST = 3  # rates that make a curve: with fewer the records of the metrics say all


class Curve(NamedTuple):
    """The sets of a curve: their places, by rate from the human captions on, and their rates."""

    order: list[int]
    doses: list[float]


def curve_of(sets: Sequence[Mapping[str, Any]], floor: bool) -> Curve | None:
    """The curve that a run's sets make, or `None` where they are of fewer than FEWEST rates.

    `sets` are worst first (see `set_table`); the last holds the human captions, and with `floor`
    the first those of other images.
    """
    rated = [k for k in range(int(floor), len(sets) - 1) if sets[k]["requested_rate"] is not None]
    if len(rated) < FEWEST or len(rated) < len(sets) - 1 - floor:
        return None
    by_rate = sorted(rated, key=lambda k: float(sets[k]["requested_rate"]))
    doses = [0.0, *(float(sets[k]["requested_rate"]) for k in by_rate)]
    return Curve([len(sets) - 1, *by_rate], doses)


def dose_of_run(
    sets: Sequence[Mapping[str, Any]],
    curve: Curve | None,
    metrics: Mapping[str, Mapping[str, Any]],
    floor: bool,
) -> dict[str, Any] | None:
    """The curves of a run; `metrics` is column → `dose_record`."""
    if curve is None:
        return None
    return {
        "doses": curve.doses,
        "sets": [sets[k]["name"] for k in curve.order],
        "realised": [sets[k]["mean_realised_rate"] for k in curve.order],
        "floor": sets[0]["name"] if floor else None,
        "metrics": metrics,
    }
