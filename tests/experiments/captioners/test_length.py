"""Scores of systems by length: bins, what is comparable, and what the page says of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.experiments.captioners.length import (
    EDGES,
    FEWEST,
    comparable_systems,
    length_analysis,
)
from metaeval.reports.captioners.length import length_alerts, length_finding, length_table
from metaeval.results.captioners import LengthAnalysis
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores

IMAGES = 60
REFERENCES = {i: ["one two three four five six seven eight nine ten"] for i in range(IMAGES)}


def analysed(lengths: dict[str, list[int]], scores: dict[str, list[float]]) -> LengthAnalysis:
    """Captions of these lengths (in words) and scores of each system, one per image."""
    machines = pd.DataFrame(
        [
            {"image_id": i, "set": name, "caption": " ".join(["word"] * n)}
            for name, of in lengths.items()
            for i, n in enumerate(of)
        ]
    )
    values = np.array([[x] for of in scores.values() for x in of])
    scored = MetricScores("m", (ScoreColumn("M"),), ("m|v:1",), "ok", scores=values)
    return length_analysis(machines, REFERENCES, [scored], list(lengths))


def test_bins_and_means_by_hand() -> None:
    """Ten words are 1 ×: 30 captions of 10 words score .4, 30 of 20 words score .2."""
    lengths = [10] * 30 + [20] * 30
    made = analysed({"a": lengths}, {"a": [0.4] * 30 + [0.2] * 30})
    system, metric = made.systems[0], made.metrics[0]
    assert (system.words, system.ratio, system.longer) == (15, 1.5, 0.5)
    first, second = EDGES.index(1.0) + 1, EDGES.index(2.0) + 1
    assert {k: n for k, n in enumerate(system.bins) if n} == {first: 30, second: 30}
    assert metric.by_bin["a"][first] == pytest.approx(0.4)
    assert metric.by_bin["a"][second] == pytest.approx(0.2)
    assert metric.trend["a"] == pytest.approx(-1)
    assert [made.bin_name(k) for k in (0, first, len(EDGES))] == [
        "below 0.5 ×", "1 to 1.25 ×", "5 × and more",
    ]  # fmt: skip


def test_a_ranking_that_is_about_length_is_turned() -> None:
    """At every length b is better, but it writes longer captions, which score less (Simpson)."""
    short, long = [10] * 40 + [20] * 20, [10] * 20 + [20] * 40
    scores = {"a": [0.8] * 40 + [0.2] * 20, "b": [0.9] * 20 + [0.3] * 40}
    made = analysed({"a": short, "b": long}, scores)
    metric = made.metrics[0]
    assert metric.ranking == ("a", "b")
    assert metric.controlled_ranking == ("b", "a")
    assert metric.controlled["a"] == pytest.approx(0.5)
    assert metric.controlled["b"] == pytest.approx(0.6)
    finding = length_finding(made, ["M"])
    assert finding is not None
    assert "With length held fixed the ranking by M changes" in finding.text
    # with the same lengths nothing is about length
    same = analysed({"a": short, "b": short}, {"a": [0.8] * 60, "b": [0.9] * 60})
    assert length_finding(same, ["M"]) is None
    assert length_alerts(same) == []


def test_captions_that_are_never_as_short_cannot_be_compared() -> None:
    """Five times the references' length: no rank is given, and the page says so."""
    lengths = {"short": [10] * 60, "long": [45] * 30 + [60] * 30}
    made = analysed(lengths, {"short": [0.9] * 60, "long": [0.3] * 30 + [0.1] * 30})
    assert [s.comparable for s in made.systems] == [True, False]
    assert made.metrics[0].controlled == {}
    finding = length_finding(made, ["M"])
    assert finding is not None
    assert "cannot be separated from length" in finding.text
    assert "length 4 to 5 × the references get 0.300" in finding.text
    (alert,) = length_alerts(made)
    assert (alert.subject, "5.2 times as long" in alert.text) == ("long", True)
    heads, rows = length_table(made)
    assert len({len(heads), *map(len, rows)}) == 1
    # scores that do not fall with length: the sentence on falling scores is left out
    flat = analysed(lengths, {"short": [0.9] * 60, "long": [0.3] * 60})
    finding = length_finding(flat, ["M"])
    assert finding is not None
    assert "cannot be separated from length" in finding.text
    assert "Spearman" not in finding.text


def test_the_system_with_the_farthest_length_is_left_out() -> None:
    counts = {
        "a": np.array([FEWEST, FEWEST, 0]),
        "b": np.array([0, FEWEST, FEWEST - 1]),
        "c": np.array([0, 0, FEWEST]),
    }
    assert comparable_systems(counts, {"a": 0.8, "b": 1.0, "c": 4.0}) == (["a", "b"], [1])
    assert comparable_systems({"a": counts["a"]}, {"a": 0.8}) == (["a"], [])
