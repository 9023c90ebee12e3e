"""The curves of dose and response, for figures, tables and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from metaeval.results.graded import DoseCurve


class Panel(NamedTuple):
    """The curves of one corruption.

    Attributes
    ----------
    title
        The corruption: "Replace".
    doses
        Its rates in (0, 1], ascending, with 0 before them: the human caption.
    realised
        The share of words that was really changed at each of them.
    floor
        The name of the set of other images' captions, if there is one.
    n_seeds
        Seeds of the corruption; the metrics with fewer have no spread over seeds.
    curves
        Metric → its curve; those of `controls` are what a metric must beat.
    controls
    """

    title: str
    doses: Sequence[float]
    realised: Sequence[float | None]
    floor: str | None
    n_seeds: int
    curves: Mapping[str, DoseCurve]
    controls: frozenset[str]

    @property
    def results(self) -> dict[str, DoseCurve]:
        """The curves of metrics, without those of controls."""
        return {m: c for m, c in self.curves.items() if m not in self.controls}


def panel(
    title: str,
    doses: Sequence[float],
    realised: Sequence[float | None],
    floor: str | None,
    curves: Mapping[str, DoseCurve],
    kinds: Mapping[str, str],
) -> Panel:
    """The panel of one corruption; `kinds` are the kinds of the metrics' rows.

    Parts of metrics and random weights have no line.
    """
    shown = {m: curve for m, curve in curves.items() if kinds.get(m) in ("result", "control")}
    return Panel(
        title,
        doses,
        realised,
        floor,
        max((curve.n_seeds for curve in shown.values()), default=1),
        shown,
        frozenset(m for m in shown if kinds[m] == "control"),
    )


def corruption_title(names: Sequence[str]) -> str:
    """The common start of all set names except the first.

    >>> corruption_title(["Human", "Replace 10%", "Replace 20%"])
    'Replace'
    """
    return names[-1].rpartition(" ")[0] or names[-1]
