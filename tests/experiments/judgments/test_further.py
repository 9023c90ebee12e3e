"""The further statistics of a judgement table, against enumeration, closed forms, a benchmark."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.experiments.judgments.agreement import rating_groups, score_groups
from metaeval.experiments.judgments.sample import Ratings
from metaeval.experiments.printout import printout
from metaeval.reports.measured import write_report
from metaeval.results.measured import MeasuredResult
from metaeval.stats.agreement.ceiling import alt_test
from metaeval.stats.preference.difference import to_rating_scale
from tests.experiments.judgments.test_judgments import run_in, run_table
from tests.shared import in_data

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
    result = run(tmp_path, records)
    numbers = result.metric("Length").numbers
    image = np.arange(N) % IMAGES
    pairs = [(i, j) for i, j in permutations(range(N), 2) if image[i] == image[j]]
    dx, dy = (np.array([v[i] - v[j] for i, j in pairs]) for v in (length, human))
    differences, expected = numbers["difference_pearson"], np.corrcoef(dx, dy)[0, 1]
    assert (differences.value, differences.n) == (pytest.approx(expected), len(pairs) // 2)
    r = np.corrcoef(length, human)[0, 1]
    expected = 100 / ((1 - r * r) * 98 / 97)  # Lavenberg and Welch's factor
    assert numbers.value("labels_worth") == pytest.approx(expected)
    # the score equation of the logistic curve holds at its slope
    slope = np.log(3) / numbers.value("noticed")
    right = np.where(dy > 0, dx, -dx)
    assert (right - right / (1 + np.exp(-slope * right))).sum() == pytest.approx(0, abs=1e-6)
    assert numbers.value("disattenuated") > r
    assert 0 <= numbers.value("soft_pairwise_accuracy") <= 1
    # the curve is that of the noticed difference: 75 % there
    curve = result.extra("curves").frame()
    x, y = curve.loc[curve["panel"] == "Length", ["x", "y"]].to_numpy().T
    assert (len(x), y) == (13, pytest.approx(1 / (1 + np.exp(-slope * x))))
    # raters of no known identity, ratings of more than two values
    assert not {"winning_rate", "auroc"} & numbers.values.keys()


def test_what_single_ratings_cannot_say(tmp_path: Path) -> None:
    result = run(tmp_path, table(raters=1)[0])
    page = write_report(tmp_path / "OUT", figures=False).read_text(encoding="utf-8")
    for key, title, there in (
        ("disattenuated", "r without noise", False), ("labels_worth", "100 labels are worth", True)
    ):  # fmt: skip
        values = result.metric("ROUGE-L").numbers.values
        assert (key in values, title in page) == (there, there)


@pytest.mark.parametrize(("n", "tested"), [(60, 3), (20, 2)])
def test_whether_a_metric_may_replace_a_rater_of_known_identity(
    n: int, tested: int, tmp_path: Path
) -> None:
    """Length is what the raters see, without their noise; a random score is not. The third of them
    rates the first n captions alone."""
    rng = np.random.default_rng(n)
    lengths = rng.integers(3, 12, N)
    given = (lengths[:, None] + rng.normal(0, 2, (N, 3))).tolist()
    records = [
        {"image_id": f"i{k % IMAGES}", "candidate": " ".join(["word"] * lengths[k]),
         "references": ["a word"], "anna": anna, "ben": ben, "cleo": cleo if k < n else None}
        for k, (anna, ben, cleo) in enumerate(given)
    ]  # fmt: skip
    result = run_table(
        tmp_path, records, "dataset.raters=[anna,ben,cleo]",
        "metrics=[length,random_score,rouge_l]", "stats.replicates=100",
    )  # fmt: skip
    length, chance = (result.metric(name).numbers for name in ("Length", "Random score"))
    assert chance.value("winning_rate") < 0.5 <= length.value("winning_rate")
    assert (length["winning_rate"].n, length["advantage"].n) == (tested, 60 if tested == 3 else 120)
    frame = pd.DataFrame(records)
    ratings = frame[["anna", "ben", "cleo"]].to_numpy(dtype=float)
    words = frame["candidate"].str.split().str.len().to_numpy(dtype=float)
    images = np.unique(frame["image_id"], return_inverse=True)[1]
    expected = alt_test(to_rating_scale(words, ratings, images), ratings, epsilon=0.2)
    assert length.value("winning_rate") == expected.winning_rate
    # the folds are of images, numbered otherwise here: who is close to whom hardly changes
    assert length.value("advantage") == pytest.approx(expected.advantage, abs=0.03)
    assert "Alt-test with ε = 0.2" in " ".join(result.notes)


def ratings(means: np.ndarray) -> Ratings:
    n = len(means)
    return Ratings(np.arange(n), means, means, np.arange(n) % 12, 12)


def test_means_and_steps_are_those_of_the_captions_rated_alike() -> None:
    rng = np.random.default_rng(1)
    means = rng.integers(1, 6, 200).astype(np.float64)
    scores = means + rng.normal(size=200)
    scores[:9], means[9:12] = np.nan, np.nan
    counts = np.ones((3, 12), dtype=np.int8)
    groups = score_groups(scores, ratings(means), counts, 0.95)
    known = ~np.isnan(scores) & ~np.isnan(means)
    alike = pd.Series(scores[known]).groupby(means[known].astype(int)).agg(["mean", "size"])
    made = {key: (e.value, *e.interval, e.n) for key, e in groups.items() if key[:4] == "mean"}
    # every image once: a replicate is the mean itself
    assert made == {
        f"mean_score_{rating}": (*[pytest.approx(mean)] * 3, n)
        for rating, mean, n in alike.itertuples()
    }
    steps = {key: e.value for key, e in groups.items() if key[:4] == "step"}
    gaps = alike["mean"].diff().dropna() / scores[known].std()
    assert steps == pytest.approx({f"step_{rating}": gap for rating, gap in gaps.items()})


@pytest.mark.parametrize(
    ("means", "labels", "groups"),
    [
        ([2.0, 1.0, np.nan, 5.0, 1.0], ("1", "2", "5"), [1, 0, -1, 2, 0]),
        # not integers: five parts of the range, by hand
        ([0.0, 0.2, 0.39, 0.5, np.nan, 1.0],
         ("0 to 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "0.8 to 1"), [0, 1, 1, 2, -1, 4]),
        ([1.0, 1.5, 2.0], ("1 to 1.2", "1.2 to 1.4", "1.4 to 1.6", "1.6 to 1.8", "1.8 to 2"),
         [0, 2, 4]),
        # three digits would give one name to several parts
        ([1000.1, 1000.2], ("1000.1 to 1000.12", "1000.12 to 1000.14", "1000.14 to 1000.16",
                            "1000.16 to 1000.18", "1000.18 to 1000.2"), [0, 4]),
        ([0.1 + 0.2, 0.3], (), [-1, -1]),  # equal but for rounding
    ],
)  # fmt: skip
def test_groups_are_named_after_the_ratings_in_them(
    means: list[float], labels: tuple[str, ...], groups: list[int]
) -> None:
    made, group = rating_groups(np.array(means))
    assert (made, group.tolist()) == (labels, groups)


def test_many_integers_are_divided() -> None:
    labels, group = rating_groups(np.linspace(0, 100, 101))
    assert (labels[0], np.bincount(group).tolist()) == ("0 to 20", [20, 20, 20, 20, 21])


FAST = ("stats.replicates=50", "task.fitted=false")


def test_hat_gives_the_published_average_precision(coco_root: Path, tmp_path: Path) -> None:
    """HAT (ALOHa, Table 2): "contains a hallucination" has 33.8, BLEU-4 53.3, CIDEr 48.0.

    Printed with one decimal, so the tolerance is half of the last digit.
    """
    path = in_data(coco_root, "hat/hat-trainval.json")
    result = run_in(
        tmp_path, "dataset=table", f"dataset.file={path}", "dataset.human=contains_hallucination",
        "dataset.higher_is_better=false", "metrics=[bleu,cider]", *FAST,
    )  # fmt: skip
    for metric, published in {"BLEU-4": 53.3, "CIDEr": 48.0}.items():
        numbers = result.metric(metric).numbers
        values = [100 * numbers.value(key) for key in ("positive", "average_precision")]
        assert values == [pytest.approx(33.75), pytest.approx(published, abs=0.05)]
    assert "by chance" in printout(result, tmp_path / "statistics.json")


@pytest.mark.parametrize("higher", [True, False])
def test_the_label_true_is_the_positive_one(higher: bool, tmp_path: Path) -> None:
    """With higher_is_better=false the captions labelled true are expected to score lowest."""
    labels = [True, True, False, False, False]
    texts = ["a dog", "a dog runs", "a dog runs fast", "a dog runs very fast", "a"]
    rows = [
        {"image_id": f"i{k}", "candidate": text, "references": ["a"], "human": label}
        for k, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    given = (f"dataset.higher_is_better={higher}", "metrics=[length]", *FAST)
    numbers = run_table(tmp_path, rows, *given).metric("Length").numbers
    # lengths 2 and 3 against 4, 5 and 1: of the six pairs the positive is longer in two
    assert {key: numbers.value(key) for key in ("auroc", "positive")} == pytest.approx(
        {"auroc": 2 / 6 if higher else 4 / 6, "positive": 0.4}
    )
