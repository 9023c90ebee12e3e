"""Dose and response of a run with several rates of one corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from metaeval.results.graded import CaptionSet, Dose, DoseCurve

FEWEST = 3  # rates that make a curve


class Curve(NamedTuple):
    """The sets of a curve: their places, by rate from the human captions on, and their rates."""

    order: list[int]
    doses: list[float]


def curve_of(sets: Sequence[CaptionSet], floor: bool) -> Curve | None:
    """The curve of a run's sets; `None` where they have fewer than FEWEST rates.

    `sets` are worst first (see `set_table`); the last holds the human captions, and with `floor`
    the first those of other images.
    """
    rates = [
        (entry.requested_rate, k)
        for k, entry in enumerate(sets[:-1])
        if k >= floor and entry.requested_rate is not None
    ]
    if len(rates) < FEWEST or len(rates) < len(sets) - 1 - floor:
        return None
    rates.sort(key=lambda pair: pair[0])
    return Curve([len(sets) - 1, *(k for _, k in rates)], [0.0, *(rate for rate, _ in rates)])


def dose_of_run(
    sets: Sequence[CaptionSet],
    curve: Curve | None,
    metrics: Mapping[str, DoseCurve],
    floor: bool,
) -> Dose | None:
    """The curves of a run; `metrics` is column → curve."""
    if curve is None:
        return None
    return Dose(
        doses=tuple(curve.doses),
        sets=tuple(sets[k].name for k in curve.order),
        realised=tuple(sets[k].mean_realised_rate for k in curve.order),
        floor=sets[0].name if floor else None,
        metrics=metrics,
    )
