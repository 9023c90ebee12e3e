"""The stages of a scoring add up to its seconds, and are as they were afterwards."""

from __future__ import annotations

from benchmarks.host.stages import profile, profile_table
from metaeval.metrics.vifidel.distance import Lexicon


def test_stages_add_up() -> None:
    bags = Lexicon.bags
    tables = profile(["vifidel", "tiger"], 4, "cpu")
    assert Lexicon.bags is bags
    for seconds in tables.values():
        assert min(seconds.values()) >= 0 < seconds["device"]
    assert f"| in all | {tables['vifidel'].total():.2f} |" in profile_table(tables, 16)
