"""The parts of a metric's variance: worked by hand, and against a loop over the definitions."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.ordering.variance_parts import variance_parts


def test_a_table_worked_by_hand() -> None:
    # means of images 1, 4, 7; of sets 3, 4, 5; grand mean 4. image = 3 (9 + 0 + 9) = 54,
    # level = 3 (1 + 0 + 1) = 6; every row is its mean −1, 0, +1 but the last, which is 0, +1, −1:
    # its residuals are +1, +1, −2, and each column's mean moves with it
    table = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [7.0, 8.0, 6.0]])
    grand = 4.0
    image = 3 * ((1 - grand) ** 2 + 0 + (7 - grand) ** 2)
    sets = np.array([10 / 3, 13 / 3, 13 / 3])
    level = 3 * ((sets - grand) ** 2).sum()
    total = ((table - grand) ** 2).sum()  # 16 + 9 + 4 + 1 + 0 + 1 + 9 + 16 + 4 = 60
    assert total == 60
    parts = variance_parts(table, [0, 1, 2])
    # both sides are sums of nine float64 products
    assert parts.image == pytest.approx(54 / 60, abs=1e-12)
    assert image == 54
    assert parts.level == pytest.approx(2 / 60, abs=1e-12)
    assert level == pytest.approx(2, abs=1e-12)
    assert parts.rest == pytest.approx(4 / 60, abs=1e-12)


def test_the_parts_are_those_of_a_least_squares_fit() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 4)) + rng.normal(size=(30, 1)) * 2 + np.arange(4) * 0.3
    image, level = (part.ravel() for part in np.indices(scores.shape))
    y = scores.ravel()

    def residual(*factors: np.ndarray) -> float:
        columns = [np.ones((len(y), 1)), *(np.eye(f.max() + 1)[f] for f in factors)]
        design = np.hstack(columns)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    total = residual()
    parts = variance_parts(scores, np.arange(4))
    # least squares of a rank-deficient design: 1e-10 of numpy's own
    assert parts.image == pytest.approx(1 - residual(image) / total, abs=1e-10)
    assert parts.level == pytest.approx(1 - residual(level) / total, abs=1e-10)
    assert parts.rest == pytest.approx(residual(image, level) / total, abs=1e-10)
    assert parts.image + parts.level + parts.rest == pytest.approx(1, abs=1e-12)


def test_offset_moves_the_image_part_and_nothing_within() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(200, 3)) + np.arange(3)
    moved = scores + 10 * rng.normal(size=(200, 1))
    assert variance_parts(moved, [0, 1, 2]).image > 0.9
    assert variance_parts(scores, [0, 1, 2]).image < 0.5


def test_incomplete_images_are_left_out_and_constant_scores_have_no_parts() -> None:
    whole = np.array([[0.0, 1.0], [4.0, 7.0]])
    gap = np.vstack([whole, [[5.0, np.nan]]])
    assert variance_parts(gap, [0, 1]) == variance_parts(whole, [0, 1])
    for table in (np.ones((5, 3)), [[0.0, 1.0]], np.full((4, 2), np.nan)):
        assert np.isnan(variance_parts(table, range(np.shape(table)[1]))[:3]).all()
