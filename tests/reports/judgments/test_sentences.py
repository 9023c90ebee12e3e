"""Sentences on ratings that need no run, each also where it is false."""

from __future__ import annotations

from typing import Any

import pytest

from metaeval.data.judgments.protocol import CHOICES
from metaeval.reports.judgments.findings import findings
from metaeval.reports.judgments.page import _protocol
from metaeval.reports.judgments.table import ratings_table
from metaeval.results.judgments import JudgmentsResult
from tests.results.examples import comparisons, human_agreement, ratings_metric, ratings_result


def result_of(*names: str, statistic: str = "kendall_tau_c", **numbers: Any) -> JudgmentsResult:
    metrics = []
    for name in names:
        made = ratings_metric(name, 4, human=human_agreement(4, 0.5))
        statistics = made.numbers.model_copy(update=numbers)
        metrics.append(made.model_copy(update={"statistics": statistics}))
    result = ratings_result(metrics, ["human"])
    return result.model_copy(
        update={
            "protocol": result.protocol.model_copy(update={"statistic": statistic}),
            "differences": {"human": comparisons()}, "controls": {"human": None},
            "people": {"human": None},
        }
    )  # fmt: skip


def test_the_first_sentence() -> None:
    def said(result: JudgmentsResult) -> list[str]:
        return [f.text for f in findings(result, ratings_table(result))]

    assert said(result_of())[0] == "No metric ran."
    assert said(result_of("A"))[0] == "A agrees best with people: τ-c 0.500."
    # nothing compares them
    assert said(result_of("A", "B"))[0].endswith(", not separated from B.")
    assert "No metric ran." not in said(result_of("A"))


def test_the_protocol_in_words() -> None:
    def rows(**changes: str) -> dict[str, str]:
        result = result_of("A")
        protocol = result.protocol.model_copy(update=changes)
        return dict(_protocol(result.model_copy(update={"protocol": protocol})))

    row, document = "A row of the correlations is", "A document of CIDEr's idf is"
    assert rows()[row].startswith("every caption, with its mean rating")
    assert rows(ratings="each")[row].startswith("every rating")
    assert rows()[document].startswith("every image")
    assert rows(documents="pair")[document].startswith("every judged caption with its references")
    own = {
        choice: rows(own_captions=choice)["Own captions (0)"] for choice in CHOICES["own_captions"]
    }
    assert own["drop"] == "left out"
    assert own["unreference"].endswith("taken out of their image's references")
    assert own["leave_out"].endswith("taken out of their own references")
    assert len(set(own.values())) == 4


@pytest.mark.parametrize(
    ("statistic", "numbers", "expected"),
    [
        ("kendall_tau_c", {"n_distinct": 19}, "19 values: see τ-b"),
        ("kendall_tau_c", {"n_distinct": 20}, ""),
        ("kendall_tau_b", {"n_distinct": 19}, ""),
        ("kendall_tau_b", {"n_nan": 1}, "1 caption without a score"),
        ("kendall_tau_b", {"n_nan": 2}, "2 captions without a score"),
    ],
)
def test_the_notes_of_a_value(statistic: str, numbers: dict[str, int], expected: str) -> None:
    (_, rows), *_ = ratings_table(result_of("A", statistic=statistic, **numbers)).bodies
    (note,) = [cell.note for cell in rows[0].cells if cell.key == "rho"]
    assert note == expected
