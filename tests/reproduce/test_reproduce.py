"""Printed against computed values: verdicts, what is not run, and a paper of the user's."""

import csv
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from metaeval.api import load_run
from metaeval.cli.main import run_verb
from metaeval.config import compose_config
from metaeval.errors import ConfigError
from metaeval.experiments.run import run_configured
from metaeval.papers.expected import FOLDER, PaperItem, Uncertainty, papers, values_of
from metaeval.readers.yaml_text import read_yaml
from metaeval.reports.measured import write_report
from metaeval.reproduce.compare import (
    ReproducedValue,
    compare_run,
    compare_values,
    not_run_values,
    overview,
)
from metaeval.reproduce.functions import OF_DATA, OF_RUN
from metaeval.reproduce.items import Reproduction
from metaeval.reproduce.task import choose_items, write_values
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.comparison import Comparisons
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import Extra, MeasuredResult, SystemRanking
from metaeval.results.run import RunInfo
from metaeval.runs.records import ScoreColumn


def metric(column: ScoreColumn, value: float) -> MetricResult:
    numbers = Measured(
        values={
            "rho": Estimate(value=value),
            "part_a": Estimate(value=value / 2),
            "undefined": Estimate(value=None),
        },
        facts={"n": 3, "search": "fluent"},
    )
    return MetricResult(column=column, family="m", statistics=numbers)


def skipped(column: ScoreColumn, reason: str, remedy: str | None) -> MetricResult:
    return MetricResult(column=column, family="m", status="skipped", reason=reason, remedy=remedy)


WIDE = Uncertainty(value=8.0, source="ties")
UNKNOWN = "the published value is not available"
HEAD = "paper: p\ntitle: t\nsource: s\nitems:\n"
ONE = "  - {item: one, title: T, value: v, run: {experiment: judgments},\n     cells: {A: 1}}\n"
BOMB = "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [{f'*a{k - 1}, ' * 9}]\n" for k in range(1, 11))
RESULT = MeasuredResult(
    experiment="test",
    dataset="d",
    declared=(),
    metrics=(
        metric(ScoreColumn("Same"), 0.12344),
        metric(ScoreColumn("Near"), 0.130),
        metric(ScoreColumn("Far"), 0.2),
        metric(ScoreColumn("BERTScore (small)", variant_of="BERTScore"), 0.4),
        skipped(ScoreColumn("SPICE"), "no parser", "install it"),
        skipped(ScoreColumn("TIGEr (gold objects)", variant_of="TIGEr"), "no objects", None),
    ),
    systems={
        "Far": SystemRanking(
            scores={"M2": Estimate(value=0.5)},
            comparisons=Comparisons(measure="", alpha=0.05, pairs=()),
        )
    },
)


def item(**changes: object) -> PaperItem:
    values: dict[str, object] = {
        "item": "t1",
        "title": "Table 1",
        "run": {"experiment": "replace"},
        "value": "values.rho",
        "scale": 100,
        "rounding": 0.05,
        "cells": {"Same": 12.3},
        "uncertainty": Uncertainty(value=1.0, source="seeds"),
    }
    return PaperItem.model_validate({**values, **changes})


@pytest.mark.parametrize(
    ("cells", "changes", "verdict", "difference", "reason"),
    [
        ({"Same": 12.3}, {}, "equal", 0.044, ""),
        ({"Near": 12.3}, {}, "within", 0.7, "seeds"),
        ({"Far": 12.3}, {"causes": {"Far": "a rule"}}, "differs", 7.7, "a rule"),
        ({"Far": 1.0}, {"uncertainty": None}, "differs", 19 / 0.05, "cause unknown"),
        ({"Far": 12.3}, {"uncertainties": {"Far": WIDE}}, "within", 7.7 / 8, "ties"),
        ({"Same": 12.3}, {"data": "other images"}, "other data", 0.044, "other images"),
        ({"Same": 12.3}, {"models": {"*": "ours"}}, "other model", 0.044, "ours"),
        ({"BERTScore": 40}, {}, "other model", 0, "BERTScore (small)"),
        ({"Same": None}, {}, "not published", None, UNKNOWN),
        ({"BERTScore": None}, {}, "not published", None, f"{UNKNOWN}; here BERTScore (small)"),
        ({"SPICE": 50}, {}, "not run", None, "no parser; install it"),
        ({"TIGEr": 1}, {}, "not run", None, "no objects"),  # that of the variant that did not run
        ({"None": 1}, {}, "not run", None, "the run has no such column"),
        ({"None": 1}, {"absent": {"None": "get it"}}, "not run", None, "get it"),
        ({"Far": {"b": 9}}, {"value": "b", "absent": {"b": "get b"}}, "not run", None, "get b"),
        ({"Far": 1}, {"value": "values.undefined"}, "not run", None, "the value is undefined"),
    ],
)
def test_a_value_has_a_verdict_and_a_reason(
    cells: dict[str, Any],
    changes: dict[str, Any],
    verdict: str,
    difference: float | None,
    reason: str,
) -> None:
    (row,) = compare_run("p", item(cells=cells, **changes), RESULT)
    assert (row.verdict, row.reason) == (verdict, reason)
    assert row.difference == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize(
    ("value", "cell", "ours"),
    [
        ("values.rho", "", 20.0),
        ("values.part_{cell}", "a", 10.0),
        ("facts.{cell}", "n", 300.0),
        ("systems.{cell}", "M2", 50.0),
        ("values.{cell}", "no", "the run has no 'no'"),
        ("rho", "", "the run has no 'rho'"),
        ("facts.{cell}", "search", "the run has no 'search'"),
        ("systems.{cell}", "GAT", "the run has no 'GAT'"),
    ],
)
def test_a_value_is_a_measure_a_fact_or_the_score_of_a_system(
    value: str, cell: str, ours: float | str
) -> None:
    cells = {"Far": {cell: 1.0} if cell else 1.0}
    (row,) = compare_run("p", item(cells=cells, value=value), RESULT)
    assert (row.ours is None) == (row.verdict == "not run")
    assert (row.reason if row.ours is None else row.ours) == pytest.approx(ours)


def test_a_value_of_several_draws_is_their_mean() -> None:
    draws = [
        RESULT.model_copy(update={"metrics": (metric(ScoreColumn("Far"), value),)})
        for value in (0.2, 0.26)
    ]
    (row,) = compare_run("p", item(cells={"Far": 23.0}, uncertainty=None), *draws)
    assert (row.verdict, row.ours) == ("equal", pytest.approx(23.0))
    (row,) = compare_run("p", item(cells={"Far": 1}, value="values.undefined"), *draws)
    assert row.reason == "the value is undefined"
    one = item(draws=3, run={"experiment": "judgments", "dataset.n_references": 1})
    command = Reproduction(Path()).command(one)
    assert command.startswith("python -m metaeval -m ")
    assert " experiment=judgments " in command
    assert command.endswith(" dataset.draw=0,1,2")


def test_values_of_a_function_are_compared_like_those_of_a_run() -> None:
    values = {"A": {"x": 0.5}, "SPICE (rules)": {"x": 0.25}}
    cells = {"A": {"x": 50, "y": 1}, "SPICE": {"x": 25}, "B": {"x": 1}}
    rows = compare_values("p", item(cells=cells, uncertainty=None), values, {"B": "no weights"})
    assert [(row.verdict, row.reason) for row in rows] == [
        ("equal", ""),
        ("not run", "the run has no 'y'"),
        ("other model", "SPICE (rules)"),
        ("not run", "no weights"),
    ]


def page_of(folder: Path, values: list[ReproducedValue], **more: object) -> str:
    """The page of a run with these values of one item."""
    of_item = {
        "paper": "p<q>",
        "paper_title": "A <paper>",
        "source": "S",
        "item": "t1",
        "title": "Table 1",
        "table": "Table 1",
        "part": "",
        "note": "A note",
        "axis": "",
        "command": "python -m metaeval",
        "computable": True,
        **more,
    }
    extras = (
        Extra.of("items", "", [of_item]),
        Extra.of(
            "values",
            "",
            [{**value._asdict(), "row": value.metric, "column": value.cell} for value in values],
        ),
    )
    result = MeasuredResult(
        experiment="reproduce", dataset="several", metrics=(), declared=(), extras=extras
    )
    write_result(folder / "statistics.json", result)
    write_info(folder / "run.json", RunInfo(status="finished"))
    return write_report(folder).read_text(encoding="utf-8")


def test_the_tables_and_the_page_hold_every_row(tmp_path: Path) -> None:
    values = compare_run("p<q>", item(cells={"Near": 12.3}), RESULT)
    values += not_run_values("p<q>", item(cells={"Near": 12.3}), "no data; get it at a < b")
    values += compare_run("p<q>", item(cells={"Near": None}), RESULT)
    formula = ReproducedValue("p", "i", "=cmd()|A0", "@x", -1.5, reason="+1 metric")
    write_values(tmp_path, [*values, formula])
    texts = {path.suffix: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert "4 values: 1 within, 1 not published, 2 not run; 3 printed" in texts[".txt"]
    lines = list(csv.DictReader(texts[".csv"].splitlines()))
    assert float(lines[0]["ours"]) == 13.0
    assert lines[1]["reason"] == "no data; get it at a < b"
    assert lines[2]["published"] == ""
    expected = ["p", "i", "'=cmd()|A0", "'@x", "-1.5", "", "", "not run", "", "'+1 metric"]
    assert list(lines[3].values()) == expected, "no cell is a formula"
    assert r"\bottomrule" in texts[".tex"]
    values += not_run_values(
        "p<q>", item(cells={"Near": {"a": 1.0, "b": None}}), "one reason for both"
    )
    page = page_of(tmp_path / "run", values)
    assert page.count("one reason for both") == 2, "once for the page, once for its table"
    for part in ("A &lt;paper&gt;", "a &lt; b", "python -m metaeval"):
        assert part in page
    assert page.count('<div class="not-run">') == 3


def test_a_value_whose_model_is_missing_has_a_command(tmp_path: Path) -> None:
    """An example has no command of a run; an item whose images are missing has none at all."""
    values = not_run_values("p", item(cells={"Near": 12.3}), "no weights")
    command = "<code>python -m metaeval reproduce p/t1</code>"
    assert command in page_of(tmp_path / "example", values, paper="p", command="")
    missing = page_of(tmp_path / "missing", values, paper="p", command="", computable=False)
    assert "no weights" in missing
    assert command not in missing


def test_an_item_with_numbers_as_cells_is_drawn(tmp_path: Path) -> None:
    cells = {"A": {"0": 50.0, "4": None}, "B": {"4": 1.0}}
    one = item(cells=cells, axis="references", uncertainty=None)
    values = compare_values("p", one, {"A": {"0": 0.2, "4": 0.7}, "B": {"4": 0.3}})
    page = page_of(tmp_path / "a", values, paper="p", axis=one.axis)
    text = (tmp_path / "a" / "figures" / "p-t1.svg").read_text(encoding="utf-8")
    for part, drawn in ((">references<", True), (">A<", True), (">B<", False)):
        assert (part in text) == drawn, "one value is no line"
    assert 'href="figures/p-t1.svg"' in page
    assert "<figure" not in page_of(tmp_path / "b", values, paper="p")
    assert "<figure" not in page_of(tmp_path / "c", values[1:], paper="p", axis=one.axis)
    with pytest.raises(ValidationError, match="'axis' needs numbers as cells; A has 'HC'"):
        item(cells={"A": {"HC": 1.0}}, axis="references")


def test_columns_that_are_numbers_are_in_order_and_ours_has_one_digit_more(tmp_path: Path) -> None:
    cells = {"A": {"5": 0.12, "48": 0.727272}, "B": {"0": 50.0}}
    one = item(cells=cells, axis="references", scale=1, uncertainty=None)
    values = compare_values("p", one, {"A": {"5": 0.1234567, "48": 0.7654321}, "B": {"0": 49.51}})
    page = page_of(tmp_path, values, paper="p", axis=one.axis)
    table = page[page.index("<h3>Table 1</h3>") :]
    heads = re.findall(r'<th scope="col" class="number">(\d+)</th>', table)
    assert heads == ["0", "5", "48"]
    assert re.findall(r"<br>([\d.]+)<br>", table) == ["0.1235", "0.765432", "49.51"]


def test_items_share_a_run_and_captioners_can_be_replaced(tmp_path: Path) -> None:
    computed = Reproduction(tmp_path, "mine.json")
    run = {"experiment": "captioners", "captions": "captioners"}
    assert computed.options(item(run=run))["captions"] == "mine.json"
    assert "M2" in Reproduction(tmp_path).options(item(run=run))["captions"]
    scenes = {
        "experiment": "retrieval",
        "dataset": "scenes",
        "dataset.limit": 12,
        "metrics": ["rouge_l"],
        "paths.cache": str(tmp_path / "cache"),
    }
    cells = {"ROUGE-L": {"R1": None}}
    one = item(run=scenes, value="values.image_to_text_{cell}", cells=cells)
    other = one.model_copy(update={"item": "t2", "value": "values.text_to_image_{cell}"})
    assert [v.verdict for i in (one, other) for v in computed.values("p", i)] == [
        "not published",
        "not published",
    ]
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["t1"]
    refused = item(run={**scenes, "dataset": "nowhere"}, cells=cells)
    assert {v.verdict for v in computed.values("p", refused)} == {"not run"}


def test_the_shipped_papers_are_valid_and_experiments_read_them() -> None:
    known = papers()
    assert len(known) >= 5
    names = [f"{p.paper}/{i.item}" for p in known.values() for i in p.items]
    assert len(set(names)) == len(names)
    assert values_of("gonzalez2022metrics", "replace")["CIDEr"] == 0.708320
    chosen = choose_items(known, ["wang2021faier"], quick=True)
    assert [i.item for _, i in chosen] == ["figure5", "figure5-bleu", "figure5-spice"]
    runs = [i for p in known.values() for i in p.items if i.run and not i.function]
    assert {i.value.partition(".")[0] for i in runs} == {"values", "facts", "systems"}
    functions = {i.function for p in known.values() for i in p.items if i.function}
    assert functions == {*OF_RUN, *OF_DATA}
    with pytest.raises(ConfigError, match="unknown item 'nobody'; choose from"):
        choose_items(known, ["nobody"])


def test_a_paper_is_added_by_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text(
        "paper: mine\ntitle: T\nsource: S\nitems:\n"
        "  - item: one\n    title: Table 1\n    value: score\n    rounding: 0.005\n"
        "    example: {candidates: [a dog runs], references: [[a dog runs, dogs]],"
        " metrics: [rouge_l]}\n"
        "    cells: {ROUGE-L: 1.0, CIDEr: 2.0}\n"
    )
    assert run_verb(["reproduce", "--papers", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert "2 values: 1 equal, 1 not run" in capsys.readouterr().out
    table = (tmp_path / "out" / "tables" / "reproduction.csv").read_text()
    assert "mine,one,CIDEr,,2.0,,,not run,compared" in table
    assert "Table 1" in (tmp_path / "out" / "report.html").read_text()


def test_nothing_to_compute_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for items, options, problem in (
        (ONE, ["p/one", "--quick"], "reproduce.quick: none of the chosen items takes"),
        ("  []\n", [], "reproduce.papers: the files of "),
    ):
        (tmp_path / "p.yaml").write_text(HEAD + items)
        folders = ("--papers", str(tmp_path), "--out", str(tmp_path / "out"))
        assert run_verb(["reproduce", *options, *folders]) == 2
        assert capsys.readouterr().err.startswith(f"metaeval: {problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("paper: [", "is not YAML"),
        ("paper: p\ntitle: t\nsource: s\nitems: [{item: a}]", r"field 'items\.0\."),
        ("paper: p\ntitle: t\nitems: []", "field 'source'"),
        (
            HEAD + ONE.replace("{A: 1}", "{A: 1, A: 2}"),
            "p.yaml, line 6: .*the key 'A' occurs twice; keep one",
        ),
        (HEAD + ONE.replace("{A: 1}", "{A: {0: 1, '0': 2}}"), "the key 0 occurs twice"),
        (HEAD + ONE.replace("{A: 1}", "{A: {1: 1, 1.0: 2}}"), "occurs twice"),
        (HEAD + ONE + ONE.replace("title: T", "title: U"), "2 items are called 'one'"),
        (
            HEAD + ONE.replace("item: one", "item: ../../one"),
            r"field 'items\.0\.item': '../../one': ",
        ),
        (HEAD.replace("paper: p", "paper: ../p") + ONE, "field 'paper'"),
        (f"a: {'[' * 5000}{']' * 5000}", "nested more than 50 deep"),
        ("a: &a [*a]", "more than 100,000 values"),
        (BOMB, "more than 100,000 values, with those of aliases"),
        ("a: !!int ''", "is not YAML"),
        ("a: !!timestamp x", "is not YAML"),
        ("? [a, b]\n: 1", "is not YAML"),
        ("a: *b", "undefined alias"),
        ("7", "is not a mapping"),
        (b"\x99\xff", "not UTF-8"),
        (b"x: " + b"a" * (1 << 22), "at most 4,194,304 are read"),
    ],
)
def test_a_broken_file_is_one_line_with_its_field(
    tmp_path: Path, text: str | bytes, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert run_verb(["reproduce", "--papers", str(tmp_path), "--list"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"metaeval: {path}")
    assert re.search(problem, line)


def test_a_folder_of_papers_that_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def listed(folder: Path = tmp_path) -> tuple[int, str]:
        code = run_verb(["reproduce", "--papers", str(folder), "--list"])
        return code, "".join(capsys.readouterr())

    (tmp_path / "a.yaml").write_text(HEAD + ONE)
    other = tmp_path / "b.yaml"
    assert listed() == (0, "p/one  T\n")
    other.write_text(HEAD + ONE.replace("one", "two"))
    twice = listed()
    other.unlink()
    os.mkfifo(other)
    for (code, line), problem in (
        (twice, "b.yaml, field 'paper': another file has the paper 'p' too"),
        (listed(), "b.yaml: is not a regular file"),
        (listed(tmp_path / "none"), "none: is not a folder with .yaml files of papers"),
    ):
        assert (code, problem in line) == (2, True)


def test_merges_and_aliases_are_read_as_the_shipped_papers_write_them(tmp_path: Path) -> None:
    """PyYAML's own reading is the reference; a merged key may be written again."""
    for path in (*FOLDER.glob("*.yaml"), tmp_path / "m.yaml"):
        if not path.exists():
            path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]\nd: 1.0e-05\n")
        assert read_yaml(path) == yaml.safe_load(path.read_text(encoding="utf-8"))
    assert read_yaml(tmp_path / "m.yaml")["b"] == {"x": 3, "y": 2}


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["gonzalez2022metrics", "wang2021faier"])
def test_the_examples_of_the_papers_come_out(paper: str, tmp_path: Path) -> None:
    known = papers()
    for _, entry in choose_items(known, [paper], quick=True):
        computed = Reproduction(tmp_path).values(paper, entry)
        if entry.item == "example-models":
            continue  # depends on weights and on val2017
        verdicts = {(r.metric, r.cell): r.verdict for r in computed}
        assert verdicts.pop(("BLEU-4", ""), "differs") == "differs"
        assert set(verdicts.values()) <= {"equal", "other model"}


@pytest.mark.slow
def test_the_experiment_is_a_run_like_any_other(tmp_path: Path) -> None:
    config = compose_config(
        [
            "experiment=reproduce",
            "reproduce.items=[wang2021faier/figure5,wang2021faier/figure5-faier,wang2021faier/reo]",
            f"paths.cache={tmp_path / 'cache'}",
        ]
    )
    run_configured(config, tmp_path / "run")
    read = load_run(tmp_path / "run").result
    table = read.extra("values").frame()
    assert list(table["verdict"]) == ["equal"] * 8 + ["not run"] * 9
    assert list(table["of"]) == ["compared"] * 8 + ["own"] * 8 + ["compared"]
    meteor, rouge = [0.38877, 0.17538, 0.18800, 0.25778], [0.79664, 0.19902, 0.21670, 0.62500]
    assert list(table["ours"][:8]) == pytest.approx([*meteor, *rouge], abs=5e-6), "pycocoevalcap's"
    pages = []
    for _ in range(2):
        assert run_verb(["report", str(tmp_path / "run")]) == 0
        pages.append((tmp_path / "run" / "report.html").read_bytes())
    assert pages[0] == pages[1]
    with pytest.raises(ConfigError, match="each item has its own metrics"):
        run_configured(compose_config(["experiment=reproduce", "metrics=[bleu]"]), tmp_path / "no")


def test_a_skipped_metric_of_an_example_says_why(tmp_path: Path) -> None:
    example = {"candidates": ["a dog"], "references": [["a dog"]], "metrics": ["clipscore"]}
    asked = item(run={}, example=example, value="score", cells={"CLIPScore": 1.0})
    (row,) = Reproduction(tmp_path).values("p", asked)
    assert (row.verdict, row.reason[:9]) == ("not run", "skipped: ")


def test_the_overview_has_the_first_value_of_each_metric_and_benchmark() -> None:
    def value(paper: str, metric: str, published: float | None, *rest: Any) -> ReproducedValue:
        ours, verdict, reason = rest
        return ReproducedValue(paper, "t", metric, "", published, ours, None, verdict, "", reason)

    values = [
        value("p", "A", 43.9, 43.888, "equal", ""),
        value("q", "A", 24.6, 24.1, "differs", "own captions kept"),
        value("r", "A", 43.1, 43.888, "differs", "a second value of the place"),
        value("q", "B", 51.2, None, "not run", "no weights; install them"),
        value("q", "C", None, 1.0, "not published", ""),
        value("s", "A", 1.0, 1.0, "equal", ""),  # of no benchmark
    ]
    columns = {("p", "t", ""): "Expert", ("q", "t", ""): "CF", ("r", "t", ""): "Expert"}
    head = ("metric", "Expert", "CF", "missing, or cause")
    assert overview(values, columns) == [
        dict(zip(head, ("A", "43.9 43.89 ✓", "24.6 24.1 ✗", "CF: own captions kept"), strict=True)),
        dict(zip(head, ("B", "", "51.2 –", "no weights; install them"), strict=True)),
    ]
