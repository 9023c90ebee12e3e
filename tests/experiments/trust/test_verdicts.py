"""The rules of experiment=trust, on evidence whose verdict is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metaeval.experiments.trust.findings import Finding
from metaeval.experiments.trust.verdicts import Cell, Rules, cells, more_data, outcome, robustness
from metaeval.results.base import Estimate
from metaeval.stats.significance.comparison import holm
from tests.experiments.trust.trust_cases import RULES, finding, rows, trust_result

CHOSEN = "M was chosen on experiment=pairs"


def cell(*found: Finding) -> Cell:
    return cells(found, ["M"], RULES)["M"]


def test_the_effect_is_the_way_from_the_control_to_the_ceiling() -> None:
    change = Estimate(value=0.2, low=0.1, high=0.3)
    effect = finding(0.7, 0.5, difference=change, ceiling=0.9).effect
    assert (effect.value, effect.low, effect.high) == pytest.approx((0.5, 0.25, 0.75))
    assert finding(1.1, 0.9, difference=change, ceiling=0.9).effect.value is None


@pytest.mark.parametrize(
    ("value", "sd", "verdict"),
    [
        (1.0, 0.001, "yes"),  # the ceiling
        (0.5, 0.01, "no"),  # the control itself
        (0.4, 0.2, "no"),  # below it, however uncertain
        (0.53, 0.005, "no"),  # above it, but by less than the minimal effect
        (0.56, 0.05, "undecided"),
        (0.54, 0.01, "undecided"),  # significant, and perhaps the minimal effect
    ],
)
def test_one_item(value: float, sd: float, verdict: str) -> None:
    assert cell(finding(value, sd=sd)).verdict == verdict


def test_yes_needs_every_item_and_partly_names_the_others() -> None:
    found = [
        finding(0.9, item="high", metric="A"),
        finding(0.9, item="b", metric="A"),
        finding(0.9, item="high", metric="B"),
        finding(0.5, item="low", metric="B"),
    ]
    row = cells(found, ["A", "B", "C"], RULES)
    assert [row[name].verdict for name in "ABC"] == ["yes", "partly", "no evidence"]
    assert (row["B"].names("passes"), row["B"].names("fails")) == ("high", "low")


def test_what_was_trained_on_and_what_the_control_solves_never_counts() -> None:
    trained = finding(1.0, sd=0.001, why_not=CHOSEN)
    solved = finding(0.99, control=0.95, sd=0.001)
    for several in ([trained], [solved], [trained, solved]):
        made = cell(*several)
        assert made.verdict == "no evidence"
        assert all(f.outcome == "not counted" and f.why_not for f in made.evidence)
    assert cell(solved).evidence[0].why_not == "Length alone has 0.95 of 1.00"
    assert cell(trained, finding(0.4)).verdict == "no"


def test_a_test_that_a_control_nearly_solves_keeps_a_use_from_yes() -> None:
    """Unless the metric nearly solves it, too."""
    good = finding(0.9, item="spelling")
    made = cell(good, finding(0.5, control=0.99, item="order"))
    assert made.verdict == "partly"
    assert [f.name for f in made.unsolved] == ["order"]
    assert (made.names("fails"), made.names("undecided")) == ("", "")
    for value, verdict in ((0.95, "yes"), (0.91, "yes"), (0.89, "partly")):
        assert cell(good, finding(value, control=0.99, item="order")).verdict == verdict
    assert cell(good, finding(0.5, item="order", why_not=CHOSEN)).verdict == "yes"
    assert cell(finding(0.99, control=0.99, item="order"), finding(0.5)).verdict == "no"


def test_a_metric_that_equals_a_control_never_gets_yes() -> None:
    for control in (0.1, 0.5, 0.89):
        for sd in (0.0, 0.001, 0.1):
            assert cell(finding(control, control, sd)).verdict == "no"


def test_p_values_are_corrected_over_all_metrics_and_items_of_a_use() -> None:
    several = [finding(0.53 + 0.01 * k, metric=f"M{k}") for k in range(5)]
    row = cells(several, [f.metric for f in several], RULES)
    adjusted = [row[f.metric].evidence[0].p_adjusted for f in several]
    assert adjusted == pytest.approx(holm([f.p for f in several]).tolist())


def test_more_data_by_the_square_root_law() -> None:
    """0.6 is 0.2 of the room above the control, 0.1 above the minimal effect; the interval is
    ±0.392: (0.392 / 0.1)² ≈ 15.4 times the data. Without an interval no amount is known."""
    open_ = finding(0.6, sd=0.1)
    assert outcome(open_._replace(p_adjusted=open_.p), RULES) == "undecided"
    times = more_data(open_, RULES)
    assert times == pytest.approx((0.392 / 0.1) ** 2)
    narrower = finding(0.6, sd=0.1 / np.sqrt(times))
    assert narrower.effect.low == pytest.approx(RULES.minimal_effect, abs=1e-9)
    assert cell(open_).more_data == times
    assert cell(finding(0.9)).more_data is None
    assert cell(open_, finding(0.6, sd=0.1, difference=Estimate(value=0.1))).more_data is None


def simulated(rng: np.random.Generator, metric: str, items: int, n: int = 200) -> list[Finding]:
    """A metric without signal: per image as good as the control, correlated with it by one half."""
    made = []
    for item in range(items):
        control = rng.random(n) < 0.6
        same = rng.random(n) < 0.5
        right = np.where(same, control, rng.random(n) < 0.6)
        sd = float((right.astype(float) - control).std(ddof=1) / np.sqrt(n))
        value, base = float(right.mean()), float(control.mean())
        p = float(2 * stats.norm.sf(abs(value - base) / sd))
        made.append(finding(value, base, sd, item=str(item), metric=metric, p=p))
    return made


@pytest.mark.parametrize("items", [1, 5])
def test_two_hundred_metrics_without_signal_rarely_pass(items: int) -> None:
    """At most 5 % of cells are "yes" or "partly", in families of 200 and of 10 metrics."""
    rng = np.random.default_rng(0)
    for size in (200, 10):
        passed = 0
        for first in range(0, 200, size):
            names = [str(k) for k in range(first, first + size)]
            several = [f for name in names for f in simulated(rng, name, items)]
            row = cells(several, names, RULES)
            passed += sum(made.verdict in ("yes", "partly") for made in row.values())
        assert passed <= 0.05 * 200


def test_robustness_counts_verdicts_that_change() -> None:
    near = finding(0.545, sd=0.001, metric="A")  # its effect, .09, is between two thresholds
    result = trust_result(near, finding(0.9, metric="B"), finding(0.5, item="b", metric="B"))
    assert [c["verdict"] for c in rows(result, "cells", use="pairs")] == ["no", "partly"]
    assert list(result.extra("robustness").rows) == [
        ("thresholds a fifth lower", 1, 2),
        ("thresholds a fifth higher", 0, 2),
        ("without a", 2, 2),
        ("without b", 1, 2),
    ]


def test_robustness_over_seeds_counts_verdicts_that_change() -> None:
    def judge(rules: Rules, without: str | None) -> dict[str, dict[str, Cell]]:
        return {"pairs": cells([finding(0.9)], ["M"], rules)}

    other = {"pairs": cells([finding(0.5)], ["M"], RULES)}
    made = robustness(judge, RULES, [], {1: judge(RULES, None), 2: other})
    assert [(one["change"], one["verdicts"]) for one in made[2:]] == [("seed 1", 0), ("seed 2", 1)]
    assert robustness(lambda rules, without: {"pairs": {"M": Cell("no evidence")}}, RULES, []) == []


def test_a_use_names_the_metrics_of_each_verdict() -> None:
    found = [
        finding(0.9, metric="A"),
        finding(0.9, metric="B"),
        finding(0.5, metric="C"),
        finding(0.56, sd=0.05, metric="D"),
        finding(0.9, metric="E", why_not=CHOSEN),
    ]
    result = trust_result(*found)
    pairs, long = result.extra("uses").records
    assert (pairs["yes"], pairs["partly"]) == ("A, B", None)
    assert (pairs["no"], pairs["undecided"]) == ("C", "D")
    assert {long[verdict] for verdict in ("yes", "partly", "no", "undecided")} == {None}
    (excused,) = rows(result, "evidence", metric="E")
    assert excused["why_not"] == "E was chosen on experiment=arena"
    assert [row["effect"] for row in rows(result, "evidence")][:3] == pytest.approx([0.8, 0.8, 0.0])
