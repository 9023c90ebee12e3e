"""The page of experiment=trust: its matrix, its evidence, and the table for print."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from metaeval.reports.measured import write_report
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import ExperimentInfo, FamilyInfo, RunInfo
from tests.experiments.trust.trust_cases import (
    USES,
    item_run,
    right,
    rows,
    trust_result,
    with_example,
)
from tests.reports.browser import Page
from tests.reports.paper.skeleton import compile_tables, needs_latex

CHOSEN = "A was chosen on experiment=arena"
SAME = right(0.5)  # as the control, whose outcomes are drawn with this seed, too


def page_of(result: MeasuredResult, folder: Path, *work: FamilyInfo) -> str:
    write_result(folder / "statistics.json", result)
    experiment = ExperimentInfo(name="trust", title="Trust", question="Which?")
    info = RunInfo(status="finished", metaeval="0.1.0", experiment=experiment, metrics=work)
    write_info(folder / "run.json", info)
    return write_report(folder).read_text(encoding="utf-8")


def test_the_matrix_leads_to_the_evidence_of_each_cell(tmp_path: Path) -> None:
    run = item_run("a", {"A": 0.9, "B": SAME, "Copy": 0.7})
    result = with_example(trust_result(run))
    html = page_of(result, tmp_path)
    cells = result.extra("cells").records
    anchors = {c["metric"]: f"c{k}" for k, c in enumerate(cells) if c["use"] == "pairs"}
    for part in (
        f'<a class="shown" href="#{anchors["A"]}" title="A: shown, 0.80">1 1/1*</a>',
        f'<a class="below none" href="#{anchors["B"]}" title="B: below, 0.00">2 0/1</a>',
        f'<a class="" href="#{anchors["Copy"]}" title="Copy: control, 0.40">1/1</a>',
        f'id="{anchors["A"]}"',
        '<th scope="row">Copy <small>control</small></th>',
        "1; 400 battles",
        'href="items/a/report.html"',
        "a &lt;dog&gt; runs",
        "Not tested here: compare long captions.",
        "python -m metaeval experiment=arena dataset=caparena",
    ):
        assert part in html, part
    assert "<dog>" not in html
    assert page_of(result, tmp_path) == html, "the same files give the same page"


@pytest.mark.parametrize(
    ("n_scored", "n_cached", "cost"), [(500, 0, "4"), (500, 501, "–"), (99, 0, "–")]
)
def test_what_1000_captions_cost(n_scored: int, n_cached: int, cost: str, tmp_path: Path) -> None:
    work = FamilyInfo(metric="a", seconds=2.0, n_scored=n_scored, n_cached=n_cached)
    html = page_of(trust_result(item_run("a", {"A": 0.9})), tmp_path, work)
    assert re.findall(r"<td>([^<]*)</td></tr>", html)[:2] == ["", cost]


def test_what_does_not_count_is_hatched_and_says_why(tmp_path: Path) -> None:
    trained = item_run("a", {"A": 0.9, "B": 0.9}, trained=["A"])
    html = page_of(trust_result(trained), tmp_path)
    assert '<tr class="hatched">' in html
    assert f"not counted: {CHOSEN}" in html
    few = page_of(trust_result(item_run("a", {"A": 0.9}, n=60)), tmp_path)
    assert "no test counts (a: 60 images; a test needs 100)" in few


def test_your_metric_is_first_and_compared_with_the_best_known_one(tmp_path: Path) -> None:
    runs = item_run("a", {"A": 0.9, "Mine": 0.7}), item_run("b", {"A": 0.9, "Mine": 0.5})
    assert "Your metric" not in page_of(trust_result(*runs), tmp_path)
    result = trust_result(*runs, own=["Mine"])
    (row,) = rows(result, "own")
    assert (row["rank"], row["n"]) == (2, "800 battles")
    assert (row["against"], row["outcome"]) == ("A", "lower")
    assert (row["skill"], row["difference"]) == pytest.approx((0.2, -0.3))
    html = page_of(result, tmp_path)
    assert 0 < html.index('<th scope="row">Mine</th>') < html.index('<th scope="row">A</th>')
    assert 'class=" highlight"' in html
    assert 'id="extra-own"' in html


@pytest.fixture
def result() -> MeasuredResult:
    first = item_run("a", {"A_1": 0.9, "B": SAME, "T": 0.9}, trained=["T"])
    return trust_result(first, item_run("b", {"A_1": 0.3}))


def test_the_matrix_and_all_evidence_are_tables(result: MeasuredResult, tmp_path: Path) -> None:
    html = page_of(result, tmp_path)
    assert 'download="matrix.tex"' in html
    table = pd.read_csv(tmp_path / "tables" / "matrix.csv")
    assert table.iloc[0].tolist() == ["A_1", "1 1/2*"]
    evidence = pd.read_csv(tmp_path / "tables" / "cells.csv")
    assert evidence["metric"].tolist() == ["A_1", "A_1", "B", "T"]
    assert evidence["outcome"].tolist() == ["above", "below", "neither", "not counted"]
    assert evidence["skill"].tolist() == pytest.approx([0.8, -0.4, 0.0, 0.8])


@needs_latex
def test_the_matrix_fits_a_column_of_a_paper(result: MeasuredResult, tmp_path: Path) -> None:
    page_of(result, tmp_path)
    assert compile_tables([tmp_path / "tables" / "matrix.tex"], tmp_path) == []


def test_filters_hide_metrics_that_need_what_is_not_there(tmp_path: Path, page: Page) -> None:
    run = item_run("a", {"A": 0.9, "B": 0.8, "C": 0.7})
    page_of(trust_result(run, reads={"A": ("references",), "B": ("image",)}), tmp_path)
    shown = (
        "[...document.querySelectorAll('.trust tbody th')].filter(t => t.offsetParent)"
        ".map(t => t.textContent)"
    )
    page.open((tmp_path / "report.html").as_uri())
    assert page.run(shown) == ["A", "B", "C"]
    for box, left in (
        ("no-references", ["B", "C"]), ("no-network", ["C"]),
        ("no-references", ["C"]), ("no-network", ["A", "B", "C"]), ("no-image", ["A", "C"]),
    ):  # fmt: skip
        page.run(f"document.querySelector('#{box}').click()")
        assert page.run(shown) == left


def test_a_cell_opens_its_evidence_and_a_narrow_page_shows_one_use(
    tmp_path: Path, page: Page
) -> None:
    other = USES.uses[1].model_copy(update={"evidence": {"arena.agreement": None}})
    uses = USES.model_copy(update={"uses": (USES.uses[0], other)})
    page_of(trust_result(item_run("a", {"A": 0.9, "B": SAME}), uses=uses), tmp_path)
    opened = "[...document.querySelectorAll('details.evidence')].map(d => d.open)"
    heads = (
        "[...document.querySelectorAll('.trust thead th[data-use]')]"
        ".filter(t => t.offsetParent).map(t => t.textContent)"
    )
    page.open((tmp_path / "report.html").as_uri(), 390)
    assert page.run(opened) == [False] * 4
    assert page.run(heads) == [USES.uses[0].title]
    page.run("document.querySelector('#use').value = '1'")
    page.run("document.querySelector('#use').dispatchEvent(new Event('change'))")
    assert page.run(heads) == [other.title]
    page.run("document.querySelector('.trust a.below').click()")
    page.wait(f"{opened}[1]")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.run(opened) == [True] * 4
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    assert not page.errors
