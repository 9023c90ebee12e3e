"""The page of experiment=trust: what its matrix and its evidence say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metaeval.errors import InputError
from metaeval.reports.trust.page import write_report
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison
from metaeval.results.files import write_info, write_result
from metaeval.results.run import ExperimentInfo, RunInfo
from metaeval.results.trust import Evidence, KnownComparison, TrustResult
from tests.experiments.trust.trust_cases import evidence, example, trust_result
from tests.reports.browser import EXECUTABLE, chromium


def page_of(result: TrustResult, folder: Path) -> str:
    write_result(folder / "statistics.json", result)
    info = RunInfo(
        status="finished",
        metaeval="0.1.0",
        experiment=ExperimentInfo(name="trust", title="Trust", question="Which?"),
    )
    write_info(folder / "run.json", info)
    return write_report(folder).read_text(encoding="utf-8")


def test_the_matrix_has_a_cell_for_each_use_and_metric(tmp_path: Path) -> None:
    good = evidence(0.9, examples=(example(),))
    html = page_of(trust_result({"A": [good], "B": [evidence(0.5)]}), tmp_path)
    assert '<a class="yes" href="#c0-0"' in html
    assert '<a class="no" href="#c0-1"' in html
    assert 'id="c0-0"' in html
    assert "To choose the better of two captions: use A." in html
    assert "To compare long captions: nothing here tests it." in html
    assert "0.900 [0.880, 0.920]" in html
    assert 'href="items/a/report.html"' in html


def test_captions_are_escaped_and_missing_items_have_their_command(tmp_path: Path) -> None:
    html = page_of(trust_result({"A": [evidence(0.9, examples=(example(),))]}), tmp_path)
    assert "a &lt;dog&gt; runs" in html
    assert "<dog>" not in html
    assert "python -m metaeval experiment=arena dataset=caparena" in html


def test_what_does_not_count_is_hatched_and_says_why(tmp_path: Path) -> None:
    result = trust_result({"A": [evidence(0.9)]}, {"A": "A was chosen on experiment=pairs"})
    html = page_of(result, tmp_path)
    assert '<td class="hatched" ' in html
    assert "not counted: A was chosen on experiment=pairs" in html
    counted = page_of(trust_result({"A": [evidence(0.9)]}), tmp_path)
    assert '<td class="hatched" ' not in counted


def test_all_cells_are_a_table_and_the_same_files_give_the_same_page(tmp_path: Path) -> None:
    result = trust_result({"A": [evidence(0.9)], "B": [evidence(0.5), evidence(0.6, item="b")]})
    html = page_of(result, tmp_path)
    table = pd.read_csv(tmp_path / "tables" / "cells.csv")
    assert len(table) == 3
    assert table["effect"].tolist() == pytest.approx([0.8, 0.0, 0.2])
    assert page_of(result, tmp_path) == html


def test_your_metric_has_its_tests_by_outcome_and_who_else_has_yes(tmp_path: Path) -> None:
    solved = evidence(0.5, control=0.99, item="c")
    rows = {"A": [evidence(0.9)], "Mine": [evidence(0.9), evidence(0.5, item="b"), solved]}
    known = trust_result(rows)
    assert "Your metric" not in page_of(known, tmp_path)
    result = known.model_copy(update={"own": ("Mine",)})
    standing = result.standing("Mine")
    assert standing.to_dict("records") == [
        {"use": "choose the better of two captions", "verdict": "partly", "passes": "a",
         "fails": "b", "undecided": "", "not counted": "c", "known": "A", "more_data": None}
    ]  # fmt: skip
    html = page_of(result, tmp_path)
    own = html[html.index('id="own"') : html.index('id="evidence"')]
    assert ">partly</td><td>a</td><td>b</td><td></td><td>c</td><td>A</td>" in own
    assert "python -m metaeval experiment=arena dataset=caparena" in own


def test_how_much_more_data_would_decide(tmp_path: Path) -> None:
    """0.6 is 0.2 of the room above the control, 0.1 above the minimal effect; the interval is
    ±0.392: (0.392 / 0.1)² ≈ 15.4 times the data. Without an interval no amount is known."""
    decides = "the data would decide at the observed effect"

    def page(*rows: Evidence, **more: Any) -> str:
        result = trust_result({"Mine": rows}, **more)
        return page_of(result.model_copy(update={"own": ("Mine",)}), tmp_path)

    html = page(evidence(0.6, sd=0.1))
    assert html.count(f"; 15.4 × {decides}") == 2  # behind the cell, and in "Your metric"
    assert "No test here counts for it." not in html
    assert decides not in page(evidence(0.9))
    unknown = evidence(0.6, sd=0.1, item="b", effect=Estimate(value=0.2))
    assert decides not in page(evidence(0.6, sd=0.1), unknown)
    html = page(evidence(0.9), uncounted={"Mine": "it was chosen on experiment=pairs"})
    assert "No test here counts for it." in html


def test_a_run_of_another_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="file not found"):
        write_report(tmp_path)


def compared(known: str, difference: float, p: float, item: str) -> KnownComparison:
    test = Test(p=p, p_adjusted=p, method="bootstrap", family="pairs of metrics")
    comparison = Comparison(
        a="Mine", b=known, measure="mean_auc", tests=(test,), n=100,
        difference=Estimate(value=difference, low=difference - 0.1, high=difference + 0.1),
    )  # fmt: skip
    outcome = "not separated" if p >= 0.05 else ("beats" if difference > 0 else "falls behind")
    return KnownComparison(item=item, measure="accuracy", comparison=comparison, outcome=outcome)


def test_your_metric_beats_another_only_by_a_test(tmp_path: Path) -> None:
    found = trust_result({"A": [evidence(0.9)], "B": [evidence(0.9)], "Mine": [evidence(0.9)]})
    several = (compared("A", 0.2, 0.001, "x"), compared("B", 0.3, 0.2, "y"))
    result = found.model_copy(update={"own": ("Mine",), "against_known": several})
    assert result.known_sentence("Mine") == "Mine beats A on x; is not separated from B on y."
    behind = found.model_copy(
        update={"own": ("Mine",), "against_known": (compared("A", -0.2, 0.001, "x"),)}
    )
    assert behind.known_sentence("Mine") == "Mine falls behind A on x."
    assert found.known_sentence("Mine") == ""
    assert result.known("Mine")["outcome"].tolist() == ["beats", "not separated"]
    html = page_of(result, tmp_path)
    assert "Mine beats A on x; is not separated from B on y." in html
    assert "0.200 [0.100, 0.300]" in html


@pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not installed")
def test_filters_hide_metrics_that_need_what_is_not_there(tmp_path: Path) -> None:
    rows = {name: [evidence(0.9)] for name in "ABC"}
    page_of(trust_result(rows, reads={"A": ("references",), "B": ("image",)}), tmp_path)
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
        assert page.run(cells) == [4, 4, 4]
        assert page.run(visible) == [2, 2, 2]
        page.run("document.querySelector('#no-references').click()")
        page.run("document.querySelector('#no-network').click()")
        page.run("document.querySelector('#no-image').click()")
        assert page.run(shown) == ["Use", "A", "C"]


@pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not installed")
def test_a_cell_opens_its_evidence_and_paper_shows_all(tmp_path: Path) -> None:
    page_of(trust_result({"A": [evidence(0.9)], "B": [evidence(0.5)]}), tmp_path)
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
