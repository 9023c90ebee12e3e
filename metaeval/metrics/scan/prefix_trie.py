"""What sequences share: their distinct beginnings, each a shorter one and one more word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PrefixTrie:
    """The distinct beginnings of n sequences, shorter ones first; number 0 is the empty one.

    Attributes
    ----------
    parent, word
        int64 [k]: of the beginnings 1 to k, the beginning that each extends, and by which word.
    levels
        The first numbers of the beginnings of 1, 2, … words, and k + 1.
    place
        int64 [n, longest]: the beginning that ends at each place of each sequence; 0 behind it.
    """

    parent: Ints
    word: Ints
    levels: tuple[int, ...]
    place: Ints

    @classmethod
    def of(cls, tokens: Ints, lengths: Ints) -> PrefixTrie:
        """Of sequences [n, longest] of these lengths, each at least 1."""
        place = np.zeros(tokens.shape, dtype=np.int64)
        rows = np.arange(len(tokens))
        last = np.zeros(len(tokens), dtype=np.int64)
        parents, words, levels = [], [], [1]
        for step in range(tokens.shape[1]):
            rows = rows[lengths[rows] > step]
            # those that end in one word stand together: what it adds to the gates is then at hand
            keys = tokens[rows, step] * levels[-1] + last[rows]
            distinct, number = np.unique(keys, return_inverse=True)
            words.append(distinct // levels[-1])
            parents.append(distinct % levels[-1])
            last[rows] = place[rows, step] = levels[-1] + number
            levels.append(levels[-1] + len(distinct))
        return cls(np.concatenate(parents), np.concatenate(words), tuple(levels), place)
