"""Scores of systems by length: bins, what is comparable, and what a reader is warned of."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress, rankdata

from metaeval.experiments.captioners.agreement import (
    FEWEST,
    LengthAnalysis,
    comparable_systems,
    length_analysis,
)
from metaeval.experiments.captioners.systems import ScoredSystems, Settings, at_equal_length
from metaeval.results.measured import SystemRanking
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
    return length_analysis(machines, REFERENCES, [scored], list(lengths), ["M"])


def row_of(made: LengthAnalysis, metric: str, system: str) -> dict[str, float]:
    """The numbers of a metric and a system."""
    return {
        key: value
        for row in made.by_bin.records
        if (row["metric"], row["system"]) == (metric, system)
        for key, value in row.items()
        if value is not None and key not in ("metric", "system")
    }


def test_bins_and_means_by_hand() -> None:
    """Ten words are 1 ×: 30 captions of 10 words score .4, 30 of 20 words score .2."""
    lengths = [10] * 30 + [20] * 30
    made = analysed({"a": lengths}, {"a": [0.4] * 30 + [0.2] * 30})
    assert made.systems["a"] == {"words": 15, "ratio": 1.5, "longer": 0.5, "comparable": True}
    bins = ("1 to 1.25 ×", "2 to 3 ×")
    assert row_of(made, "captions", "a") == dict.fromkeys(bins, 30)
    numbers = row_of(made, "M", "a")
    assert [numbers[name] for name in bins] == pytest.approx([0.4, 0.2])
    assert numbers["trend"] == pytest.approx(-1)


def test_a_ranking_that_is_about_length_is_turned() -> None:
    """At every length b is better, but it writes longer captions, which score less (Simpson)."""
    short, long = [10] * 40 + [20] * 20, [10] * 20 + [20] * 40
    scores = {"a": [0.8] * 40 + [0.2] * 20, "b": [0.9] * 20 + [0.3] * 40}
    made = analysed({"a": short, "b": long}, scores)
    assert made.changed == ("M",)
    assert made.caveat
    controlled = [row_of(made, "M", name)["length_controlled"] for name in ("a", "b")]
    assert controlled == pytest.approx([0.5, 0.6])
    # with the same lengths nothing is about length
    same = analysed({"a": short, "b": short}, {"a": [0.8] * 60, "b": [0.9] * 60})
    assert (same.changed, same.caveat) == ((), "")


def test_captions_that_are_never_as_short_cannot_be_compared() -> None:
    """Five times the references' length: no rank is given, and the page says so."""
    lengths = {"short": [10] * 60, "long": [45] * 30 + [60] * 30}
    made = analysed(lengths, {"short": [0.9] * 60, "long": [0.3] * 30 + [0.1] * 30})
    assert [system["comparable"] for system in made.systems.values()] == [True, False]
    assert "length_controlled" not in row_of(made, "M", "long")
    assert "long (5.2 times the references' length)" in made.caveat
    few = analysed({"a": [10] * 5, "b": [10] * 5}, {"a": [0.1] * 5, "b": [0.2] * 5})
    assert "fewer than 20 captions" in few.caveat


def test_the_system_with_the_farthest_length_is_left_out() -> None:
    counts = {
        "a": np.array([FEWEST, FEWEST, 0]),
        "b": np.array([0, FEWEST, FEWEST - 1]),
        "c": np.array([0, 0, FEWEST]),
    }
    assert comparable_systems(counts, {"a": 0.8, "b": 1.0, "c": 4.0}) == (["a", "b"], [1])
    assert comparable_systems({"a": counts["a"]}, {"a": 0.8}) == (["a"], [])


def test_rank_at_equal_length_is_that_of_residuals_of_scipys_line() -> None:
    """Five systems; the fifth has no score, and "mute" no word. "b" only writes longer than "a"."""
    names = ["a", "b", "c", "d", "mute", "none"]
    words = dict(zip(names, (5.0, 10.0, 20.0, 40.0, 0.0, 9.0), strict=True))
    points = np.array([0.1, 0.2, 0.3, 0.1, 0.5, np.nan])
    drawn = np.random.default_rng(0).normal(points[:, None], 0.01, (6, 50))
    settings = Settings(names, np.ones((50, 30), dtype=np.int64), 0.95, 100, 0)
    made = {}
    for name, higher in (("M", True), ("E", False)):
        column = ScoreColumn(name, higher_is_better=higher)
        scored = MetricScores("m", (column,), ("m|v:1",), "ok")
        none = SystemRanking.model_construct()
        made[name] = ScoredSystems(scored, 0, column, "corpus", points, drawn, none, {})
    rows = at_equal_length(list(made.values()), words, settings).frame()
    x, y = np.log(list(words.values())[:4]), points[:4]
    line = linregress(x, y)
    residuals = y - line.intercept - line.slope * x
    for name, sign in (("M", -1), ("E", 1)):
        of = rows[rows["metric"] == name]
        assert of["system"].tolist() == names[:4]
        np.testing.assert_allclose(of["residual"], residuals, atol=1e-12)
        assert of["rank"].tolist() == rankdata(sign * y).tolist()
        assert of["rank_at_equal_length"].tolist() == rankdata(sign * residuals).tolist()
        np.testing.assert_allclose(of["r2"], line.rvalue**2)
        np.testing.assert_allclose(of["per_doubling"], line.slope * np.log(2))
        np.testing.assert_allclose(of["leverage"], 0.25 + (x - x.mean()) ** 2 / 4 / x.var())
    # replicates are made of the same line: their residuals sum to 0, as the residuals do
    each = [linregress(x, d) for d in drawn[:4].T]
    low = np.quantile(
        [d[0] - e.intercept - e.slope * x[0] for d, e in zip(drawn.T, each, strict=True)], 0.025
    )
    assert rows["residual_low"][0] == pytest.approx(low, abs=1e-3)
    few = Settings(names[:3], settings.counts, 0.95, 100, 0)
    short = [made["M"]._replace(points=points[:3], drawn=drawn[:3])]
    assert not at_equal_length(short, words, few).rows
