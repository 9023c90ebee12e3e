"""Shuffle: a share of a caption's words change places among themselves; no word is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corruptions.base import Caption, Corrupted, Corruption
from corruptions.words import checked_rate, rewritten, words

_DRAWS = 50  # a random permutation moves every word with probability about 1/e


class Shuffle(Corruption):
    """round(rate · n) of a caption's n words, chosen at random, are permuted among their places.

    The rule of González-Chávez et al., "Are metrics measuring what they should?", with Python's
    `round` (2.5 is 2). The permutation is uniform over all of them, so that a few words often come
    out as they were: such captions are `applied = False`. On COCO val2017 these are about 36 % at
    rate 0.25 and 2 % at 0.5. Punctuation stays in its place.

    Parameters
    ----------
    rate
        The share of words to permute, in (0, 1].
    derange
        Every chosen place gets another word than it had. Places whose words do not allow that
        ("a", "a", "dog") are drawn again; if 50 draws of places find none that do, as many
        words as can be change. The permutation is uniform over those that leave no word as far as
        50 draws find one, and constructed otherwise. A single word still cannot move.
    """

    name = "shuffle"

    def __init__(self, rate: float, derange: bool = False) -> None:
        self.rate = checked_rate(rate, self.name)
        self.derange = derange

    @property
    def label(self) -> str:
        return f"Shuffle {100 * self.rate:g}%"

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"rate": self.rate, "derange": self.derange}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        old = words(caption.text.split())
        n = round(self.rate * len(old))
        for _ in range(_DRAWS):
            places = [int(i) for i in rng.permutation(list(old))[:n]]
            before = [old[i] for i in places]
            if not self.derange or 2 * most_frequent(before) <= n:
                break
        order = deranged(before, rng) if self.derange else rng.permutation(len(places))
        new = {place: before[int(j)] for place, j in zip(places, order, strict=True)}
        return rewritten(caption.text, new, self.rate)


def deranged(words: Sequence[str], rng: np.random.Generator) -> Sequence[int]:
    """An order of the words that leaves as few as possible as they were, regardless of case."""
    lower = [word.lower() for word in words]
    for _ in range(_DRAWS):
        order: list[int] = rng.permutation(len(words)).tolist()
        if all(lower[i] != lower[j] for i, j in enumerate(order)):
            return order
    # Equal words side by side, and each place gets the word as far on as the most frequent word
    # occurs: no group of equal words can reach into itself unless it is more than half of all.
    most = most_frequent(words)
    side_by_side = sorted(rng.permutation(len(words)).tolist(), key=lambda i: lower[i])
    order = list(range(len(words)))
    for i, j in zip(side_by_side, side_by_side[most:] + side_by_side[:most], strict=True):
        order[i] = j
    return order


def most_frequent(words: Sequence[str]) -> int:
    """How often the most frequent of the words occurs, regardless of case; 0 of no words."""
    return max(Counter(word.lower() for word in words).values(), default=0)
