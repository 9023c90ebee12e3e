"""Replace: a share of a caption's words is replaced by random words of the corpus.

A corruption is a class with
  `name`        what the configuration calls it: conf/corruption/replace.yaml,
  `title`       what a reader calls it; its `label` may say more: "Replace 25%",
  `parameters`  the options that make one instance differ from another; they enter the seed,
  `fit`         (optional) what it takes from the whole dataset before the first caption,
  `corrupt`     one caption in, one `Corrupted` out, drawing on `rng` and on nothing else random.
Everything else (a generator per image, running over a dataset) is in `base.py`; splitting a
caption into words and putting it together again is in `tokens.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metaeval.corruptions.bag import MIN_COUNT, FromBag
from metaeval.corruptions.base import Caption, Corrupted
from metaeval.corruptions.tokens import rewritten, split, with_word, words
from metaeval.data.dataset import CaptionDataset
from metaeval.options import PositiveInt, Rate
from metaeval.runs.records import WRONG_WORDS


class Replace(FromBag):
    """round(rate · n) of a caption's n words are replaced, each by a word of the bag.

    The rule of González-Chávez et al., "Are metrics measuring what they should?". `round` is
    Python's: a half goes to the even number, so 2.5 words are 2. The words are chosen at random
    without repetition; each new word is uniform over the bag, in lower case, and takes over the
    punctuation around the old one.

    Parameters
    ----------
    rate
        The share of words to replace, in (0, 1].
    distinct
        A word is never replaced by itself. Off in the paper, where chance may draw it again.
    min_count
        How often a word must occur in the human captions to be in the bag.
    """

    name = "replace"
    title = "Replace"
    severity_by_rate = ((0, "major"), (0.5, "critical"))
    flaw = WRONG_WORDS
    kind = "words"

    def __init__(
        self, rate: Rate, distinct: bool = False, min_count: PositiveInt = MIN_COUNT
    ) -> None:
        super().__init__(rate, min_count)
        self.distinct = distinct
        self._place: dict[str, int] = {}

    @property
    def parameters(self) -> Mapping[str, object]:
        return {**super().parameters, "distinct": self.distinct}

    def fit(self, dataset: CaptionDataset) -> None:
        super().fit(dataset)
        self._place = {word: i for i, word in enumerate(self.bag)}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        old = words(tokens)
        # a prefix of a permutation, not `choice`: its stream is the plainest NumPy has
        chosen = rng.permutation(list(old))[: round(self.rate * len(old))].tolist()
        new = {i: with_word(tokens[i], self._draw(old[i], rng)) for i in chosen}
        return rewritten(caption.text, new, self.rate)

    def _draw(self, old: str, rng: np.random.Generator) -> str:
        """A word of the bag; with `distinct`, one of those that are not `old`."""
        place = self._place.get(old.lower()) if self.distinct else None
        if place is None:
            return self.bag[rng.integers(len(self.bag))]
        if len(self.bag) == 1:
            return old  # no other word
        i = int(rng.integers(len(self.bag) - 1))
        return self.bag[i + (i >= place)]
