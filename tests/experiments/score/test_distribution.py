"""Distributions of scores of tables, and the page that shows them with some captions."""

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
    assert (said in caveat, bool(caveat)) == (True, bool(said))


def test_the_distribution_is_numpys() -> None:
    scores = np.random.default_rng(0).normal(size=1001)
    numbers, ordered = distribution(scores.copy(), 0.5, n_nan=2), np.sort(scores)
    # the quantile q of 1,001 scores without interpolation: the one in place 1,000 q
    places = {"min": 0, "p5": 50, "p25": 250, "median": 500, "p75": 750, "p95": 950, "max": 1000}
    expected = {key: ordered[k] for key, k in places.items()}
    expected |= {"n": 1001, "n_nan": 2, "mean": 0.5, "sd": scores.std(ddof=1)}
    assert {k: numbers.value(k) for k in expected} == pytest.approx(expected, rel=1e-13)
    bins = histogram("A", scores)
    assert (sum(row["count"] for row in bins), len(bins)) == (1001, BINS)
    assert (bins[0]["from"], bins[-1]["to"]) == (scores.min(), scores.max())


def test_the_distribution_of_equal_scores_and_of_none() -> None:
    for n, expected in ((3, [3, 2, 0, 0, 3, [3]]), (1, [1, 2, None, 0, 1, [1]]),
                        (0, [0, 2, None, None, None, []])):  # fmt: skip
        of = distribution(np.zeros(n), 0.0 if n else None, n_nan=2)
        counts = [row["count"] for row in histogram("A", np.zeros(n))]
        values = [of.value(key) for key in ("n", "n_nan", "sd", "median")]
        assert [*values, of.facts["n_lowest"], counts] == expected


@pytest.mark.parametrize("some", [7, 1 << 17])
def test_the_extremes_are_the_first_of_equals(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are looked at at a time."""
    monkeypatch.setattr("metaeval.experiments.score.parts._SOME", some)
    assert extremes(np.array([2.0, np.nan, 1.0, 3.0, 1.0, 1.0]), 2) == ([2, 4], [3, 0])
    assert extremes(np.array([np.nan]), 2) == ([], [])
    scores = np.random.default_rng(1).integers(0, 50, 500).astype(float)
    expected = tuple(np.argsort(s, kind="stable")[:10].tolist() for s in (scores, -scores))
    assert extremes(scores, 10) == expected


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
    given = (f"captions={table}", "metrics=[bleu,rouge_l]", "task.block=400")
    run_here(folder, "experiment=score", *given)
    return folder / "OUT"


def test_the_page_shows_captions_of_all_parts_and_stays_the_same(run: Path) -> None:
    page = (run / "report.html").read_text()
    texts = ("<script>alert(1)", "&lt;script&gt;alert(1)", "highest BLEU-1")
    assert [text in page for text in texts] == [False, True, True]
    shown = read_result(run / "statistics.json").extra("shown").records
    assert sum(row["chosen"] == "at random" for row in shown) == 400
    highest = [r["row"] for r in shown if (r["metric"], r["chosen"]) == ("BLEU-1", "highest")]
    assert highest[0] == 7  # the reference itself
    rows = {row["row"] for row in shown}
    cards = page.count('<article class="card">')
    assert (cards, {row // 400 for row in rows}) == (len(rows), {0, 1, 2})
    again = write_report(run).read_text()  # run.json now has the seconds of the report
    assert write_report(run).read_text() == again


def test_the_rows_are_drawn_by_the_seed(run: Path) -> None:
    parts = sorted((run / "scores").glob("*.parquet"))
    drawn = [
        [r["row"] for r in describe(parts, {"BLEU-1": 0.5}, seed).shown if "metric" not in r]
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
