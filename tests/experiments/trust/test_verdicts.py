"""The rules of experiment=trust, on evidence whose verdict is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metaeval.experiments.trust.verdicts import (
    cells,
    effect_of,
    more_data,
    outcome,
    robustness,
)
from metaeval.results.base import Estimate
from metaeval.results.trust import Evidence, Rules, TrustCell
from metaeval.stats.significance.comparison import holm
from tests.experiments.trust.trust_cases import RULES, USES, evidence, found, trust_result


def one(value: float, sd: float = 0.01, control: float = 0.5) -> str:
    return cells([found("M", evidence(value, control, sd))], ["M"], RULES)["M"].verdict


def test_the_effect_is_the_way_from_the_control_to_the_ceiling() -> None:
    effect = effect_of(Estimate(value=0.2, low=0.1, high=0.3), 0.5, 0.9)
    assert (effect.value, effect.low) == pytest.approx((0.5, 0.25))
    assert effect.high == pytest.approx(0.75)
    assert effect_of(Estimate(value=0.2), 0.9, 0.9).value is None


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
    assert one(value, sd) == verdict


def test_yes_needs_every_item_and_partly_names_the_others() -> None:
    high, low = evidence(0.9, item="high"), evidence(0.5, item="low")
    row = cells(
        [found("A", high), found("A", high.model_copy(update={"item": "b"})),
         found("B", high), found("B", low)],
        ["A", "B", "C"], RULES,
    )  # fmt: skip
    assert [row[name].verdict for name in "ABC"] == ["yes", "partly", "no evidence"]
    assert row["B"].reason.endswith("not shown: low")


def test_what_was_trained_on_and_what_the_control_solves_never_counts() -> None:
    trained = found("M", evidence(1.0, sd=0.001), "M was chosen on experiment=pairs")
    solved = found("M", evidence(0.99, control=0.95, sd=0.001))
    for several in ([trained], [solved], [trained, solved]):
        cell = cells(several, ["M"], RULES)["M"]
        assert cell.verdict == "no evidence"
        assert all(e.outcome == "not counted" for e in cell.evidence)
        assert all(e.why_not for e in cell.evidence)
    both = cells([trained, found("M", evidence(0.4))], ["M"], RULES)["M"]
    assert both.verdict == "no"


def test_a_test_that_a_control_nearly_solves_keeps_a_use_from_yes() -> None:
    """Unless the metric nearly solves it, too."""
    good = found("M", evidence(0.9, item="spelling"))
    blind = found("M", evidence(0.5, control=0.99, item="order"))
    cell = cells([good, blind], ["M"], RULES)["M"]
    assert cell.verdict == "partly"
    assert cell.reason.endswith("not solved, though a control nearly does: order")
    assert "not shown" not in cell.reason
    for value, verdict in ((0.95, "yes"), (0.91, "yes"), (0.89, "partly")):
        sees = found("M", evidence(value, control=0.99, item="order"))
        assert cells([good, sees], ["M"], RULES)["M"].verdict == verdict
    trained = found("M", evidence(0.5, item="order"), "M was chosen on experiment=pairs")
    assert cells([good, trained], ["M"], RULES)["M"].verdict == "yes"
    leak = [found("M", evidence(0.99, control=0.99, item="order")), found("M", evidence(0.5))]
    assert cells(leak, ["M"], RULES)["M"].verdict == "no"


def test_a_metric_that_equals_a_control_never_gets_yes() -> None:
    for control in (0.1, 0.5, 0.89):
        for sd in (0.0, 0.001, 0.1):
            assert one(control, sd, control) == "no"


def test_p_values_are_corrected_over_all_metrics_and_items_of_a_use() -> None:
    several = [found(f"M{k}", evidence(0.53 + 0.01 * k, sd=0.01)) for k in range(5)]
    row = cells(several, [f.metric for f in several], RULES)
    expected = holm([f.evidence.p for f in several])
    adjusted = [row[f.metric].evidence[0].p_adjusted for f in several]
    assert adjusted == pytest.approx(expected.tolist())


def test_more_data_by_the_square_root_law() -> None:
    open_ = evidence(0.6, sd=0.1)
    assert outcome(open_.model_copy(update={"p_adjusted": open_.p}), RULES) == "undecided"
    times = more_data(open_, RULES)
    assert times is not None
    narrower = evidence(0.6, sd=0.1 / np.sqrt(times))
    assert narrower.effect.low == pytest.approx(RULES.minimal_effect, abs=1e-9)


def simulated(rng: np.random.Generator, items: int, n: int = 200) -> list[Evidence]:
    """A metric without signal: per image as good as the control, correlated with it by one half."""
    made = []
    for item in range(items):
        control = rng.random(n) < 0.6
        same = rng.random(n) < 0.5
        metric = np.where(same, control, rng.random(n) < 0.6)
        difference = metric.astype(float) - control
        sd = float(difference.std(ddof=1) / np.sqrt(n))
        value, base = float(metric.mean()), float(control.mean())
        change = Estimate(value=value - base, low=value - base - 1.96 * sd,
                          high=value - base + 1.96 * sd)  # fmt: skip
        p = float(2 * stats.norm.sf(abs(value - base) / sd))
        made.append(evidence(value, base, item=str(item), p=p, effect=effect_of(change, base, 1.0)))
    return made


@pytest.mark.parametrize("items", [1, 5])
def test_two_hundred_metrics_without_signal_rarely_pass(items: int) -> None:
    """At most 5 % of cells are "yes" or "partly", in families of 200 and of 10 metrics."""
    rng = np.random.default_rng(0)
    for size in (200, 10):
        passed = 0
        for first in range(0, 200, size):
            names = [str(k) for k in range(first, first + size)]
            several = [found(name, e) for name in names for e in simulated(rng, items)]
            row = cells(several, names, RULES)
            passed += sum(cell.verdict in ("yes", "partly") for cell in row.values())
        assert passed <= 0.05 * 200


def test_sentences_name_only_what_the_verdicts_say() -> None:
    good, bad = [evidence(0.9)], [evidence(0.5)]
    use, nothing = USES
    assert trust_result({"A": good, "B": bad}).sentence(use) == (
        "To choose the better of two captions: use A."
    )
    assert trust_result({"A": good, "B": good}).sentence(use).endswith("use A or B (not ranked).")
    assert (
        trust_result({"A": bad, "B": bad})
        .sentence(use)
        .endswith("none of the 2 metrics that were tested is shown to be fit.")
    )
    assert (
        trust_result({"A": bad})
        .sentence(use)
        .endswith("the one metric that was tested is not shown to be fit.")
    )
    partly = [*good, evidence(0.5, item="b")]
    assert trust_result({"A": partly}).sentence(use).endswith("A passes a part of the tests.")
    unclear = trust_result({"A": [evidence(0.56, sd=0.05)]})
    assert unclear.sentence(use).endswith("is not shown to be fit; undecided: A.")
    assert unclear.sentence(nothing) == "To compare long captions: nothing here tests it."
    trained = trust_result({"A": good}, {"A": "A was chosen on experiment=pairs"})
    assert "no evidence counts: a: A was chosen on experiment=pairs" in trained.sentence(use)


def test_robustness_counts_verdicts_that_change() -> None:
    near = evidence(0.545, sd=0.001)  # its effect, .09, is between the lower threshold and ours
    result = trust_result({"A": [near], "B": [evidence(0.9), evidence(0.5, item="b")]})
    assert result.cell("pairs", "A").verdict == "no"
    assert result.robustness.cells == 2
    assert (result.robustness.lower, result.robustness.higher) == (1, 0)
    assert result.robustness.without == {"a": 2, "b": 1}
    assert result.robustness_sentence == (
        "Of 2 verdicts 1 change with thresholds a fifth lower, 0 with thresholds a fifth higher, "
        "and at most 2 without any one experiment."
    )
    firm = trust_result({"A": [evidence(0.9, sd=0.001), evidence(0.9, sd=0.001, item="b")]})
    assert "Of 1 verdict 0 change" in firm.robustness_sentence
    assert "at most 0 without" in firm.robustness_sentence
    assert trust_result({"A": []}).robustness_sentence == ""


def test_robustness_over_seeds_counts_verdicts_that_change() -> None:
    good, bad = [found("A", evidence(0.9))], [found("A", evidence(0.5))]

    def judge(rules: Rules, without: str | None) -> dict[str, dict[str, TrustCell]]:
        return {"pairs": cells(good, ["A"], rules)}

    other = {"pairs": cells(bad, ["A"], RULES)}
    made = robustness(judge, RULES, [], {1: judge(RULES, None), 2: other})
    assert made.seeds == {1: 0, 2: 1}
    result = trust_result({"A": [evidence(0.9)]}).model_copy(update={"robustness": made})
    assert result.robustness_sentence.endswith("and at most 1 with any of 2 other seeds.")
    assert "without any one experiment" not in result.robustness_sentence  # none was left out
    one = made.model_copy(update={"seeds": {1: 0}})
    assert result.model_copy(update={"robustness": one}).robustness_sentence.endswith(
        "and 0 with another seed."
    )


def test_the_result_is_a_table_of_evidence_and_a_matrix() -> None:
    result = trust_result({"A": [evidence(0.9)], "B": [evidence(0.5)]})
    assert result.matrix.loc["choose the better of two captions"].to_dict() == {
        "A": "yes", "B": "no",
    }  # fmt: skip
    table = result.table()
    assert list(table["metric"]) == ["A", "B"]
    assert table["effect"].tolist() == pytest.approx([0.8, 0.0])
    assert "yes" in result._repr_html_()
    assert result.with_verdict("pairs", "yes") == ("A",)
