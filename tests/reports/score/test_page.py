"""The report on the scores of tables: its sentences, its table, and the captions that it shows."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.experiments.score.distribution import BINS, describe, distribution, extremes
from metaeval.reports.score.page import Column, findings, histogram, value_table, write_report
from metaeval.reports.shared.run import load_run_files
from metaeval.results.score import Histogram, RowSample, ScoreResult, ScoreStatistics
from metaeval.runs.records import ScoreColumn


def column(name: str = "A", **changes: Any) -> Column:
    """A column of ten scores, of which `changes` are other statistics."""
    numbers: dict[str, Any] = {
        "n": 10, "n_nan": 0, "mean": 0.25, "sd": 0.1, "min": 0.0, "max": 1.0, "n_lowest": 2,
        "p5": 0.0, "p25": 0.1, "median": 0.2, "p75": 0.4, "p95": 0.9,
        "histogram": Histogram(low=0.0, high=1.0, counts=(6, 0, 3, 1)),
    }  # fmt: skip
    return Column(
        column=ScoreColumn(name),
        family=name.lower(),
        statistics=ScoreStatistics(**{**numbers, **changes}),
    )


def text(*columns: Column, n_empty: int = 0) -> str:
    result = ScoreResult(
        experiment="score",
        dataset="references",
        metrics=columns,
        n_captions=10,
        n_empty=n_empty,
        shown=RowSample(seed=0, random=(), extremes={}),
    )
    return " ".join(f"{f.lead} {f.text}" for f in findings(result))


def test_the_sentences() -> None:
    assert text(column()) == "Scored. Ten captions of tables, one column of scores."
    assert "Ten captions of tables (one empty), one column of scores." in text(column(), n_empty=1)
    assert "Captions without a score: A 3." in text(column(n=7, n_nan=3))
    # two captions of a block that failed have neither a score nor a NaN
    assert "Captions without a score: A 3." in text(column(n=7, n_nan=1))
    assert "A (60.0%: 0.000)" in text(column(n_lowest=6))
    assert "Floor" not in text(column(n_lowest=5))  # half are not most
    assert "Floor" not in text(column(n_lowest=10, max=0.0))  # they are all equal: no floor
    skipped = Column(
        column=ScoreColumn("B"), family="b", status="skipped", reason="no Java", remedy="x"
    )
    assert "b skipped. no Java; x" in text(column(), skipped)
    assert text(column(), skipped).startswith("Scored. Ten captions of tables, one column of")


def test_a_histogram_has_the_height_of_its_greatest_bin() -> None:
    drawing = str(histogram(column()))
    assert "M0.0 90V0.0h65.0V90z" in drawing  # 6 of 6
    assert "M130.0 90V45.0h65.0V90z" in drawing  # 3 of 6
    assert "M65.0 90" not in drawing  # none
    assert 'd="M65.0 0V90"' in drawing  # the mean, a quarter of the way


def test_the_table_has_all_that_is_exact() -> None:
    cells = [cell.text for cell in value_table([column()]).groups[0][0]]
    assert cells == ["A", "10", "0.2500", "0.1000", "0.0000", "0.0000", "0.1000", "0.2000",
                     "0.4000", "0.9000", "1.0000"]  # fmt: skip


def test_the_distribution_is_numpys() -> None:
    scores = np.random.default_rng(0).normal(size=1001)
    statistics = distribution(scores.copy(), 0.5, n_nan=2)
    assert (statistics.n, statistics.n_nan, statistics.mean) == (1001, 2, 0.5)
    # the quantile q of 1,001 scores without interpolation: the one in place 1,000 q
    quantiles = (statistics.p5, statistics.p25, statistics.median, statistics.p75, statistics.p95)
    assert quantiles == pytest.approx(np.sort(scores)[[50, 250, 500, 750, 950]], rel=1e-14)
    assert (statistics.min, statistics.max) == (scores.min(), scores.max())
    assert statistics.histogram is not None
    assert sum(statistics.histogram.counts) == 1001
    assert len(statistics.histogram.counts) == BINS
    assert (statistics.histogram.low, statistics.histogram.high) == (scores.min(), scores.max())
    expected = np.sqrt(np.sum((scores - scores.mean()) ** 2) / 1000)
    assert statistics.sd == pytest.approx(expected)


def test_the_distribution_of_equal_scores_and_of_none() -> None:
    equal = distribution(np.zeros(3), 0.0)
    assert equal.histogram is not None
    assert equal.histogram.counts == (3,)
    assert (equal.n_lowest, equal.sd) == (3, 0.0)
    assert distribution(np.zeros(1), 0.0).sd is None
    none = distribution(np.empty(0), None, n_nan=3)
    assert (none.n, none.n_nan) == (0, 3)
    assert none.median is none.histogram is none.n_lowest is None


@pytest.mark.parametrize("some", [7, 1 << 17])
def test_the_extremes_are_the_first_of_equals(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are looked at at a time."""
    monkeypatch.setattr("metaeval.experiments.score.distribution._SOME", some)
    nan = float("nan")
    assert extremes(np.array([2.0, nan, 1.0, 3.0, 1.0, 1.0]), 2) == ([2, 4], [3, 0])
    assert extremes(np.array([nan]), 2) == ([], [])
    scores = np.random.default_rng(1).integers(0, 50, 500).astype(float)
    low, high = extremes(scores, 10)
    assert low == sorted(range(500), key=lambda k: (scores[k], k))[:10]
    assert high == sorted(range(500), key=lambda k: (-scores[k], k))[:10]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    rows = [
        {"image_id": k, "caption": f"a dog {'runs ' * (k % 5)}{k}", "references": ["a dog runs"]}
        for k in range(900)
    ]
    rows[3]["caption"] = "<script>alert(1)</script>"
    rows[7]["caption"] = "a dog runs"
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = compose_config(
        ["experiment=score", f"captions={folder}/t.jsonl", "metrics=[bleu,rouge_l]",
         "task.block=400", f"paths.cache={folder}/cache"]
    )  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):
        run_configured(config, folder / "run")
    return folder / "run"


def test_the_page_shows_captions_of_all_parts_and_stays_the_same(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    shown = load_run_files(run, ScoreResult).result.shown
    assert len(shown.random) == 400
    assert shown.extremes["BLEU-1"].highest[0] == 7  # the reference itself
    assert "highest BLEU-1" in page
    rows = set(shown.random)
    for ends in shown.extremes.values():
        rows |= {*ends.lowest, *ends.highest}
    assert page.count('<tr><th scope="row" data-v=') == len(rows)
    assert {row // 400 for row in rows} == {0, 1, 2}
    again = write_report(run).read_text()  # run.json now has the seconds of the report
    assert write_report(run).read_text() == again


def test_the_rows_are_drawn_by_the_seed(run: Path) -> None:
    parts = sorted((run / "scores").glob("*.parquet"))
    one, same, other = (describe(parts, {"BLEU-1": 0.5}, seed).shown.random for seed in (0, 0, 1))
    assert one == same != other
