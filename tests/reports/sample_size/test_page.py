"""The sentences on the number of images, with numbers for which they are false."""

from __future__ import annotations

from typing import Any

import numpy as np

from metaeval.experiments.sample_size.task import images_with_interval
from metaeval.reports.sample_size.page import findings, neighbour_table
from metaeval.results.base import Estimate
from metaeval.results.sample_size import NeighbourPair, OrderStabilityResult


def pair(better: str, worse: str, **changes: Any) -> NeighbourPair:
    fields: dict[str, Any] = {
        "difference": Estimate(value=0.1, low=0.03, high=0.17), "sd": 0.5,
        "images_for_power": Estimate(value=196.2, low=67.0, high=2180.0),
        "images_observed": 200, "images_same_sign": 50, "same_sign": (0.5, 0.99),
        "significant": (0.2, 0.8), "predicted": (0.17, 0.81),
    }  # fmt: skip
    return NeighbourPair(better=better, worse=worse, **{**fields, **changes})


CLOSE = pair(
    "B", "C", difference=Estimate(value=0.01, low=-0.06, high=0.08),
    images_for_power=Estimate(value=None), images_observed=None, images_same_sign=None,
)  # fmt: skip


def stability(**changes: Any) -> OrderStabilityResult:
    """Two pairs of neighbours at two sizes."""
    fields: dict[str, Any] = {
        "n_images": 200, "sizes": (25, 200), "draws": 100, "stable": 0.95, "power": 0.8,
        "alpha": 0.05, "order": ("A", "B", "C"), "same_order": (0.4, 0.97), "tau": (0.9, 1.0),
        "images_stable": 200, "neighbours": (pair("A", "B"), CLOSE),
    }  # fmt: skip
    return OrderStabilityResult(**{**fields, **changes})


def text(**changes: Any) -> str:
    return " ".join(f.text for f in findings(stability(**changes)))


def test_when_the_order_is_stable() -> None:
    assert "From 200 images on, at least 95% of the samples give the order A > B > C." in text()
    never = text(images_stable=None, same_order=(0.4, 0.9))
    assert "Not even 200 images give the order A > B > C in 95% of the samples" in never
    assert "(90.0% of 100 do)" in never
    assert "nothing to order" in findings(None)[0].text


def test_images_are_given_with_their_interval_or_not_at_all() -> None:
    said = text()
    assert "How many images would separate B and C (0.0100, interval −0.0600 to 0.0800)" in said
    assert "cannot be given: the interval of the difference contains 0" in said
    decided = text(neighbours=(pair("A", "B"),))
    assert "A and B need the most images" in decided
    assert "197 (67 to 2,180) images are needed for a power of 80%" in decided


def test_an_interval_of_images_holds_the_number_of_a_larger_sample() -> None:
    """At 200 images the point estimate is off by a factor; the interval covers the true number."""
    rng = np.random.default_rng(0)
    true = ((1.959964 + 0.841621) * 1.0 / 0.25) ** 2  # 125.6 images for a difference of 1/4 sd
    covered = 0
    for _ in range(400):
        images = images_with_interval(rng.normal(0.25, 1.0, 200), 0.05, 0.8)
        low, high = images.interval or (0.0, float("inf"))
        covered += low <= true <= high
    assert 0.92 <= covered / 400 <= 0.98
    assert images_with_interval(np.array([-1.0, 1.0, -1.0, 1.1]), 0.05, 0.8).value is None


def test_the_formula_against_the_samples() -> None:
    assert "off by at most 0.030 from the share in the samples (A and B, 25 images)" in text()
    nan = float("nan")
    partly = text(neighbours=(pair("A", "B", predicted=(nan, 0.81)),))
    assert "off by at most 0.010 from the share in the samples (A and B, 200 images)" in partly
    assert "formula is off" not in text(neighbours=(pair("A", "B", predicted=(nan, nan)),))


def test_what_is_not_stable_is_named() -> None:
    assert "Which is better of B and C is not stable" in text()
    assert "not stable" not in text(neighbours=(pair("A", "B"),))


def test_table_has_both_sizes() -> None:
    rows = neighbour_table(stability()).groups[0]
    assert [cell.text for cell in rows[0]][-3:] == ["50", "200", "197 (67 to 2,180)"]
    assert [cell.text for cell in rows[1]][-3:] == [">200", ">200", "–"]
