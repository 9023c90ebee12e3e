"""TIGEr's arithmetic (Jiang et al., EMNLP 2019): from grounding vectors to RRS, WDS and TIGEr.

A grounding vector says of each region of an image how well a caption speaks of it. The candidate's
is compared with the mean of the references': does it rank the regions alike (RRS), and does it give
them as much weight (WDS)? The definitions are those of the authors' code (SeleenaJM/CapEval,
tiger.py), which differ from the paper's in two places: gains are min–max normalised, and τ is 1.5.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute.batching import group_rows_by_keys
from metaeval.compute.threads import run_parallel

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TAU = 1.5
MIN_MAX, RAW = "min-max", "raw"
GAINS = (MIN_MAX, RAW)

_STEP = 4  # regions are filled up to a multiple of this
_ROWS = 1024  # captions compared at a time


class TigerScores(NamedTuple):
    """The three scores of n captions: float64 [n] each."""

    tiger: Floats
    rrs: Floats
    wds: Floats


def tiger(
    reference: Floats, candidate: Floats, mask: Bools, tau: float = TAU, gains: str = MIN_MAX
) -> TigerScores:
    """TIGEr = (RRS + WDS) / 2 of grounding vectors [n, r], the references' mean and a candidate's.

    `mask` bool [n, r] says where regions are: what the vectors hold elsewhere does not count.
    """
    ranks, weights = rrs(reference, candidate, mask, gains), wds(reference, candidate, mask, tau)
    return TigerScores((ranks + weights) / 2, ranks, weights)


def compare_groundings(
    references: Floats,
    n_regions: npt.NDArray[np.int64],
    candidates: Floats,
    images: npt.NDArray[np.intp],
    tau: float = TAU,
    gains: str = MIN_MAX,
) -> Floats:
    """TIGEr, RRS and WDS of n captions: float64 [n, 3]; see `tiger`.

    Those of images with about as many regions are compared together: so little padding is compared,
    and a caption's numbers do not depend on how many regions other images have.

    `references` are the references' mean grounding vectors of m images [m, r], of which the first
    `n_regions` [m], at least one, are regions; `candidates` those of captions [n, r], `images` the
    captions' images [n].
    """
    count = n_regions[images]
    level = -(-count // _STEP) * _STEP
    scores = np.empty((len(images), 3))

    def compare(rows: npt.NDArray[np.intp]) -> None:
        most = int(level[rows[0]])
        mask = np.arange(most)[None, :] < count[rows][:, None]
        reference, candidate = references[images[rows]], candidates[rows]
        columns = tiger(_fit(reference, most), _fit(candidate, most), mask, tau, gains)
        scores[rows] = np.stack(columns, axis=1)

    run_parallel([
        partial(compare, rows) for rows in group_rows_by_keys(level, most=_ROWS)
    ])  # fmt: skip
    return scores


def _fit(rows: Floats, width: int) -> Floats:
    """The rows cut off, or filled up with zeros, to a width."""
    return np.pad(rows[:, :width], ((0, 0), (0, max(0, width - rows.shape[1]))))


def rrs(reference: Floats, candidate: Floats, mask: Bools, gains: str = MIN_MAX) -> Floats:
    """Region rank similarity: NDCG of the regions ranked by the candidate, [n], in [0, 1].

    Σ gain / log2(1 + rank), divided by the same for the best ranking. The region ranked first has
    rank 1; regions of equal score are ranked by their index. Gains are linear: the reference's
    numbers min–max normalised to [0, 1] (the code), or as they are (the paper).

    Where all gains are equal, as in an image of one region, every ranking is the best one, and RRS
    is 1 (the code divides by zero). Raw gains may be negative; where the best ranking's sum is not
    positive, RRS is not a number.
    """
    if gains not in GAINS:
        raise ValueError(f"gains must be one of {', '.join(GAINS)}")
    n, r = reference.shape
    low = np.where(mask, reference, np.inf).min(axis=1, keepdims=True)
    high = np.where(mask, reference, -np.inf).max(axis=1, keepdims=True)
    flat = (high == low)[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = reference if gains == RAW else (reference - low) / (high - low)
    gain = np.where(mask, gain, 0.0)
    discount = 1 / np.log2(np.arange(2, r + 2))
    # padding is ranked last, where its gain of 0 adds nothing
    ranked = np.argsort(np.where(mask, -candidate, np.inf), axis=1, kind="stable")
    best = np.argsort(np.where(mask, -gain, np.inf), axis=1, kind="stable")
    rows = np.arange(n)[:, None]
    dcg = (gain[rows, ranked] * discount).sum(axis=1)
    ideal = (gain[rows, best] * discount).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ndcg = np.where(ideal > 0, dcg / ideal, np.nan)
    return np.where(flat, 1.0, ndcg)


def wds(reference: Floats, candidate: Floats, mask: Bools, tau: float = TAU) -> Floats:
    """Weight distribution similarity: 1 - σ(τ · (KL + ln(‖ref‖ / ‖cand‖))), [n], in (0, 1).

    KL is that of the candidate's softmax from the reference's; logarithms are natural. The norm
    term is signed: a candidate with longer vectors than the references scores above 1/2, which is
    what equal vectors score. It is 0 where one of the vectors is 0.
    """
    p, q = _log_softmax(reference, mask), _log_softmax(candidate, mask)
    divergence = np.where(mask, np.exp(p) * (p - q), 0.0).sum(axis=1)
    lengths = [np.sqrt((np.where(mask, v, 0.0) ** 2).sum(axis=1)) for v in (reference, candidate)]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where((lengths[0] > 0) & (lengths[1] > 0), np.log(lengths[0] / lengths[1]), 0.0)
    similarity: Floats = 1 / (1 + np.exp(tau * (divergence + ratio)))
    return similarity


def _log_softmax(values: Floats, mask: Bools) -> Floats:
    """Logarithm of the softmax over the regions; 0 where there is none."""
    held = np.where(mask, values, -np.inf)
    shifted = np.where(mask, values - held.max(axis=1, keepdims=True), 0.0)
    total = np.where(mask, np.exp(shifted), 0.0).sum(axis=1, keepdims=True)
    return np.where(mask, shifted - np.log(total), 0.0)
