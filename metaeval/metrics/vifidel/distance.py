"""From pairs of bags to VIFIDEL's distances: dedupe, pad, price, transport.

The price of moving object word i to caption word j, for p = 2, is the squared distance between
their vectors, each scaled by its weight where there are references:

    ‖w_i x_i - w_j x_j‖² = (w_i - w_j)² + w_i w_j ‖x_i - x_j‖²

as the vectors have length 1; for p = 1 its root. Written so, nothing is subtracted that nearly
cancels, and equal words cost exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute import transport
from metaeval.metrics.vifidel.importance import ImportanceWeights
from metaeval.metrics.vifidel.words import Bag, Lexicon

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class TransportProblems(NamedTuple):
    """P transport problems of one padded size; `which` are their positions in the call.

    objects, words
        [m, P], [n, P] Numbers of words; in padding those of some word of the problem.
    supply, demand
        [m, P], [n, P] Whole numbers of equal sum per problem, 0 in padding.
    cost
        [m, n, P]
    """

    which: Indices
    objects: Indices
    words: Indices
    supply: Floats
    demand: Floats
    cost: Floats


class BagDistance:
    """The distance between two bags of words: what it costs to turn the one into the other.

    The price of moving a word is the distance of the vectors (`p` 1) or its square (2). On a GPU
    (`device`) the transport of many bags is computed there.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        weights: ImportanceWeights,
        p: int,
        device: torch.device | None = None,
    ) -> None:
        self._lexicon, self._weights, self._p = lexicon, weights, p
        self._device = device

    def of_pairs(self, pairs: Sequence[tuple[Bag, Bag]], images: Indices | None = None) -> Floats:
        """[n] The distance of each pair (objects, words); equal problems are solved once.

        With `images` [n] words are weighted by these images' references; NaN where there are none.
        """
        if not pairs:
            return np.empty(0)
        places = [-1] * len(pairs) if images is None else images.tolist()
        number: dict[tuple[tuple[Bag, Bag], int], int] = {}
        inverse = [number.setdefault(key, len(number)) for key in zip(pairs, places, strict=True)]
        distinct = [pair for pair, _ in number]
        where = None if images is None else np.array([i for _, i in number], dtype=np.intp)
        distances = np.full(len(distinct), np.nan)
        for problems in self.problems(distinct, where):
            flow = transport.flows(problems.cost, problems.supply, problems.demand, self._device)
            distances[problems.which] = transport.costs(problems.cost, flow)
        return distances[np.array(inverse, dtype=np.intp)]

    def problems(
        self, pairs: Sequence[tuple[Bag, Bag]], images: Indices | None = None
    ) -> Iterator[TransportProblems]:
        """The pairs as transport problems, those of about one size together."""
        left, right = (_Bags([pair[side] for pair in pairs]) for side in (0, 1))
        weights = None
        if images is not None:
            words = np.concatenate([left.words, right.words])
            weights = self._weights.of_pairs(np.broadcast_to(images, words.shape), words)
        rows, columns = np.unique(left.words), np.unique(right.words)
        squares = self._lexicon.squared_distances(rows.tolist(), columns.tolist())
        for m, n, which in transport.group_by_size(left.sizes, right.sizes):
            if weights is not None:
                which = which[~np.isnan(weights[0, which])]
                if not len(which):
                    continue
            objects, counts = left.words[:m, which], left.counts[:m, which]
            words, frequencies = right.words[:n, which], right.counts[:n, which]
            cost = squares[
                np.searchsorted(rows, objects)[:, None], np.searchsorted(columns, words)[None]
            ]
            if weights is not None:
                a = weights[: len(left.words)][:m, which][:, None]
                b = weights[len(left.words) :][:n, which][None]
                cost = (a - b) ** 2 + a * b * cost
            yield TransportProblems(
                which,
                objects,
                words,
                counts * frequencies.sum(axis=0),  # the smallest whole numbers of equal sum
                frequencies * counts.sum(axis=0),
                cost if self._p == 2 else np.sqrt(cost),
            )


class _Bags:
    """Bags side by side, as arrays [longest, n]; padding repeats the first word with mass 0."""

    def __init__(self, bags: Sequence[Bag]) -> None:
        self.sizes: Indices = np.array([len(bag) for bag in bags], dtype=np.intp)
        self.words = np.zeros((int(self.sizes.max(initial=1)), len(bags)), dtype=np.intp)
        self.counts = np.zeros(self.words.shape)
        for k, bag in enumerate(bags):
            self.words[:, k] = bag[0][0]
            for place, (word, count) in enumerate(bag):
                self.words[place, k] = word
                self.counts[place, k] = count
