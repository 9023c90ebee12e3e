"""Power and the stability of an order, against tables, closed forms and each other."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from metaeval.stats.sample_size import images_for_power, order_stability, power_at


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_power_is_that_of_published_tables(effect: float, n: int) -> None:
    """The paired t-test needs 199, 34 and 15 pairs for a power of 0.8 (G*Power 3.1; Cohen's small,
    medium and large effect). The normal approximation leaves out z²/2, two pairs, at α = 0.05."""
    assert 0 <= n - images_for_power(effect, 1.0) <= 3


def test_power_and_size_are_inverse() -> None:
    n = math.ceil(images_for_power(0.1, 0.7, alpha=0.01, power=0.9))
    assert power_at(n, 0.1, 0.7, alpha=0.01) == pytest.approx(0.9, abs=1e-3)
    assert images_for_power(0.0, 1.0) == math.inf
    assert images_for_power(1.0, 0.0) == 2
    assert power_at(10, 0.1, 0.0) == 1.0


def test_samples_of_normal_values_do_as_the_formulas_say() -> None:
    """Two metrics that differ by 0.25 sd: the sign is right with probability Φ(0.25 √n).

    2,000 draws: the standard error is at most 0.011, so 0.04 is more than three of them, and the
    z-test's small-sample error at n = 50.
    """
    rng = np.random.default_rng(3)
    gap = rng.normal(size=4000)
    gap = (gap - gap.mean()) / gap.std(ddof=1) + 0.25
    values = np.stack([np.zeros(4000), gap], axis=1)
    found = order_stability(values, [10, 50, 200], draws=2000)
    assert found.order.tolist() == [1, 0]
    for k, n in enumerate((10, 50, 200)):
        expected = norm.cdf(0.25 * math.sqrt(n))
        assert found.same_sign[0, k] == pytest.approx(expected, abs=0.04)
        assert found.same_order[k] == found.same_sign[0, k]
    assert found.significant[0, 1] == pytest.approx(power_at(50, 0.25, 1.0), abs=0.05)
    assert found.significant[0, 2] == pytest.approx(power_at(200, 0.25, 1.0), abs=0.04)
    np.testing.assert_allclose(found.tau, 2 * found.same_order - 1)


def test_ties_are_no_order_and_gaps_leave_the_image_out() -> None:
    same = order_stability(np.ones((5, 3)), [2, 5], draws=10)
    assert same.same_order.tolist() == [0, 0]
    assert same.tau.tolist() == [0, 0]
    assert same.significant.tolist() == [[0, 0], [0, 0]]
    values = np.array([[2.0, 1.0], [2.0, 1.0], [np.nan, 9.0]])
    assert order_stability(values, [2], draws=10).same_order.tolist() == [1]


def test_a_size_does_not_hang_on_the_others() -> None:
    values = np.random.default_rng(0).normal(size=(40, 3))
    one, two = (order_stability(values, sizes, draws=50) for sizes in ([20], [5, 20]))
    assert one.tau[0] == two.tau[1]
