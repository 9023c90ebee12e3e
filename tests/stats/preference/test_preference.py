"""Preference curves and Bradley-Terry, against scipy's independent fits and cases by hand."""

import math

import numpy as np
import pytest
from scipy import optimize
from sklearn.isotonic import IsotonicRegression

from metaeval.stats.preference.bradley_terry import bradley_terry
from metaeval.stats.preference.difference import (
    isotonic_fit,
    logistic_slopes,
    preference_curve,
    to_rating_scale,
)
from metaeval.stats.significance.comparison import compare

NAN = float("nan")


def test_slopes_equal_scipys_maximum_of_the_likelihood():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 300, 200)  # a metric on a large scale
    y = np.clip(np.rint(2 * (0.5 + x / 900 + rng.normal(0, 0.5, 200))) / 2, 0, 1)
    weights = rng.integers(0, 4, (5, 200))
    for row, slope in zip(weights, logistic_slopes(x, y, weights), strict=True):

        def loss(beta: float, w=row) -> float:
            return float((w * (np.logaddexp(0, beta * x) - y * beta * x)).sum())

        best = optimize.minimize_scalar(
            loss, bounds=(-0.1, 0.1), method="bounded", options={"xatol": 1e-12}
        )
        assert slope == pytest.approx(best.x, abs=1e-8)


def test_slopes_without_a_maximum():
    x = np.array([1.0, -2.0, 0.0])
    weights = np.array([[1, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert logistic_slopes(x, np.array([1.0, 0, 0]), weights)[0] == math.inf
    assert logistic_slopes(x, np.array([0.0, 1, 0]), weights)[0] == -math.inf
    assert np.isnan(logistic_slopes(x, np.array([1.0, 0, 0]), weights)[1:]).all()


def test_the_difference_people_notice_by_hand():
    """Δ = 2 preferred in 3 of 4 pairs, whichever side is written first: 75 % at 2."""
    gap, preferred = [2, 2, -2, -2], [1, 1, 0, 1]
    curve = preference_curve(gap, preferred, range(4))
    assert (curve.noticed.value, curve.noticed.n) == pytest.approx((2, 4))
    assert curve.logistic[[0, -1]] == pytest.approx([0.5, 0.75])
    assert curve.isotonic[-1] == pytest.approx(0.75)


def test_a_metric_that_people_contradict_is_never_noticed():
    curve = preference_curve([1, 2, 3, -4], [0, 0, 1, 1], range(4))
    assert curve.noticed.value == math.inf
    assert curve.logistic[-1] < 0.5


def test_mirrored_pairs_give_the_same_curve():
    rng = np.random.default_rng(2)
    gap, image = rng.normal(size=90), np.arange(90) // 3
    preferred = (rng.random(90) < 1 / (1 + np.exp(-gap))).astype(float)
    flip = np.where(rng.random(90) < 0.5, -1, 1)
    one = preference_curve(gap, preferred, image, replicates=50)
    other = preference_curve(
        gap * flip, np.where(flip > 0, preferred, 1 - preferred), image, replicates=50
    )
    for a, b in zip(one, other, strict=True):
        assert np.allclose(a, b, atol=1e-8)
    assert preference_curve([NAN, 1, 1], [1, 1, NAN], range(3)).noticed.n == 1


def test_isotonic_fit_is_scikit_learns():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 6, 30).astype(float), rng.normal(size=30)
    points, fitted = isotonic_fit(x, y)
    assert fitted == pytest.approx(IsotonicRegression().fit(x, y).predict(points), abs=1e-12)
    assert len(points) == 6


def test_to_rating_scale_never_sees_the_image_it_maps():
    rng = np.random.default_rng(4)
    image = np.repeat(np.arange(30), 2)
    scores, ratings = rng.normal(size=60), rng.integers(1, 5, 60).astype(float)
    before = to_rating_scale(scores, ratings, image)
    changed = ratings.copy()
    changed[image == 7] = 100
    after = to_rating_scale(scores, changed, image)
    assert (before[image == 7] == after[image == 7]).all()
    assert (before != after).any()


def test_to_rating_scale_fits_the_mean_of_several_raters():
    rng = np.random.default_rng(6)
    scores, ratings = rng.normal(size=40), rng.integers(1, 5, (40, 3)).astype(float)
    ratings[0, 1] = NAN
    mapped = to_rating_scale(scores, ratings, range(40))
    assert mapped.tolist() == to_rating_scale(scores, np.nanmean(ratings, 1), range(40)).tolist()


# --- Bradley-Terry ------------------------------------------------------------------------------


def battles(n: int, k: int, rng: np.random.Generator, tie: float, length: float):
    """Battles drawn from Davidson's model."""
    strength = np.linspace(-1, 1, k)
    a, b = np.array([rng.choice(k, 2, replace=False) for _ in range(n)]).T
    gap = rng.normal(0, 2, n)
    d = strength[a] - strength[b] + length * gap
    win, lose = np.exp(d / 2), np.exp(-d / 2)
    u = rng.random(n) * (win + lose + tie)
    winner = np.where(u < win, 1.0, np.where(u < win + lose, 0.0, 0.5))
    names = np.array([f"s{i}" for i in range(k)])
    return names[a], names[b], winner, gap


def by_scipy(a, b, winner, gap, ties: bool):
    """Maximum likelihood by products of probabilities, one battle at a time."""
    names = sorted({*a, *b})

    def loss(v: np.ndarray) -> float:
        pi = {name: math.exp(s) for name, s in zip(names, [0.0, *v[: len(names) - 1]], strict=True)}
        length, nu = v[len(names) - 1], math.exp(v[-1]) if ties else 0.0
        total = 0.0
        for i, j, w, g in zip(a, b, winner, gap, strict=True):
            one = pi[i] * math.exp(length * g)
            tie = nu * math.sqrt(one * pi[j])
            share = {1.0: one, 0.0: pi[j], 0.5: tie}[w] / (one + pi[j] + tie)
            total -= math.log(share)
        return total

    made = optimize.minimize(
        loss, np.zeros(len(names) + ties), method="BFGS", options={"gtol": 1e-6}
    )
    strengths = np.array([0.0, *made.x[: len(names) - 1]])
    return dict(zip(names, strengths - strengths.mean(), strict=True)), made.x[len(names) - 1 :]


@pytest.mark.parametrize("tie", [0.0, 0.8])
def test_bradley_terry_equals_an_independent_fit(tie):
    rng = np.random.default_rng(0)
    a, b, winner, gap = battles(400, 4, rng, tie, 0.3)
    expected, rest = by_scipy(a, b, winner, gap, tie > 0)
    ours = bradley_terry(
        a,
        b,
        winner,
        np.arange(400) // 4,
        length_difference=gap,
        prior=0,
        replicates=10,
    )
    made = dict(zip(ours.systems, ours.strength, strict=True))
    assert made == pytest.approx(expected, abs=1e-4)  # BFGS ends at a gradient of 1e-6
    assert ours.length.value == pytest.approx(rest[0], abs=1e-4)
    assert ours.tie == pytest.approx(math.exp(rest[1]) if tie else 0.0, abs=1e-4)


def test_two_systems_with_ties_by_hand():
    """Davidson with 6 wins, 2 losses, 4 ties: π = √3 : 1/√3, ν = 4 / √(6 · 2)."""
    winner = [1] * 6 + [0] * 2 + [0.5] * 4
    fit = bradley_terry(["x"] * 12, ["y"] * 12, winner, range(12), prior=0, replicates=20)
    assert fit.strength[0] - fit.strength[1] == pytest.approx(math.log(3), abs=1e-8)
    assert fit.tie == pytest.approx(4 / math.sqrt(12), abs=1e-8)


def test_the_prior_by_hand():
    """Two systems ±t/2, 8 wins of 10, prior 2: 8 − 10 / (1 + e^−t) = t, the derivative at 0."""
    t = optimize.brentq(lambda v: 8 - 10 / (1 + math.exp(-v)) - v, 0, 2, xtol=1e-14)
    fit = bradley_terry(["x"] * 10, ["y"] * 10, [1] * 8 + [0] * 2, range(10), prior=2)
    assert fit.strength == pytest.approx([t / 2, -t / 2], abs=1e-8)


def test_unbeaten_systems_stay_finite_and_the_order_of_battles_does_not_matter():
    a, b = ["x", "x", "y"] * 5, ["y", "z", "z"] * 5
    one = bradley_terry(a, b, [1] * 15, range(15), replicates=20)
    assert one.systems == ["x", "y", "z"]
    assert np.isfinite(one.strength).all()
    other = bradley_terry(b[::-1], a[::-1], [0] * 15, range(15), replicates=20)
    assert other.strength == pytest.approx(one.strength, abs=1e-6)


def test_clusters_come_from_the_tests_of_the_fit():
    rng = np.random.default_rng(1)
    a, b, winner, _ = battles(3000, 3, rng, 0.5, 0)
    fit = bradley_terry(a, b, winner, np.arange(3000) // 3, replicates=100)
    made = compare(fit.tests(), "pairs of systems")
    assert [c.higher for c in made] == [c.a for c in made]
    assert fit.systems == ["s2", "s1", "s0"]
