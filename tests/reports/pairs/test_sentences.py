"""Sentences on true and false captions that need no run, each also where it is false."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metaeval.experiments.pairs.printout import (
    _differences,
    _refinement,
    _table,
    _undecidable,
    _unscored,
    _verdicts,
)
from metaeval.reports.pairs import findings
from metaeval.reports.pairs.page import _protocol
from metaeval.reports.pairs.table import accuracy_table, control_rows
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.pairs import PairsResult, Refinement
from metaeval.results.run import RunInfo
from tests.results.examples import (
    TRUE_FALSE,
    against_control,
    comparison,
    comparisons,
    pairs_metric,
    pairs_result,
)

A = pairs_metric("A", {"swap": 0.8, "replace": 0.6}, shown=0.8)
B = pairs_metric("B", {"swap": 0.7, "replace": 0.6}, shown=0.9)


def said(result: PairsResult) -> list[str]:
    return [f.text for f in findings.findings(result, accuracy_table(result))]


def test_who_prefers_the_truth_most_often() -> None:
    assert said(pairs_result()) == ["No metric ran."]
    apart = comparisons(comparison("A", "B", 0.1, 0.001))
    text = said(pairs_result(A, B, differences=apart))
    assert text == ["A prefers the true caption most often: in 70.0% of the pairs, averaged over "
                    "two kinds."]  # fmt: skip
    # B was never compared with A
    assert "most often (B not separated from it)" in said(pairs_result(A, B))[0]
    one = pairs_result(pairs_metric("A", {"swap": 0.8}), kinds={"swap": 10})
    assert said(one)[0].endswith("averaged over one kind.")
    # where one kind shows something, the value there is that of the metric that is named
    controls = {"swap": against_control("something", {"A": 0.001}),
                "replace": against_control("unsure", {"A": 0.5})}  # fmt: skip
    text = said(pairs_result(A, B, differences=apart, controls=controls))
    assert ("Averaged over the kinds on which a metric is above the controls (swap), the accuracy "
            "of A is 80.0%.") in text  # fmt: skip
    assert not any("B" in sentence for sentence in text)


def refined(**kinds: int) -> PairsResult:
    result = pairs_result(A)
    numbers = A.numbers.model_copy(update={"refined": A.numbers.accuracy})
    return result.model_copy(
        update={
            "refinement": Refinement(control="Brevity", bins=5, kinds=kinds),
            "metrics": (A.model_copy(update={"statistics": numbers}),),
        }
    )


def test_how_many_pairs_a_refinement_leaves() -> None:
    text = findings._refinement(refined(swap=5, replace=120))
    assert text == [
        "Of 20 pairs 125 are left when Brevity is right as often as wrong in each bin of its gap.",
        "On swap fewer than 100 are left, which shows little.",
    ]
    assert len(findings._refinement(refined(swap=100, replace=120))) == 1
    assert findings._refinement(pairs_result(A)) == []
    head = "before and after Brevity is as often right as wrong"
    assert any(head in line for line in _refinement(refined(swap=5, replace=120)))
    assert list(_refinement(pairs_result(A))) == []


def test_the_protocol_says_what_was_done() -> None:
    def protocol(**fields: Any) -> dict[str, str]:
        run = LoadedRun(Path(), pairs_result(A, **fields), RunInfo(status="finished"), "")
        return dict(_protocol(run))

    assert protocol()["Right"].endswith("Equal scores count half, for metrics and controls.")
    assert protocol(ties="wrong")["Right"].endswith("count as wrong, for metrics and controls.")
    near = "Near-copies among the references"
    assert protocol(near_copies=3, near_copies_dropped=3)[near] == "in 3 pairs; taken out"
    assert protocol(near_copies=3)[near] == "in 3 pairs; they stay"
    assert protocol()[near] == "in 0 pairs"
    for ties, words in (("half", "count half"), ("wrong", "count as wrong")):
        tips = [head.tip for head in accuracy_table(pairs_result(A, ties=ties)).heads]
        assert sum(words in tip for tip in tips) == 2  # one a kind


def test_which_metrics_are_above_a_control() -> None:
    controls = {
        "swap": against_control("something", {"A": 0.001, "B": 0.5}),
        "replace": against_control("undecidable", {"A": 0.5, "B": 0.5}),
    }
    result = pairs_result(A, B, controls=controls)
    (_, rows), *_ = accuracy_table(result).bodies
    notes = {row.metric: [c.note for c in row.cells if c.key.startswith("kind")] for row in rows}
    assert notes == {"A": ["", "not above"], "B": ["not above", "not above"]}
    assert [row[3:] for row in control_rows(result, TRUE_FALSE)] == [
        ["1 of 2", "something: these metrics are significantly above it"],
        ["0 of 2", "cannot be decided with so few permutations or images"],
    ]
    for shows, word in (("nothing", "nothing: a control does as well"), ("unsure", "not certain")):
        result = pairs_result(A, controls={"swap": against_control(shows)}, kinds={"swap": 10})
        assert control_rows(result, TRUE_FALSE)[0][4].startswith(word)


def test_what_is_printed() -> None:
    wrong = "ties count as wrong, for metrics and controls"
    assert wrong in list(_table(pairs_result(A, ties="wrong"), TRUE_FALSE))
    assert wrong not in list(_table(pairs_result(A), TRUE_FALSE))
    (line,) = _verdicts({"swap": against_control("nothing"), "x": against_control("something")})
    assert (
        line == "swap does not test metrics: Length alone gets 60.0, the best metric (CIDEr) 50.0"
    )
    pairs = comparisons(comparison("A", "B", 0.1, 0.001), comparison("A", "C", 0.1, 0.5))
    assert _differences(pairs_result(A, B, differences=pairs), TRUE_FALSE) == (
        "2 pairs of metrics, significant at 0.05 after Holm: 1 by permutation"
    )
    assert _differences(pairs_result(A), TRUE_FALSE).endswith("after Holm: none")

    def undecidable(permutations: int, decidable: bool = True) -> list[str]:
        entry = against_control("unsure", {"A": 0.5})
        (pair,) = entry.comparisons
        tests = (pair.tests[0].model_copy(update={"decidable": decidable}),)
        entry = entry.model_copy(
            update={"comparisons": (pair.model_copy(update={"tests": tests}),)}
        )
        result = pairs_result(A, controls={"swap": entry})
        settings = result.settings.model_copy(update={"permutations": permutations})
        return list(_undecidable(result.model_copy(update={"settings": settings})))

    assert undecidable(20) == []  # 1 / 21 < 0.05
    assert "cannot be decided with 19 permutations for 1 hypothesis;" in undecidable(19)[0]
    assert undecidable(20, False) == [
        "some kinds have too few images for any metric to be above a control"
    ]
    numbers = A.numbers.model_copy(update={"n": 9, "n_nan": 1})
    result = pairs_result(A.model_copy(update={"statistics": numbers}), B)
    assert list(_unscored(result)) == ["A: no score for 1 of 10 pairs"]
