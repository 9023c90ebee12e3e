"""Lengths of systems' captions, and their ranks at equal length."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress, rankdata

from metaeval.experiments.captioners.systems import (
    ScoredSystems,
    Settings,
    at_equal_length,
    caption_lengths,
)
from metaeval.results.measured import SystemRanking
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores


def test_lengths_by_hand() -> None:
    """Captions of 10 and 20 words; references of 10 words, of 4 and 8, and none."""
    rows = [("i", "a", 10), ("j", "a", 20), ("k", "a", 6), ("k", "b", 0)]
    machines = pd.DataFrame(
        [
            {"image_id": image, "set": name, "caption": " ".join(["word"] * n)}
            for image, name, n in rows
        ]
    )
    references = {"i": ["x " * 10], "j": ["x " * 4, "x " * 8], "k": []}
    made = caption_lengths(machines, references)
    assert made["a"] == {"words": 12, "ratio": pytest.approx(13 / 6), "longer": 0.5}
    assert made["b"]["words"] == 0
    assert np.isnan([made["b"]["ratio"], made["b"]["longer"]]).all()


def test_rank_at_equal_length_is_that_of_residuals_of_scipys_line() -> None:
    """Five systems; the fifth has no score, and "mute" no word. "b" only writes longer than "a"."""
    names = ["a", "b", "c", "d", "mute", "none"]
    words = (5.0, 10.0, 20.0, 40.0, 0.0, 9.0)
    lengths = {name: {"words": n} for name, n in zip(names, words, strict=True)}
    points = np.array([0.1, 0.2, 0.3, 0.1, 0.5, np.nan])
    drawn = np.random.default_rng(0).normal(points[:, None], 0.01, (6, 50))
    settings = Settings(names, np.ones((50, 30), dtype=np.int64), 0.95, 100, 0)
    made = {}
    for name, higher in (("M", True), ("E", False)):
        column = ScoreColumn(name, higher_is_better=higher)
        scored = MetricScores("m", (column,), ("m|v:1",), "ok")
        none = SystemRanking.model_construct()
        made[name] = ScoredSystems(scored, 0, column, "corpus", points, drawn, none, {})
    rows = at_equal_length(list(made.values()), lengths, settings).frame()
    x, y = np.log(words[:4]), points[:4]
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
    assert not at_equal_length(short, lengths, few).rows
