"""The longest copy: how much of a caption occurs word for word in one reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.numbered import (
    Ints,
    Texts,
    WordIndex,
    flatten_references,
    places_of,
    runs_of_cost,
)
from metaeval.text.tokenizers import base as tokenizers

_CELLS = 2**20  # captions times words of their references, at once


class LongestCopy(Metric):
    """The longest run of words that a caption shares with a reference, over the caption's words.

    In [0, 1]: 1 where a reference holds the whole caption, 0 for a caption without words; not a
    number where the image has no reference. A control: it sees copies, not meaning.

    Parameters
    ----------
    tokenizer
        "ptb", "java" or "whitespace".
    """

    name = "longest_copy"
    columns = (ScoreColumn("Longest copy", control=True),)

    def __init__(self, tokenizer: str = "ptb") -> None:
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> LongestCopyScorer | Absent:
        return self.tokenizer.missing() or LongestCopyScorer(self, dataset)


class LongestCopyScorer(ReferenceScorer):
    """Runs of words shared with the references of a dataset."""

    def __init__(self, metric: LongestCopy, dataset: CaptionDataset) -> None:
        settings = {"tok": metric.tokenizer.signature, "v": 1}
        super().__init__(metric, settings, dataset)
        self._tokenizer = metric.tokenizer

    def prepare(self) -> None:
        self._vocabulary = WordIndex()
        references = flatten_references(self.dataset.references)
        texts = self._vocabulary.learn(self._tokenizer(references.texts))
        # the words of all references, one after the other, each reference closed by a -1 that no
        # run of words passes; those of image i begin at `_begins[i]` and are `_sizes[i]`
        ends = np.cumsum(texts.lengths + 1) - 1
        self._words = np.full(len(texts.words) + len(texts.lengths), -1)
        inside = np.ones(len(self._words), dtype=np.bool_)
        inside[ends] = False
        self._words[inside] = texts.words
        self._sizes = np.zeros(len(references.sizes), dtype=np.int64)
        np.add.at(self._sizes, references.image, texts.lengths + 1)
        self._begins = np.cumsum(self._sizes) - self._sizes

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        texts = self._vocabulary.encode(self._tokenizer(captions))
        first = np.cumsum(texts.lengths) - texts.lengths
        scores = np.full(len(captions), np.nan)
        for begin, end in runs_of_cost(self._sizes[image_index], _CELLS):
            chosen = begin + np.flatnonzero(self._sizes[image_index[begin:end]])
            # the longest first, so that those with a word left are always the first ones
            chosen = chosen[np.argsort(-texts.lengths[chosen], kind="stable")]
            longest = self._longest(
                texts, first[chosen], texts.lengths[chosen], image_index[chosen]
            )
            scores[chosen] = longest / np.maximum(texts.lengths[chosen], 1)
        return scores[:, None]

    def _longest(self, texts: Texts, first: Ints, lengths: Ints, image: Ints) -> Ints:
        """The longest run of words of each caption; the captions are in descending length."""
        if not len(first):
            return first
        sizes = self._sizes[image]
        starts = np.cumsum(sizes) - sizes
        references = self._words[np.repeat(self._begins[image], sizes) + places_of(sizes)]
        run = np.zeros(len(references), dtype=np.int64)  # the run that ends at each word
        best = np.zeros_like(run)
        for step in range(int(lengths[0])):
            going = int(np.searchsorted(-lengths, -step, side="left"))
            cells = int(starts[going - 1] + sizes[going - 1])
            word = np.repeat(texts.words[first[:going] + step], sizes[:going])
            run[1:cells] = run[: cells - 1] + 1
            run[0] = 1
            run[:cells] *= references[:cells] == word
            np.maximum(best[:cells], run[:cells], out=best[:cells])
        longest: Ints = np.maximum.reduceat(best, starts)
        return longest
