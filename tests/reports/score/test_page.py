"""The report on the scores of tables: its sentences, its table, and the captions that it shows."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.run import run_configured
from experiments.score.distribution import BINS, describe, distribution, extremes
from metaeval.config import compose_config
from reports.score.page import findings, histogram, value_table, write_report


def record(name: str = "A", **changes: Any) -> dict[str, Any]:
    return {
        "metric": name, "family": name.lower(), "status": "ok", "reason": None, "remedy": None,
        "n": 10, "n_nan": 0, "mean": 0.25, "sd": 0.1, "min": 0.0, "max": 1.0, "n_lowest": 2,
        "p5": 0.0, "p25": 0.1, "median": 0.2, "p75": 0.4, "p95": 0.9,
        "histogram": {"from": 0.0, "to": 1.0, "counts": [6, 0, 3, 1]}, **changes,
    }  # fmt: skip


def text(*records: dict[str, Any], **changes: Any) -> str:
    told = {"n_captions": 10, "n_empty": 0, "metrics": list(records), **changes}
    return " ".join(f"{f.lead} {f.text}" for f in findings(told))


def test_the_sentences() -> None:
    assert text(record()) == "Scored. ten captions of tables, one score each."
    assert "one caption empty" in text(record(), n_empty=1)
    assert "Captions without a score: A 3." in text(record(n=7, n_nan=3))
    assert "A (60.0%: 0.000)" in text(record(n_lowest=6))
    assert "Floor" not in text(record(n_lowest=4))
    assert "Floor" not in text(record(n_lowest=10, max=0.0))  # they are all equal: no floor
    skipped = {
        "metric": "B",
        "family": "b",
        "status": "skipped",
        "reason": "no Java",
        "remedy": "x",
    }
    assert "b skipped. no Java; x" in text(record(), skipped)


def test_a_histogram_has_the_height_of_its_greatest_bin() -> None:
    drawing = str(histogram(record()))
    assert "M0.0 90V0.0h65.0V90z" in drawing  # 6 of 6
    assert "M130.0 90V45.0h65.0V90z" in drawing  # 3 of 6
    assert "M65.0 90" not in drawing  # none
    assert 'd="M65.0 0V90"' in drawing  # the mean, a quarter of the way


def test_the_table_has_all_that_is_exact() -> None:
    cells = [cell.text for cell in value_table([record()]).groups[0][0]]
    assert cells == ["A", "10", "0.2500", "0.1000", "0.0000", "0.0000", "0.1000", "0.2000",
                     "0.4000", "0.9000", "1.0000"]  # fmt: skip


def test_the_distribution_is_numpys() -> None:
    scores = np.random.default_rng(0).normal(size=1001)
    told = distribution(scores)
    assert told["median"] == sorted(scores)[500]
    assert (told["min"], told["max"]) == (scores.min(), scores.max())
    assert sum(told["histogram"]["counts"]) == 1001
    assert len(told["histogram"]["counts"]) == BINS
    assert told["sd"] == pytest.approx(np.sqrt(np.sum((scores - scores.mean()) ** 2) / 1000))
    assert distribution(np.zeros(3))["histogram"]["counts"] == [3]
    assert distribution(np.empty(0))["median"] is None


@pytest.mark.parametrize("some", [7, 1 << 17])
def test_the_extremes_are_the_first_of_equals(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are looked at at a time."""
    monkeypatch.setattr("experiments.score.distribution._SOME", some)
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
    statistics = json.loads((run / "statistics.json").read_text())
    assert len(statistics["shown"]["random"]) == 400
    highest = statistics["shown"]["extremes"]["BLEU-1"]["highest"]
    assert highest[0] == 7  # the reference itself
    assert "highest BLEU-1" in page
    rows = set(statistics["shown"]["random"])
    for ends in statistics["shown"]["extremes"].values():
        rows |= {row for end in ends.values() for row in end}
    assert page.count('<tr><th scope="row" data-v=') == len(rows)
    assert {row // 400 for row in rows} == {0, 1, 2}
    again = write_report(run).read_text()  # the run now tells how long its report took
    assert write_report(run).read_text() == again


def test_the_rows_are_drawn_by_the_seed(run: Path) -> None:
    parts = sorted((run / "scores").glob("*.parquet"))
    one, same, other = (describe(parts, ["BLEU-1"], seed)["shown"]["random"] for seed in (0, 0, 1))
    assert one == same != other
