"""The cards for print of experiment=trust."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest

from metaeval.reports.shared.figure_style import STYLE
from metaeval.reports.trust.card import WIDTH, card, card_files, card_table
from metaeval.results.trust import TrustResult
from tests.experiments.trust.trust_cases import evidence, trust_result
from tests.reports.paper.skeleton import compile_tables, needs_latex
from tests.reports.trust.test_page import page_of


@pytest.fixture
def result() -> TrustResult:
    trained = "Trained was chosen on experiment=pairs"
    good, bad = evidence(0.9), evidence(0.3, item="b")
    return trust_result({"A_1": [good, bad], "Trained": [good]}, {"Trained": trained})


def test_a_card_fits_a_column_and_marks_every_test_that_counts(result: TrustResult) -> None:
    figure = card(result, "A_1")
    assert figure.get_size_inches()[0] == WIDTH
    (axes,) = figure.axes
    marks = [line for line in axes.lines if line.get_marker() in ("o", "<")]
    assert [line.get_xdata()[0] for line in marks] == pytest.approx([0.8, -0.4])
    texts = [t.get_text() for t in (*axes.texts, *figure.texts)]
    assert {"partly", "A_1", "1 of 2 tests passed, 2 experiments"} <= set(texts)
    with mpl.rc_context(STYLE):
        boxes = {t.get_text(): t.get_window_extent() for t in (*axes.texts, *figure.texts)}
    outside = [text for text, box in boxes.items() if box.x0 < 0 or box.x1 > figure.bbox.x1]
    assert outside == []


def test_the_table_of_a_card_is_the_verdicts(result: TrustResult) -> None:
    (rows,) = card_table(result, "A_1").groups
    assert [[cell.text for cell in row] for row in rows] == [["pairs", "partly", "1 of 2", "−0.40"]]


def test_a_metric_without_evidence_that_counts_has_no_card(
    result: TrustResult, tmp_path: Path
) -> None:
    assert [files.metric for files in card_files(result)] == ["A_1"]
    html = page_of(result, tmp_path)
    for path in card_files(result)[0].paths:
        assert (tmp_path / path).stat().st_size > 20
        assert f'href="{path}"' in html
    assert not (tmp_path / "figures" / "Trained-trust.pdf").exists()


@needs_latex
def test_picture_and_table_fit_a_column_of_a_paper(result: TrustResult, tmp_path: Path) -> None:
    page_of(result, tmp_path)
    tables = [tmp_path / "tables" / "A_1-trust.tex"]
    picture = r"\par\noindent\includegraphics{figures/A_1-trust.pdf}"
    assert compile_tables(tables, tmp_path, picture) == []
