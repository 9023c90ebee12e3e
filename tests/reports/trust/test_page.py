"""The page of experiment=trust: its matrix, its evidence, and the cards for print."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

from metaeval.reports.measured import write_report
from metaeval.reports.shared.figure_style import STYLE
from metaeval.reports.trust.page import WIDTH, card, card_table
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import ExperimentInfo, RunInfo
from tests.experiments.trust.trust_cases import finding, rows, trust_result, with_example
from tests.reports.browser import EXECUTABLE, chromium
from tests.reports.paper.skeleton import compile_tables, needs_latex

CHOSEN = "A was chosen on experiment=arena"
DECIDES = "the data would decide at this skill"


def page_of(result: MeasuredResult, folder: Path) -> str:
    write_result(folder / "statistics.json", result)
    experiment = ExperimentInfo(name="trust", title="Trust", question="Which?")
    info = RunInfo(status="finished", metaeval="0.1.0", experiment=experiment)
    write_info(folder / "run.json", info)
    return write_report(folder).read_text(encoding="utf-8")


def test_the_matrix_leads_to_the_evidence_of_each_cell(tmp_path: Path) -> None:
    result = with_example(trust_result(finding(0.9, metric="A"), finding(0.5, metric="B")))
    html = page_of(result, tmp_path)
    for part in (
        '<a class="shown" style="--s:56%;',
        '<a class="below" style="--s:0%;',
        'href="#c0-1" title="B: below">0.00</a>',
        'id="c0-0"',
        "0.900 [0.880, 0.920]",
        'href="items/a/report.html"',
        "a &lt;dog&gt; runs",
        "python -m metaeval experiment=arena dataset=caparena",
    ):
        assert part in html, part
    assert "<dog>" not in html
    assert '<td class="hatched" ' not in html
    assert DECIDES not in html
    assert page_of(result, tmp_path) == html, "the same files give the same page"


def test_what_does_not_count_is_hatched_and_says_why(tmp_path: Path) -> None:
    html = page_of(trust_result(finding(0.9, metric="A", why_not=CHOSEN)), tmp_path)
    assert '<td class="hatched" ' in html
    assert f"not counted: {CHOSEN}" in html


def test_all_evidence_is_a_table(tmp_path: Path) -> None:
    found = [finding(0.9, metric="A"), finding(0.5, metric="B"), finding(0.6, item="b", metric="B")]
    page_of(trust_result(*found), tmp_path)
    table = pd.read_csv(tmp_path / "tables" / "cells.csv")
    assert table["skill"].tolist() == pytest.approx([0.8, 0.0, 0.2])
    assert table["word"].tolist() == ["shown", "not shown", "not shown"]


def test_your_metric_has_its_skill_and_of_whom_it_is_shown_too(tmp_path: Path) -> None:
    found = [
        finding(0.9, metric="A"),
        finding(0.9, metric="Mine"),
        finding(0.5, item="b", metric="Mine"),
        finding(0.5, control=0.99, item="c", metric="Mine"),
    ]
    assert "Your metric" not in page_of(trust_result(*found), tmp_path)
    result = trust_result(*found, own=["Mine"])
    (row,) = rows(result, "own")
    assert (row["word"], row["n"], row["others shown"]) == ("not shown", 200, "A")
    assert row["skill"] == pytest.approx(0.4)
    html = page_of(result, tmp_path)
    assert 'class="highlight">Mine</th>' in html
    assert 'id="extra-own"' in html
    unclear = page_of(trust_result(finding(0.6, sd=0.1)), tmp_path)
    assert f"15.4 × {DECIDES}" in unclear


def test_your_metric_beats_another_only_by_a_test(tmp_path: Path) -> None:
    def compared(known: str, difference: float, p: float) -> Comparison:
        low, high = difference - 0.1, difference + 0.1
        test = Test(p=p, p_adjusted=p, method="bootstrap")
        estimate = Estimate(value=difference, low=low, high=high)
        return Comparison(a="Mine", b=known, measure="", tests=(test,), n=100, difference=estimate)

    found = [finding(0.9, item=i, metric=m) for i in "xyz" for m in ("A", "B", "Mine")]
    pairs = {
        "x": [compared("A", 0.2, 0.001), compared("B", 0.3, 0.001)],
        "y": [compared("B", 0.3, 0.2).reversed()],
        "z": [compared("A", -0.2, 0.001)],
    }
    result = trust_result(*found, own=["Mine"], known=pairs)
    outcomes = [(r["item"], r["best known"], r["outcome"]) for r in rows(result, "known")]
    assert outcomes == [("x", "A", "higher"), ("y", "B", "not separated"), ("z", "A", "lower")]
    assert "0.200 [0.100, 0.300]" in page_of(result, tmp_path)


@pytest.fixture
def result() -> MeasuredResult:
    trained = finding(0.9, metric="Trained", why_not=CHOSEN)
    return trust_result(finding(0.9, metric="A_1"), finding(0.3, item="b", metric="A_1"), trained)


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
    (lines,) = card_table(result, "A_1").groups
    assert [[cell.text for cell in line] for line in lines] == [
        ["pairs", "0.200 [−7.424, 7.824]", "not shown", "2"]
    ]


def test_a_metric_without_evidence_that_counts_has_no_card(
    result: MeasuredResult, tmp_path: Path
) -> None:
    html = page_of(result, tmp_path)
    for folder, form in (("figures", "svg"), ("figures", "pdf"), ("tables", "tex")):
        path = f"{folder}/A_1-trust.{form}"
        assert (tmp_path / path).stat().st_size > 20
        assert f'href="{path}"' in html
    assert not (tmp_path / "figures" / "Trained-trust.pdf").exists()
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
    found = [finding(0.9, metric=name) for name in "ABC"]
    page_of(trust_result(*found, reads={"A": ("references",), "B": ("image",)}), tmp_path)
    shown = (
        "[...document.querySelectorAll('.trust thead th')].filter(t => t.offsetParent)"
        ".map(t => t.textContent)"
    )
    with chromium() as page:
        page.size(1400, 800)
        page.open((tmp_path / "report.html").as_uri())
        assert page.run(shown) == ["Use", "A", "B", "C"]
        page.run("document.querySelector('#no-references').click()")
        assert page.run(shown) == ["Use", "B", "C"]
        page.run("document.querySelector('#no-network').click()")
        assert page.run(shown) == ["Use", "C"]
        cells = "[...document.querySelectorAll('.trust tbody tr')].map(r => r.cells.length)"
        visible = (
            "[...document.querySelectorAll('.trust tbody tr')]"
            ".map(r => [...r.cells].filter(c => c.offsetParent).length)"
        )
        assert page.run(cells) == [4, 4]  # a use, and what it costs
        assert page.run(visible) == [2, 2]
        page.run("document.querySelector('#no-references').click()")
        page.run("document.querySelector('#no-network').click()")
        page.run("document.querySelector('#no-image').click()")
        assert page.run(shown) == ["Use", "A", "C"]


@pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not installed")
def test_a_cell_opens_its_evidence_and_paper_shows_all(tmp_path: Path) -> None:
    page_of(trust_result(finding(0.9, metric="A"), finding(0.5, metric="B")), tmp_path)
    opened = "[...document.querySelectorAll('details.evidence')].map(d => d.open)"
    with chromium() as page:
        page.size(390, 800)
        page.open((tmp_path / "report.html").as_uri())
        assert page.run(opened) == [False, False]
        page.run("document.querySelector('a[href=\"#c0-1\"]').click()")
        page.wait(f"{opened}[1]")
        assert page.run(opened) == [False, True]
        page.run("window.dispatchEvent(new Event('beforeprint'))")
        assert page.run(opened) == [True, True]
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        assert not page.errors
