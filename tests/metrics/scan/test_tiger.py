"""TIGEr's arithmetic: the published vector, slow loops from the paper, and the edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.metrics.scan import tiger_score
from metaeval.metrics.scan.tiger_score import RAW, TigerScores

REFERENCE = np.array([[0.1, 0.5, 0.3, 0.9]])
CANDIDATE = np.array([[0.2, 0.4, 0.6, 0.7]])
ALL = np.ones((1, 4), dtype=np.bool_)


def of_arrays(function: Callable[..., Any], *arrays: Any) -> Any:
    """What a function of tensors returns for arrays, as an array."""
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays]
    return function(*tensors)


def rrs(*arrays: Any) -> Any:
    return of_arrays(tiger_score.rrs, *arrays).numpy()


def wds(*arrays: Any) -> Any:
    return of_arrays(tiger_score.wds, *arrays).numpy()


def tiger(*arrays: Any) -> TigerScores:
    return TigerScores(*(column.numpy() for column in of_arrays(tiger_score.tiger, *arrays)))


def slow(ref: list[float], cand: list[float], tau: float, raw: bool = False) -> tuple[float, float]:
    """RRS and WDS by the definitions, one number after another."""
    low, high = min(ref), max(ref)
    gain = list(ref) if raw else [(x - low) / (high - low) for x in ref]
    order = sorted(range(len(ref)), key=lambda i: (-cand[i], i))
    dcg = sum(gain[i] / math.log2(rank + 1) for rank, i in enumerate(order, 1))
    best = sum(g / math.log2(k + 1) for k, g in enumerate(sorted(gain, reverse=True), 1))
    p, q = ([math.exp(x) / sum(math.exp(y) for y in v) for x in v] for v in (ref, cand))
    divergence = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    lengths = [math.sqrt(sum(x * x for x in v)) for v in (ref, cand)]
    x = tau * (divergence + math.log(lengths[0] / lengths[1]))
    return dcg / best, 1 - math.exp(x) / (1 + math.exp(x))


def test_the_published_vector() -> None:
    found = tiger(REFERENCE, CANDIDATE, ALL)
    # given to twelve places
    assert found.rrs[0] == pytest.approx(0.977276475865, abs=1e-10)
    assert found.wds[0] == pytest.approx(0.474083746376, abs=1e-10)
    assert found.tiger[0] == pytest.approx(0.725680111121, abs=1e-10)
    # its two terms: KL .019357079666 and ln ratio .049814920474, times τ = 1.5
    term = math.log(1 / found.wds[0] - 1) / 1.5
    assert term == pytest.approx(0.019357079666 + 0.049814920474, abs=1e-10)


@pytest.mark.parametrize("tau", [0.5, 1.5])
@pytest.mark.parametrize("gains", ["min-max", RAW])
def test_random_vectors_against_the_definitions(tau: float, gains: str) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(2, 37, 300)
    mask = np.arange(36)[None, :] < counts[:, None]
    ref, cand = rng.uniform(0.01, 1, (2, 300, 36)).round(2)  # rounded: ties occur
    cand[::3] *= -1
    found = tiger(ref, cand, mask, tau, gains)
    for k, n in enumerate(counts):
        expected = slow(ref[k, :n].tolist(), cand[k, :n].tolist(), tau, gains == RAW)
        # float64, summed in another order
        assert (found.rrs[k], found.wds[k]) == pytest.approx(expected, abs=1e-12)
    assert (found.tiger == (found.rrs + found.wds) / 2).all()


def test_what_stands_behind_the_mask_does_not_count() -> None:
    padded = [
        np.pad(v, ((0, 0), (0, 3)), constant_values=c)
        for v, c in ((REFERENCE, 7.0), (CANDIDATE, np.nan), (ALL, False))
    ]
    found = tiger(padded[0], np.nan_to_num(padded[1], nan=-9.0), padded[2].astype(np.bool_))
    assert np.stack(found) == pytest.approx(np.stack(tiger(REFERENCE, CANDIDATE, ALL)), abs=1e-15)


def test_an_identical_caption_scores_three_quarters() -> None:
    found = tiger(REFERENCE, REFERENCE, ALL)
    assert (found.rrs[0], found.wds[0]) == pytest.approx((1, 0.5), abs=1e-15)
    assert found.tiger[0] == pytest.approx(0.75, abs=1e-15)


def test_ties_are_ranked_by_region() -> None:
    reference = np.array([[0.9, 0.1, 0.5]])
    tied = np.array([[0.3, 0.3, 0.3]])
    # ranked 0, 1, 2: gains 1, 0, 1/2 at discounts 1, 1/log2 3, 1/2; the best order is 0, 2, 1
    expected = (1 + 0.5 / 2) / (1 + 0.5 / math.log2(3))
    assert rrs(reference, tied, ALL[:, :3])[0] == pytest.approx(expected, abs=1e-15)


def test_where_no_ranking_can_be_wrong_rrs_is_one() -> None:
    assert rrs(np.array([[0.4]]), np.array([[0.1]]), ALL[:, :1])[0] == 1
    assert rrs(np.full((1, 4), 0.4), CANDIDATE, ALL)[0] == 1
    one = tiger(np.array([[0.4]]), np.array([[0.1]]), ALL[:, :1])
    assert one.wds[0] == pytest.approx(1 - 1 / (1 + (0.1 / 0.4) ** 1.5), abs=1e-15)


def test_raw_gains_without_a_positive_best_are_not_a_number() -> None:
    assert math.isnan(rrs(-REFERENCE, CANDIDATE, ALL, RAW)[0])
    assert math.isfinite(rrs(-REFERENCE, CANDIDATE, ALL)[0])


def test_a_vector_of_zeros_has_no_norm_term() -> None:
    zero = np.zeros((1, 4))
    assert wds(zero, zero, ALL)[0] == 0.5
    kl = -math.log(4) - np.log(np.exp(CANDIDATE) / np.exp(CANDIDATE).sum()).mean()
    assert wds(zero, CANDIDATE, ALL)[0] == pytest.approx(1 / (1 + math.exp(1.5 * kl)), abs=1e-12)


def test_norms_are_blind_to_sign() -> None:
    """Why weights under which human captions ground negatively are refused."""
    good, bad = np.array([[0.8, 0.9]]), np.array([[0.2, 0.3]])
    mask = ALL[:, :2]
    assert wds(good, good, mask)[0] > wds(good, bad, mask)[0]
    # the same with signs turned: the candidate that grounds worse, further below 0, now wins
    assert wds(-bad, -good, mask)[0] > wds(-bad, -bad, mask)[0]


def test_unknown_gains_are_refused() -> None:
    with pytest.raises(ValueError, match="min-max, raw"):
        rrs(REFERENCE, CANDIDATE, ALL, "cubic")
