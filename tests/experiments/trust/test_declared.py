"""The declared uses and batteries, and files in their form that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval import installation
from metaeval.config import compose_config
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.trust.verdicts import BATTERIES, read_battery, read_uses
from metaeval.schema import check_config

GOOD = """
rules: {minimal_skill: 0.1, least_room: 0.1, confidence: 0.95, power: 0.8}
uses: [{id: a, title: x, shows: y, evidence: {pairs.kinds: [k], judgments.pairs: null}}]
"""


@pytest.mark.slow
@pytest.mark.parametrize("battery", BATTERIES)
def test_every_item_of_a_battery_is_a_configuration_that_can_be_run(battery: str) -> None:
    declared = read_battery(battery)
    assert declared.items.keys() >= declared.candidates.keys()
    for overrides in declared.items.values():
        assert overrides[0].startswith("experiment=")
        check_config(compose_config(overrides))


def test_the_full_battery_has_all_of_the_standard_one() -> None:
    standard, full = read_battery("standard"), read_battery("full")
    assert full.items.keys() == standard.items.keys()
    assert full.candidates == standard.candidates
    assert full.items["shuffle_coco"] != standard.items["shuffle_coco"]


def test_a_use_selects_parts_of_sources(tmp_path: Path) -> None:
    path = tmp_path / "u.yaml"
    path.write_text(GOOD)
    use = read_uses(str(path)).uses[0]
    assert use.asks("pairs.kinds", "k")
    assert not use.asks("pairs.kinds", "l")
    assert use.asks("judgments.pairs", "anything")
    assert not use.asks("arena.long", "")


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("minimal_skill: 0.1", "minimal_skill: 1.5", "field 'rules.minimal_skill'"),
        ("power: 0.8", "power: yes please", "field 'rules.power'"),
        ("title: x", "name: x", "field 'uses.0.title'"),
        ("id: a,", "id: 'A b',", "field 'uses.0.id'"),
        ("uses: [", "uses: [{id: a, title: x, shows: y, evidence: {}}, ", "the same id"),
        ("rules: {", "rules: {{", "is not YAML"),
        (GOOD, "7", "is not a mapping"),
        ("id: a,", "id: a, id: b,", "the key 'id' occurs twice"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_field(
    before: str, after: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "u.yaml"
    path.write_text(GOOD.replace(before, after))
    with pytest.raises(InputError) as error:
        read_uses(str(path))
    assert str(path) in str(error.value)
    assert problem in str(error.value)


def test_an_unknown_battery() -> None:
    with pytest.raises(ConfigError, match="did you mean 'quick'"):
        read_battery("quik")
    with pytest.raises(InputError, match="No such file"):
        read_battery("mine.yaml")
    assert (installation.conf() / "trust" / "uses.yaml").is_file()
