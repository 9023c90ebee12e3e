"""From pairs of bags to VIFIDEL's distances: dedupe, pad, price, transport.

The price of moving object word i to caption word j, for p = 2, is the squared distance between
their vectors, each scaled by its weight where there are references:

    ‖w_i x_i - w_j x_j‖² = (w_i - w_j)² + w_i w_j ‖x_i - x_j‖²

as the vectors have length 1; for p = 1 its root. Written so, nothing is subtracted that nearly
cancels, and equal words cost exactly 0.

The weight of word k, how far it is from what the references say, is the mean, over the references
of its image, of max(0, 1 - max_t cos(x_k, x_t)) / 2, t running over the reference's content words.
A word that every reference has weighs 0, one that is unlike all their words up to 1. As the vectors
have length 1, 1 - cos is half the squared distance, and that is what is computed.

Bags of content words, as VIFIDEL's reference scorer makes them, and numbers for the words.

The scorer counts words with scikit-learn's CountVectorizer(stop_words="english"): lower case,
runs of at least two word characters, without the 318 words of scikit-learn's list (which also
holds next, top, front, side, back, fire, two …). Labels of objects go the same way, so a label of
two words (dining table, stop-sign) counts as two words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute import transport
from metaeval.runs.store import Store
from metaeval.text.word_vectors.base import WordVectors

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_WORD = re.compile(r"(?u)\b\w\w+\b")


def stop_words() -> frozenset[str]:
    """scikit-learn's English list."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import

    words: frozenset[str] = ENGLISH_STOP_WORDS
    return words


def stop_words_identity() -> str:
    """How many stop words, and a checksum of them, for signatures."""
    listed = sorted(stop_words())
    return f"sklearn-{len(listed)}-{hashlib.sha256(' '.join(listed).encode()).hexdigest()[:8]}"


class Bags(NamedTuple):
    """n bags of words as arrays, one bag after another.

    Attributes
    ----------
    words, counts
        [total] The numbers of the words that have a vector, in alphabetical order within a bag, and
        how often the bag has each.
    starts
        [n + 1] Bag k has the words from starts[k] to starts[k + 1].
    tokens, unknown
        [n] How many words a bag has in all, and how many of them have no vector.
    """

    words: Indices
    counts: Floats
    starts: Indices
    tokens: Indices
    unknown: Indices

    @property
    def sizes(self) -> Indices:
        """[n] How many different words with a vector each bag has."""
        return np.diff(self.starts)

    def take(self, rows: Indices) -> Bags:
        """These bags, each as often as it is named."""
        sizes = self.sizes[rows]
        starts = np.append(0, np.cumsum(sizes))
        places = np.repeat(self.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])
        return Bags(
            self.words[places], self.counts[places], starts, self.tokens[rows], self.unknown[rows]
        )


def padded_places(
    starts: Indices, rows: Indices, width: int
) -> tuple[Indices, npt.NDArray[np.bool_]]:
    """[width, rows] The places of the words of bags that begin at `starts`, and whether there is
    one; of padding, the place of the bag's first word."""
    slots = np.arange(width)[:, None]
    there = slots < np.diff(starts)[rows]
    return starts[rows] + slots * there, there


class Lexicon:
    """The content words met so far: their numbers, and their vectors."""

    def __init__(self, vectors: WordVectors, store: Store | None = None) -> None:
        self._source, self._store = vectors, store
        self._stop = stop_words()
        self._number: dict[str, int] = {}
        self.content = cache(self._content_words)
        self.words: list[str] = []
        self.known = np.empty(0, dtype=np.bool_)
        self.rows = np.empty((0, 0))

    def _content_words(self, text: str) -> tuple[str, ...]:
        """The content words of a text in alphabetical order, with a vector or without, each as
        often as it occurs."""
        return tuple(sorted(w for w in _WORD.findall(text.lower()) if w not in self._stop))

    def bags(self, texts: Sequence[str]) -> tuple[Bags, Indices]:
        """The distinct bags of the texts' content words, in alphabetical order each, and which of
        them each text's is; new words are learned."""
        distinct: dict[tuple[str, ...], int] = {}
        rows = [distinct.setdefault(self.content(text), len(distinct)) for text in texts]
        self._learn({word for content in distinct for word in content})
        n, tokens = len(distinct), np.array([len(content) for content in distinct], dtype=np.intp)
        numbers = [self._number[word] for content in distinct for word in content]
        word, bag = np.array(numbers, dtype=np.intp), np.repeat(np.arange(n), tokens)
        known = self.known[word]
        unknown = np.bincount(bag[~known], minlength=n)
        word, bag = word[known], bag[known]
        first = np.flatnonzero(np.diff(bag, prepend=-1) | np.diff(word, prepend=-1))
        counts = np.diff(first, append=len(word)).astype(np.float64)
        starts = np.searchsorted(bag[first], np.arange(n + 1))
        return Bags(word[first], counts, starts, tokens, unknown), np.array(rows, dtype=np.intp)

    def _learn(self, words: set[str]) -> None:
        """Number words, in alphabetical order, and look their vectors up."""
        new = sorted(words - self._number.keys())
        if not new:
            return
        vectors = self._source.embed(new, self._store)
        self._number.update((word, len(self.words) + i) for i, word in enumerate(new))
        self.words += new
        self.known = np.concatenate([self.known, vectors.known])
        self.rows = np.concatenate([self.rows.reshape(-1, vectors.rows.shape[1]), vectors.rows])

    def unknown(self, text: str) -> list[str]:
        """The content words that have no vector, in alphabetical order, once each."""
        words = dict.fromkeys(self.content(text))
        return [word for word in words if not self.known[self._number[word]]]

    def squared_distances(self, left: Indices, right: Indices) -> Floats:
        """[len(left), len(right)] Between words by number: 2 - 2 cos, in [0, 4].

        Added up in one order for every pair, so that a number does not depend on the others
        computed for; a matrix product would.
        """
        a, b = self.rows[left], self.rows[right]
        squares: Floats = np.maximum(2 - 2 * np.einsum("id,jd->ij", a, b), 0)
        i, j = np.nonzero(squares < 1e-3)  # where the subtraction has lost its digits
        squares[i, j] = ((a[i] - b[j]) ** 2).sum(axis=1)
        return squares


class ImportanceWeights:
    """The importance weights of words, by the bags of each image's references.

    Image i has the references from first[i] to first[i + 1], each of which has a word with a
    vector. Without any, weights are not a number.
    """

    def __init__(self, lexicon: Lexicon, references: Bags, first: Indices) -> None:
        self._lexicon, self._references, self._first = lexicon, references, first

    def of_pairs(self, images: Indices, words: Indices) -> Floats:
        """[n] The weight of each word in its image."""
        size = len(self._lexicon.words)
        pairs, inverse = np.unique(images * size + words, return_inverse=True)
        image, word = np.divmod(pairs, size)
        weights = np.full(len(pairs), np.nan)
        for start, stop in pairwise(np.flatnonzero(np.diff(image, prepend=-1, append=-1)).tolist()):
            begin, end = self._first[image[start]], self._first[image[start] + 1]
            if begin < end:
                first = self._references.starts[begin : end + 1]
                others = self._references.words[first[0] : first[-1]]
                own, place = np.unique(others, return_inverse=True)
                squares = self._lexicon.squared_distances(word[start:stop], own)[:, place]
                nearest = np.minimum.reduceat(squares, first[:-1] - first[0], axis=1)
                weights[start:stop] = nearest.mean(axis=1) / 4
        return weights[inverse]


class TransportProblems(NamedTuple):
    """P transport problems of one padded size; `which` are their positions in the call.

    objects, words
        [m, P], [n, P] The numbers of the words; in padding that of some word of the problem.
    supply, demand
        [m, P], [n, P] Whole numbers of equal sum per problem, 0 in padding.
    prices
        [m, n, P] What moving each object word to each caption word costs.
    """

    which: Indices
    objects: Indices
    words: Indices
    supply: Floats
    demand: Floats
    prices: Floats


class BagDistance(NamedTuple):
    """The distance between two bags of words: what it costs to turn the one into the other.

    The price of moving a word is the distance of the vectors (`p` 1) or its square (2).
    """

    lexicon: Lexicon
    weights: ImportanceWeights | None
    p: int

    def of_pairs(
        self,
        objects: tuple[Bags, Indices],
        words: tuple[Bags, Indices],
        images: Indices | None = None,
    ) -> Floats:
        """[n] The distance of each pair: of bags, none of them empty, and rows [n] of them on
        either side. Equal problems are solved once.

        With `images` [n] words are weighted by these images' references; NaN where there are none.
        """
        (left, one), (right, other) = objects, words
        key = one * len(right.tokens) + other
        if images is not None:
            key += images * len(left.tokens) * len(right.tokens)
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        where = None if images is None else images[first]
        distances = np.full(len(first), np.nan)
        for each in self.problems(left.take(one[first]), right.take(other[first]), where):
            flow = transport.flows(each.prices, each.supply, each.demand)
            distances[each.which] = transport.costs(each.prices, flow)
        return distances[inverse]

    def problems(
        self, objects: Bags, words: Bags, images: Indices | None
    ) -> Iterator[TransportProblems]:
        """Pairs of bags as transport problems, those of about one size together; those whose image
        has no reference are left out."""
        both = np.concatenate([objects.words, words.words])
        weights = np.ones(len(both))
        if self.weights is not None and images is not None:
            owner = np.concatenate([np.repeat(images, each.sizes) for each in (objects, words)])
            weights = self.weights.of_pairs(owner, both)
        weights, others = np.split(weights, [len(objects.words)])
        object_words, rows = np.unique(objects.words, return_inverse=True)
        caption_words, columns = np.unique(words.words, return_inverse=True)
        squares = self.lexicon.squared_distances(object_words, caption_words)
        for m, n, group in transport.group_by_size(objects.sizes, words.sizes):
            which = group[~np.isnan(weights[objects.starts[group]])]
            if not len(which):
                continue
            left, here = padded_places(objects.starts, which, m)
            right, there = padded_places(words.starts, which, n)
            counts, frequencies = objects.counts[left] * here, words.counts[right] * there
            a, b = weights[left][:, None], others[right][None]
            cost = (a - b) ** 2 + a * b * squares[rows[left][:, None], columns[right][None]]
            yield TransportProblems(
                which,
                objects.words[left],
                words.words[right],
                counts * frequencies.sum(axis=0),  # the smallest whole numbers of equal sum
                frequencies * counts.sum(axis=0),
                cost if self.p == 2 else cost**0.5,
            )
