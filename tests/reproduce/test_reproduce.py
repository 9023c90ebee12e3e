"""Printed against computed values: verdicts, what is not run, and a paper of the user's."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from metaeval.api import load_run
from metaeval.config import compose_config
from metaeval.errors import ConfigError
from metaeval.experiments.run import run_configured
from metaeval.papers.expected import FOLDER, PaperItem, Uncertainty, papers, values_of
from metaeval.readers.yaml_text import read_yaml
from metaeval.reports.__main__ import main as write_again
from metaeval.reports.reproduction.page import render, to_csv, to_latex, to_text, write_figure
from metaeval.reproduce.__main__ import main
from metaeval.reproduce.compare import compare_run, compare_values, not_run, value_at
from metaeval.reproduce.functions import OF_DATA, OF_RUN
from metaeval.reproduce.items import Reproduction
from metaeval.reproduce.task import choose
from metaeval.results.base import Estimate, Model
from metaeval.results.metric import MetricResult
from metaeval.results.reproduction import (
    ReproducedItem,
    ReproducedValue,
    ReproductionResult,
)
from metaeval.results.run import RunResult
from metaeval.runs.records import ScoreColumn


class Numbers(Model):
    rho: Estimate
    parts: dict[str, Estimate]


def metric(column: ScoreColumn, value: float) -> MetricResult[Numbers]:
    parts = {"a": Estimate(value=value / 2)}
    numbers = Numbers(rho=Estimate(value=value), parts=parts)
    return MetricResult[Numbers](column=column, family="m", statistics=numbers)


HEAD = "paper: p\ntitle: t\nsource: s\nitems:\n"
ONE = "  - {item: one, title: T, value: v, run: {experiment: judgments},\n     cells: {A: 1}}\n"
BOMB = "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [{f'*a{k - 1}, ' * 9}]\n" for k in range(1, 11))
RESULT = RunResult[Numbers](
    experiment="test",
    dataset="d",
    metrics=(
        metric(ScoreColumn("Same"), 0.12344),
        metric(ScoreColumn("Near"), 0.130),
        metric(ScoreColumn("Far"), 0.2),
        metric(ScoreColumn("BERTScore (small)", variant_of="BERTScore"), 0.4),
        MetricResult[Numbers](
            column=ScoreColumn("SPICE"),
            family="spice",
            status="skipped",
            reason="no parser",
            remedy="install it",
        ),
        MetricResult[Numbers](
            column=ScoreColumn("TIGEr (gold objects)", variant_of="TIGEr"),
            family="tiger",
            status="skipped",
            reason="no objects",
        ),
    ),
)


def item(**changes: object) -> PaperItem:
    values: dict[str, object] = {
        "item": "t1",
        "title": "Table 1",
        "run": {"experiment": "replace"},
        "value": "rho",
        "scale": 100,
        "rounding": 0.05,
        "cells": {"Same": 12.3},
        "uncertainty": Uncertainty(value=1.0, source="seeds"),
    }
    return PaperItem.model_validate({**values, **changes})


def test_each_verdict_is_given_where_it_is_due() -> None:
    cells = {
        "Same": 12.3,
        "Near": 12.3,
        "Far": 12.3,
        "BERTScore": 40,
        "SPICE": 50,
        "TIGEr": 1,
        "None": 1,
    }
    rows = compare_run("p", item(cells=cells, causes={"Far": "another rule"}), RESULT)
    assert [row.verdict for row in rows] == [
        "equal",
        "within",
        "differs",
        "other model",
        "not run",
        "not run",
        "not run",
    ]
    same, near, far, other, spice, tiger, none = rows
    assert same.ours == pytest.approx(12.344)
    assert near.difference == pytest.approx(0.7)
    assert (far.difference, far.reason) == (pytest.approx(7.7), "another rule")
    assert (other.ours, other.reason) == (pytest.approx(40), "BERTScore (small)")
    assert spice.reason == "no parser; install it"
    assert tiger.reason == "no objects"  # that of the variant that did not run
    assert none.reason == "the run has no such column"


def test_a_difference_without_a_known_cause_is_marked_and_cells_have_paths() -> None:
    rows = compare_run("p", item(cells={"Far": {"a": 9.0}}, value="parts.{cell}"), RESULT)
    assert [(r.column, r.cell, r.ours, r.verdict) for r in rows] == [
        ("Far", "a", pytest.approx(10.0), "within")
    ]
    cells, absent = {"Far": {"b": 9.0, "c": 9.0}}, {"b": "get b"}
    rows = compare_run("p", item(cells=cells, value="parts.{cell}", absent=absent), RESULT)
    assert [(r.verdict, r.reason) for r in rows] == [
        ("not run", "get b"),
        ("not run", "the run has no 'c'"),
    ]
    rows = compare_run("p", item(cells={"Far": 1.0}, uncertainty=None), RESULT)
    assert (rows[0].verdict, rows[0].reason) == ("differs", "cause unknown")
    assert rows[0].difference == pytest.approx(19 / 0.05)


def test_other_models_and_other_data_are_never_called_equal() -> None:
    rows = compare_run("p", item(cells={"Same": 12.3}, data="other images"), RESULT)
    assert (rows[0].verdict, rows[0].reason) == ("other data", "other images")
    rows = compare_run("p", item(cells={"Same": 12.3}, models={"*": "ours"}), RESULT)
    assert (rows[0].verdict, rows[0].reason) == ("other model", "ours")
    rows = compare_run("p", item(cells={"Same": None, "BERTScore": None}), RESULT)
    assert [row.verdict for row in rows] == ["not published", "not published"]
    assert rows[0].ours == pytest.approx(12.344)
    assert rows[1].reason.endswith("here BERTScore (small)")


class Counted(Model):
    n: int
    of: dict[str, float]


class Listed(Model):
    by_count: tuple[Counted, ...]
    undefined: Estimate


def test_a_path_names_fields_cells_and_entries_of_lists() -> None:
    listed = (Counted(n=1, of={"a.b": 2.0}), Counted(n=5, of={"a.b": 7.0}))
    numbers = Listed(by_count=listed, undefined=Estimate(value=float("nan"))).model_dump()
    assert value_at(numbers, "by_count[n=5].of.{cell}", "a.b") == 7
    assert value_at(numbers, "by_count[n={cell}].n", "1") == 1
    assert value_at(numbers, "by_count.0.of.{cell}", "a.b") == 2
    assert value_at(numbers, "undefined", "") is None
    for path in ("by_count[n=9].n", "by_count.7", "nothing.at.all", "by_count[m=1].n"):
        with pytest.raises(LookupError):
            value_at(numbers, path, "a.b")


def test_values_of_a_function_are_compared_like_those_of_a_run() -> None:
    values = {"A": {"x": 0.5}, "SPICE (rules)": {"x": 0.25}}
    cells = {"A": {"x": 50, "y": 1}, "SPICE": {"x": 25}, "B": {"x": 1}}
    rows = compare_values("p", item(cells=cells, uncertainty=None), values, {"B": "no weights"})
    assert [row.verdict for row in rows] == ["equal", "not run", "other model", "not run"]
    assert rows[1].reason == "the run has no 'y'"
    assert rows[2].reason == "SPICE (rules)"
    assert rows[3].reason == "no weights"


def reproduced(*values: ReproducedValue) -> list[ReproducedItem]:
    one = ReproducedItem(
        paper="p<q>",
        paper_title="A <paper>",
        source="S",
        item="t1",
        title="Table 1",
        note="A note",
        command="python -m metaeval",
        values=values,
    )
    return [one]


def test_the_tables_hold_every_row_in_full() -> None:
    rows = compare_run("p<q>", item(cells={"Near": 12.3}), RESULT)
    rows += not_run("p<q>", item(cells={"Near": 12.3}), "no data; get it at a < b")
    rows += compare_run("p<q>", item(cells={"Near": None}), RESULT)
    items = reproduced(*rows)
    assert "3 values: 1 within, 1 not published, 1 not run" in to_text(items)
    lines = list(csv.DictReader(to_csv(items).splitlines()))
    assert float(lines[0]["ours"]) == 13.0
    assert lines[1]["reason"] == "no data; get it at a < b"
    assert lines[2]["published"] == ""
    assert r"\bottomrule" in to_latex(items)
    rows += not_run("p<q>", item(cells={"Near": {"a": 1.0, "b": None}}), "one reason for both")
    items = reproduced(*rows)
    page = render(items)
    assert page.count("one reason for both") == 1
    assert '<td class="reason" rowspan="2">one reason' in page
    assert "A &lt;paper&gt;" in page
    assert "a &lt; b" in page
    assert "python -m metaeval" in page
    assert page.count('class="not-run"') == 3


def test_an_item_with_numbers_as_cells_is_drawn(tmp_path: Path) -> None:
    cells = {"A": {"0": 50.0, "4": None}, "B": {"4": 1.0}}
    one = item(cells=cells, axis="references", uncertainty=None)
    rows = compare_values("p", one, {"A": {"0": 0.2, "4": 0.7}, "B": {"4": 0.3}})
    drawn = reproduced(*rows)[0].model_copy(update={"paper": "p", "axis": one.axis})
    svg, pdf = write_figure(tmp_path, drawn)
    assert (svg.name, pdf.name) == ("p-t1.svg", "p-t1.pdf")
    text = svg.read_text(encoding="utf-8")
    assert ">references<" in text
    assert ">A<" in text
    assert ">B<" not in text, "one value is no line"
    before = svg.read_bytes(), pdf.read_bytes()
    write_figure(tmp_path, drawn)
    assert (svg.read_bytes(), pdf.read_bytes()) == before
    page = render([drawn], {("p", "t1"): "data:image/svg+xml;base64,AAAA"})
    assert 'href="figures/p-t1.svg"' in page
    assert "<figure" not in render([drawn])
    for less in (drawn.model_copy(update={"axis": ""}), reproduced(*rows[1:])[0]):
        assert write_figure(tmp_path / "none", less) == []
    with pytest.raises(ValidationError, match="'axis' needs numbers as cells; A has 'HC'"):
        item(cells={"A": {"HC": 1.0}}, axis="references")


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
    chosen = choose(known, ["wang2021faier"], quick=True)
    assert [i.item for _, i in chosen] == ["figure5", "figure5-bleu", "figure5-spice"]
    functions = {i.function for p in known.values() for i in p.items if i.function}
    assert functions == {*OF_RUN, *OF_DATA}
    with pytest.raises(ConfigError, match="unknown item 'nobody'; choose from"):
        choose(known, ["nobody"])


def test_a_paper_is_added_by_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text(
        "paper: mine\ntitle: T\nsource: S\nitems:\n"
        "  - item: one\n    title: Table 1\n    value: score\n    rounding: 0.005\n"
        "    example: {candidates: [a dog runs], references: [[a dog runs, dogs]],"
        " metrics: [rouge_l]}\n"
        "    cells: {ROUGE-L: 1.0, CIDEr: 2.0}\n"
    )
    assert main(["--papers", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert "2 values: 1 equal, 1 not run" in capsys.readouterr().out
    table = (tmp_path / "out" / "tables" / "reproduction.csv").read_text()
    assert "mine,one,CIDEr,,2.0,,,not run" in table
    assert "Table 1" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("items", "options", "problem"),
    [
        ("items:\n" + ONE, ["p/one", "--quick"], "reproduce.quick: none of the chosen items takes"),
        ("items: []\n", [], "reproduce.papers: the files of "),
    ],
)
def test_nothing_to_compute_is_one_line(
    tmp_path: Path, items: str, options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.yaml").write_text(HEAD.partition("items:")[0] + items)
    assert main([*options, "--papers", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"metaeval: {problem}")


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
    assert main(["--papers", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"metaeval: {path}")
    assert re.search(problem, line)
    assert not (tmp_path / "out" / "tables").exists()


def test_a_folder_of_papers_that_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(HEAD + ONE)
    assert main(["--papers", str(tmp_path), "--list"]) == 0
    assert capsys.readouterr().out == "p/one  T\n"
    (tmp_path / "b.yaml").write_text(HEAD + ONE.replace("one", "two"))
    assert main(["--papers", str(tmp_path), "--list"]) == 2
    problem = "b.yaml, field 'paper': another file has the paper 'p' too"
    assert problem in capsys.readouterr().err
    (tmp_path / "b.yaml").unlink()
    os.mkfifo(tmp_path / "b.yaml")
    assert main(["--papers", str(tmp_path), "--list"]) == 2
    assert "b.yaml: is not a regular file" in capsys.readouterr().err
    assert main(["--papers", str(tmp_path / "none"), "--list"]) == 2
    assert "none: is not a folder with .yaml files of papers" in capsys.readouterr().err


def test_merges_and_aliases_are_read_as_the_shipped_papers_write_them(tmp_path: Path) -> None:
    """PyYAML's own reading is the reference; a merged key may be written again."""
    for path in (*FOLDER.glob("*.yaml"), tmp_path / "m.yaml"):
        if not path.exists():
            path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]\nd: 1.0e-05\n")
        assert read_yaml(path) == yaml.safe_load(path.read_text(encoding="utf-8"))
    assert read_yaml(tmp_path / "m.yaml")["b"] == {"x": 3, "y": 2}


def test_no_cell_of_the_table_is_a_formula() -> None:
    row = ReproducedValue(
        paper="p",
        item="i",
        column="=cmd()|A0",
        cell="@x",
        published=-1.5,
        verdict="not run",
        reason="+1 metric",
    )
    (*_, table) = csv.reader(to_csv(reproduced(row)).splitlines())
    assert table == ["p", "i", "'=cmd()|A0", "'@x", "-1.5", "", "", "not run", "'+1 metric"]


@pytest.mark.parametrize("paper", ["gonzalez2022metrics", "wang2021faier"])
def test_the_examples_of_the_papers_come_out(paper: str, tmp_path: Path) -> None:
    known = papers()
    for _, entry in choose(known, [paper], quick=True):
        computed = Reproduction(tmp_path).values(paper, entry)
        if entry.item == "example-models":
            continue  # depends on weights and on val2017
        verdicts = {(r.column, r.cell): r.verdict for r in computed}
        assert verdicts.pop(("BLEU-4", ""), "differs") == "differs"
        assert set(verdicts.values()) <= {"equal", "other model"}


def test_the_experiment_is_a_run_like_any_other(tmp_path: Path) -> None:
    config = compose_config(
        [
            "experiment=reproduce",
            "reproduce.items=[wang2021faier/figure5,wang2021faier/reo]",
            f"paths.cache={tmp_path / 'cache'}",
        ]
    )
    run_configured(config, tmp_path / "run")
    read = load_run(tmp_path / "run").result
    assert isinstance(read, ReproductionResult)
    table = read.table()
    assert list(table["verdict"]) == ["equal"] * 8 + ["not run"]
    before = (tmp_path / "run" / "report.html").read_bytes()
    assert write_again([str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "report.html").read_bytes() == before
    with pytest.raises(ConfigError, match="each item has its own metrics"):
        run_configured(compose_config(["experiment=reproduce", "metrics=[bleu]"]), tmp_path / "no")


def test_a_column_may_have_an_uncertainty_of_its_own_and_skipped_columns_say_why(
    tmp_path: Path,
) -> None:
    wide = {"Far": Uncertainty(value=8.0, source="ties")}
    rows = compare_run("p", item(cells={"Near": 12.3, "Far": 12.3}, uncertainties=wide), RESULT)
    assert [(row.verdict, row.reason) for row in rows] == [("within", "seeds"), ("within", "ties")]
    example = {"candidates": ["a dog"], "references": [["a dog"]], "metrics": ["clipscore"]}
    asked = item(run={}, example=example, value="score", cells={"CLIPScore": 1.0})
    (row,) = Reproduction(tmp_path).values("p", asked)
    assert row.verdict == "not run"
    assert row.reason.startswith("skipped: ")
