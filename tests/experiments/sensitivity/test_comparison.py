"""Metrics against controls and one another, against the same numbers image by image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from metaeval.experiments.sensitivity.profile import REWRITE
from metaeval.experiments.sensitivity.statistics import (
    REWRITES,
    PairedMeans,
    against_controls,
    differences,
)
from metaeval.results.run import CorruptionInfo
from metaeval.stats.resampling.bootstrap import bootstrap_counts

N, REPLICATES = 40, 200
COUNTS = bootstrap_counts(N, REPLICATES, 0)
Table = np.ndarray[Any, Any]


def entry(name: str, kind: str, expected: str = "lower") -> CorruptionInfo:
    return CorruptionInfo(
        set=name, name=name, kind=kind, expected=expected, severity="major", experimental=False,
        n=N, n_applied=N, mean_share_changed=None, median_edits=1.0, reasons={},
    )  # fmt: skip


SETS = [entry("a", "objects"), entry("b", "objects"), entry("c", "harmless", "same")]


def means(tables: dict[str, Table]) -> PairedMeans:
    sorts = np.full((N, 3), REWRITE, dtype=np.int8)
    return PairedMeans(tables, SETS, sorts, {"objects": [[0, 1]], REWRITES: []}, COUNTS, 0.95)


def scores(seed: int, shift: float) -> Table:
    table = np.random.default_rng(seed).normal(size=(N, 4))
    table[:, 0] += shift
    return table


def drawn_auc(table: Table, images: Table) -> float:
    """The mean over the two sets of how often the human caption is above, over some images."""
    return float(np.mean([np.nanmean(
        np.where(np.isnan(table[images, k]), np.nan, table[images, 0] > table[images, k])
    ) for k in (1, 2)]))  # fmt: skip


@pytest.mark.parametrize("gaps", [False, True])
def test_a_difference_and_its_p_are_those_of_resampled_images(gaps: bool) -> None:
    """Without ties AUC is a share of images; a caption that one cannot score counts for neither."""
    a, b = scores(1, 1.0), scores(2, 0.4)
    if gaps:
        b[:7, 1] = np.nan
    test = means({"A": a, "B": b}).test("objects", "A", "B")
    common = np.where(np.isnan(b), np.nan, a)
    draws = [np.repeat(np.arange(N), counts) for counts in COUNTS]
    replicates = [drawn_auc(common, d) - drawn_auc(b, d) for d in draws]
    expected = drawn_auc(common, np.arange(N)) - drawn_auc(b, np.arange(N))
    assert test.difference == pytest.approx(expected, abs=1e-12)  # sums of halves are exact
    p = 2 * norm.sf(abs(expected) / np.std(replicates, ddof=1))
    assert test.p == pytest.approx(p, rel=1e-9)


def test_rewrites_are_compared_on_the_same_images() -> None:
    """Two near-copies an image: its value is the mean of two comparisons."""
    a, b = scores(3, 0.0), scores(4, 0.0)
    test = means({"A": a, "B": b}).test(REWRITES, "A", "B")
    values = [((t[:, [3]] > t[:, 1:3]).mean(axis=1)) for t in (a, b)]
    assert test.difference == pytest.approx(values[0].mean() - values[1].mean(), abs=1e-6)
    drawn = [np.average(values[0] - values[1], weights=c) for c in COUNTS]
    p = 2 * norm.sf(abs(test.difference) / np.std(drawn, ddof=1))
    assert test.p == pytest.approx(p, rel=1e-4)  # values are rounded to 20 bits


def test_a_metric_that_fails_where_the_control_succeeds_needs_more_images() -> None:
    """The same two shares, on other images: a smaller p on the same images, a larger one where one
    succeeds exactly where the other fails."""
    control = np.zeros((N, 4))
    control[:, 0] = np.where(np.arange(N) < 20, 1.0, -1.0)  # right on the first 20 images
    same, opposite = control.copy(), control.copy()
    same[:26, 0] = 1.0  # on these and six more
    opposite[:, 0] = np.where(np.arange(N) >= 14, 1.0, -1.0)  # on the last 26
    p = {
        name: means({"A": table, "B": control}).test("objects", "A", "B")
        for name, table in (("same", same), ("opposite", opposite))
    }
    assert p["same"].difference == p["opposite"].difference == pytest.approx(0.15)
    independent = 2 * norm.sf(0.15 / np.sqrt(0.65 * 0.35 / N + 0.25 / N))
    assert p["same"].p < 0.05 < independent < p["opposite"].p


def test_controls_and_pairs_of_metrics() -> None:
    good, poor, control = scores(5, 3.0), scores(6, 0.0), scores(7, 0.0)
    nothing = np.full((N, 4), np.nan)
    paired = means({"Good": good, "Poor": poor, "None": nothing, "Length": control})
    found = against_controls(paired, ["objects"], ["Good", "Poor", "None"], ["Length"], 0.05)
    assert found["objects"].above == ("Good",)
    assert found["objects"].comparisons[2].difference.value is None
    compared = differences(paired, "objects", ["Good", "Poor"], 0.05).between("Poor", "Good")
    assert compared.is_significant()
    assert compared.difference.value < 0
