"""Items and batteries: their controls, finished runs taken as they are, files that are wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from metaeval.api import TrustRun
from metaeval.config import complete_metrics, compose_config
from metaeval.errors import ConfigError, InputError, MetaevalError
from metaeval.experiments.run import run_configured
from metaeval.experiments.trust.result import require_one_identity, work_of
from metaeval.experiments.trust.task import Trust, item_key, stored_item
from metaeval.experiments.trust.verdicts import BATTERIES, read_battery, read_uses
from metaeval.metrics.adapters.own import ScoresFileMetric
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import FamilyInfo, RunInfo
from metaeval.schema import check_config
from tests.experiments.trust.trust_cases import item_run, trust_result
from tests.forked import command
from tests.metrics.adapters.adapter_cases import bank_file
from tests.shared import write_lines

BATTERY = """
items:
  drawn: [experiment=shuffle, dataset=scenes, dataset.limit=12, stats.replicates=20]
  mine: [experiment=shuffle, dataset=own, dataset.file=mine.jsonl, stats.replicates=20]
"""
CONSTANT = "def score(captions):\n    return [0.5 for c in captions]\n"
ORDER = """
def score(captions, references):
    def pairs(text):
        return set(zip(text.split(), text.split()[1:]))
    return [float(max(len(pairs(c) & pairs(r)) for r in rs)) for c, rs in zip(captions, references)]
"""


def trust(folder: Path, out: str, *options: str, code: int = 0) -> dict[str, tuple[int, Any]]:
    """Item → when it ran, and the result of each column."""
    command(
        "experiment=trust",
        "trust.battery=battery.yaml",
        "metric=[callable]",
        "metric.callable.function=edited.score",
        "report=none",
        f"hydra.run.dir={out}",
        *options,
        cwd=folder,
        env={"METAEVAL_CACHE": str(folder / "cache")},
        code=code,
    )
    items = {item: folder / out / "items" / item for item in ("drawn", "mine")}
    results = {k: json.loads((item / "statistics.json").read_text()) for k, item in items.items()}
    return {
        name: (
            (item / "scores.parquet").stat().st_mtime_ns,
            {m["column"]["name"]: m for m in results[name]["metrics"]},
        )
        for name, item in items.items()
    }


def write_data(folder: Path, n: int) -> None:
    rows = [
        {"image_id": k, "caption": f"a {word} dog runs over the {word} grass in a park"}
        for k in range(n)
        for word in ("small", "brown", "green")
    ]
    write_lines(folder / "mine.jsonl", rows)


def begin(folder: Path, code: str, n: int) -> None:
    """The battery's files: a metric, and n images."""
    (folder / "battery.yaml").write_text(BATTERY)
    (folder / "edited.py").write_text(code)
    write_data(folder, n)


@pytest.mark.parametrize("name", ["statistics.json", "run.json"])
def test_a_damaged_item_is_run_again_with_a_word(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    write_info(folder / "run.json", RunInfo(status="finished"))
    write_result(folder / "statistics.json", item_run("a", {"M": 0.6}).result)
    (folder / "key").write_text("k")
    there = [stored_item(folder, key) is not None for key in ("k", "of other options")]
    assert (there, capsys.readouterr().out) == ([True, False], "")
    (folder / name).write_text("")
    assert stored_item(folder, "k") is None
    assert f"{folder / name}: invalid JSON" in capsys.readouterr().out
    # a run writes into no folder whose files it does not know
    assert [path.name for path in tmp_path.iterdir()] == ["a-damaged"]


def test_what_runs_took_is_no_part_of_the_result() -> None:
    took = [("A", 2.5, 300), ("Length", None, 400), ("Read", 0.1, 400), ("A", 0.5, 100)]
    infos = [
        RunInfo(
            status="finished",
            metrics=[FamilyInfo(metric=m, seconds=s, n_scored=n, n_cached=1) for m, s, n in of],
        )
        for of in (took[:3], took[3:])
    ]
    runs = [item_run(item, {"A": 0.9}) for item in "ab"]
    timed = [replace(run, info=info) for run, info in zip(runs, infos, strict=True)]
    assert trust_result(*timed) == trust_result(*runs)
    work = work_of(timed, {"Read": ScoresFileMetric.__new__(ScoresFileMetric)})
    found = [(of.metric, of.seconds, of.n_scored, of.n_cached) for of in work]
    assert found == [("A", 3.0, 400, 2), ("Length", None, 400, 1)]


def with_signature(signature: str, **column: Any) -> MeasuredResult:
    result = item_run("a", {"M": 0.6}).result
    of = result.metric("M")
    changed = {"signature": signature, "column": replace(of.column, **column)}
    return result.model_copy(update={"metrics": (of.model_copy(update=changed),)})


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (with_signature("m|tok:none|of:m.Mine|corpus:9-images-b|source:1"), ""),
        (with_signature("m|tok:none|of:m.Mine|source:2"), r"\(source:1, source:2\)"),
        (with_signature("m|tok:ptb|of:m.Mine|source:1"), r"\(tok:none, tok:ptb\)"),
        (
            with_signature("m|tok:none|of:m.Mine|source:1", higher_is_better=False),
            r"\(better:higher, better:lower\)",
        ),
    ],
)
def test_two_metrics_of_one_name_are_refused(other: MeasuredResult, problem: str) -> None:
    """Data sets have other references; code, options and direction are the metric's."""
    one = with_signature("m|tok:none|of:m.Mine|corpus:4-images-a|source:1")
    refused = pytest.raises(ConfigError, match=problem) if problem else nullcontext()
    with refused:
        require_one_identity([("A", one), ("B", other)])


def numbers(of: dict[str, tuple[int, Any]]) -> dict[str, tuple[int, float]]:
    """Item → the number of images and the accuracy of the metric."""
    items = {item: columns["score"]["statistics"] for item, (_, columns) in of.items()}
    return {
        item: (each["facts"]["n"], each["values"]["pairwise_accuracy"]["value"])
        for item, each in items.items()
    }


@pytest.mark.slow
def test_an_item_runs_again_after_its_code_or_its_data_were_edited(tmp_path: Path) -> None:
    begin(tmp_path, CONSTANT, 6)
    first = numbers(trust(tmp_path, "OUT"))
    assert {accuracy for _, accuracy in first.values()} == {0}  # all scores are equal
    (tmp_path / "edited.py").write_text(ORDER)
    edited, fresh = trust(tmp_path, "OUT"), trust(tmp_path, "FRESH")
    assert numbers(edited) == numbers(fresh)
    assert min(accuracy for _, accuracy in numbers(edited).values()) > 0
    write_data(tmp_path, 5)
    other = trust(tmp_path, "OUT")
    assert other["drawn"] == edited["drawn"]  # as it was
    assert 6 * numbers(other)["mine"][0] == 5 * numbers(edited)["mine"][0]
    assert trust(tmp_path, "OUT") == other


def test_an_item_follows_from_the_contents_of_the_score_bank(tmp_path: Path) -> None:
    scores = bank_file(tmp_path, "clair", [("1.jpg", "a dog", 1)])
    config = compose_config(
        ["experiment=replace", "dataset=scenes", "metric=[bank]", f"metric.bank.folder={tmp_path}"]
    )
    complete_metrics(config)
    state, first = scores.stat(), item_key(config)
    assert first == item_key(config) is not None
    scores.write_text(scores.read_text().replace(",1", ",2"))
    os.utime(scores, ns=(state.st_atime_ns, state.st_mtime_ns))  # as a copy with its time has it
    corrected = item_key(config)
    bank_file(tmp_path, "clair", [("1.jpg", "a dog", 2)], metric="CLAIR 2")
    assert len({first, corrected, item_key(config)}) == 3


def test_an_item_follows_from_its_table_of_systems(tmp_path: Path) -> None:
    table = tmp_path / "systems.csv"
    table.write_text("system,people,BLEU\na,1,2\nb,2,1\nc,3,3\n")
    config = compose_config(
        ["experiment=systems", "dataset=systems", f"dataset.file={table}", "dataset.human=[people]"]
    )
    first = item_key(config)
    assert first == item_key(config) is not None
    table.write_text(table.read_text().replace("b,2", "b,4"))
    assert item_key(config) not in (first, None)


@pytest.mark.slow
def test_the_controls_are_the_batterys_and_nothing_is_added(tmp_path: Path) -> None:
    begin(tmp_path, ORDER, 3)
    columns = trust(tmp_path, "OUT", "metric=[callable,rouge_l,length]")["drawn"][1]
    controls = {
        "Length",
        "Brevity",
        "Random score",
        "Bigram model",
        "Bigram model per word",
        "Ceiling",
        "Longest copy",
        "Gold label F1",
        "Gold label recall",
    }
    assert {name: m["column"]["control"] for name, m in columns.items()} == {
        **dict.fromkeys(controls, True), "score": False, "ROUGE-L": False,
    }  # fmt: skip
    evidence = TrustRun(tmp_path / "OUT").table()
    assert set(evidence[["item", "why_not"]].itertuples(index=False, name=None)) == {
        (item, f"{n} images; a test needs 100") for item, n in (("drawn", 12), ("mine", 3))
    }


@pytest.mark.slow
def test_a_battery_whose_metric_fails_everywhere_is_not_done(tmp_path: Path) -> None:
    begin(tmp_path, "def score(captions):\n    raise ValueError('no')\n", 3)
    columns = trust(tmp_path, "OUT", code=1)["drawn"][1]
    info = json.loads((tmp_path / "OUT/run.json").read_text())
    assert (columns["score"]["status"], info["status"]) == ("failed", "failed")
    assert info["error"].startswith("no metric has scores: score failed: ValueError: no")


MANY = f"""{BATTERY}
  more: [experiment=shuffle, dataset=scenes, dataset.limit=11, stats.replicates=20]
  gone: [experiment=shuffle, dataset=own, dataset.file=gone.jsonl, stats.replicates=20]
"""


def begin_trust(folder: Path, out: str, cores: set[int]) -> subprocess.Popen[str]:
    """A battery of four items, on some of the machine's cores."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "metaeval", "experiment=trust", "trust.battery=battery.yaml"),
            # a Java program must not keep a process from ending
            *("metric=[callable,meteor]", "metric.callable.function=edited.score", "report=none"),
            f"hydra.run.dir={out}",
        ],
        cwd=folder,
        env={**os.environ, "METAEVAL_CACHE": str(folder / f"cache-{out}"), "PYTHONPATH": "."},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux alone restricts cores")
def test_items_in_processes_say_and_give_what_they_do_in_one(tmp_path: Path) -> None:
    begin(tmp_path, "import logging\nlogging.warning('read')\n" + ORDER, 3)
    (tmp_path / "battery.yaml").write_text(MANY)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        pytest.skip("this machine has one core")
    outputs = []
    for out, of in (("ONE", set(cores[:1])), ("TWO", set(cores))):
        done = begin_trust(tmp_path, out, of)
        printed, log = done.communicate(timeout=300)
        assert done.returncode == 0, log
        lines = re.sub(r"\d+ s$|ONE|TWO", "", printed, flags=re.MULTILINE).splitlines()
        # a slow machine writes its progress once a minute
        said = sorted({line for line in log.splitlines() if not re.match(r"\d+ min: ", line)})
        results = [
            (tmp_path / out / name).read_bytes().splitlines(keepends=True)
            for name in ("statistics.json", "items/drawn/statistics.json")
        ]
        outputs.append([lines, said, *results])
        assert "read" in (tmp_path / out / "metaeval.log").read_text()
    one, two = outputs
    assert [line[:12] for line in two[0][:4]] == [f"{k} of 4: {n}"[:12] for k, n in
        enumerate(("drawn", "mine", "more", "gone"), 1)]  # fmt: skip
    for alone, together in zip(one, two, strict=True):
        assert [pair for pair in zip_longest(alone, together) if pair[0] != pair[1]] == []
    assert "metaeval: read" in one[1]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are listed in /proc")
def test_the_processes_of_items_end_with_a_killed_run(tmp_path: Path) -> None:
    begin(tmp_path, "import time\n\ndef score(captions):\n    time.sleep(600)\n", 3)
    (tmp_path / "battery.yaml").write_text(MANY)
    if len(cores := os.sched_getaffinity(0)) == 1:
        pytest.skip("this machine has one core")
    run = begin_trust(tmp_path, "OUT", set(cores))
    started = [tmp_path / f"OUT/items/{name}/captions.parquet" for name in ("drawn", "mine")]
    wait_until(lambda: all(path.exists() for path in started))
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    run.kill()
    run.communicate()
    assert len(children) >= 2
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("not within a minute")


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
        (("experiment=trust", "trust.battery=b.yaml"), "report.highlight"),
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
