"""The further statistics of a judgement table, against enumeration and closed forms."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.reports.measured import write_report
from metaeval.results.measured import MeasuredResult
from metaeval.stats.agreement.ceiling import alt_test
from metaeval.stats.preference.difference import to_rating_scale
from tests.experiments.judgments.test_judgments import run_table

N, IMAGES = 120, 30


def table(raters: int = 3) -> tuple[list[dict[str, Any]], np.ndarray, np.ndarray]:
    """Ratings that follow length, with noise; returns the records, mean ratings and lengths."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 12, N)
    ratings = lengths[:, None] / 3 + rng.normal(0, 1, (N, raters))
    records = [
        {"image_id": f"i{k % IMAGES}", "candidate": " ".join(["word"] * lengths[k]),
         "references": ["a word"], "human": ratings[k].tolist(), "system": f"s{k * 4 // N}"}
        for k in range(N)
    ]  # fmt: skip
    return records, ratings.mean(axis=1), lengths.astype(float)


def run(folder: Path, records: list[dict[str, Any]]) -> MeasuredResult:
    return run_table(folder, records, "metrics=[length,rouge_l]", "stats.replicates=200")


def test_by_enumeration(tmp_path: Path) -> None:
    records, human, length = table()
    numbers = run(tmp_path, records).metric("Length").numbers
    image = np.arange(N) % IMAGES
    pairs = [(i, j) for i, j in permutations(range(N), 2) if image[i] == image[j]]
    dx, dy = (np.array([v[i] - v[j] for i, j in pairs]) for v in (length, human))
    assert numbers.value("difference_pearson") == pytest.approx(np.corrcoef(dx, dy)[0, 1])
    assert numbers["difference_pearson"].n == len(pairs) // 2
    r = np.corrcoef(length, human)[0, 1]
    expected = 100 / ((1 - r * r) * 98 / 97)  # Lavenberg and Welch's factor
    assert numbers.value("labels_worth") == pytest.approx(expected)
    gap = numbers.value("noticed") or 0
    # the score equation of the logistic curve holds at its slope
    slope = np.log(3) / gap
    right = np.where(dy > 0, dx, -dx)
    assert (right - right / (1 + np.exp(-slope * right))).sum() == pytest.approx(0, abs=1e-6)
    assert (numbers.value("disattenuated") or 0) > r
    assert 0 <= (numbers.value("soft_pairwise_accuracy") or -1) <= 1


def test_what_single_ratings_cannot_say(tmp_path: Path) -> None:
    result = run(tmp_path, table(raters=1)[0])
    assert "disattenuated" not in result.metric("Length").numbers.values
    assert "labels_worth" in result.metric("ROUGE-L").numbers.values
    page = write_report(tmp_path / "OUT").read_text(encoding="utf-8")
    assert "100 labels are worth" in page
    assert "r without noise" not in page


def raters_table(exact: int) -> list[dict[str, Any]]:
    """Three people who see the length with noise; the third rates the first 60 captions alone."""
    rng = np.random.default_rng(exact)
    records = []
    for k in range(N):
        length = int(rng.integers(3, 12))
        given = length + rng.normal(0, 2, 3)
        record = {"image_id": f"i{k % IMAGES}", "candidate": " ".join(["word"] * length),
                  "references": ["a word"], "anna": given[0], "ben": given[1],
                  "cleo": given[2] if k < exact else None}  # fmt: skip
        records.append(record)
    return records


@pytest.mark.parametrize(("n", "tested"), [(60, 3), (20, 2)])
def test_whether_a_metric_may_replace_a_rater_of_known_identity(
    n: int, tested: int, tmp_path: Path
) -> None:
    """Length is what the raters see, without their noise; a random score is not."""
    records = raters_table(n)
    result = run_table(
        tmp_path, records, "dataset.raters=[anna,ben,cleo]",
        "metrics=[length,random_score,rouge_l]", "stats.replicates=100",
    )  # fmt: skip
    length, chance = (result.metric(name).numbers for name in ("Length", "Random score"))
    assert (chance.value("winning_rate") or 0) < 0.5 <= (length.value("winning_rate") or 0)
    assert length["winning_rate"].n == tested
    assert length["advantage"].n == (60 if tested == 3 else 120)
    frame = pd.DataFrame(records)
    ratings = frame[["anna", "ben", "cleo"]].to_numpy(dtype=float)
    words = frame["candidate"].str.split().str.len().to_numpy(dtype=float)
    images = np.unique(frame["image_id"], return_inverse=True)[1]
    expected = alt_test(to_rating_scale(words, ratings, images), ratings, epsilon=0.2)
    assert length.value("winning_rate") == expected.winning_rate
    # the folds are of images, numbered otherwise here: who is close to whom hardly changes
    assert length.value("advantage") == pytest.approx(expected.advantage, abs=0.03)
    assert "Alt-test with ε = 0.2" in " ".join(result.notes)


def test_without_identity_there_is_no_alt_test(tmp_path: Path) -> None:
    result = run(tmp_path, table()[0])
    numbers = result.metric("Length").numbers
    assert "winning_rate" not in numbers.values
    # the curve is that of the noticed difference: 75 % there
    slope = np.log(3) / (numbers.value("noticed") or 0)
    curve = result.extra("curves").frame()
    curve = curve[curve["panel"] == "Length"]
    assert curve["y"].to_numpy() == pytest.approx(1 / (1 + np.exp(-slope * curve["x"].to_numpy())))
    assert len(curve) == 13
