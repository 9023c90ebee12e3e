"""N-grams of many texts at once, as arrays: what BLEU, SacreBLEU, ROUGE-L and CIDEr have in common.

Words become numbers once (`WordIndex`). An n-gram is then a pair: the (n-1)-gram that it begins
with, and its last word. So the n-grams of a text, an image or a whole corpus are a trie,
kept as one sorted array of (prefix, last word) keys per order (`Edges`). Nothing is hashed: two
n-grams have the same number only if they are the same n-gram.

All numbers here are counts, so no result depends on rounding, and what is said of one text never
depends on the other texts in a call.

Texts as numbers: the words of many captions, and of all images' references, in flat arrays.

What counts words for many captions at once (n-gram metrics, the longest copy) starts from these.
References differ in number from image to image, so nothing here has a side as long as the most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Texts(NamedTuple):
    """n texts as numbers: `words` [all words], one text after the other, and `lengths` [n]."""

    words: Ints
    lengths: Ints


class FlatReferences(NamedTuple):
    """The references of all images in one list: `texts` [r], the `image` [r] that each belongs to,
    its place (`slot` [r]) among that image's references, and their number per image, `sizes` [n].
    """

    texts: list[str]
    image: Ints
    slot: Ints
    sizes: Ints


def flatten_references(references: Sequence[Sequence[str]]) -> FlatReferences:
    """Put the references of all images into one list."""
    sizes = np.array([len(group) for group in references], dtype=np.int64)
    image = np.repeat(np.arange(len(sizes)), sizes)
    return FlatReferences(list(chain.from_iterable(references)), image, places_of(sizes), sizes)


def places_of(sizes: Ints) -> Ints:
    """The place, from 0, of each member of groups of these sizes, group after group."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def runs_of_cost(cost: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Begin and end of runs of n texts, one after the other, that together cost about `most`: less
    than `most` and the costliest of them.

    >>> list(runs_of_cost(np.array([1, 1, 1, 9, 1]), 3))
    [(0, 2), (2, 3), (3, 5)]
    """
    run = np.cumsum(cost) // most
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    return pairwise([*starts.tolist(), len(cost)])


class WordIndex:
    """The words of the references, numbered from 0 in the order of their appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def words(self) -> list[str]:
        """The words that were learnt, by their numbers."""
        return list(self._numbers)

    def learn(self, texts: Sequence[Sequence[str]]) -> Texts:
        """Number the words of the texts, new ones too, and keep the numbers."""
        encoded, self._numbers = self._encoded(texts)
        return encoded

    def encode(self, texts: Sequence[Sequence[str]]) -> Texts:
        """Number the words of the texts. A word that was never learnt gets a number of its own
        beyond the learnt ones, good for this call only."""
        return self._encoded(texts)[0]

    def _encoded(self, texts: Sequence[Sequence[str]]) -> tuple[Texts, dict[str, int]]:
        numbers = defaultdict(count(len(self._numbers)).__next__, self._numbers)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        words = map(numbers.__getitem__, chain.from_iterable(texts))
        return Texts(np.fromiter(words, np.int64, int(lengths.sum())), lengths), dict(numbers)


class Ngrams(NamedTuple):
    """The g distinct n-grams of one order in each of n texts, in the order of their appearance.

    text, tf
        [g] Which text, and how often the n-gram occurs in it (term frequency, at least 1).
    prefix, last
        [g] The n-gram without its last word, as an index into the `Ngrams` of the order below
        (for single words: the text itself), and its last word.
    """

    text: Ints
    tf: Ints
    prefix: Ints
    last: Ints


class Edges:
    """The edges of a trie at one depth: (node above, word) pairs, each with a number.

    The numbers run from 0 in the order of the pairs; they are the nodes at this depth.
    """

    def __init__(self, keys: Ints) -> None:
        self.keys = keys

    @classmethod
    def of(cls, above: npt.NDArray[Any], words: Ints) -> tuple[Edges, Ints]:
        """The edges for these pairs, which may come more than once, and the node of each pair."""
        keys = _key(above, words)
        order = np.argsort(keys)
        ordered = keys[order]
        starts = _starts(ordered)
        nodes = np.empty_like(order)
        nodes[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(keys)))
        return cls(ordered[starts]), nodes

    def __len__(self) -> int:
        return len(self.keys)

    def below(self, above: Ints) -> Ints:
        """The keys of the same edges where node k above them is called `above[k]`: ascending, as
        these are."""
        return _key(above[self.keys >> 32], self.keys & 0xFFFFFFFF)

    def find(self, above: npt.NDArray[Any], words: Ints) -> Ints:
        """The nodes that the pairs lead to, [pairs]; -1 where there is none or `above` is -1."""
        nodes = np.full(len(words), -1)
        if len(self):
            pairs = np.flatnonzero(above >= 0)
            keys = _key(above[pairs], words[pairs])
            place = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
            known = self.keys[place] == keys
            nodes[pairs[known]] = place[known]
        return nodes


class Trie:
    """The n-grams below each of several roots (the images, or one corpus), numbered per order."""

    def __init__(self, edges: Sequence[Edges] = ()) -> None:
        self.edges = list(edges)

    def grow(self, ngrams: Sequence[Ngrams], roots: npt.NDArray[Any]) -> list[Ints]:
        """Take in the n-grams of texts that belong to `roots` [texts], into a trie still empty.

        Returns, order by order, the number [g] that each n-gram has got.
        """
        numbers, above = [], roots
        for order in ngrams:
            edges, above = Edges.of(above[order.prefix], order.last)
            self.edges.append(edges)
            numbers.append(above)
        return numbers

    def sizes(self) -> list[int]:
        """How many n-grams there are of each order."""
        return [len(edges) for edges in self.edges]

    def united(self, other: Trie) -> tuple[Trie, list[Ints], list[Ints]]:
        """A trie of the n-grams of both below their one root; order by order, the number in it of
        each n-gram of this one, and of the other."""
        both, of_self, of_other = Trie(), [], []
        mine = others = np.zeros(1, dtype=np.int64)
        for one, two in zip(self.edges, other.edges, strict=True):
            keys_of_one, keys_of_two = one.below(mine), two.below(others)
            keys = np.union1d(keys_of_one, keys_of_two)
            mine, others = (np.searchsorted(keys, each) for each in (keys_of_one, keys_of_two))
            both.edges.append(Edges(keys))
            of_self.append(mine)
            of_other.append(others)
        return both, of_self, of_other

    def find(self, ngrams: Sequence[Ngrams], roots: npt.NDArray[Any]) -> list[Ints]:
        """Order by order, the number [g] of each n-gram of texts that belong to `roots` [texts];
        -1 where the trie does not have it."""
        numbers, above = [], roots
        for edges, order in zip(self.edges, ngrams, strict=True):
            above = edges.find(above[order.prefix], order.last)
            numbers.append(above)
        return numbers


def split_tokens_containing_spaces(texts: list[list[str]]) -> list[list[str]]:
    """The texts with each token that holds white space ("2 1/2" is one PTB token) taken apart.

    pycocoevalcap joins a caption's tokens with spaces; its BLEU and CIDEr split them at any white
    space, its ROUGE-L at those spaces only.
    """
    if all(len(word.split()) == 1 for word in set(chain.from_iterable(texts))):
        return texts
    return [" ".join(tokens).split() for tokens in texts]


def distinct_ngrams(texts: Texts, max_n: int) -> list[Ngrams]:
    """The distinct n-grams of each text with their counts, for the orders 1 … max_n."""
    words, lengths = texts
    text = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(words))  # words to the text's end
    # per position: an id of the (n-1)-gram that begins there, and whether the text repeats it
    prefix, repeated = text, np.ones(len(words), dtype=bool)
    orders = []
    for n in range(1, max_n + 1):
        begins = left >= n
        last = np.zeros_like(words)
        last[: max(len(words) - n + 1, 0)] = words[n - 1 :]
        # an n-gram can occur twice only if its prefix does: all others need no sorting
        maybe = np.flatnonzero(begins & repeated)
        same, times = _first_equal(_key(prefix[maybe], last[maybe]))
        first = np.arange(len(words))
        first[maybe] = maybe[same]
        tf = begins.astype(np.int64)
        tf[maybe] = times
        distinct = np.flatnonzero(begins & (first == np.arange(len(words))))
        orders.append(Ngrams(text[distinct], tf[distinct], prefix[distinct], last[distinct]))
        number = np.zeros_like(words)
        number[distinct] = np.arange(len(distinct))
        prefix, repeated = number[first], tf > 1
    return orders


def _first_equal(keys: Ints) -> tuple[Ints, Ints]:
    """For each key, the position of the first key that equals it, and how many do."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = _starts(ordered)
    sizes = np.diff(starts, append=len(keys))
    first, times = np.empty_like(order), np.empty_like(order)
    first[order] = np.repeat(order[starts], sizes)
    times[order] = np.repeat(sizes, sizes)
    return first, times


def _starts(ordered: Ints) -> Ints:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))


def _key(above: npt.NDArray[Any], words: Ints) -> Ints:
    """One integer for a pair of them, both below 2³¹."""
    return (above.astype(np.int64, copy=False) << 32) | words
