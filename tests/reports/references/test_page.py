"""The sentences on the number of references, with numbers for which they are false."""

from __future__ import annotations

from metaeval.reports.references.page import CHOICE, all_findings, findings, groups_of
from metaeval.reports.sweep.groups import JobGroup, SeedSpread
from metaeval.results.base import Estimate
from metaeval.results.graded import StatisticsSettings
from metaeval.results.metric import MetricResult
from metaeval.results.references import AtReferences, ReferencesResult, ReferencesStatistics
from metaeval.runs.records import ScoreColumn

COUNTS = (0, 1, 5)


def at(n: int, value: float | None, half: float) -> AtReferences:
    if value is None:
        return AtReferences(n_references=n, status="skipped", reason="needs references")
    agreement = Estimate(value=value, low=value - half, high=value + half)
    return AtReferences(n_references=n, status="ok", agreement=agreement)


def text(half: float = 0.01, /, **series: list[float | None]) -> str:
    """The findings on metrics with these agreements with 0, 1 and 5 references."""
    metrics = [
        MetricResult[ReferencesStatistics](
            column=ScoreColumn(name, control=name.startswith("control")),
            family=name,
            statistics=ReferencesStatistics(
                by_references=tuple(at(n, v, half) for n, v in zip(COUNTS, values, strict=True))
            ),
        )
        for name, values in series.items()
    ]
    settings = StatisticsSettings(seed=0, replicates=10, confidence=0.95)
    result = ReferencesResult(
        dataset="d", metrics=tuple(metrics), kind="choice", n_references=COUNTS, settings=settings
    )
    groups = groups_of(result, [CHOICE])
    return " ".join(f.text for f in findings(groups, CHOICE, frozenset({"control"})))


def test_who_leads_and_who_gains() -> None:
    said = text(a=[0.6, 0.6, 0.65], b=[0.5, 0.7, 0.8], control=[0.9, 0.9, 0.9])
    assert "With no references a is highest (0.600)." in said
    assert "With five references b is highest (0.800)." in said
    assert "b +0.300 (from 0 to 5), a +0.050 (from 0 to 5)" in said.replace(" and ", ", ")
    assert "cannot score" not in said


def test_a_metric_without_a_value_at_0_gains_from_its_first_value() -> None:
    """ "From 0 to 5 no metric gains" was false: CIDEr has no value without references."""
    said = text(FAIEr=[0.6, 0.6, 0.59], CIDEr=[None, 0.579, 0.755])
    assert "CIDEr +0.176 (from 1 to 5)" in said
    assert "o metric gains" not in said
    assert "With no references CIDEr cannot score." in said


def test_no_metric_gave_a_result_only_where_none_did() -> None:
    def said(groups: list[JobGroup]) -> list[str]:
        return [f.text for f in all_findings(groups, [CHOICE], frozenset({"control"}))]

    value = {"a": SeedSpread(0.5, None, (0.5,))}
    settings = (("references", "1"),)
    assert said([]) == ["No metric gave a result."]
    assert said([JobGroup(settings, 1, {CHOICE: {"control": value["a"]}})]) == [
        "No metric gave a result."
    ]
    assert said([JobGroup(settings, 1, {CHOICE: value})])[0].startswith("With one reference a is")


def test_a_gain_inside_both_intervals_is_not_a_gain() -> None:
    said = text(0.1, a=[0.6, 0.6, 0.65])
    assert "No metric gains from its first number of references to the last" in said
    assert text(control=[0.5, 0.5, 0.5]) == ""


def test_overlapping_intervals_are_named_with_the_highest() -> None:
    said = text(0.05, a=[0.6, 0.6, 0.7], b=[0.5, 0.5, 0.69])
    assert "With five references a is highest (0.700); its interval overlaps with b." in said
