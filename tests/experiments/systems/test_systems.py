"""How metrics rank systems: values by scipy and by hand, and those of the COCO 2015 challenge."""

import math
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr, t as student

from metaeval.stats.agreement.systems import pairwise_accuracies, permutation_p
from metaeval.stats.significance.paired_differences import williams_test
from tests.shared import in_data, run_here, write_json

RNG = np.random.default_rng(7)
HUMAN = RNG.normal(size=12)
NAMES = [f"s{k:02d}" for k in range(12)]
COLUMNS = {
    "good": HUMAN + 0.3 * RNG.normal(size=12),
    "TER": -HUMAN + RNG.normal(size=12),
    "Length": np.round(RNG.normal(size=12) * 3),
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("systems")
    table = pd.DataFrame({"system": NAMES, "human": HUMAN, **COLUMNS})
    rows = table.to_dict("records")
    return run_here(
        folder,
        "experiment=systems",
        "dataset=systems",
        f"dataset.file={write_json(folder / 't.json', rows)}",
        "dataset.without=[s11]",
        "dataset.controls=[Length]",
        "dataset.lower_is_better=[TER]",
        "stats.replicates=400",
        "task.permutations=2000",
        "report=none",
    )


def value(result: Any, metric: str, key: str) -> float:
    return float(result.metric(metric).numbers[key].value)


def test_correlations_are_scipys(result: Any) -> None:
    for name, column in COLUMNS.items():
        x = -column if name == "TER" else column
        for key, function in (
            ("pearson", pearsonr), ("spearman", spearmanr), ("kendall_tau_b", kendalltau),
        ):  # fmt: skip
            expected = function(x[:11], HUMAN[:11])[0]
            assert value(result, name, f"{key}_human") == pytest.approx(expected, abs=1e-9)
        assert value(result, name, "pearson_human_all") == pytest.approx(pearsonr(x, HUMAN)[0])
        low, high = result.metric(name).numbers["pearson_human"].interval
        assert -1 <= low < value(result, name, "pearson_human") < high <= 1


def test_one_system_left_out(result: Any) -> None:
    rows = result.extra("influence").records
    (row,) = [r for r in rows if (r["metric"], r["statistic"]) == ("good", "r")]
    without = [np.arange(11) != k for k in range(11)]
    each = [pearsonr(COLUMNS["good"][:11][k], HUMAN[:11][k])[0] for k in without]
    assert {key: row[key] for key in row if key.startswith(("lowest", "highest"))} == {
        "lowest": pytest.approx(min(each)),
        "lowest_without": NAMES[np.argmin(each)],
        "highest": pytest.approx(max(each)),
        "highest_without": NAMES[np.argmax(each)],
    }


def test_metrics_are_compared_by_williams_test(result: Any) -> None:
    """Whose t is that of the literature: tests/stats/significance."""
    pair = result.comparison("pearson_human", "good", "TER")
    made = williams_test(COLUMNS["good"][:11], -COLUMNS["TER"][:11], HUMAN[:11])
    (test,), half = pair.tests, student.ppf(0.975, 11 - 3) * made.error
    assert (test.method, test.p) == ("Williams", pytest.approx(made.p_two_sided))
    ends = made.difference - half, made.difference + half
    assert pair.difference.interval == pytest.approx(ends)
    other = result.comparison("accuracy_human", "good", "TER").tests[0].method
    assert (result.controls["pearson_human"].control, other == "Williams") == ("Length", False)


def test_a_pair_of_a_system_and_its_copy_does_not_count() -> None:
    x, y = [1.0, 2.0, 2.0, 4.0], [1.0, 3.0, 2.0, 0.0]
    weights = np.array([[1, 1, 1, 1], [2, 0, 1, 3]])
    for row, accuracy in zip(weights, pairwise_accuracies(x, y, weights), strict=True):
        pairs = [(a, b) for a, b in product(np.repeat(np.arange(4), row), repeat=2) if a != b]
        alike = [np.sign(x[a] - x[b]) == np.sign(y[a] - y[b]) for a, b in pairs]
        assert accuracy == pytest.approx(np.mean(alike))


def test_the_p_value_counts_all_orders_of_few_systems() -> None:
    x, y = HUMAN[:6], COLUMNS["TER"][:6]
    each = np.array([abs(pearsonr(x[list(o)], y)[0]) for o in permutations(range(6))])
    exact = float(np.mean(each >= each[0] - 1e-9))
    assert permutation_p(x, y) == pytest.approx(exact)
    drawn = permutation_p(x, y, arrangements=700)  # 6! = 720
    assert drawn == pytest.approx(exact, abs=0.06)
    assert drawn != permutation_p(x, y, arrangements=700, seed=1)
    assert math.isnan(permutation_p([1, 1, 1], [1, 2, 3]))


# Pearson's r with M2 on c40: those not replaced, all 15 joined rows, those not replaced with Human;
# checked independently on the official files
CHECKED = {
    "SPICE": (0.93, 0.63, 0.89),
    "METEOR": (0.85, 0.62, 0.52),
    "CIDEr": (0.78, 0.55, 0.43),
    "BLEU-4": (0.65, 0.44, 0.10),
}


@pytest.mark.coco
def test_the_challenge_of_2015(coco_root: Path, tmp_path: Path) -> None:
    in_data(coco_root, "coco2015")
    result = run_here(
        tmp_path,
        "experiment=systems",
        "dataset.human=[M2]",
        f"dataset.data={coco_root}",
        "stats.replicates=100",
        "task.permutations=1000",
        "report.figures=false",
    )
    keys = [m.key for m in result.declared if m.key.startswith("pearson_M2")]
    for name, expected in CHECKED.items():
        assert [value(result, name, key) for key in keys] == pytest.approx(expected, abs=0.0051)
    page = (tmp_path / "OUT" / "report.html").read_text(encoding="utf-8")
    assert "ACVT, Berkeley LRCN, PicSOM: metrics scored a later submission" in page
