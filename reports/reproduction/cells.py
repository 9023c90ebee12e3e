"""A reproduced value as the texts of a line."""

from __future__ import annotations

from metaeval.results.reproduction import ReproducedValue


def value_cells(value: ReproducedValue) -> tuple[str, ...]:
    """Metric, cell, published, ours, difference, verdict and reason as texts."""
    return (
        value.column,
        value.cell,
        "" if value.published is None else f"{value.published:g}",
        "" if value.ours is None else f"{value.ours:.6g}",
        "" if value.difference is None else f"{value.difference:+.1f}",
        value.verdict,
        value.reason,
    )
