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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Scores, Statistics, SummableMetric, SummableScorer
from metaeval.metrics.ngram.ngrams import (
    FlatReferences,
    Ints,
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

Numbers = npt.NDArray[Any]  # counts of candidates, or sums of them


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
        return statistics_names(self.max_n)

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
        counts = Matches.of_rows(statistics)
        penalty = self._brevity_penalty(counts, tiny, small)
        scores = np.empty((len(statistics), self.max_n))
        product = np.ones(len(statistics))
        for k in range(self.max_n):
            guesses = counts.guesses[:, k] + small
            # no n-grams, no matches: 0/0 counts as 0
            product *= (counts.matches[:, k] + tiny) / np.where(guesses > 0, guesses, 1.0)
            # Python's own power: NumPy's may round by the place that a number has in its array
            root = 1 / (k + 1)
            scores[:, k] = [p**root for p in product.tolist()] * penalty
        scores[np.isnan(statistics).any(axis=1)] = np.nan
        return scores

    @staticmethod
    def _brevity_penalty(counts: Matches, tiny: float, small: float) -> npt.NDArray[np.float64]:
        """exp(1 - r/c) where c < r, else 1; 0 for an empty candidate."""
        ratio = (counts.length + tiny) / np.maximum(counts.reference_length + small, 1e-300)
        return np.array(
            [1.0 if x >= 1 else math.exp(1 - 1 / x) if x else 0.0 for x in ratio.tolist()]
        )


class BleuScorer(SummableScorer):
    """BLEU against the references of a dataset."""

    metric: Bleu
    batch_size = 50_000

    def prepare(self) -> None:
        references = flatten_references(self.dataset.references)
        self._matcher = Matcher(self._words(references.texts), references, self.metric.max_n)

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        return self._matcher.match(self._words(captions), image_index).rows()

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        return split_tokens_containing_spaces(self.metric.tokenizer(texts))


class Matches(NamedTuple):
    """The statistics from which the BLEU of n candidates is computed.

    matches, guesses
        [n, max_n] Per order: the candidate's n-grams that some reference has (each at most as
        often as the reference that has it most often), and all of the candidate's n-grams.
    length, reference_length
        [n] The candidate's words; those of the reference closest to it, -1 if there is none.
    """

    matches: Numbers
    guesses: Numbers
    length: Numbers
    reference_length: Numbers

    def rows(self) -> Statistics:
        """One row of `statistics_names` per candidate; NaN for one without a reference."""
        lengths = np.stack([self.length, self.reference_length], axis=1)
        rows = np.concatenate([self.matches, self.guesses, lengths], axis=1).astype(np.float64)
        rows[self.reference_length < 0] = np.nan
        return rows

    @classmethod
    def of_rows(cls, rows: Numbers) -> Matches:
        """The statistics in such rows, or in sums of them."""
        n = (rows.shape[1] - 2) // 2
        return cls(rows[:, :n], rows[:, n : 2 * n], rows[:, -2], rows[:, -1])


def statistics_names(max_n: int) -> tuple[str, ...]:
    """The names of the columns of `Matches.rows`."""
    orders = range(1, max_n + 1)
    matches, guesses = [f"matches-{n}" for n in orders], [f"guesses-{n}" for n in orders]
    return (*matches, *guesses, "length", "reference-length")


class Matcher:
    """The references of all images, of which these are the `words`, ready to be compared with
    candidates by n-grams of the orders 1 … max_n."""

    @checked
    def __init__(
        self, words: Sequence[Sequence[str]], references: FlatReferences, max_n: int
    ) -> None:
        self._max_n = max_n
        self._vocabulary = WordIndex()
        texts = self._vocabulary.learn(words)
        ngrams = distinct_ngrams(texts, max_n)
        self._trie = Trie()
        nodes = self._trie.grow(ngrams, references.image)
        # per n-gram of an image: how often the reference that has it most often has it
        self._most = [np.zeros(size, dtype=np.int64) for size in self._trie.sizes()]
        for most, order, node in zip(self._most, ngrams, nodes, strict=True):
            np.maximum.at(most, node, order.tf)
        # the lengths of each image's references, image by image, ascending: (image, length) in one
        # number, so that the closest length is found by bisection, whatever number there are
        self._base = int(texts.lengths.max(initial=0)) + 1
        self._lengths = np.unique(references.image * self._base + texts.lengths)

    def match(self, candidates: Sequence[Sequence[str]], image: npt.NDArray[np.intp]) -> Matches:
        """Compare the words of n candidates with the references of the images `image` [n]."""
        texts = self._vocabulary.encode(candidates)
        ngrams = distinct_ngrams(texts, self._max_n)
        matches = np.empty((len(candidates), self._max_n), dtype=np.int64)
        nodes = self._trie.find(ngrams, image)
        for k, (most, order, node) in enumerate(zip(self._most, ngrams, nodes, strict=True)):
            known = node >= 0
            clipped = np.minimum(order.tf[known], most[node[known]])
            matches[:, k] = np.bincount(order.text[known], clipped, len(candidates))
        guesses = np.maximum(texts.lengths[:, None] - np.arange(self._max_n), 0)
        return Matches(matches, guesses, texts.lengths, self._closest(texts.lengths, image))

    def _closest(self, lengths: Ints, image: npt.NDArray[np.intp]) -> Ints:
        """[n] The length of the image's reference closest to each of these; of two as close, the
        shorter; -1 where the image has none."""
        if not len(self._lengths):
            return np.full(len(lengths), -1)
        floor = image * self._base
        above = np.searchsorted(self._lengths, floor + np.minimum(lengths, self._base))
        longer = self._lengths[np.minimum(above, len(self._lengths) - 1)] - floor
        shorter = self._lengths[np.maximum(above - 1, 0)] - floor
        has_longer = (above < len(self._lengths)) & (longer < self._base)
        has_shorter = (above > 0) & (shorter >= 0)
        take_shorter = has_shorter & (~has_longer | (lengths - shorter <= longer - lengths))
        return np.where(take_shorter, shorter, np.where(has_longer, longer, -1))
