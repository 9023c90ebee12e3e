"""Sentences on what metrics see, with results for which they are true and for which false."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metaeval.experiments.sensitivity.printout import _rows
from metaeval.experiments.sensitivity.profile import verdict
from metaeval.reports.sensitivity import findings
from metaeval.reports.sensitivity.page import _kinds
from metaeval.reports.sensitivity.profile import _cell, _empty_lists, _facts, cards
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.base import Estimate
from metaeval.results.run import RunInfo
from metaeval.results.sensitivity import Combination, SensitivityResult, Together
from tests.results.examples import (
    auc_cell,
    changed_set,
    interval_around,
    sensitivity_metric,
    sensitivity_result,
)

COLOUR, OBJECT, REWRITE = "wrong_colour", "wrong_object", "active_to_passive"
SETS = (changed_set(COLOUR), changed_set(OBJECT), changed_set(REWRITE, "same"))


def metric(name: str, *verdicts: Any, **more: Any) -> Any:
    """A metric with these verdicts on `SETS`."""
    cells = {s.set: auc_cell(0.6, v) for s, v in zip(SETS, verdicts, strict=True)}
    return sensitivity_metric(name, cells, **more)


def text(made: Any) -> str:
    return " ".join(f"{f.lead} {f.text}".strip() for f in made)


def test_how_many_sets_there_are() -> None:
    def said(*sets: Any) -> str:
        return text(findings._size(sensitivity_result(sets)))

    assert said(*SETS).startswith(
        "50 human captions, two sets of changes that harm and one that does not. The AUC"
    )
    empty = changed_set("x", n_applied=0)
    assert said(*SETS, empty).startswith("50 human captions, two sets of changes that harm and one")
    assert "One more set changed no caption." in said(*SETS, empty)
    assert "changed no caption" not in said(*SETS)
    assert "One experimental set is left out of all means." in said(
        *SETS, changed_set("x", experimental=True)
    )
    assert "experimental" not in said(*SETS)
    # the limits that the sentence names are those of the verdict
    for end, n, expected in ((0.6, 20, "blind"), (0.61, 20, "unsure"), (0.6, 19, "unsure")):
        assert verdict(Estimate(value=0.5, low=0.4, high=end, n=n), 1.0, "lower", 0.05) == expected


def test_what_fluency_alone_sees() -> None:
    def said(model: Any) -> str:
        return text(findings._fluency(sensitivity_result(SETS, model)))

    bigrams = metric("Bigram", "sees", "unsure", "spares", family="bigram_model")
    assert said(bigrams).endswith(
        "significantly prefers the human caption in 1 of the 2 sets that harm."
    )
    assert said(metric("Length", "sees", "sees", "spares")) == ""


def test_what_all_metrics_miss() -> None:
    def said(*metrics: Any) -> str:
        return text(findings._missed_by_all(sensitivity_result(SETS, *metrics)))

    a = metric("A", "blind", "blind", "spares")
    assert said(a, metric("B", "prefers", "sees", "spares")) == "All metrics miss wrong_colour."
    assert said(a, metric("B", "unsure", "sees", "spares")) == ""
    assert said(a) == ""  # one metric is not all
    control = metric("L", "sees", "sees", "spares", control=True)
    assert said(a, metric("B", "blind", "sees", "spares"), control) != ""


def test_what_a_metric_misses_and_punishes() -> None:
    def said(*verdicts: str) -> str:
        return text(findings._by_metric(sensitivity_result(SETS, metric("A", *verdicts))))

    assert said("blind", "sees", "punishes") == (
        "A misses one set that harms: wrong_colour (0.600); punishes one harmless set; not decided "
        "by this many images: 0 that harm, 0 harmless."
    )
    assert said("sees", "unsure", "unsure") == (
        "A misses no set that harms; punishes no harmless sets; not decided by this many images: "
        "1 that harm, 1 harmless."
    )


def test_the_highest_and_the_lowest_with_what_is_not_separated() -> None:
    high, low, wide = (interval_around(v, w) for v, w in ((0.8, 0.05), (0.5, 0.05), (0.7, 0.3)))
    assert findings._extremes([("A", high), ("B", low)]) == (
        "most often by A (0.800 [0.750, 0.850]) and least often by B (0.500 [0.450, 0.550])"
    )
    assert "A (0.800 [0.750, 0.850]; not separated: C)" in findings._extremes(
        [("A", high), ("B", low), ("C", wide)]
    )
    assert findings._extremes([("A", high), ("B", Estimate(value=None))]) == ""
    # without an interval nothing is separated
    assert "not separated: B" in findings._extremes([("A", high), ("B", Estimate(value=0.1))])
    metrics = [
        metric(name, "sees", "sees", "spares", severity_order=v, rewrites=v)
        for name, v in (("A", high), ("B", low))
    ]
    result = sensitivity_result(SETS, *metrics)
    assert "the milder scores above the severer one most often by A" in text(
        findings._severity(result)
    )
    positives = text(findings._positives(result))
    assert "of the same image most often by A" in positives
    assert positives.endswith(
        "Of 6 harmless changes 3 are rewrites (two content words or more, or their order) and are "
        "counted here; 2 change less, and verbatim references are 1."
    )
    assert text(findings._severity(sensitivity_result(SETS, metrics[0]))) == ""


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (interval_around(0.04, 0.01), "0.040 [0.030, 0.050] above A alone"),
        (interval_around(-0.04, 0.01), "0.040 [−0.050, −0.030] below A alone"),
        (interval_around(0.04, 0.05), "not separated (+0.040 [−0.010, 0.090]) from A alone"),
        (Estimate(value=0.04), "not separated (+0.040) from A alone"),
    ],
)
def test_a_combination_against_the_metric_alone(difference: Estimate, expected: str) -> None:
    alone = Combination(columns=("A",), rule="alone", chosen_on=0.7, held_out=Estimate(value=0.7))
    both = Combination(
        columns=("A", "B"), rule="sum of z-scores", chosen_on=0.8, held_out=interval_around(0.74)
    )
    made = Together(
        metrics=both, single=alone, with_control=None, over_single=difference, over_control=None
    )
    said = text(findings._together(sensitivity_result(SETS, together=made)))
    assert said == (
        "Together A + B (sum of z-scores), chosen on half of the images, has mean AUC 0.740 "
        f"[0.690, 0.790] on the other half: {expected}."
    )


def run_of(result: SensitivityResult) -> LoadedRun[SensitivityResult]:
    return LoadedRun(Path(), result, RunInfo(status="finished"), "")


def test_the_facts_of_a_card() -> None:
    cells = {COLOUR: auc_cell(0.7), OBJECT: auc_cell(0.7), REWRITE: auc_cell(0.5)}
    below = {COLOUR: auc_cell(0.64), OBJECT: auc_cell(0.66), REWRITE: auc_cell(0.9)}
    a = sensitivity_metric("A", cells)
    control = sensitivity_metric("Length", below, control=True)
    facts = dict(_facts(a, run_of(sensitivity_result(SETS, a, control))))
    # 0.7 ± 0.05: above 0.64, not above 0.66; a harmless set does not count
    assert facts["Sets with the interval above the AUC of every control"] == "1 of 2"
    assert facts["Sets not decided by these images"] == "2 that harm, 1 harmless"
    alone = dict(_facts(a, run_of(sensitivity_result(SETS, a))))
    assert alone["Sets with the interval above the AUC of every control"] == "–"


def test_an_empty_list_of_a_card_claims_no_more_than_its_test() -> None:
    """What is seen of whole captions is not listed; what is not decided is not "not missed"."""
    whole = changed_set("random", kind="whole caption")
    a = sensitivity_metric("A", {COLOUR: auc_cell(0.6, "unsure"), "random": auc_cell(0.9, "sees")})
    result = sensitivity_result((SETS[0], whole), a)
    (card,) = cards(run_of(result), {})
    assert (card.sees, card.blind, card.punishes) == ((), (), ())
    assert card.empty == (
        "Sees no change within a caption significantly.",
        "Misses no change that harms; 1 is not decided.",
        "Punishes no harmless change significantly.",
    )
    decided = metric("A", "sees", "sees", "unsure")
    assert _empty_lists(decided, sensitivity_result(SETS, decided))[1] == (
        "Misses no change that harms."
    )


def test_what_a_cell_tells() -> None:
    fields = {"beyond_fluency": Estimate(value=0.4, n=7)}
    model = auc_cell(0.6).model_copy(update=fields)
    a = sensitivity_metric("A", {COLOUR: model, OBJECT: auc_cell(None)})
    beyond = "where the language model does not prefer the human caption 0.400 (n 7)"
    assert beyond in _cell(a, SETS[0]).title
    assert _cell(a, SETS[1]).title == "A, wrong_object: no caption was changed"
    assert (
        "language model"
        not in _cell(sensitivity_metric("A", {COLOUR: auc_cell(0.6)}), SETS[0]).title
    )


def test_the_numbers_of_sets() -> None:
    empty = changed_set("x", n_applied=0)
    outside = changed_set("y", experimental=True)
    cells = {s.set: auc_cell(0.6) for s in (*SETS, empty, outside)}
    result = sensitivity_result((*SETS, empty, outside), sensitivity_metric("A", cells))
    rows = {row[0]: row[1] for row in _kinds(result)}
    assert rows["Severity: major"] == "2"
    # rewrites are 3; the two no-ops and the verbatim reference share a mean
    assert (rows["Rewrite above near-copy"], rows["The same without real change"]) == ("3", "3")
    lines = list(_rows(result))
    assert lines[0].startswith("sets that harm: 3, that do not: 1; AUC within images")
    assert lines[0].endswith("experimental, not in the means: 1")
    assert lines[2].endswith("  0")
    blind = sensitivity_metric("A", cells | {COLOUR: auc_cell(0.5, "blind")})
    first, _, row = _rows(sensitivity_result(SETS, blind))
    assert row.endswith("1: wrong_colour")
    assert "experimental" not in first
