"""The page of experiment=trust: its matrix, its evidence, and the cards for print."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

from metaeval.reports.measured import write_report
from metaeval.reports.shared.figure_style import STYLE
from metaeval.reports.trust.page import WIDTH, card, card_table
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import ExperimentInfo, RunInfo
from tests.experiments.trust.trust_cases import (
    USES,
    item_run,
    right,
    rows,
    trust_result,
    with_example,
)
from tests.reports.browser import EXECUTABLE, chromium
from tests.reports.paper.skeleton import compile_tables, needs_latex

CHOSEN = "A was chosen on experiment=arena"
SAME = right(0.5)  # as the control, whose outcomes are drawn with this seed, too


def page_of(result: MeasuredResult, folder: Path) -> str:
    write_result(folder / "statistics.json", result)
    experiment = ExperimentInfo(name="trust", title="Trust", question="Which?")
    info = RunInfo(status="finished", metaeval="0.1.0", experiment=experiment)
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


def test_what_does_not_count_is_hatched_and_says_why(tmp_path: Path) -> None:
    trained = item_run("a", {"A": 0.9, "B": 0.9}, trained=["A"])
    html = page_of(trust_result(trained), tmp_path)
    assert '<tr class="hatched">' in html
    assert f"not counted: {CHOSEN}" in html
    few = page_of(trust_result(item_run("a", {"A": 0.9}, n=60)), tmp_path)
    assert "no test counts (a: 60 images; a test needs 100)" in few


def test_all_evidence_is_a_table(tmp_path: Path) -> None:
    runs = item_run("a", {"A": 0.9, "B": SAME}), item_run("b", {"B": 0.6})
    page_of(trust_result(*runs), tmp_path)
    table = pd.read_csv(tmp_path / "tables" / "cells.csv")
    of_metrics = table[table["metric"].isin(["A", "B"])]
    assert of_metrics["skill"].tolist() == pytest.approx([0.8, 0.0, 0.2])
    assert of_metrics["outcome"].tolist() == ["above", "neither", "above"]


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
    runs = item_run("a", {"A_1": 0.9, "T": 0.9}, trained=["T"]), item_run("b", {"A_1": 0.3})
    return trust_result(*runs)


def test_a_card_fits_a_column_and_marks_every_test_that_counts(result: MeasuredResult) -> None:
    figure = card(result, "A_1")
    assert figure.get_size_inches()[0] == WIDTH
    (axes,) = figure.axes
    marks = [line for line in axes.lines if line.get_marker() in ("o", "<")]
    assert [line.get_xdata()[0] for line in marks] == pytest.approx([0.8, -0.4])
    texts = [t.get_text() for t in (*axes.texts, *figure.texts)]
    assert {"0.20", "A_1", "2 tests, 2 experiments"} <= set(texts)
    with mpl.rc_context(STYLE):
        boxes = {t.get_text(): t.get_window_extent() for t in (*axes.texts, *figure.texts)}
    outside = [text for text, box in boxes.items() if box.x0 < 0 or box.x1 > figure.bbox.x1]
    assert outside == []
    ((line,),) = card_table(result, "A_1").groups
    use, skill, word, tests = (cell.text for cell in line)
    assert (use, skill[:5], word, tests) == ("pairs", "0.200", "shown", "2")


def test_a_metric_without_evidence_that_counts_has_no_card(
    result: MeasuredResult, tmp_path: Path
) -> None:
    html = page_of(result, tmp_path)
    for folder, form in (("figures", "svg"), ("figures", "pdf"), ("tables", "tex")):
        path = f"{folder}/A_1-trust.{form}"
        assert (tmp_path / path).stat().st_size > 20
        assert f'href="{path}"' in html
    assert not (tmp_path / "figures" / "T-trust.pdf").exists()
    write_report(tmp_path, figures=False)
    assert 'id="cards"' not in (tmp_path / "report.html").read_text(encoding="utf-8")


@needs_latex
def test_picture_and_table_fit_a_column_of_a_paper(result: MeasuredResult, tmp_path: Path) -> None:
    page_of(result, tmp_path)
    tables = [tmp_path / "tables" / "A_1-trust.tex"]
    picture = r"\par\noindent\includegraphics{figures/A_1-trust.pdf}"
    assert compile_tables(tables, tmp_path, picture) == []


@pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not installed")
def test_filters_hide_metrics_that_need_what_is_not_there(tmp_path: Path) -> None:
    run = item_run("a", {"A": 0.9, "B": 0.8, "C": 0.7})
    page_of(trust_result(run, reads={"A": ("references",), "B": ("image",)}), tmp_path)
    shown = (
        "[...document.querySelectorAll('.trust tbody th')].filter(t => t.offsetParent)"
        ".map(t => t.textContent)"
    )
    with chromium() as page:
        page.size(1400, 800)
        page.open((tmp_path / "report.html").as_uri())
        assert page.run(shown) == ["A", "B", "C"]
        for box, left in (
            ("no-references", ["B", "C"]), ("no-network", ["C"]),
            ("no-references", ["C"]), ("no-network", ["A", "B", "C"]), ("no-image", ["A", "C"]),
        ):  # fmt: skip
            page.run(f"document.querySelector('#{box}').click()")
            assert page.run(shown) == left


@pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not installed")
def test_a_cell_opens_its_evidence_and_a_narrow_page_shows_one_use(tmp_path: Path) -> None:
    other = USES.uses[1].model_copy(update={"evidence": {"arena.agreement": None}})
    uses = USES.model_copy(update={"uses": (USES.uses[0], other)})
    page_of(trust_result(item_run("a", {"A": 0.9, "B": SAME}), uses=uses), tmp_path)
    opened = "[...document.querySelectorAll('details.evidence')].map(d => d.open)"
    heads = (
        "[...document.querySelectorAll('.trust thead th[data-use]')]"
        ".filter(t => t.offsetParent).map(t => t.textContent)"
    )
    with chromium() as page:
        page.size(390, 800)
        page.open((tmp_path / "report.html").as_uri())
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
