"""Sentences as BERTScore compares them: each distinct one encoded once, its vectors kept.

Greedy matching (Zhang et al., 2020, section 3) takes pairs by the lengths of their two sentences,
so that no padding takes part. On a processor each pair has a matrix product of its own, without
copying the vectors together, which would cost more than the product. On a GPU always as many are
multiplied at a time. Either way the shape of the product is the pair's own: its score is the same,
to the last bit, in whatever company.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import (
    fill_rows,
    group_rows_by_keys,
    inference,
    return_free_memory,
)
from metaeval.text.transformers.encoder import TextEncoder

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

_PAIRS = 1024  # compared at a time


class EncodedSentence(NamedTuple):
    """The tokens of a sentence: vectors [length, width] on the device, and weights [length]."""

    vectors: torch.Tensor
    weights: Floats


def _best_on_cpu(
    candidates: Sequence[torch.Tensor], references: Sequence[torch.Tensor]
) -> tuple[Singles, Singles]:
    """The highest cosine of each token of n pairs, of candidates' and of references' tokens."""
    import torch

    with torch.inference_mode():
        similar = torch.empty(len(candidates), len(candidates[0]), len(references[0]))
        for one, other, out in zip(candidates, references, similar.unbind(), strict=True):
            torch.mm(one, other.t(), out=out)
        return similar.amax(dim=2).numpy(), similar.amax(dim=1).numpy()


def _best(
    candidates: Sequence[torch.Tensor], references: Sequence[torch.Tensor]
) -> tuple[Singles, Singles]:
    """The same in one product of `_PAIRS` pairs, filled up with the first."""
    import torch

    filled = fill_rows(np.arange(len(candidates)), _PAIRS).tolist()
    with inference(candidates[0].device):
        one, other = (torch.stack([side[k] for k in filled]) for side in (candidates, references))
        best = best_cosines(one, other)[: len(candidates)].cpu().numpy()
        return best[:, : one.shape[1]], best[:, one.shape[1] :]


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
    return np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)


class EncodedSentences:
    """Distinct sentences with the vectors and weights of their tokens.

    `trim` leaves so many bytes of vectors (`memory`). `documents` are the texts over which the idf
    of a token is counted; `None`: every token has the weight 1, except for those at a sentence's
    edges, which have 0.
    """

    def __init__(
        self, encoder: TextEncoder, memory: float, documents: Sequence[str] | None = None
    ) -> None:
        self._encoder, self._memory = encoder, memory
        self._encoded: dict[str, EncodedSentence] = {}
        self._tokens: dict[str, tuple[list[str], Floats, Singles]] = {}
        self._weight_of_token = _token_weights(encoder, documents)

    def add(self, texts: Sequence[str], *, alone: bool = False) -> None:
        """Encode those of the texts that are new; `alone` as in `TextEncoder.encode`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._encoded]
        ids, cut = self._encoder.tokenize(new)
        if n_cut := sum(cut):
            log.warning("bertscore: %d captions cut at %d tokens", n_cut, self._encoder.max_tokens)

        def keep(positions: list[int], vectors: torch.Tensor) -> None:
            for position, row in zip(positions, vectors, strict=True):
                weights = self._weight_of_token[np.array(ids[position])]
                self._encoded[new[position]] = EncodedSentence(row.clone(), weights)

        self._encoder.encode(ids, keep, alone=alone)

    def trim(self, but: Container[str]) -> None:
        """Drop sentences until the rest fits the memory: the newest first, these texts last.

        What encoding has freed goes back to the system.
        """
        return_free_memory()
        size = sum(sentence.vectors.nbytes for sentence in self._encoded.values())
        newest = list(reversed(self._encoded))
        for text in sorted(newest, key=lambda text: text in but):
            if size <= self._memory:
                return
            size -= self._encoded.pop(text).vectors.nbytes
            self._tokens.pop(text, None)

    def __len__(self) -> int:
        return len(self._encoded)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Precision, recall and F1 [n, 3] of n pairs of a candidate and a reference.

        All texts must have been added; a pair that occurs twice is compared once. Every token is
        matched with the most similar token (special ones included) of the other sentence; precision
        is the weighted mean over the candidate's tokens, recall over the reference's. All three are
        0 where either sentence is empty, F1 also where both others are 0.
        """
        number: dict[tuple[str, str], int] = {}
        inverse = [number.setdefault(pair, len(number)) for pair in pairs]
        sides = [[self._encoded[pair[side]] for pair in number] for side in (0, 1)]
        lengths = [np.array([len(each.weights) for each in side], dtype=np.int64) for side in sides]
        out = np.zeros((len(number), 3))
        best = _best_on_cpu if self._encoder.device.type == "cpu" else _best
        for rows in group_rows_by_keys(*lengths, most=_PAIRS):
            chosen = [[side[k] for k in rows.tolist()] for side in sides]
            cosines = best(*([each.vectors for each in side] for side in chosen))
            for column, (side, values) in enumerate(zip(chosen, cosines, strict=True)):
                out[rows, column] = _mean(values, np.stack([each.weights for each in side]))
        out[np.minimum(*lengths) <= self._encoder.n_special] = 0.0
        total = out[:, 0] + out[:, 1]
        np.divide(2 * out[:, 0] * out[:, 1], total, out=out[:, 2], where=total != 0)
        return out[np.array(inverse, dtype=np.intp)]

    def tokens(self, text: str) -> tuple[list[str], Floats, Singles]:
        """A text's k tokens as words, their weights [k] and vectors [k, width]."""
        if text not in self._tokens:  # a reference is needed with each caption of its image
            (ids,), _ = self._encoder.tokenize([text])
            words = [self._encoder.tokenizer.decode([token]).strip() for token in ids]
            vectors, weights = self._encoded[text]
            self._tokens[text] = words, weights, vectors.cpu().numpy()
        return self._tokens[text]


def count_cut(
    encoder: TextEncoder, captions: Sequence[str], has_score: Sequence[bool]
) -> npt.NDArray[np.int64]:
    """For `Scorer.tally`: 1 for a caption with a score that the model's length cut [n, 1]."""
    distinct = list(dict.fromkeys(captions))
    cut = dict(zip(distinct, encoder.tokenize(distinct)[1], strict=True))
    counts = [cut[text] and scored for text, scored in zip(captions, has_score, strict=True)]
    return np.array(counts, dtype=np.int64).reshape(-1, 1)


def _token_weights(encoder: TextEncoder, documents: Sequence[str] | None) -> Floats:
    """The weight of every token of the vocabulary."""
    tokenizer = encoder.tokenizer
    n = 1 + max(tokenizer.get_vocab().values())
    if documents is None:
        weights = np.ones(n)
        weights[[t for t in (tokenizer.cls_token_id, tokenizer.sep_token_id) if t is not None]] = 0
        return weights
    counts = Counter(t for tokens in encoder.tokenize(documents)[0] for t in set(tokens))
    df = np.zeros(n)  # in how many of the N documents; idf is log((N + 1) / (df + 1))
    df[list(counts)] = list(counts.values())
    return np.asarray(np.log((len(documents) + 1) / (df + 1)))
