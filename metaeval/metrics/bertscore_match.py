"""BERTScore's greedy matching (Zhang et al., 2020, section 3), for many sentence pairs at once.

Pairs are taken by the lengths of their two sentences, always as many at a time, so that no padding
takes part and the shape of a matrix product is the pair's own: its score is the same, to the last
bit, in whatever company it is computed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaeval.models.token_bank import TokenBank

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

_PAIRS = {"cpu": 64, "cuda": 1024}


class Sentences:
    """Sentences whose token vectors are in a bank.

    `length` [n] counts all tokens, `number` [n] is the place among the vectors of that length in
    the bank, `weights` holds per length the weight of every token [n of that length, length]:
    1, or its idf, and 0 for the special tokens; `empty` [n] tells sentences of special tokens only.
    """

    def __init__(self, length: Ints, number: Ints, empty: npt.NDArray[np.bool_]) -> None:
        self.length, self.number, self.empty = length, number, empty


def pair_scores(
    bank: TokenBank,
    weights: dict[int, Floats],
    sentences: Sentences,
    candidate: Ints,
    reference: Ints,
    device: str,
) -> Floats:
    """Precision, recall and F1 [n, 3] of n pairs of sentences, by their indices.

    Every token is matched with the most similar token (special ones included) of the other
    sentence; precision is the weighted mean over the candidate's tokens, recall over the
    reference's. All three are 0 where either sentence is empty, F1 also where both others are 0.
    """
    import torch

    out = np.zeros((len(candidate), 3))
    lengths = np.stack([sentences.length[candidate], sentences.length[reference]], axis=1)
    shapes, group = np.unique(lengths, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    bounds = np.searchsorted(group.reshape(-1)[order], np.arange(len(shapes) + 1))
    size = _PAIRS[device]
    for (long_c, long_r), first, last in zip(
        shapes.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True
    ):
        for start in range(first, last, size):
            mine = order[start : min(start + size, last)]
            filled = np.resize(mine, size)  # repeated up to the usual number of pairs
            cand, ref = sentences.number[candidate[filled]], sentences.number[reference[filled]]
            with torch.inference_mode():
                similar = torch.bmm(bank.get(long_c, cand), bank.get(long_r, ref).transpose(1, 2))
                best_c = similar.amax(dim=2).cpu().numpy()
                best_r = similar.amax(dim=1).cpu().numpy()
            n = len(mine)
            out[mine, 0] = _mean(best_c[:n], weights[long_c][cand[:n]])
            out[mine, 1] = _mean(best_r[:n], weights[long_r][ref[:n]])
    out[sentences.empty[candidate] | sentences.empty[reference]] = 0.0
    total = out[:, 0] + out[:, 1]
    np.divide(2 * out[:, 0] * out[:, 1], total, out=out[:, 2], where=total != 0)
    return out


def _mean(values: npt.NDArray[np.float32], weights: Floats) -> Floats:
    """Weighted means of rows, 0 without weight; summed from left to right whatever the shape."""
    total = np.cumsum(values.astype(np.float64) * weights, axis=1)[:, -1]
    weight = np.cumsum(weights, axis=1)[:, -1]
    mean: Floats = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    return mean
