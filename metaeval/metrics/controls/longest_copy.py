"""The longest copy: how much of a caption stands word for word in one reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.tokenizers import base as tokenizers


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
        self._numbers: dict[str, int] = {}
        groups = [self._tokenizer(list(group)) for group in self.dataset.references]
        slots = max((len(group) for group in groups), default=0)
        longest = max((len(words) for group in groups for words in group), default=0)
        # [images, slots, words]: the numbers of the references' words, -1 where there is none
        self._words = np.full((len(groups), max(slots, 1), max(longest, 1)), -1, dtype=np.int32)
        for image, group in enumerate(groups):
            for slot, words in enumerate(group):
                numbers = [self._numbers.setdefault(w, len(self._numbers)) for w in words]
                self._words[image, slot, : len(numbers)] = numbers
        self._without = np.array([not group for group in groups], dtype=np.bool_)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        texts = self._tokenizer(captions)
        lengths = np.array([len(words) for words in texts], dtype=np.int64)
        # the longest first, so that those with a word left are always the first ones
        order = np.argsort(-lengths, kind="stable")
        references = self._words[image_index[order]]
        ends = np.zeros(references.shape, dtype=np.int16)  # the run that ends at each word
        best = np.zeros(len(texts), dtype=np.int64)
        for step in range(int(lengths.max(initial=0))):
            going = int((lengths > step).sum())
            word = [self._numbers.get(texts[j][step], -2) for j in order[:going]]
            same = references[:going] == np.array(word, dtype=np.int32)[:, None, None]
            run = ends[:going]
            run[:, :, 1:] = run[:, :, :-1] + 1
            run[:, :, 0] = 1
            run *= same
            np.maximum(best[:going], run.max(axis=(1, 2)), out=best[:going])
        longest = np.empty(len(texts))
        longest[order] = best
        scores: Scores = longest / np.maximum(lengths, 1)
        scores[self._without[image_index]] = np.nan
        return scores[:, None]
