"""Insert: words of the corpus are inserted at random places; all original words remain."""

from __future__ import annotations

import numpy as np

from metaeval.corruptions.bag import FromBag
from metaeval.corruptions.base import Caption, Corrupted
from metaeval.corruptions.tokens import join, split, words
from metaeval.runs.records import WRONG_WORDS, Edit


class Insert(FromBag):
    """round(rate · n) words of the bag come into a caption of n words.

    Each is uniform over the bag that Replace draws from, in lower case, and stands before a word of
    the caption that is drawn anew each time; so the caption's last word, with its full stop, stays
    the last. `round` is Python's (2.5 is 2).

    Parameters
    ----------
    rate
        How many words come in, as a share of those that are there, in (0, 1].
    min_count
        How often a word must occur in the human captions to be in the bag.
    """

    name = "insert"
    title = "Insert"
    severity_by_rate = ((0, "major"), (0.5, "critical"))
    flaw = WRONG_WORDS
    kind = "words"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        holds_word = list(words(tokens))
        n = round(self.rate * len(holds_word))
        if n == 0:
            return Corrupted(caption.text, False, (), self.rate, 0.0)
        places = sorted(holds_word[k] for k in rng.integers(len(holds_word), size=n))
        new = [self.bag[k] for k in rng.integers(len(self.bag), size=n)]
        edits = tuple(Edit(i, "", word) for i, word in zip(places, new, strict=True))
        out = []
        for i, token in enumerate(tokens):
            out += [edit.after for edit in edits if edit.position == i]
            out.append(token)
        return Corrupted(join(out, caption.text), True, edits, self.rate, n / len(holds_word))
