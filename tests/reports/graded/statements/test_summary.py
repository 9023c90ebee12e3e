"""Sentences of the summary: said of data for which they are true, and not of others."""

from __future__ import annotations

from typing import Any

import pytest

from metaeval.reports.graded.findings import absent, published, unapplied
from metaeval.reports.graded.statements.controls import floor_isolates
from metaeval.reports.graded.summary import summarize_steps, summary
from metaeval.results.graded import CaptionSet
from metaeval.results.run import PublishedInfo
from tests.reports.graded_results import all_compared, graded_metric, graded_run


def a_set(name: str, level: int, n_unapplied: int = 0) -> CaptionSet:
    return CaptionSet(
        name=name, level=level, n=10, n_applied=10 - n_unapplied, n_unapplied=n_unapplied
    )


SETS = (a_set("Shuffle", 0), a_set("Human", 1))


def record(metric: str, pooled: float = 0.5, within: float = 0.6, **more: Any) -> Any:
    return graded_metric({
        "metric": metric,
        "rank_order_rho": pooled,
        "rank_order_rho_ci": [pooled - 0.02, pooled + 0.02],
        "rank_order_rho_bounds": [pooled - 0.01, pooled + 0.01],
        "rank_order_rho_within": within,
        "rank_order_rho_within_ci": [within - 0.02, within + 0.02],
        "pairwise_accuracy": 0.7,
        "variance": {"image": 0.3, "level": 0.3, "rest": 0.4},
        **more,
    })  # fmt: skip


def run(*metrics: Any, sets: Any = SETS, **more: Any) -> Any:
    return graded_run(
        *metrics, images=10, sets=sets, differences=all_compared(metrics),
        **more,
    )  # fmt: skip


def said(*metrics: Any, **more: Any) -> dict[str, str]:
    return {finding.lead: finding.text for finding in summary(run(*metrics, **more))}


def test_what_learned_from_the_test_does_not_lead() -> None:
    """The highest values are FAIEr's, whose recipe was chosen on this experiment."""
    chosen = record("FAIEr", 0.9, 0.95, training={"chosen_on": ["replace"]})
    drew = record("L2E", 0.8, 0.9, versions_in_training={"Shuffle": "seen in training"})
    fresh = record(
        "TIGEr", 0.3, 0.4, pairwise_accuracy=0.6, versions_in_training={"Shuffle": "new"}
    )
    texts = said(chosen, drew, fresh, record("CIDEr"))
    assert texts["Order."].startswith("CIDEr orders the")
    assert "FAIEr" not in texts["Order."]
    assert "L2E" not in texts["Order."]
    assert "TIGEr" in texts["Order."]
    assert texts["Learned from this test."].startswith(
        "FAIEr (ρ 0.900 pooled, 0.950 within an image) and L2E (ρ 0.800 pooled"
    )
    other = record("FAIEr", 0.9, 0.95, training={"chosen_on": ["shuffle"]})
    assert said(other, record("CIDEr"))["Order."].startswith("FAIEr orders the")
    assert said(chosen)["Order."].startswith("Every metric that gave a result")


def test_ties_are_named_only_where_they_decide() -> None:
    narrow = record("A")
    assert said(narrow)["Ties."] == (
        "Ties do not affect any ρ much: breaking all of them the best or the worst way moves it by "
        "at most 0.020."
    )
    wide = record("B", rank_order_rho_bounds=[0.1, 0.9])
    text = said(narrow, wide)["Ties."]
    assert text.startswith("The rank-order ρ of B (anything from 0.10 to 0.90; 100% of its scores")
    assert text.endswith("read its Kendall τ-b next to it (“All columns”).")
    assert "do not affect" not in text
    assert "A (" not in text
    # nothing is said of ties where no metric has a ρ
    assert "Ties." not in said()


def test_chance_is_reported_of_metrics_at_chance_by_both_measures() -> None:
    blind = record("Blind", 0.0, 0.01)
    text = said(record("A"), blind)["Order."]
    assert "Blind is not better than chance here" in text
    seeing = record("Seeing", 0.0, 0.4)
    assert "chance here" not in said(record("A"), seeing)["Order."]


def test_without_results_there_are_no_leaders() -> None:
    assert "No metric gave a result" in said()["Order."]


def test_how_many_captions_came_out_unchanged() -> None:
    assert said(record("A"))["Corruptions."] == (
        "Every corruption changed every caption it was given."
    )
    spared = (a_set("Shuffle", 0, 4), SETS[1])
    text = unapplied(run(record("A"), sets=spared), []).text
    assert text.startswith("40.0% of Shuffle came out unchanged")
    assert "Every corruption" not in text


def papers(**values: float) -> dict[str, Any]:
    """Published values by metric."""
    facts = PublishedInfo(source="a paper", comparable=True, rank_order_rho=values)
    return {"info": {"published": facts}}


def published_text(*metrics: Any, **more: Any) -> str:
    finding = published(run(*metrics, **more))
    assert finding is not None
    return finding.text


def test_published_values_close_far_and_not_to_be_compared() -> None:
    a, b = record("A", 0.5), record("B", 0.5)
    near = published_text(a, b, **papers(A=0.51, B=0.51))
    assert near == "Two of two values lie within 0.02 of those published (a paper)."
    far = published_text(a, **papers(A=0.6))
    assert far.startswith("None of one value lies within 0.02")
    assert "Further off: A 0.500 against 0.600" in far
    tied = record("A", 0.5, rank_order_rho_tie_std=0.06)
    assert "(ties can explain it)" in published_text(tied, **papers(A=0.6))
    assert "ties can" not in far
    variants = [record(f"{name} (x)", 0.5, variant_of=name) for name in "AB"]
    other = published_text(*variants, **papers(A=0.5, B=0.5))
    assert other.startswith("A (x) and B (x) use other models than the paper")
    assert "lie within" not in other
    facts = PublishedInfo(
        source="a paper", comparable=False, why_not="other images", rank_order_rho={"A": 0.5}
    )
    refused = published_text(a, info={"published": facts})
    assert refused.endswith("but are not comparable: other images.")
    assert published(run(a)) is None


def test_what_is_not_in_the_ranking() -> None:
    skipped = graded_metric({"metric": "SPICE", "status": "skipped"})
    random = record("CLIPScore (random)", untrained=True)
    finding = absent(run(record("A"), skipped, random))
    assert finding is not None
    assert finding.text == (
        "SPICE could not run; see the alerts for the remedy. CLIPScore (random) ran on random "
        "weights and is not ranked."
    )
    assert absent(run(record("A"))) is None


def test_the_step_seen_least_and_the_clearest_are_two_sentences() -> None:
    low, high = {"lower": "R", "upper": "S"}, {"lower": "S", "upper": "H"}
    finding = summarize_steps([record("A", clearest_step=high, least_seen_step=low)])
    assert finding is not None
    assert finding.text.endswith(
        "the step from R to S is seen least by A; the step from S to H is the clearest by A."
    )


@pytest.mark.parametrize(("within", "expected"), [(0.5, True), (0.94, False)])
def test_fluency_explains_degrees_only_where_a_metric_is_significantly_below(
    within: float, expected: bool
) -> None:
    def degrees(value: float) -> dict[str, Any]:
        return {"rank_order_rho": value, "rank_order_rho_within": value,
                "rank_order_rho_within_ci": [value - 0.02, value + 0.02]}  # fmt: skip

    model = record("Model", 0.1, 0.1, control=True, without_floor=degrees(0.95))
    finding = floor_isolates(run(record("A", without_floor=degrees(within)), model))
    assert (finding is not None) == expected
    if finding is not None:
        assert finding.text.endswith(
            "So what Model sees is enough to order the degrees; it does not order them above "
            "Shuffle."
        )
