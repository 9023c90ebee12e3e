"""Few images, equal means of people, extreme scores, many captions of one image."""

from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from metaeval.experiments.judgments.agreement import system_correlations
from metaeval.results.measured import MeasuredResult
from tests.experiments.judgments.test_judgments import run_table
from tests.shared import write_lines


def run_scores(
    folder: Path,
    ratings: Sequence[Any],
    scores: dict[str, Sequence[float]],
    image: Callable[[int], int],
    *overrides: str,
    systems: Sequence[str] = (),
) -> MeasuredResult:
    """A run of own scores over a table of captions of one rating (or list of ratings) each."""
    rows = [
        {"image_id": f"i{image(k)}", "candidate": f"a dog {k}{' and' * (k % 3)}",
         "references": ["a dog runs"], "human": rating,
         **({"system": systems[k]} if systems else {})}
        for k, rating in enumerate(ratings)
    ]  # fmt: skip
    own = [
        {"image_id": row["image_id"], "caption": row["candidate"],
         **{name: float(values[k]) for name, values in scores.items()}}
        for k, row in enumerate(rows)
    ]  # fmt: skip
    file = write_lines(folder / "scores.jsonl", own)
    return run_table(
        folder, rows, "metric=[scores,length]", "metrics=[scores,length]",
        f"metric.scores.file={file}", f"metric.scores.columns=[{','.join(scores)}]", *overrides,
    )  # fmt: skip


@pytest.mark.parametrize(("images", "few"), [(1, True), (9, True), (10, False)])
def test_few_images_have_no_interval_and_no_bootstrap(
    images: int, few: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On one image every pair of random metrics was "significant", with intervals of no width."""
    rng = np.random.default_rng(0)
    scores = {f"R{k}": rng.random(40).tolist() for k in range(4)}
    result = run_scores(
        tmp_path, rng.integers(1, 6, 40).tolist(), scores, lambda k: k % images,
        "stats.replicates=400",
    )  # fmt: skip
    keys = ("kendall_tau_b", "pearson", "length_controlled", "labels_worth")
    for name in scores:
        numbers = result.metric(name).numbers
        assert numbers.value("kendall_tau_b") is not None
        assert [numbers[key].interval is None for key in keys] == [few] * 4
    pairs = result.comparisons["kendall_tau_b"].pairs
    p = [t.p for c in pairs for t in c.tests if t.method == "bootstrap"]
    assert [value is None for value in p] == [few] * 6
    against = result.controls["kendall_tau_b"]
    assert not few or (against.above, against.shows) in [((), "nothing"), ((), "undecidable")]
    line = f"no intervals and no tests by resampling: too few images ({images} < 10)"
    assert (line in capsys.readouterr().out) == few


def test_the_order_of_the_same_ratings_makes_no_difference(tmp_path: Path) -> None:
    """.1, .2 and .3 in every order have one mean, as 1, 2 and 3 have: nothing can be correlated."""
    orders = list(permutations([0.1, 0.2, 0.3]))
    assert len({float(np.mean(order)) for order in orders}) > 1  # in float64
    ratings = [list(orders[k % 6]) for k in range(60)]
    result = run_scores(tmp_path, ratings, {"X": np.arange(60.0)}, lambda k: k // 5)
    numbers = result.metric("X").numbers
    # all pairs are ties of people
    values = [numbers.value(key) for key in ("kendall_tau_b", "pearson", "uncalibrated")]
    assert (values, "auroc" in numbers.values) == ([None, None, 0], False)


def test_systems_of_equal_mean_ratings_are_not_ordered(tmp_path: Path) -> None:
    """Three systems of mean .2: their sums differ in float64, and gave τ-b −.816."""
    of_system = {"A": [0.1, 0.2, 0.3], "B": [0.6, 0.0, 0.0], "C": [0.3, 0.2, 0.1]}
    ratings = [of_system[s][i] for i in range(3) for s in "ABC"]
    assert len({sum(values) / 3 for values in of_system.values()}) > 1
    result = run_scores(
        tmp_path, ratings, {"X": [1, 2, 3] * 3}, lambda k: k // 3, systems=list("ABC") * 3
    )
    numbers = result.metric("X").numbers
    assert numbers.value("system_kendall_tau_b") is numbers.value("system_pearson") is None
    people = np.array([[1.0, 1.0 + 1e-15, 2.0]])
    made = system_correlations(np.array([[1.0, 2.0, 3.0]]), people)
    assert made.kendall_tau_b[0] == pytest.approx(stats.kendalltau([1, 2, 3], [1, 1, 2]).statistic)


@pytest.mark.parametrize("unit", [1e-200, 1e-155, 1e140])
def test_the_unit_of_a_metric_changes_nothing(unit: float, tmp_path: Path) -> None:
    """Squares of such scores are 0 or infinite: r was 1.013, and the run ended at "item [200]"."""
    rng = np.random.default_rng(1)
    ratings = rng.integers(1, 6, 60)
    plain, other = (ratings + rng.normal(size=60) for _ in range(2))
    result = run_scores(
        tmp_path, ratings.tolist(), {"X": plain, "U": plain * unit, "Other": other},
        lambda k: k // 4, systems=["p", "q", "r", "s"] * 15,
    )  # fmt: skip
    x, u = (result.metric(name).numbers for name in "XU")
    assert u.value("pearson") == pytest.approx(stats.pearsonr(plain, ratings).statistic, abs=1e-12)

    def numbers(of: Any) -> list[float | None]:
        keys = (
            "pearson", "kendall_tau_c", "system_pearson", "length_controlled", "accuracy",
            "difference_pearson", "labels_worth",
        )  # fmt: skip
        return [*(v for k in keys for v in (of[k].value, *of[k].interval)), of.value("step_2")]

    assert numbers(u) == pytest.approx(numbers(x), rel=1e-9)
    pairs = result.comparisons["kendall_tau_b"].pairs
    of = {(c.a, c.b): [t.p for t in c.tests] for c in pairs}
    assert of["U", "Other"] == pytest.approx(of["X", "Other"], rel=1e-6)


def test_scores_beyond_what_can_be_squared_fail_by_name(tmp_path: Path) -> None:
    ratings = [k % 5 + 1 for k in range(24)]
    result = run_scores(
        tmp_path, ratings, {"Far": np.arange(24) * 1e160}, lambda k: k // 2,
        "metric=[scores,rouge_l]", "metrics=[scores,rouge_l]",
    )  # fmt: skip
    far, reason = result.metric("Far"), "the score 1e+160, which is outside its bounds"
    assert (far.status, result.metric("ROUGE-L").ok) == ("failed", True)
    assert f"Far gives 'a dog 1 and' {reason}" in str(far.reason)


def test_of_many_captions_of_one_image_some_pairs_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The accuracy over drawn pairs is that over all, within four standard errors of a share."""
    rng = np.random.default_rng(2)
    ratings = rng.integers(1, 6, 400)
    scores = {"X": ratings + rng.normal(size=400)}
    runs = []
    for most in (10**6, 20_000):
        monkeypatch.setattr("metaeval.stats.ordering.tie_calibration.MOST_PAIRS", most)
        result = run_scores(
            tmp_path, ratings.tolist(), scores, lambda k: 0 if k < 380 else k, "cache.enabled=false"
        )
        runs.append((result.metric("X").numbers, " ".join(result.notes)))
    (whole, plain), (part, drawn) = runs
    total = 380 * 379 // 2
    pairs = [(of["accuracy"].n, of.value("pairs")) for of in (whole, part)]
    assert pairs == [(total, total), (20_000, total)]
    # the curve of preference takes 50,000 pairs; of five equally frequent ratings 80 % differ
    assert whole["noticed"].n == part["noticed"].n == pytest.approx(40_000, rel=0.05)
    expected = pytest.approx(whole.value("uncalibrated"), abs=4 * 0.5 / 20_000**0.5)
    assert part.value("uncalibrated") == expected
    line = "Accuracy: of 20,000 of 72,010 pairs of captions of an image, drawn at random"
    assert (line in drawn, "drawn at random" in plain) == (True, False)
