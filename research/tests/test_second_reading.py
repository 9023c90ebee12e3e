"""Corruptions that the second reading did not confirm are marked, and no others."""

from metaeval.corruptions.base import Corruption
from metaeval.data.scenes import load_scenes
from metaeval.experiments.sensitivity.task import suite
from research.audit.__main__ import BOUND
from research.corruption_audit.__main__ import print_second, second_rates
from tests.corruptions.language.captions import dataset
from tests.corruptions.sentences.test_sentences import LONG


def _all() -> list[Corruption]:
    """All corruptions: those of sentences need long captions, the others run on scenes."""
    return [*suite(load_scenes(n=30)), *suite(dataset(LONG), "sentences")]


def test_experimental_are_those_whose_upper_bound_exceeds_ten_percent() -> None:
    marked = {c.name for c in _all() if c.experimental}
    rates = second_rates()
    assert marked == {name for name, rate in rates.items() if rate.high > BOUND}
    assert min(rate.n for rate in rates.values()) >= 33


def test_every_corruption_was_read() -> None:
    assert {c.name for c in _all()} == set(second_rates())


def test_every_corruption_is_in_the_printed_table(capsys) -> None:
    print_second()
    printed = capsys.readouterr().out
    assert all(f"`{name}`" in printed for name in second_rates())
    assert printed.count("experimental") == sum(r.high > BOUND for r in second_rates().values())
