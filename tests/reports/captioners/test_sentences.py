"""Every sentence of the captioners' page, with data for which it is true and for which false."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.experiments.captioners.printout import _lengths
from metaeval.reports.captioners import summary
from metaeval.reports.captioners.alerts import alerts
from metaeval.reports.captioners.run import CaptionersRun
from metaeval.reports.captioners.tables import columns
from metaeval.results.base import Estimate
from metaeval.results.captioners import Agreement, LengthAnalysis, SystemLength
from metaeval.results.metric import MetricResult
from metaeval.results.run import DatasetInfo, GitInfo, RunInfo
from metaeval.runs.records import ScoreColumn
from tests.results.examples import (
    agreement_of,
    captioners_result,
    captioning_system,
    human_scores,
    system_scores,
)

SYSTEMS = ("a", "b", "c")


def run_of(
    *metrics: MetricResult[Any], systems: Sequence[Any] = (), info: Any = None, **fields: Any
) -> CaptionersRun:
    """A run as the page reads it, without captions."""
    entries = systems or [captioning_system(name, k + 1.0) for k, name in enumerate(SYSTEMS)]
    result = captioners_result({}).model_copy(
        update={"metrics": metrics, "systems": tuple(entries), "agreement": None, **fields}
    )
    facts = {"status": "finished", "dataset": DatasetInfo(name="d"), **(info or {})}
    return CaptionersRun(
        directory=Path(), result=result, info=RunInfo(**facts), config="",
        systems=tuple(s.name for s in entries), image_ids=(), image_paths=(), references=(),
        captions=(), columns=(), scores=np.zeros((0, 0, 0)), disagreement=np.zeros(0),
    )  # fmt: skip


def text_of(finding: Any) -> str:
    assert finding is not None
    return str(finding.text)


def test_who_is_first() -> None:
    sure = system_scores("X", "abc", [True, True])
    unsure = system_scores("Y", "abc")
    other = system_scores("Z", "bac", [True, True])

    def said(*metrics: Any) -> str:
        return text_of(summary._first(run_of(*metrics)))

    assert said(sure, unsure).startswith(
        "a is first by all two scores, separated from the second by one of two."
    )
    assert "separated from the second by each of them." in said(sure, sure, other)
    assert "separated from the second by none of them." in said(unsure, unsure)
    assert said(sure).startswith("a is first by the one score, separated from the second by it.")
    assert "b is first by Z." in said(sure, unsure, other)
    # as many scores put b first: neither of them leads
    assert said(sure, other).startswith("a and b are each first by one of two scores")
    assert said(sure).endswith("Mean ranks: a 1.0, b 2.0 and c 3.0.")
    assert said() == "No metric gave the systems a score."


def test_who_is_last() -> None:
    sure = system_scores("X", "abc", [True, True])
    unsure = system_scores("Y", "abc", [True, False])
    other = system_scores("Z", "acb", [True, True])

    def said(*metrics: Any) -> str:
        return text_of(summary._last(run_of(*metrics)))

    assert said(sure) == "c is last by the one score."
    assert said(sure, unsure) == (
        "c is last by all two scores, not separated from the last but one by Y."
    )
    assert said(sure, unsure, other).endswith("By Z it is second, and b is last.")
    assert said(sure, other) == "c and b are each last by one of two scores."
    two = [captioning_system("a"), captioning_system("b")]
    assert summary._last(run_of(system_scores("X", "ab"), systems=two)) is None


def test_who_is_above_people() -> None:
    """Above people is who has its whole interval below 0; without an interval nothing is said."""
    metrics = [system_scores(name, "abc") for name in "XY"]

    def said(**intervals: Any) -> str | None:
        human = tuple(human_scores(m, dict(zip(SYSTEMS, i, strict=True)))
                      for m, i in intervals.items())  # fmt: skip
        finding = summary._human(run_of(*metrics, against_human=human))
        return None if finding is None else finding.text

    above, open_, below = (-0.3, -0.1), (-0.3, 0.1), (0.1, 0.3)
    assert said(X=[above, open_, below], Y=[below, below, open_]) == (
        "Against the same other references, machines' captions are ranked above people's (the "
        "interval of ρ lies below 0): a by X. By Y no system is."
    )
    assert said(X=[open_, below, below]) == (
        "By X no system's interval of ρ against people lies below 0."
    )
    assert said(X=[None, below, below]) is None
    assert said(X=[None, below, below], Y=[above, above, below]) == (
        "Against the same other references, machines' captions are ranked above people's (the "
        "interval of ρ lies below 0): a and b by Y."
    )


def test_neighbours_that_are_not_separated() -> None:
    def said(*metrics: Any) -> str:
        return text_of(summary._undecided(run_of(*metrics)))

    sure = system_scores("X", "abc", [True, True])
    assert said(sure) == "All neighbours of every ranking are separated."
    assert said(sure, system_scores("Y", "abc", [True, False])) == (
        "Of four pairs of neighbours in rankings one is not separated, so claim no order there: "
        "b and c by Y."
    )
    assert "two are not separated" in said(system_scores("Y", "abc"))
    assert summary._undecided(run_of(system_scores("X", "a"))) is None


def test_corpus_scores_and_means() -> None:
    def said(corpus: Any, mean: Any) -> str:
        return text_of(summary._aggregates(run_of(corpus, mean)))

    corpus = system_scores("B (corpus)", "abc")
    mean = system_scores("B (mean of sentences)", "abc")
    equal = said(corpus, mean)
    assert "Both put the systems in the same order for B." in equal
    assert "as a corpus" not in equal  # the same numbers
    turned = system_scores("B (mean of sentences)", "bac", values={"b": 0.95, "a": 0.9, "c": 0.2})
    text = said(corpus, turned)
    assert "The two put the systems in different orders for B." in text
    assert "same order" not in text
    assert text.endswith("c's B is 0.800 as a corpus and 0.200 as a mean.")
    assert summary._aggregates(run_of(mean)) is None


def test_pairs_of_metrics_are_named_only_where_their_intervals_are_apart() -> None:
    metrics = [system_scores(name, "abc") for name in "XYZ"]
    one = Estimate(value=1.0)

    def said(xy: Estimate, xz: Estimate, yz: Estimate) -> str:
        matrix = agreement_of("XYZ", [[one, xy, xz], [xy, one, yz], [xz, yz, one]])
        agreement = Agreement(systems=matrix, within_image=matrix, captions=matrix)
        return text_of(summary._agreement(run_of(*metrics, agreement=agreement)))

    high, low = Estimate(value=0.8, low=0.7, high=0.9), Estimate(value=0.2, low=0.1, high=0.3)
    assert said(high, high, low) == (
        "On captions of one image the τ-b of two metrics lies between 0.20, interval 0.10 to 0.30 "
        "(Y and Z) and 0.80, interval 0.70 to 0.90 (X and Z)."
    )
    wide = Estimate(value=0.2, low=0.1, high=0.75)
    assert said(high, high, wide).endswith(
        "lies between 0.20 and 0.80, and the intervals of the highest and the lowest are not apart."
    )
    assert "not apart" in said(high, high, high)


def test_how_often_metrics_contradict_each_other() -> None:
    def finding(mean: float | None, votes: Sequence[str]) -> Any:
        made = captioners_result({}).disagreement.model_copy(
            update={"mean": mean, "votes": tuple(votes), "n_images": 7}
        )
        return summary._disagreement(run_of(disagreement=made))

    assert text_of(finding(0.25, "XY")).endswith("in 25.0% of cases, averaged over seven images.")
    assert "<0.1%" in text_of(finding(0.0001, "XY"))
    assert finding(None, "XY") is None
    assert finding(0.25, "X") is None


def test_what_is_missing() -> None:
    skipped = MetricResult[Any](column=ScoreColumn("X"), family="x", status="skipped")
    failed = MetricResult[Any](column=ScoreColumn("Y"), family="y", status="failed")
    systems = [captioning_system("a", n_missing=1), captioning_system("b")]
    text = text_of(summary._missing(run_of(skipped, failed, systems=systems)))
    assert text.startswith("a has no caption of one image;")
    assert "b" not in text.split(";")[0]
    assert "X could not run; see the alerts for the remedy." in text
    assert "Y failed; see the alerts for the remedy." in text
    assert summary._missing(run_of(system_scores("X", "abc"))) is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, None),
        ({"n_missing": 2}, "No caption of two images of the run."),
        ({"n_empty": 1}, "One caption is empty."),
        ({"n_empty": 2}, "Two captions are empty."),
        ({"n_other_images": 3}, "Three captions of images outside this run left aside."),
        ({"n_nan": 1}, "1 of 20 captions (5.0%) has no score."),
        ({"n_nan": 2}, "2 of 20 captions (10.0%) have no score."),
        ({"status": "failed"}, "Failed: no reason given."),
        ({"dirty": True}, "The working tree had changes, so the commit alone does not identify"),
    ],
)
def test_nothing_is_called_complete_that_is_not(
    changed: dict[str, Any], expected: str | None
) -> None:
    """The page says that all ran and all is there only where there is no alert."""
    counts = {k: v for k, v in changed.items() if k not in ("n_nan", "status", "dirty")}
    metric = system_scores("X", "ab", n_nan=changed.get("n_nan", 0))
    if "status" in changed:
        metric = MetricResult[Any](column=ScoreColumn("X"), family="x", status="failed")
    git = GitInfo(commit="0" * 40, dirty=changed.get("dirty", False))
    systems = [captioning_system("a", 1.0, **counts), captioning_system("b", 2.0)]
    made = alerts(run_of(metric, systems=systems, info={"git": git}))
    if expected is None:
        assert made == []
    else:
        (alert,) = made
        assert alert.text.startswith(expected)


def test_the_direction_and_the_kind_of_a_column() -> None:
    corpus, mean = system_scores("B (corpus)", "abc"), system_scores("B (mean of sentences)", "abc")
    low = system_scores("L", "abc", higher_is_better=False)
    tips = {c.name: c.tip for c in columns(run_of(corpus, mean, low))}
    assert tips["L"] == "L: the mean over the system's captions. Lower is better."
    assert "one score from the counts" in tips["B (corpus)"]
    assert tips["B (mean of sentences)"].endswith("not the corpus score. Higher is better.")


def test_only_systems_without_a_common_length_are_printed() -> None:
    def length(name: str, ratio: float | None, comparable: bool) -> SystemLength:
        return SystemLength(
            name=name, words=10, ratio=ratio, longer=0.5, bins=(1,), comparable=comparable
        )

    systems = (length("a", 5.21, False), length("b", 1.0, True), length("c", None, False))
    (line,) = _lengths(LengthAnalysis(edges=(), fewest=1, systems=systems, metrics=()))
    assert line.startswith("a: captions 5.2 times as long as the references, in no length bin")
    # with fewer captions than a bin must have, lengths were never compared
    (line,) = _lengths(LengthAnalysis(edges=(), fewest=2, systems=systems, metrics=()))
    assert line.startswith("every length bin has fewer than 2 captions of a system: ")
    assert not _lengths(LengthAnalysis(edges=(), fewest=2, systems=systems[1:2], metrics=()))
