"""Sentences on forced choice that need no run, each also where it is false."""

from __future__ import annotations

from typing import Any

from metaeval.experiments.forced_choice.printout import _tables
from metaeval.reports.forced_choice import findings
from metaeval.reports.forced_choice.page import _protocol
from metaeval.reports.forced_choice.table import choice_table
from metaeval.results.base import Estimate
from metaeval.results.forced_choice import ChoiceAgreement, ForcedChoiceResult
from tests.results.examples import against_control, choice_result, comparison, comparisons


def choice(mean: float) -> ChoiceAgreement:
    estimate = Estimate(value=mean, n=10)
    return ChoiceAgreement(n_references=5, draws=1, categories={"HC": estimate}, mean=estimate)


def result_of(means: dict[str, float], **fields: Any) -> ForcedChoiceResult:
    defaults: dict[str, Any] = {"differences": {5: comparisons()}, "controls": {5: None}}
    return choice_result(
        {name: [choice(mean)] for name, mean in means.items()}, ["HC", "mean"], {},
        **(defaults | fields),
    )  # fmt: skip


def said(result: ForcedChoiceResult) -> list[str]:
    return [f.text for f in findings.findings(result, choice_table(result))]


def test_who_chooses_as_people_do() -> None:
    assert said(result_of({})) == ["No metric ran."]
    means = {"A": 0.7, "B": 0.6}

    def first(a: str, b: str, difference: float, p: float) -> str:
        family = comparisons(comparison(a, b, difference, p))
        return said(result_of(means, differences={5: family}))[0]

    best = "A agrees best with people: mean accuracy 70.0%"
    assert first("A", "B", 0.1, 0.001) == f"{best}, higher than the other."
    assert first("A", "B", 0.1, 0.5) == f"{best}, not separated from B."
    # over all pairs of captions B is above A, though its mean over categories is lower
    assert first("B", "A", 0.1, 0.001) == f"{best}, but the test puts B above it."
    # on audio clips a control that is as good as every metric leads the page
    controls = {5: {"HC": against_control("nothing", value=0.744)}}
    text = said(result_of(means, controls=controls, unit="clip"))
    assert text[0].startswith("Nothing is shown by HC (Length 74.4%, best metric CIDEr 50.0%)")
    assert said(result_of(means, controls=controls))[0].startswith("A agrees best")


def test_one_person_against_the_others() -> None:
    people = {"HC": 0.9, "mean": 0.8}
    (text,) = findings._people(result_of({}, people=people))
    assert text.endswith("in 80.0% of the pairs, averaged over the categories.")
    (text,) = findings._people(result_of({}, people=people, average="pairs"))
    assert text.endswith("in 80.0% of the pairs, over all pairs.")
    assert findings._people(result_of({})) == []


def test_whether_two_groups_of_people_agree() -> None:
    def text(**shares: float) -> list[str]:
        return findings._label_agreement(result_of({}, label_agreement=shares))

    (sentence,) = text(all=0.9, HC=0.8, HI=0.95)
    assert sentence.endswith("in 90.0% of the pairs, least often on HC (80.0%).")
    (sentence,) = text(all=0.9, HI=0.9)
    assert sentence.endswith("in 90.0% of the pairs.")
    assert findings._label_agreement(result_of({})) == []


def test_the_protocol_and_the_printout() -> None:
    def rows(**fields: Any) -> dict[str, str]:
        return dict(_protocol(result_of({"A": 0.7}, **fields)))

    agree = "Direct and consensus labels agree on"
    assert rows(label_agreement={"all": 0.9})[agree] == "all 90.0%"
    assert agree not in rows()
    assert rows()["Equal scores"] == "count one half"
    assert rows(ties="wrong")["Equal scores"] == "are wrong"
    assert rows(labels="votes")["Labels"] == "the sum of the votes of the people"

    def lines(**fields: Any) -> str:
        return "\n".join(_tables(result_of({"A": 0.7}, **fields)))

    assert "labels: direct; direct and consensus agree on all 90.0 % of the pairs" in lines(
        label_agreement={"all": 0.9}
    )
    assert "agree on" not in lines()
    assert "one person with the majority of the others: mean 80.00" in lines(people={"mean": 0.8})
    assert "one person" not in lines()
