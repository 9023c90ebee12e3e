"""Sentences of the summary: said of data for which they are true, and not of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from metaeval.runs.records import PaperValue
from reports.graded.findings import absent, published, unapplied
from reports.graded.statements.controls import floor_isolates
from reports.graded.statements.measures import leaders
from reports.graded.summary import summarize_steps, summary
from tests.reports.run_files import declared

SETS = (
    {"name": "Shuffle", "level": 0, "n": 10, "n_unapplied": 0},
    {"name": "Human", "level": 1, "n": 10, "n_unapplied": 0},
)


def record(metric: str, pooled: float = 0.5, within: float = 0.6, **more: Any) -> dict[str, Any]:
    return {
        **declared(metric),
        "status": "ok",
        "rank_order_rho": pooled,
        "rank_order_rho_ci": [pooled - 0.02, pooled + 0.02],
        "rank_order_rho_bounds": [pooled - 0.01, pooled + 0.01],
        "rank_order_rho_within": within,
        "rank_order_rho_within_ci": [within - 0.02, within + 0.02],
        "pairwise_accuracy": 0.7,
        "variance": {"image": 0.3, "level": 0.3, "rest": 0.4},
        **more,
    }


def run(*records: dict[str, Any], **more: Any) -> Any:
    given: dict[str, Any] = {
        "metrics": records, "sets": SETS, "names": ["Shuffle", "Human"], "image_ids": range(10),
        "statistics": {"settings": {"confidence": 0.95}}, "published": {},
        "paper": lambda r: None, "commonest": lambda name: (0.0, 0.25),
    }  # fmt: skip
    return SimpleNamespace(**{**given, **more})


def said(*records: dict[str, Any], **more: Any) -> dict[str, str]:
    return {finding.lead: finding.text for finding in summary(run(*records, **more))}


def test_ties_are_named_only_where_they_decide() -> None:
    narrow = record("A")
    assert said(narrow)["Ties."] == (
        "No metric's ρ hangs on ties: breaking all of them the best or the worst way moves it by "
        "at most 0.020."
    )
    wide = record("B", rank_order_rho_bounds=[0.1, 0.9])
    text = said(narrow, wide)["Ties."]
    assert text.startswith("The rank-order ρ of B (anything from 0.10 to 0.90; 25% of its scores")
    assert text.endswith("read its Kendall τ-b beside it (“All columns”).")
    assert "hangs on ties" not in text
    assert "A (" not in text


def test_chance_is_said_of_who_is_at_chance_by_both_measures() -> None:
    blind = record("Blind", 0.0, 0.01)
    text = said(record("A"), blind)["Order."]
    assert "Blind is no better than chance here" in text
    seeing = record("Seeing", 0.0, 0.4)
    assert "chance here" not in said(record("A"), seeing)["Order."]


def test_who_leads_by_each_measure() -> None:
    a, b = record("A", 0.5, 0.6), record("B", 0.4, 0.7, pairwise_accuracy=0.9)
    assert "best depends on the measure: A pooled" in leaders([a, b], "versions", "95%")
    assert "best by all three measures" in leaders([a, {**b, "rank_order_rho_within": 0.5,
                                                       "pairwise_accuracy": 0.6}],
                                                   "versions", "95%")  # fmt: skip
    assert "No metric gave a result" in said()["Order."]


def test_how_many_captions_came_out_unchanged() -> None:
    assert said(record("A"))["Corruptions."] == (
        "Every corruption changed every caption it was given."
    )
    spared = ({**SETS[0], "n_unapplied": 4}, SETS[1])
    text = unapplied(run(record("A"), sets=spared), []).text
    assert text.startswith("40.0% of Shuffle came out unchanged")
    assert "Every corruption" not in text


def papers(**more: Any) -> dict[str, Any]:
    told = {"source": "a paper", "comparable": True, **more.pop("told", {})}
    return {"published": told, **more}


def test_published_values_close_far_and_not_to_be_compared() -> None:
    a, b = record("A", 0.5), record("B", 0.5)
    near = published(run(a, b, **papers(paper=lambda r: PaperValue(0.51, True))))
    assert near is not None
    assert near.text == "Two of two values lie within 0.02 of those published (a paper)."
    far = published(run(a, **papers(paper=lambda r: PaperValue(0.6, True))))
    assert far is not None
    assert far.text.startswith("None of one value lies within 0.02")
    assert "Further off: A 0.500 against 0.600" in far.text
    tied = record("A", 0.5, rank_order_rho_tie_std=0.06)
    ties = published(run(tied, **papers(paper=lambda r: PaperValue(0.6, True))))
    assert ties is not None
    assert "(ties can explain it)" in ties.text
    assert "ties can" not in far.text
    other = published(run(a, b, **papers(paper=lambda r: PaperValue(0.5, False))))
    assert other is not None
    assert other.text.startswith("A and B use other models than the paper")
    assert "lie within" not in other.text
    unlike = papers(told={"comparable": False, "why_not": "other images"},
                    paper=lambda r: PaperValue(0.5, True))  # fmt: skip
    refused = published(run(a, **unlike))
    assert refused is not None
    assert refused.text.endswith("but are not comparable: other images.")
    assert published(run(a)) is None


def test_what_is_not_in_the_ranking() -> None:
    skipped = declared("SPICE") | {"status": "skipped"}
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
def test_fluency_tells_the_degrees_only_where_a_metric_is_surely_below(
    within: float, expected: bool
) -> None:
    def degrees(value: float) -> dict[str, Any]:
        return {"rank_order_rho": value, "rank_order_rho_within": value,
                "rank_order_rho_within_ci": [value - 0.02, value + 0.02]}  # fmt: skip

    model = record("Model", 0.1, 0.1, control=True, without_floor=degrees(0.95))
    finding = floor_isolates(run(record("A", without_floor=degrees(within)), model))
    assert (finding is not None) == expected
    if finding is not None:
        assert "the degrees can be told by fluency" in finding.text
