"""Dose and response against cases worked by hand, Page's formula and simulation."""

import numpy as np
import pytest
from scipy.stats import page_trend_test

from metaeval.stats.dose import (
    FEW_IMAGES,
    NO_FALL,
    NO_IMAGES,
    NOT_REACHED,
    dose_record,
    dose_response,
)
from metaeval.stats.resampling.bootstrap import bootstrap_counts

DOSES = [0.0, 0.25, 0.5, 1.0]


def test_a_case_worked_by_hand() -> None:
    """Ten images, every second the first times ten: standardised they are one.

    8, 6, 4, 2 and the floor 0 have the mean 4 and the standard deviation sqrt(8): the changes are
    −2, −4, −6 and −8 over sqrt(8). Half of the floor's, −4, is that of the dose 0.5.
    """
    row = np.array([8.0, 6, 4, 2])
    scores = np.stack([row, 10 * row] * 5)[None]
    counts = bootstrap_counts(10, 50, 0)
    response = dose_response(scores, DOSES, counts, floor=np.zeros((1, 10)))
    np.testing.assert_allclose(response.change, np.array([0, -2, -4, -6]) / np.sqrt(8))
    np.testing.assert_allclose(response.change_ci, np.stack([response.change] * 2, axis=1))
    half = response.half.dose, *response.half.ci
    assert (response.floor, *half) == pytest.approx((-8 / np.sqrt(8), 0.5, 0.5, 0.5))
    assert (response.falls_throughout, response.rises) == (True, [])
    few = dose_response(scores[:, :9], DOSES, bootstrap_counts(9, 50, 0))
    assert (few.half.dose, few.half.why, few.falls_throughout) == (None, FEW_IMAGES, False)
    assert np.isnan([*few.change_ci.ravel(), *few.steps_ci.ravel()]).all()
    np.testing.assert_allclose(few.change[1:] / few.change[-1], np.array([2, 4, 6]) / 6)


def test_half_of_the_effect_lies_between_doses_or_beyond() -> None:
    """Without a floor the effect is that of the largest dose; half of −6 is between −2 and −4."""
    counts = bootstrap_counts(10, 50, 0)
    scores = np.array([[[8.0, 6, 4, 2]] * 10])
    assert dose_response(scores, DOSES, counts).half.dose == pytest.approx(0.375)
    floor = np.full((1, 10), -10.0)  # half of −18 is not reached by −6
    half = dose_response(scores, DOSES, counts, floor=floor).half
    assert (half.dose, half.ci, half.why) == (None, [None, None], NOT_REACHED)
    rising = dose_response(-scores, DOSES, counts)
    assert (rising.half.dose, rising.half.why) == (None, NO_FALL)
    assert (rising.rises, rising.falls_throughout) == ([0, 1, 2], False)


def test_a_replicate_without_an_effect_does_not_reach_half_of_it() -> None:
    """Changes 0, 0, 0, −4/√3 and 0, −2/√.75, 0, 0 of two kinds of images: half of the mean at dose
    .125.

    In one of 20 replicates only images of the second kind are drawn: no effect, though its curve
    falls to it and rises again. It lies beyond the largest dose, where the interval does not look.
    """
    scores = np.array([[[4.0, 4, 4, 0], [2, 0, 2, 2]] * 5])
    dtype = bootstrap_counts(2, 1, 0).dtype
    counts = np.array([[1, 1] * 5] * 19 + [[0, 2] * 5], dtype=dtype)
    half = dose_response(scores, DOSES, counts, confidence=0.9).half
    assert (half.dose, half.ci) == (pytest.approx(0.125), pytest.approx([0.125, 0.125]))


def test_an_image_with_a_gap_is_left_out_and_ties_count_nothing() -> None:
    scores = np.array([[[3.0, 2, 1, 0], [5, 5, 5, 5], [1, np.nan, 0, 0]]])
    response = dose_response(scores, DOSES, bootstrap_counts(3, 50, 0))
    assert response.n == 2
    spread = np.std([3, 2, 1, 0])
    np.testing.assert_allclose(response.change, np.array([0, -1, -2, -3]) / spread / 2)
    nothing = dose_response(np.full((1, 2, 4), np.nan), DOSES, bootstrap_counts(2, 50, 0))
    assert (nothing.n, nothing.half.why, nothing.falls_throughout) == (0, NO_IMAGES, False)
    assert (nothing.change_ci.shape, nothing.steps_ci.shape) == ((4, 2), (3, 2))


def test_seeds_and_images_are_separated() -> None:
    """Images alike and seeds apart: the interval over images has no width, the seeds' sd has."""
    one, other = [3.0, 2, 1, 0], [3.0, 0, 1, 2]
    scores = np.array([[one] * 10, [other] * 10])
    response = dose_response(scores, DOSES, bootstrap_counts(10, 50, 0))
    assert np.ptp(response.change_ci, axis=1) == pytest.approx(0)
    spread = np.std(one)
    np.testing.assert_allclose(response.seed_sd, np.array([0, 2, 0, 2]) / spread / np.sqrt(2))
    assert np.isnan(dose_response(scores[:1], DOSES, bootstrap_counts(10, 50, 0)).seed_sd).all()


def test_trend_is_scipys_test_of_page() -> None:
    scores = np.random.default_rng(5).normal(size=(30, 4)) - 0.2 * np.arange(4)
    response = dose_response(scores[None], DOSES, bootstrap_counts(30, 10, 0))
    expected = page_trend_test(-scores, method="asymptotic").pvalue
    assert response.trend_p == pytest.approx(expected)


def test_record_has_rho_against_the_untouched_caption() -> None:
    """3 of the 4 highest of 8 scores are of dose 0: ρ = 2 · 3 / 4 − 1; 3 of 4 images fall."""
    scores = np.array([[[8.0, 1], [7, 2], [6, 3], [4, 5]]])
    record = dose_record(scores, [0, 1], bootstrap_counts(4, 20, 0))
    made = [(e.value, e.low) for e in (*record.rho, *record.within)]
    assert np.array(made) == pytest.approx(np.array([[0.5, np.nan]] * 2), nan_ok=True)
    assert record.rho_seed_sd == [None]
