"""Distributions of scores of tables, and the page that shows them with some captions."""

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest

from metaeval.experiments.score.parts import (
    BINS,
    describe,
    distribution,
    extremes,
    histogram,
)
from metaeval.experiments.score.task import _caveat
from metaeval.reports.measured import write_report
from metaeval.results.base import MetricResult
from metaeval.results.files import read_result
from metaeval.runs.records import ScoreColumn
from tests.shared import run_here, write_lines


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([0.0, 0.0, 0.0, 1.0, 1.0], "A (60.0%: 0.000)"),
        ([0.0, 0.0, 1.0, 1.0], ""),  # half are not most
        ([0.0, 0.0, 0.0], ""),  # they are all equal: no floor
        ([], ""),
    ],
)
def test_a_floor_is_a_caveat(scores: list[float], said: str) -> None:
    numbers = distribution(np.array(scores), None)
    caveat = _caveat([MetricResult(column=ScoreColumn("A"), family="a", statistics=numbers)])
    assert said in caveat
    assert bool(said) == bool(caveat)


def test_the_distribution_is_numpys() -> None:
    scores = np.random.default_rng(0).normal(size=1001)
    bins = histogram("A", scores)
    numbers = distribution(scores.copy(), 0.5, n_nan=2)
    values = [numbers.value(key) for key in ("n", "n_nan", "mean", "min", "max")]
    assert values == [1001, 2, 0.5, scores.min(), scores.max()]
    # the quantile q of 1,001 scores without interpolation: the one in place 1,000 q
    quantiles = [numbers.value(key) for key in ("p5", "p25", "median", "p75", "p95")]
    assert quantiles == pytest.approx(np.sort(scores)[[50, 250, 500, 750, 950]], rel=1e-14)
    assert (sum(row["count"] for row in bins), len(bins)) == (1001, BINS)
    assert (bins[0]["from"], bins[-1]["to"]) == (scores.min(), scores.max())
    assert numbers.value("sd") == pytest.approx(scores.std(ddof=1))


def test_the_distribution_of_equal_scores_and_of_none() -> None:
    made = {}
    for n in (3, 1, 0):
        of = distribution(np.zeros(n), 0.0 if n else None, n_nan=2)
        counts = [row["count"] for row in histogram("A", np.zeros(n))]
        values = [of.value(key) for key in ("n", "n_nan", "sd", "median")]
        made[n] = [*values, of.facts["n_lowest"], counts]
    assert made == {3: [3, 2, 0, 0, 3, [3]], 1: [1, 2, None, 0, 1, [1]],
                    0: [0, 2, None, None, None, []]}  # fmt: skip


@pytest.mark.parametrize("some", [7, 1 << 17])
def test_the_extremes_are_the_first_of_equals(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are looked at at a time."""
    monkeypatch.setattr("metaeval.experiments.score.parts._SOME", some)
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
    table = write_lines(folder / "t.jsonl", rows)
    with contextlib.redirect_stdout(io.StringIO()):
        run_here(
            folder, "experiment=score", f"captions={table}", "metrics=[bleu,rouge_l]",
            "task.block=400",
        )  # fmt: skip
    return folder / "OUT"


def test_the_page_shows_captions_of_all_parts_and_stays_the_same(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    shown = read_result(run / "statistics.json").extra("shown").records
    assert sum(row["chosen"] == "at random" for row in shown) == 400
    highest = [r["row"] for r in shown if (r["metric"], r["chosen"]) == ("BLEU-1", "highest")]
    assert highest[0] == 7  # the reference itself
    assert "highest BLEU-1" in page
    rows = {row["row"] for row in shown}
    assert page.count('<article class="card">') == len(rows)
    assert {row // 400 for row in rows} == {0, 1, 2}
    again = write_report(run).read_text()  # run.json now has the seconds of the report
    assert write_report(run).read_text() == again


def test_the_rows_are_drawn_by_the_seed(run: Path) -> None:
    parts = sorted((run / "scores").glob("*.parquet"))
    drawn = [
        [r["row"] for r in describe(parts, {"BLEU-1": 0.5}, seed).shown if "metric" not in r]
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
