"""Captions as the numbers that FAIEr reads: words and triplets, encoded once, picked by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from metaeval.metrics.faier.network import TextBatch
from metaeval.text.scene_graphs.triplets import Triplet, TripletParser, words_of
from metaeval.text.vocabulary import SPECIAL, Vocabulary, padded

Ints = npt.NDArray[np.int64]

NO_REFERENCE = "."  # the paper's empty reference; the tokeniser leaves no word of it


@dataclass(frozen=True, slots=True, eq=False)
class ParsedCaptions:
    """n captions as word ids.

    Attributes
    ----------
    words, lengths
        int64 [n, l], beginning and end tokens included, padded with 0; int64 [n].
    triplets, triplet_lengths
        Those of all captions, one caption after the other: int64 [t, m], int64 [t].
    first, count
        int64 [n]: each caption's first triplet and how many it has.
    """

    words: Ints
    lengths: Ints
    triplets: Ints
    triplet_lengths: Ints
    first: Ints
    count: Ints

    @classmethod
    def of(
        cls, captions: Sequence[str], triplets: Sequence[Sequence[Triplet]], vocabulary: Vocabulary
    ) -> ParsedCaptions:
        """Encode captions with their triplets."""
        words = vocabulary.encode_all(captions)
        flat = [
            [vocabulary.number(word) for word in words_of(triplet)]
            for of_caption in triplets
            for triplet in of_caption
        ]
        count = np.array([len(of_caption) for of_caption in triplets], dtype=np.int64)
        table, lengths = padded(words)
        inner, inner_lengths = padded(flat)
        return cls(table, lengths, inner, inner_lengths, np.cumsum(count) - count, count)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: Ints) -> TextBatch:
        """These captions, as what the network reads."""
        lengths, count = self.lengths[rows], self.count[rows]
        owner = np.repeat(np.arange(len(rows)), count)
        slot = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        places = np.repeat(self.first[rows], count) + slot
        inner = self.triplet_lengths[places]
        return TextBatch(
            torch.from_numpy(self.words[rows, : lengths.max(initial=0)]),
            torch.from_numpy(lengths),
            torch.from_numpy(self.triplets[places, : inner.max(initial=0)]),
            torch.from_numpy(inner),
            torch.from_numpy(owner),
            torch.from_numpy(slot),
        )


def encode(
    captions: Sequence[str], parser: TripletParser, vocabulary: Vocabulary
) -> ParsedCaptions:
    """Parse and encode captions."""
    return ParsedCaptions.of(captions, parser(captions), vocabulary)


def build_vocabulary(
    captions: Sequence[str], triplets: Sequence[Sequence[Triplet]], min_count: int = 4
) -> Vocabulary:
    """The words that captions or triplets (whose nouns and verbs are lemmas) use often enough."""
    plain = Vocabulary.build(captions, min_count)
    flat = (triplet for of_caption in triplets for triplet in of_caption)
    lemmas = Counter(word for triplet in flat for word in words_of(triplet))
    more = {word for word, n in lemmas.items() if n >= min_count and word not in plain}
    return Vocabulary((*SPECIAL, *sorted({*plain.words[len(SPECIAL) :], *more})))
