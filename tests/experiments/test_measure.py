"""The measuring engine: values by hand, tests against scipy, Holm by hand."""

from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf
from scipy.stats import t, ttest_rel

from metaeval.experiments.measure import Items, MeanOutcome, Measurements, Outcomes, measure
from metaeval.results.files import CEILING
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats

N = 1500
STATS = OmegaConf.create({"replicates": 4000, "seed": 0, "confidence": 0.95})


def outcomes() -> dict[str, Floats]:
    rng = np.random.default_rng(0)
    base = rng.normal(size=N)
    return {
        "A": base + rng.normal(0.05, 1.0, N),
        "B": base + rng.normal(0.0, 1.0, N),
        "C": base + rng.normal(-0.3, 1.0, N),
        "Length": rng.normal(-0.2, 1.0, N),
    }


def measured(
    columns: dict[str, Floats],
    units: int = 1,
    controls: tuple[str, ...] = (),
    masks: dict[str, list[np.ndarray]] | None = None,
    confidence: float = 0.95,
    counted: np.ndarray | None = None,
    parts: tuple[str, ...] = (),
    lacks: dict[str, str] | None = None,
    **of: Any,
) -> Measurements:
    """One measure for each list of masks; with `units` items an image. `lacks`: measure → a column
    that it is not of; `of`: of the outcomes."""
    n = len(next(iter(columns.values())))
    items = Items(np.arange(n) // units, counted)
    counts = items.resamples(STATS)
    free = (-np.inf, np.inf)
    return measure(
        [
            Outcomes(
                Measure(key, key),
                {name: columns[name] for name in columns if name != (lacks or {}).get(key)},
                MeanOutcome(items, counts, groups, span=np.inf),
                **{"family": "one", **of},
            )
            for key, groups in (masks or {"mean": [np.ones(n, np.bool_)]}).items()
        ],
        [
            ScoreColumn(name, "A" if name in parts else None, bounds=free, control=name in controls)
            for name in columns
        ],
        confidence,
    )


def test_one_unit_an_item_is_the_paired_t_test() -> None:
    """A standard error of 4,000 replicates is within 4 % of the exact one; its own is 1.1 %."""
    columns = outcomes()
    columns.pop("Length")
    pairs = measured(columns).comparisons["mean"].pairs
    for pair in pairs:
        exact = ttest_rel(columns[pair.a], columns[pair.b])
        gap = columns[pair.a].mean() - columns[pair.b].mean()
        assert pair.difference.value == pytest.approx(gap, rel=1e-12)
        assert pair.difference.interval == pytest.approx(exact.confidence_interval(0.95), abs=0.01)
        assert np.log(pair.test.p) == pytest.approx(np.log(exact.pvalue), rel=0.09)
        low, high = pair.difference.interval
        assert (low <= 0 <= high) == (pair.test.p >= 0.05)
    smallest, middle, largest = sorted(pair.test.p for pair in pairs)
    adjusted = sorted(pair.test.p_adjusted for pair in pairs)
    expected = [3 * smallest, max(3 * smallest, 2 * middle), max(2 * middle, largest)]
    assert adjusted == pytest.approx([min(1, p) for p in expected], rel=1e-12)


def test_items_of_one_unit_stay_together() -> None:
    """Two equal items a unit: the interval is that of the units, √2 wider than of the items."""
    columns = {name: np.repeat(of_column[: N // 2], 2) for name, of_column in outcomes().items()}
    paired, single = (measured(columns, u).values["A"]["mean"] for u in (2, 1))
    ratio = np.subtract(*paired.interval) / np.subtract(*single.interval)
    assert ratio == pytest.approx(np.sqrt(2), rel=0.05)
    assert (paired.n, paired.value) == (N, pytest.approx(columns["A"].mean()))


def test_a_difference_is_on_common_items() -> None:
    columns = outcomes()
    columns["A"][:500] = np.nan
    made = measured(columns)
    pair = made.comparisons["mean"].between("A", "B")
    assert pair.difference.value == pytest.approx((columns["A"] - columns["B"])[500:].mean())
    assert pair.n == made.values["A"]["mean"].n == N - 500


def test_the_best_control_is_the_one_to_beat() -> None:
    columns = outcomes()
    against = measured(columns, controls=("Length", "B")).controls["mean"]
    expected = ("B", pytest.approx(columns["B"].mean()), ())
    assert (against.control, against.control_value, against.above) == expected
    assert {c.a: c.is_significant() for c in against.comparisons} == {"A": False, "C": True}
    assert measured({"A": columns["A"]}).controls == {}


def test_a_group_that_a_control_wins_shows_nothing() -> None:
    """On the first group the control is always right; on the second the metric is. Equal weights
    in the mean, and one family over the three."""
    n = 60
    half = (np.arange(n) % 2).astype(float)
    columns = {
        "Metric": np.concatenate([(np.arange(n) % 10 > 0).astype(float), np.ones(n)]),
        "Length": np.concatenate([np.ones(n), half]),
        "Random": np.concatenate([half, half]),
    }
    first = np.arange(2 * n) < n
    masks = {"HC": [first], "MM": [~first], "mean": [first, ~first]}
    controls = measured(columns, 1, ("Length", "Random"), masks).controls
    hc, mm, mean = (controls[name] for name in ("HC", "MM", "mean"))
    assert (hc.control, hc.control_value, hc.best, hc.best_value, hc.above, hc.shows) == (
        "Length", 1.0, "Metric", 0.9, (), "nothing",
    )  # fmt: skip
    assert (mm.above, mm.shows, mean.control, mean.best_value) == (
        ("Metric",), "something", "Length", pytest.approx(0.95),
    )  # fmt: skip
    (test,) = mm.comparisons[0].tests
    assert test.p_adjusted == pytest.approx(3 * test.p)  # the smallest of three
    # right alone on 30 of 60 images, and never wrong alone: t = .5 / (.5 / √59) with 29 degrees
    assert np.log(test.p) == pytest.approx(np.log(2 * t.sf(np.sqrt(59), 29)), rel=0.09)


def test_the_mean_over_groups_is_tested_by_itself() -> None:
    """B is better on most items, A in the mean over the groups: the sign is the mean's."""
    n = 30
    small = np.arange(4 * n) < n
    columns = {"A": np.where(small, 0.5, 0.4), "B": np.where(small, 0.0, 0.6)}
    made = measured(columns, masks={"mean": [small, ~small], "many": [~small]}).comparisons
    for key, expected in (("mean", (0.5 - 0.2) / 2), ("many", -0.2)):
        (pair,) = made[key].pairs
        assert (pair.difference.value, pair.is_significant()) == (pytest.approx(expected), True)


def test_few_images_are_undecidable_over_metrics_times_groups() -> None:
    """Of ten images no p is below 2^-9; 26 hypotheses are more than .05 · 512 = 25.6 allow."""
    columns = {f"Metric {k}": np.ones(10) for k in range(26)} | {"Length": np.zeros(10)}
    for k, shows in ((26, "undecidable"), (25, "something")):
        chosen = {name: columns[name] for name in (*list(columns)[:k], "Length")}
        assert measured(chosen, controls=("Length",)).controls["mean"].shows == shows


def test_votes_on_one_pair_are_one_thing() -> None:
    columns = {"A": np.array([1.0, 0, 1, 1, np.nan]), "B": np.array([0.0, 0, 1, 1, 1])}
    made = measured(columns, counted=np.array([0, 0, 0, 1, 2]))
    (pair,) = made.comparisons["mean"].pairs
    assert (made.values["A"]["mean"].n, made.values["B"]["mean"].n, pair.n) == (2, 3, 2)


def test_a_mean_of_groups_and_its_resamples_by_hand() -> None:
    """Two images of the first group, one of the second; an image can be missing in a replicate."""
    first = np.array([True, True, False])
    counts = np.array([[1.0, 1, 1], [2, 0, 1], [0, 1, 2]])
    statistic = MeanOutcome(Items(np.arange(3)), counts, [first, ~first], span=0.25)
    made = statistic.of(np.array([0.0, 0.5, 1.0]))
    assert made.replicates.tolist() == [0.625, 0.5, 0.75]
    assert (made.value, made.n_units, made.n) == (0.625, 1, 3)
    assert made.shares == pytest.approx([0, 0.125, 0.5])
    statistic.test = "named"
    other = made._replace(value=0.5, replicates=np.array([9.0, -9, 0]))
    test = statistic.tested(made._replace(n_units=30, shares=None), other, 0.95)
    assert (test.method, test.low, test.high) == ("named", -0.25, 0.25)  # no further than `span`


@pytest.mark.parametrize("n_different", [1, 2, 3])
def test_a_p_is_no_smaller_than_the_images_that_differ_allow(n_different: int) -> None:
    """Exchanging two columns in m images has 2^m outcomes."""
    statistic = MeanOutcome(Items(np.arange(40)), bootstrap_counts(40, 200, seed=0).astype(float))
    column = np.linspace(0, 0.5, 40)
    other = np.where(np.arange(40) < n_different, column + 0.5, column)
    assert statistic.difference(column, other, 0.95).p == 2.0 ** (1 - n_different)


def test_replicates_are_kept_where_controls_are_compared() -> None:
    """Of a perfect metric, the metrics and the controls; of controls and perfection again on the
    items of a column with gaps."""
    a = np.array([1.0, 1, 0, np.nan])
    columns = {"A": a, "B": a * 0 + 1, "C": np.array([1.0, 0, 1, 0])}
    columns |= {"Length": np.array([0.0, np.nan, 0, 1]), "Random": np.array([0.0, 1, 0, 1])}
    controls = ("Length", "Random")
    for gaps, ceiling in (((), None), (("A", "B", "Length"), np.array([1.0, 1, 1, 0]))):
        chosen = {k: v if gaps else np.nan_to_num(v) for k, v in columns.items()}
        rows = measured(chosen, controls=controls, ceiling=ceiling).resampled
        perfect = [CEILING] if gaps else []
        expected = [(name, "") for name in (*perfect, *columns)]
        for name in gaps:
            expected += [(c, name) for c in (*controls, *perfect) if c != name]
        assert [(row.column, row.items_of) for row in rows] == expected
    values = {(row.column, row.items_of): (row.value, row.n) for row in rows}
    assert values["", ""] == (0.75, 4)
    assert values["", "A"] == (1.0, 3)
    assert values["Random", "A"] == (pytest.approx(1 / 3), 3)
    assert values["Random", "Length"] == (pytest.approx(1 / 3), 3)
    assert values["Length", "A"] == (0.0, 2)
    alone = measured(columns, controls=controls, family="")
    assert (alone.resampled, alone.controls) == ([], {})


def test_a_metric_with_gaps_has_the_best_control_of_its_items() -> None:
    rng = np.random.default_rng(0)
    known = np.arange(400) < 200
    columns = {"A": np.where(known, 0.5, np.nan) + rng.normal(0, 0.1, 400)}
    columns |= {"Length": np.where(known, 0.0, 1.0), "Random": np.full(400, 0.4)}
    against = measured(columns, controls=("Length", "Random")).controls["mean"]
    assert (against.control, [c.b for c in against.comparisons]) == ("Length", ["Random"])


@pytest.mark.parametrize(("confidence", "alpha"), [(0.95, 0.05), (0.5, 0.5)])
def test_the_level_is_that_of_the_intervals(confidence: float, alpha: float) -> None:
    half = np.arange(12) < 6
    columns = {"A": half * 1.0, "B": ~half * 1.0, "Length": np.zeros(12)}
    for masks, several in ((None, ""), ({"a": [half], "b": [~half]}, ", over all groups")):
        made = measured(columns, controls=("Length",), masks=masks, confidence=confidence)
        for key, against in made.controls.items():
            assert (against.alpha, made.comparisons[key].alpha) == (alpha, alpha)
            family = {test.family for c in against.comparisons for test in c.tests}
            assert family == {f"metrics against the best control{several}"}
            if not several:  # six images of twelve differ: 2 · 2^-5
                assert [c.test.decidable for c in against.comparisons] == [alpha > 0.05] * 2


def test_no_part_and_no_column_that_a_measure_lacks_is_compared() -> None:
    columns, all_of = outcomes(), np.ones(N, np.bool_)
    masks = {"mean": [all_of], "other": [all_of]}
    lacks = {"other": "B"}
    made = measured(columns, 1, ("Length",), masks, parts=("C",), lacks=lacks)
    assert {key: [(p.a, p.b) for p in of.pairs] for key, of in made.comparisons.items()} == {
        "mean": [("A", "B")], "other": [],
    }  # fmt: skip
    assert [[c.a for c in of.comparisons] for of in made.controls.values()] == [["A"], ["A"]]
