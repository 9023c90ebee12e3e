"""Delete: a share of a caption's words is left out; no word is added or moved."""

from __future__ import annotations

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, RatedCorruption
from metaeval.corruptions.tokens import join, split, words
from metaeval.runs.records import MISSING_WORDS, Edit


class Delete(RatedCorruption):
    """round(rate · n) of a caption's n words, chosen at random, are left out, but never the last
    one that is left.

    `round` is Python's (2.5 is 2). Punctuation goes with the word that it is attached to.

    Parameters
    ----------
    rate
        The share of words to leave out, in (0, 1].
    """

    name = "delete"
    title = "Delete"
    severity_by_rate = ((0, "major"), (0.5, "critical"))
    flaw = MISSING_WORDS
    kind = "words"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        holds_word = list(words(tokens))
        n = min(round(self.rate * len(holds_word)), len(holds_word) - 1)
        if n <= 0:
            return Corrupted(caption.text, False, (), self.rate, 0.0)
        chosen = set(rng.permutation(holds_word)[:n].tolist())
        return Corrupted(
            join([token for i, token in enumerate(tokens) if i not in chosen], caption.text),
            True,
            tuple(Edit(i, tokens[i], "") for i in sorted(chosen)),
            self.rate,
            n / len(holds_word),
        )
