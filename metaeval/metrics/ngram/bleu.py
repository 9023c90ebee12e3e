"""BLEU (Papineni et al., 2002), of single captions, for many captions at once.

The first metric, and the pattern of the others. A metric is two classes. The options:
  `name`      what the configuration calls it: conf/metric/bleu.yaml,
  `columns`   what its scores are: "BLEU-1" … "BLEU-4",
  `needs`     for metrics that look at images or objects,
  `bind`      its scorer, with `settings`: whatever would change a number; from these `base.py`
              makes the signature. Or an `Absent` with the reason why it cannot run here.
And the scorer:
  `prepare`   all that depends on the references alone, once per dataset,
  `score`     n captions in, an array [n, columns] out; no caption's score depends on the others.
              If it is computed from counts that are summed over captions, as here, `base.py`
              provides it: the scorer returns `statistics`, and the metric computes scores with
              `of_statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Scores, Statistics, SummableMetric, SummableScorer
from metaeval.metrics.ngram.ngrams import (
    Trie,
    WordIndex,
    distinct_ngrams,
    flatten_references,
    split_tokens_containing_spaces,
)
from metaeval.options import PositiveInt, checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.tokenizers import base as tokenizers

TINY, SMALL = 1e-15, 1e-9  # pycocoevalcap adds them to the matches and to the candidate's n-grams

Floats = npt.NDArray[np.float64]


class Bleu(SummableMetric):
    """BLEU-1 … BLEU-max_n of each caption against the references of its image, in [0, 1].

    BLEU-k is the geometric mean of the clipped n-gram precisions of orders 1 … k, times
    exp(1 - r/c) where the candidate's length c is below r, the reference length closest to c (the
    shorter of two equally close ones).

    It is pycocoevalcap's bleu_scorer.py to the last bit: 1e-15 is added to the matches and 1e-9 to
    the n-grams, so that a candidate without a match at order k has a tiny BLEU-k, and such
    candidates are ordered by these constants. An empty candidate is 0 at every order. Not a number
    only where the image has no reference.

    Parameters
    ----------
    tokenizer
        "ptb" or "whitespace".
    max_n
        The highest order.
    unsmoothed
        Add "BLEU-2 (unsmoothed)" … "BLEU-max_n (unsmoothed)", which are 0 where an order has no
        match: the published ρ of González-Chávez et al. are of these.
    """

    name = "bleu"

    @checked
    def __init__(
        self, tokenizer: str = "ptb", max_n: PositiveInt = 4, unsmoothed: bool = False
    ) -> None:
        self.max_n, self.unsmoothed = max_n, unsmoothed
        self.tokenizer = tokenizers.get(tokenizer)

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        smoothed = tuple(
            ScoreColumn(f"BLEU-{n}", headline=n == self.max_n) for n in range(1, self.max_n + 1)
        )
        if not self.unsmoothed:
            return smoothed
        return smoothed + tuple(
            ScoreColumn(
                f"{column.name} (unsmoothed)",
                headline=False,
                variant_of=column.name,
                model="unsmoothed",
                signature_name=column.name,
            )
            for column in smoothed[1:]
        )

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> BleuScorer | Absent:
        settings = {
            "tok": self.tokenizer.signature,
            "smooth": "coco",
            "ref": "closest",
            "v": 1,  # raised when this file comes to give another number for the same caption
        }
        return self.missing_part(dataset) or BleuScorer(self, settings, dataset)

    @property
    def statistics_names(self) -> tuple[str, ...]:
        orders = range(1, self.max_n + 1)
        matches, guesses = [f"matches-{n}" for n in orders], [f"guesses-{n}" for n in orders]
        return (*matches, *guesses, "length", "reference-length")

    def signature(self, column: ScoreColumn, settings: str) -> str:
        if column.variant_of:
            settings = settings.replace("smooth:coco", "smooth:none")
        return super().signature(column, settings)

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """BLEU of captions; of a corpus too, which is the same arithmetic on the sums."""
        scores = self._scores(statistics, TINY, SMALL)
        if not self.unsmoothed:
            return scores
        return np.concatenate([scores, self._scores(statistics, 0.0, 0.0)[:, 1:]], axis=1)

    def _scores(self, statistics: Statistics, tiny: float, small: float) -> Scores:
        matches, guesses, lengths = np.split(statistics, [self.max_n, 2 * self.max_n], axis=1)
        penalty = self._brevity_penalty(lengths[:, 0], lengths[:, 1], tiny, small)
        scores = np.empty((len(statistics), self.max_n))
        product = np.ones(len(statistics))
        for k in range(self.max_n):
            n = guesses[:, k] + small
            # no n-grams, no matches: 0/0 counts as 0
            product *= (matches[:, k] + tiny) / np.where(n > 0, n, 1.0)
            # Python's own power: NumPy's may round by the place that a number has in its array
            root = 1 / (k + 1)
            scores[:, k] = [p**root for p in product.tolist()] * penalty
        scores[np.isnan(statistics).any(axis=1)] = np.nan
        return scores

    @staticmethod
    def _brevity_penalty(length: Floats, reference: Floats, tiny: float, small: float) -> Floats:
        """exp(1 - r/c) where c < r, else 1; 0 for an empty candidate."""
        ratio = (length + tiny) / np.maximum(reference + small, 1e-300)
        return np.array(
            [1.0 if x >= 1 else math.exp(1 - 1 / x) if x else 0.0 for x in ratio.tolist()]
        )


class BleuScorer(SummableScorer):
    """BLEU against the references of a dataset: candidates are compared by n-grams with those of
    each image, looked up in one trie."""

    metric: Bleu
    batch_size = 50_000

    def prepare(self) -> None:
        references = flatten_references(self.dataset.references)
        self._vocabulary = WordIndex()
        texts = self._vocabulary.learn(self._words(references.texts))
        ngrams = distinct_ngrams(texts, self.metric.max_n)
        self._trie = Trie()
        nodes = self._trie.grow(ngrams, references.image)
        # per n-gram of an image: how often the reference that has it most often has it
        self._most = [np.zeros(size, dtype=np.int64) for size in self._trie.sizes()]
        for most, order, node in zip(self._most, ngrams, nodes, strict=True):
            np.maximum.at(most, node, order.tf)
        by_image = np.split(texts.lengths, np.cumsum(references.sizes)[:-1])
        self._lengths = [lengths.tolist() for lengths in by_image]

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        """Rows of `statistics_names`: per order the n-grams that some reference has (each at most
        as often as the reference that has it most often) and all; the candidate's words, and those
        of the reference closest to it."""
        n, max_n = len(captions), self.metric.max_n
        texts = self._vocabulary.encode(self._words(captions))
        ngrams = distinct_ngrams(texts, max_n)
        rows = np.empty((n, 2 * max_n + 2))
        nodes = self._trie.find(ngrams, image_index)
        for k, (most, order, node) in enumerate(zip(self._most, ngrams, nodes, strict=True)):
            known = node >= 0
            clipped = np.minimum(order.tf[known], most[node[known]])
            rows[:, k] = np.bincount(order.text[known], clipped, n)
        rows[:, max_n:-2] = np.maximum(texts.lengths[:, None] - np.arange(max_n), 0)
        rows[:, -2] = texts.lengths
        for row, image, length in zip(
            rows, image_index.tolist(), texts.lengths.tolist(), strict=True
        ):
            # of two references as close, the shorter; without any, no score
            closeness = ((abs(each - length), each) for each in self._lengths[image])
            row[-1] = min(closeness, default=(0, np.nan))[1]
        rows[np.isnan(rows[:, -1])] = np.nan
        return rows

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        return split_tokens_containing_spaces(self.metric.tokenizer(texts))
