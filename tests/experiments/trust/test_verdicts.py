"""The rules of experiment=trust, on evidence whose skill is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metaeval.experiments.trust.findings import Finding
from metaeval.experiments.trust.verdicts import (
    Cell,
    Rules,
    cells,
    detectable,
    mean_skill,
    more_data,
    robustness,
)
from metaeval.results.base import Estimate
from tests.experiments.trust.trust_cases import RULES, finding, rows, trust_result

CHOSEN = "M was chosen on experiment=pairs"


def cell(*found: Finding) -> Cell:
    return cells(found, ["M"], RULES)["M"]


def skill(value: float, error: float) -> Estimate:
    half = float(stats.norm.ppf(0.975)) * error
    return Estimate(value=value, low=value - half, high=value + half)


def test_skill_is_the_way_from_the_control_to_the_ceiling() -> None:
    change = Estimate(value=0.2, low=0.1, high=0.3)
    made = finding(0.7, 0.5, difference=change, ceiling=0.9).skill
    assert (made.value, made.low, made.high) == pytest.approx((0.5, 0.25, 0.75))
    assert finding(1.1, 0.9, difference=change, ceiling=0.9).skill.value is None


@pytest.mark.parametrize(
    ("value", "sd", "word"),
    [
        (1.0, 0.001, "shown"),  # the ceiling
        (0.57, 0.005, "shown"),  # .14 ± .02
        (0.5, 0.01, "below"),  # the control itself: 0 ± .04
        (0.4, 0.2, "not shown"),  # below it, but uncertain
        (0.53, 0.005, "below"),  # above it, but by less than the minimal skill
        (0.56, 0.05, "not shown"),
        (0.54, 0.01, "not shown"),  # above the control, and perhaps the minimal skill
    ],
)
def test_one_test(value: float, sd: float, word: str) -> None:
    assert cell(finding(value, sd=sd)).word == word


def test_certain_tests_that_differ_have_students_interval() -> None:
    values = [0.2, 0.5, 0.4, 0.9]
    made = mean_skill([skill(value, 0.0) for value in values], 0.95, "abcd")
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (made.low, made.high) == pytest.approx((expected.low, expected.high))


def test_tests_that_agree_have_a_normal_interval() -> None:
    made = mean_skill([skill(0.5, 0.1)] * 4, 0.95, "abcd")
    assert made.interval == pytest.approx(stats.norm.interval(0.95, 0.5, 0.1 / 2))
    # of two items with two tests each, and of one item
    made = mean_skill([skill(0.5, 0.1)] * 4, 0.95, "aabb")
    assert made.interval == pytest.approx(stats.norm.interval(0.95, 0.5, 0.1 / np.sqrt(2)))
    made = mean_skill([skill(0.5, 0.1)] * 4, 0.95, "aaaa")
    assert made.interval == pytest.approx(stats.norm.interval(0.95, 0.5, 0.1))


@pytest.mark.parametrize("between", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("items", ["ab", "abcdef", "aa", "aaabbb"])
def test_intervals_hold_the_mean_of_all_tests_that_could_be_made(
    items: str, between: float
) -> None:
    """Of 2,000 sets of tests, those of an item with the same error; three standard errors of a
    share of .95 are .015."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        error = {item: rng.normal(0, 0.1) for item in sorted(set(items))}
        values = [0.4 + rng.normal(0, between) + error[item] for item in items]
        low, high = mean_skill([skill(v, 0.1) for v in values], 0.95, items).interval or (1, 0)
        held += low <= 0.4 <= high
    assert held / 2000 >= 0.935


def test_a_cell_is_the_mean_over_its_tests() -> None:
    found = [
        finding(0.9, item="high", metric="A"),
        finding(0.8, item="b", metric="A"),
        finding(0.5, item="low", metric="B"),
    ]
    row = cells(found, ["A", "B", "C"], RULES)
    assert row["A"].skill.value == pytest.approx((0.8 + 0.6) / 2)
    assert [row[name].word for name in "BC"] == ["below", "cannot tell"]
    assert [f.outcome for f in row["A"].evidence] == ["shown", "shown"]


def test_what_was_trained_on_and_what_a_control_solves_never_counts() -> None:
    trained = finding(1.0, sd=0.001, why_not=CHOSEN)
    solved = finding(0.99, control=0.95, sd=0.001)
    endless = finding(0.9, difference=Estimate(value=0.4))
    for several in ([trained], [solved], [endless], [trained, solved, endless]):
        made = cell(*several)
        assert made.word == "cannot tell"
        assert all(f.outcome == "not counted" and f.why_not for f in made.evidence)
    assert cell(solved).evidence[0].why_not == "Length alone has 0.95 of 1.00"
    assert cell(trained, finding(0.4)).word == "below"


def test_a_test_that_a_perfect_metric_cannot_pass_says_what_it_takes() -> None:
    """A control with a standard error of .2 of a room of .5: .1 + (1.96 + .84) · .4 = 1.22."""
    control = Estimate(value=0.5, low=0.5 - 1.96 * 0.2, high=0.5 + 1.96 * 0.2)
    weak = finding(1.0, sd=0.2, of_control=control)
    assert detectable(weak, RULES) == pytest.approx(1.22, abs=0.005)
    (judged,) = cell(weak).evidence
    needed = int(np.ceil(100 * ((detectable(weak, RULES) - 0.1) / 0.9) ** 2))
    assert judged.why_not == (
        f"a perfect metric could not be shown by 100 items; {needed} would do"
    )
    enough = 0.2 / np.sqrt(needed / 100)
    narrow = Estimate(value=0.5, low=0.5 - 1.96 * enough, high=0.5 + 1.96 * enough)
    assert detectable(finding(1.0, of_control=narrow), RULES) <= 1


def test_failing_against_a_regression_on_the_caption_is_the_benchmarks_failing() -> None:
    found = [finding(0.5, metric="M"), finding(0.45, metric="N")]
    fitted = [one._replace(control="Fitted text") for one in found]
    row = cells(fitted, ["M", "N"], RULES)
    assert {row[name].word for name in "MN"} == {"cannot tell"}
    assert row["M"].evidence[0].why_not == (
        "no metric is above Fitted text, a regression that reads the caption alone"
    )
    above = [
        *fitted,
        fitted[0]._replace(metric="O", difference=Estimate(value=0.3, low=0.2, high=0.4)),
    ]
    row = cells(above, ["M", "N", "O"], RULES)
    assert [row[name].word for name in "MNO"] == ["below", "below", "shown"]


def test_a_metric_that_equals_a_control_is_never_shown() -> None:
    for control in (0.1, 0.5, 0.89):
        for sd in (0.001, 0.1):
            assert cell(finding(control, control, sd)).word in ("below", "not shown")


def test_more_data_by_the_square_root_law() -> None:
    """0.6 is 0.2 of the room above the control, 0.1 above the minimal skill; the interval is
    ±0.392: (0.392 / 0.1)² ≈ 15.4 times the data. Without an interval no amount is known."""
    open_ = finding(0.6, sd=0.1)
    times = more_data(open_.skill, RULES)
    assert times == pytest.approx((0.392 / 0.1) ** 2)
    narrower = finding(0.6, sd=0.1 / np.sqrt(times))
    assert narrower.skill.low == pytest.approx(RULES.minimal_skill, abs=1e-9)
    assert cell(open_).more_data == times
    assert cell(finding(0.9)).more_data is None
    assert more_data(Estimate(value=0.2), RULES) is None


def simulated(rng: np.random.Generator, metric: str, items: int, n: int = 200) -> list[Finding]:
    """A metric without signal: per image as good as the control, correlated with it by one half."""
    made = []
    for item in range(items):
        control = rng.random(n) < 0.6
        same = rng.random(n) < 0.5
        right = np.where(same, control, rng.random(n) < 0.6)
        sd = float((right.astype(float) - control).std(ddof=1) / np.sqrt(n))
        made.append(
            finding(float(right.mean()), float(control.mean()), sd, item=str(item), metric=metric)
        )
    return made


@pytest.mark.parametrize("items", [1, 2, 5])
def test_two_hundred_metrics_without_signal_are_rarely_shown(items: int) -> None:
    """At most 5 % of cells."""
    rng = np.random.default_rng(0)
    names = [str(k) for k in range(200)]
    several = [f for name in names for f in simulated(rng, name, items)]
    shown = sum(made.word == "shown" for made in cells(several, names, RULES).values())
    assert shown <= 0.05 * 200


def test_robustness_counts_words_that_change() -> None:
    near = finding(0.545, sd=0.001, metric="A")  # its skill, .09, is between two thresholds
    result = trust_result(near, finding(0.9, metric="B"), finding(0.5, item="b", metric="B"))
    assert [c["word"] for c in rows(result, "cells", use="pairs")] == ["below", "not shown"]
    assert list(result.extra("robustness").rows) == [
        ("minimal skill a fifth lower", 1, 2),
        ("minimal skill a fifth higher", 0, 2),
        ("without a", 2, 2),
        ("without b", 1, 2),
    ]


def test_robustness_over_seeds_counts_words_that_change() -> None:
    def judge(rules: Rules, without: str | None) -> dict[str, dict[str, Cell]]:
        return {"pairs": cells([finding(0.9)], ["M"], rules)}

    other = {"pairs": cells([finding(0.5)], ["M"], RULES)}
    made = robustness(judge, RULES, [], {1: judge(RULES, None), 2: other})
    assert [(one["change"], one["words"]) for one in made[2:]] == [("seed 1", 0), ("seed 2", 1)]
    assert robustness(lambda rules, without: {"pairs": {"M": Cell("cannot tell")}}, RULES, []) == []


def test_a_use_names_the_metrics_of_each_word_and_the_best() -> None:
    found = [
        finding(0.8, metric="A"),
        finding(0.9, metric="B"),
        finding(0.5, metric="C"),
        finding(0.56, sd=0.05, metric="D"),
        finding(0.9, metric="E", why_not=CHOSEN),
    ]
    result = trust_result(*found)
    pairs, long = result.extra("uses").records
    assert (pairs["shown"], pairs["below"], pairs["not shown"]) == ("B, A", "C", "D")
    assert (pairs["best"], pairs["judged by"], pairs["n"]) == ("B", "people", 100)
    assert pairs["skill"] == pytest.approx(0.8)
    assert {long[name] for name in ("shown", "not shown", "below", "best")} == {None}
    (excused,) = rows(result, "evidence", metric="E")
    assert excused["why_not"] == "E was chosen on experiment=arena"
    assert [row["skill"] for row in rows(result, "evidence")][:3] == pytest.approx([0.6, 0.8, 0.0])
    assert rows(result, "silent") == []
    (silent,) = rows(trust_result(found[-1]), "silent")
    assert silent["reason"] == "E was chosen on experiment=arena"
