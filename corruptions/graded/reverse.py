"""Reverse: a caption's words from the last to the first."""

from __future__ import annotations

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.corruptions.tokens import rewritten, split, words
from metaeval.runs.records import WRONG_PLACES


class Reverse(Corruption):
    """The words of a caption in reversed order, each with the punctuation attached to it.

    The farthest that order can be from right with every pair of words turned round; nothing about
    it is random. Tokens without a word stay where they are.
    """

    name = "reverse"
    title = "Reversed"
    severity = "critical"
    flaw = WRONG_PLACES
    kind = "order"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        places = list(words(tokens))
        new = {i: tokens[j] for i, j in zip(places, reversed(places), strict=True)}
        return rewritten(caption.text, new, 1.0)
