"""The declared uses and batteries, and files in their form that are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metaeval.config import compose_config
from metaeval.errors import ConfigError, InputError, MetaevalError
from metaeval.experiments.run import run_configured
from metaeval.experiments.trust.task import Trust
from metaeval.experiments.trust.verdicts import BATTERIES, read_battery, read_uses
from metaeval.schema import check_config

GOOD = """
rules: {minimal_skill: 0.1, least_room: 0.1, least_images: 100, least_systems: 20,
  most_missing: 0.02, confidence: 0.95}
uses: [{id: a, title: x, shows: y, evidence: {pairs.kinds: [k], judgments.pairs: null}}]
"""


@pytest.mark.slow
@pytest.mark.parametrize("battery", BATTERIES)
def test_every_item_of_a_battery_is_a_configuration_that_can_be_run(battery: str) -> None:
    declared = read_battery(battery)
    assert declared.items
    for overrides in declared.items.values():
        assert overrides[0].startswith("experiment=")
        check_config(compose_config(overrides))


def test_the_full_battery_has_all_of_the_standard_one() -> None:
    standard, full = read_battery("standard"), read_battery("full")
    assert full.items.keys() == standard.items.keys()
    assert full.items["shuffle_coco"] != standard.items["shuffle_coco"]


def test_a_use_selects_parts_of_sources(tmp_path: Path) -> None:
    path = tmp_path / "u.yaml"
    path.write_text(GOOD)
    use = read_uses(str(path)).uses[0]
    parts = {("pairs.kinds", "k"): True, ("pairs.kinds", "l"): False,
             ("judgments.pairs", "anything"): True, ("arena.long", ""): False}  # fmt: skip
    assert {part: use.asks(*part) for part in parts} == parts


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("minimal_skill: 0.1", "minimal_skill: 1.5", "field 'rules.minimal_skill'"),
        ("least_images: 100", "least_images: yes please", "field 'rules.least_images'"),
        ("title: x", "name: x", "field 'uses.0.title'"),
        ("id: a,", "id: 'A b',", "field 'uses.0.id'"),
        ("uses: [", "uses: [{id: a, title: x, shows: y, evidence: {}}, ", "the same id"),
        ("rules: {", "rules: {{", "is not YAML"),
        (GOOD, "7", "is not a mapping"),
        ("id: a,", "id: a, id: b,", "the key 'id' occurs twice"),
        ("judgments.pairs", "judgments.piars", "'judgments.piars'; did you mean 'judgments.pairs'"),
        ("rules:", "baselines: [../../evil]\nrules:", "field 'baselines': unknown metric"),
        ("rules:", "blind: [../../evil]\nrules:", "field 'blind': unknown metric"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_field(
    before: str, after: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "u.yaml"
    path.write_text(GOOD.replace(before, after))
    with pytest.raises(InputError, match=f"(?s){re.escape(str(path))}.*{re.escape(problem)}"):
        read_uses(str(path))


PAIRS = "experiment=pairs, dataset=pairs"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("of: b.yaml\nitems: {}", "field 'of': adds to itself"),
        ("of: c.yaml\nitems: {}", "c.yaml: cannot be read"),
        ("items: {x: []}", "field 'items.x'"),
        ("items: {x: [dataset=scenes]}", "field 'items.x': begins with 'dataset=scenes'"),
        ("items: {x: [experiment=trust]}", "field 'items.x': begins with 'experiment=trust'"),
        ("items: {x: [experiment=../evil]}", "field 'items.x': unknown experiment '../evil'"),
        (f"items: {{x: [{PAIRS}, 'dataset._target_=os.getcwd']}}", "could run code"),
        (f"items: {{x: [{PAIRS}]}}", "item x: dataset.file: a value is missing"),
        (f"items: {{x: [{PAIRS}, dataset.flie=a]}}", "item x: dataset.flie: unknown option"),
    ],
)
def test_a_battery_that_cannot_run_is_refused_beforehand(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.yaml").write_text(text)
    with pytest.raises(MetaevalError, match=re.escape(problem)) as error:
        Trust(battery="b.yaml").check(compose_config(["experiment=trust", "paths.data=none"]))
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (("experiment=trust", "trust.battery=b.yaml"), "trust.highlight"),
        (("experiment=judgments", "dataset=table", "dataset.file=no.csv"), "report.highlight"),
    ],
)
def test_a_highlighted_column_that_no_metric_has_is_refused_before_any_work(
    options: tuple[str, ...], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.yaml").write_text("items: {}")
    given = [*options, "metric=[rouge_l,length]", "paths.data=none", f"{option}=[ROUGE-K]"]
    with pytest.raises(ConfigError, match=f"{option}: .*'ROUGE-K'; did you mean 'ROUGE-L'"):
        run_configured(compose_config(given), tmp_path / "out")


def test_an_unknown_battery() -> None:
    with pytest.raises(ConfigError, match="did you mean 'quick'"):
        read_battery("quik")
    with pytest.raises(InputError, match="No such file"):
        read_battery("mine.yaml")
