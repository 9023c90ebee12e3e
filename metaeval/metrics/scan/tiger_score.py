"""TIGEr's arithmetic (Jiang et al., EMNLP 2019): from grounding vectors to RRS, WDS and TIGEr.

A grounding vector says of each region of an image how well a caption speaks of it. The candidate's
is compared with the mean of the references': does it rank the regions alike (RRS), and does it give
them as much weight (WDS)? The definitions are those of the authors' code (SeleenaJM/CapEval,
tiger.py), which differ from the paper's in two places: gains are min–max normalised, and τ is 1.5.

`tiger`, `rrs` and `wds` are device sections: float64 tensors in and out, on any device.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from metaeval.compute.device import group_rows_by_keys, run_on, to_device, to_host

Floats = npt.NDArray[np.float64]

TAU = 1.5
MIN_MAX, RAW = "min-max", "raw"

_STEP = 4  # regions are filled up to a multiple of this
_ROWS = 1024  # captions compared at a time


def tiger(
    reference: torch.Tensor,
    candidate: torch.Tensor,
    mask: torch.Tensor,
    tau: float = TAU,
    gains: str = MIN_MAX,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """TIGEr = (RRS + WDS) / 2, RRS and WDS, float64 [n] each, of grounding vectors [n, r]: the
    references' mean and a candidate's.

    `mask` bool [n, r] marks the regions; values elsewhere are not read.
    """
    ranks, weights = rrs(reference, candidate, mask, gains), wds(reference, candidate, mask, tau)
    return (ranks + weights) / 2, ranks, weights


def compare_groundings(
    references: Floats,
    n_regions: npt.NDArray[np.int64],
    candidates: Floats,
    images: npt.NDArray[np.intp],
    tau: float = TAU,
    gains: str = MIN_MAX,
    device: torch.device | None = None,
) -> Floats:
    """TIGEr, RRS and WDS of n captions: float64 [n, 3]; see `tiger`.

    Captions of images with about as many regions are compared together. So little padding is
    compared, and a caption's scores do not depend on how many regions other images have.

    Parameters
    ----------
    references
        [m, r] The references' mean grounding vectors of m images.
    n_regions
        [m] How many of the r values are regions, at least 1.
    candidates
        [n, r] The captions' grounding vectors.
    images
        [n] The captions' images.
    device
        Where to compute; `None`: the processor.
    """
    on = device or torch.device("cpu")
    count = n_regions[images]
    level = -(-count // _STEP) * _STEP
    scores = np.empty((len(images), 3))

    def compare(rows: npt.NDArray[np.intp]) -> None:
        most = int(level[rows[0]])
        mask = np.arange(most)[None, :] < count[rows][:, None]
        reference, candidate, there = to_device(
            on, _fit(references[images[rows]], most), _fit(candidates[rows], most), mask
        )
        columns = tiger(reference, candidate, there, tau, gains)
        scores[rows] = to_host(torch.stack(columns, dim=1))

    at_once = _ROWS if on.type == "cpu" else len(images)
    run_on(on, [partial(compare, rows) for rows in group_rows_by_keys(level, most=at_once)])
    return scores


def _fit(rows: Floats, width: int) -> Floats:
    """The rows cut off, or filled up with zeros, to a width."""
    return np.pad(rows[:, :width], ((0, 0), (0, max(0, width - rows.shape[1]))))


def rrs(
    reference: torch.Tensor, candidate: torch.Tensor, mask: torch.Tensor, gains: str = MIN_MAX
) -> torch.Tensor:
    """Region rank similarity: NDCG of the regions ranked by the candidate, [n], in [0, 1].

    Σ gain / log2(1 + rank), divided by the same for the best ranking. The region ranked first has
    rank 1; regions of equal score are ranked by their index. Gains are linear: the reference's
    numbers min–max normalised to [0, 1] (the code), or as they are (the paper).

    Where all gains are equal, as in an image of one region, every ranking is the best one, and RRS
    is 1 (the code divides by zero). Raw gains may be negative; where the best ranking's sum is not
    positive, RRS is not a number.
    """
    low = torch.where(mask, reference, torch.inf).amin(dim=1, keepdim=True)
    high = torch.where(mask, reference, -torch.inf).amax(dim=1, keepdim=True)
    gain = reference if gains == RAW else (reference - low) / (high - low)
    gain = torch.where(mask, gain, 0.0)
    ranks = torch.arange(2, reference.shape[1] + 2, dtype=reference.dtype, device=reference.device)
    discount = 1 / torch.log2(ranks)
    # padding is ranked last, where its gain of 0 adds nothing
    ranked = torch.where(mask, -candidate, torch.inf).argsort(dim=1, stable=True)
    best = torch.where(mask, -gain, torch.inf).argsort(dim=1, stable=True)
    dcg = (gain.gather(1, ranked) * discount).sum(dim=1)
    ideal = (gain.gather(1, best) * discount).sum(dim=1)
    ndcg = torch.where(ideal > 0, dcg / ideal, torch.nan)
    return torch.where((high == low)[:, 0], 1.0, ndcg)


def wds(
    reference: torch.Tensor, candidate: torch.Tensor, mask: torch.Tensor, tau: float = TAU
) -> torch.Tensor:
    """Weight distribution similarity: 1 - σ(τ · (KL + ln(‖ref‖ / ‖cand‖))), [n], in (0, 1).

    KL is that of the candidate's softmax from the reference's; logarithms are natural. The norm
    term is signed: a candidate with longer vectors than the references scores above 1/2, which is
    what equal vectors score. It is 0 where one of the vectors is 0.
    """
    p, q = _log_softmax(reference, mask), _log_softmax(candidate, mask)
    divergence = torch.where(mask, p.exp() * (p - q), 0.0).sum(dim=1)
    own, other = (
        torch.where(mask, v, 0.0).square().sum(dim=1).sqrt() for v in (reference, candidate)
    )
    ratio = torch.where((own > 0) & (other > 0), (own / other).log(), 0.0)
    return torch.sigmoid(-tau * (divergence + ratio))


def _log_softmax(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Logarithm of the softmax over the regions; 0 elsewhere."""
    logs = torch.where(mask, values, -torch.inf).log_softmax(dim=1)
    return torch.where(mask, logs, 0.0)
