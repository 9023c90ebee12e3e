"""Corrupted copies of training captions with their triplets, for the variant "corruptions".

The words come from the training captions alone, and the random numbers from the training's stream.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.metrics.faier.captions import ParsedCaptions, encode
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.training import spoiling

Ints = npt.NDArray[np.int64]


class Spoiler:
    """Makes a shuffled and a replaced copy of captions, anew each time.

    Parameters
    ----------
    captions
        All captions that are learned from; the bag is made of their words.
    parser, vocabulary
        How copies are read. The parser keeps nothing of them: no copy comes twice.
    """

    def __init__(
        self, captions: Sequence[str], parser: TripletParser, vocabulary: Vocabulary
    ) -> None:
        self._words = vocabulary.tokenise(captions)
        self._bag = spoiling.bag(self._words)
        self._parser = TripletParser(parser.name, None, parser.cache)
        self._vocabulary = vocabulary

    def __call__(
        self, rows: Ints, rng: np.random.Generator
    ) -> tuple[ParsedCaptions, npt.NDArray[np.float32]]:
        """Copies of n captions, first n shuffled ones, then n replaced ones; and of each the share
        of its words that are not the caption's at that place, float32 [2n]."""
        captions = [self._words[row] for row in rows]
        shuffled = spoiling.spoiled_words(captions, "shuffled", rng)
        replaced = spoiling.spoiled_words(captions, "replaced", rng, self._bag)
        copies = [*shuffled, *replaced]
        wrong = np.array(
            [
                sum(x != y for x, y in zip(copy, words, strict=True)) / max(1, len(words))
                for copy, words in zip(copies, [*captions, *captions], strict=True)
            ],
            dtype=np.float32,
        )
        texts = [" ".join(words) for words in copies]
        return encode(texts, self._parser, self._vocabulary), wrong
