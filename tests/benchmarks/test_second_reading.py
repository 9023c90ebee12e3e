"""Corruptions that the second reading did not confirm are marked, and no others."""

from __future__ import annotations

from benchmarks.corruption_audit.second import second_rates
from metaeval.audit.agreement import BOUND
from metaeval.data.scenes import load_scenes
from metaeval.experiments.sensitivity.suite import suite


def test_experimental_are_those_whose_upper_bound_exceeds_ten_percent() -> None:
    marked = {c.name for c in suite(load_scenes(n=30)) if c.experimental}
    rates = second_rates()
    assert marked == {name for name, rate in rates.items() if rate.high > BOUND}
    assert min(rate.n for rate in rates.values()) >= 33
