"""BERTScore's greedy matching (Zhang et al., 2020, section 3), for many sentence pairs at once.

Pairs are taken by the lengths of their two sentences, so that no padding takes part. On a processor
each has a matrix product of its own, straight from the bank: copying the vectors together would
cost more than the product. On a GPU always as many are multiplied at a time. Either way the shape
of the product is the pair's own: its score is the same, to the last bit, in whatever company.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute.batching import fill_rows, group_rows_by_keys
from metaeval.compute.device import inference
from metaeval.metrics.bertscore.token_bank import TokenBank

if TYPE_CHECKING:
    import torch

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

_PAIRS = 1024


class BankedSentences(NamedTuple):
    """Of n sentences in a bank: all their tokens, their places among those of that length, and
    whether they have special tokens only; [n] each."""

    length: Ints
    slot: Ints
    empty: npt.NDArray[np.bool_]


def pair_scores(
    bank: TokenBank,
    weights: dict[int, Floats],
    sentences: BankedSentences,
    candidate: Ints,
    reference: Ints,
    device: str,
) -> Floats:
    """Precision, recall and F1 [n, 3] of n pairs of sentences, by their places in `sentences`.

    `weights` is length → the weight of every token, 1 or its idf, and 0 for special ones: float64
    [sentences of that length, length], in the bank's order; `device` the kind that the bank is on.

    Every token is matched with the most similar token (special ones included) of the other
    sentence; precision is the weighted mean over the candidate's tokens, recall over the
    reference's. All three are 0 where either sentence is empty, F1 also where both others are 0.
    """
    out = np.zeros((len(candidate), 3))
    lengths = sentences.length[candidate], sentences.length[reference]
    best = _best_on_cpu if device == "cpu" else _best
    for rows in group_rows_by_keys(*lengths, most=_PAIRS):
        long_c, long_r = (int(length[rows[0]]) for length in lengths)
        cand, ref = sentences.slot[candidate[rows]], sentences.slot[reference[rows]]
        best_c, best_r = best(bank, long_c, cand, long_r, ref)
        out[rows, 0] = _mean(best_c, weights[long_c][cand])
        out[rows, 1] = _mean(best_r, weights[long_r][ref])
    out[sentences.empty[candidate] | sentences.empty[reference]] = 0.0
    total = out[:, 0] + out[:, 1]
    np.divide(2 * out[:, 0] * out[:, 1], total, out=out[:, 2], where=total != 0)
    return out


def _best_on_cpu(
    bank: TokenBank, long_c: int, cand: Ints, long_r: int, ref: Ints
) -> tuple[Singles, Singles]:
    """The highest cosine of each token of n pairs: [n, long_c] and [n, long_r]."""
    import torch

    with torch.inference_mode():
        similar = torch.empty(len(cand), long_c, long_r)
        rows, columns = bank.sentences(long_c), bank.sentences(long_r)
        for c, r, out in zip(cand.tolist(), ref.tolist(), similar.unbind(), strict=True):
            torch.mm(rows[c], columns[r].t(), out=out)
        return similar.amax(dim=2).numpy(), similar.amax(dim=1).numpy()


def _best(
    bank: TokenBank, long_c: int, cand: Ints, long_r: int, ref: Ints
) -> tuple[Singles, Singles]:
    """The same in one product of `_PAIRS` pairs, filled up with the first."""
    filled = fill_rows(np.arange(len(cand)), _PAIRS)
    with inference(bank.device):
        candidates, references = bank.get(long_c, cand[filled]), bank.get(long_r, ref[filled])
        best = best_cosines(candidates, references)[: len(cand)].cpu().numpy()
        return best[:, :long_c], best[:, long_c:]


def best_cosines(candidates: torch.Tensor, references: torch.Tensor) -> torch.Tensor:
    """Device section: of unit vectors [n, c, width] and [n, r, width], the highest cosine of each
    token, those of the candidates first: [n, c + r]."""
    import torch

    similar = torch.bmm(candidates, references.transpose(1, 2))
    return torch.cat([similar.amax(dim=2), similar.amax(dim=1)], dim=1)


def _mean(values: Singles, weights: Floats) -> Floats:
    """Weighted means of rows, 0 without weight; summed from left to right whatever the shape."""
    total = np.cumsum(values.astype(np.float64) * weights, axis=1)[:, -1]
    weight = np.cumsum(weights, axis=1)[:, -1]
    mean: Floats = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    return mean
