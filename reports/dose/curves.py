"""The curves of dose and response as figure, table and words have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reports.shared.row_kind import Record, row_kind

Curve = Mapping[str, Any]  # what `dose_record` says of one metric


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
    curves: Mapping[str, Curve]
    controls: frozenset[str]

    @property
    def results(self) -> dict[str, Curve]:
        """The curves that are no controls."""
        return {m: c for m, c in self.curves.items() if m not in self.controls}


def panel(title: str, dose: Mapping[str, Any], records: Sequence[Record]) -> Panel:
    """The panel of a run's `dose`; parts of metrics and random weights have no line."""
    kinds = {r["metric"]: row_kind(r) for r in records}
    shown = [m for m in dose["metrics"] if kinds.get(m) in ("result", "control")]
    curves = {m: dose["metrics"][m] for m in shown}
    return Panel(
        title,
        dose["doses"],
        dose["realised"],
        dose["floor"],
        max((c["n_seeds"] for c in curves.values()), default=1),
        curves,
        frozenset(m for m in shown if kinds[m] == "control"),
    )


def corruption_title(names: Sequence[str]) -> str:
    """ "Replace" of the sets "Human", "Replace 10%", "Replace 20%": what all but the first share.

    >>> corruption_title(["Human", "Replace 10%", "Replace 20%"])
    'Replace'
    """
    return names[-1].rpartition(" ")[0] or names[-1]
