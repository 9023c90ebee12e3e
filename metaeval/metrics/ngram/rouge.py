"""ROUGE-L (Lin, 2004) by pycocoevalcap's rule, ROUGE-1 and ROUGE-2 by that of Google's rouge-score.

The longest common subsequences come from the bit-parallel algorithm of Crochemore et al. (2001) in
the form of Hyyrö (2004): a reference is one integer, a bit per word; one addition moves the
comparison on by one word of the candidate. Here it moves on for all captions and all of their
references together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.metrics.ngram.ngrams import Edges
from metaeval.options import Positive, checked
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

_WORD = 64  # bits of a machine word
_WIDEST = 64  # references processed together
_TOKEN = re.compile(r"[a-z0-9]+")  # after lower-casing; anything else parts words
_CELLS = 2**22  # captions times references, at once


class RougeL(Metric):
    """ROUGE-L of each caption against the references of its image, in [0, 1].

    F = (1 + β²)·P·R / (R + β²·P), where P is the *highest* precision LCS/c and R the *highest*
    recall LCS/r over the references, each on its own, be it from different references
    (pycocoevalcap's rouge.py; Lin takes the highest F instead). 0 where nothing is in common.

    As in pycocoevalcap, which splits the joined tokens at single spaces, a caption without a token
    is one empty word: 0 against any reference with words, 1 against another empty one. Not a
    number only where the image has no reference.

    Parameters
    ----------
    beta
        How much recall counts against precision.
    tokenizer
        "ptb", "java" or "whitespace".
    """

    name = "rouge_l"
    columns = (ScoreColumn("ROUGE-L"),)

    @checked
    def __init__(self, beta: Positive = 1.2, tokenizer: str = "ptb") -> None:
        self.beta = float(beta)
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> RougeLScorer | Absent:
        if (absent := self.missing_part(dataset) or self.tokenizer.missing()) is not None:
            return absent
        settings = {"tok": self.tokenizer.signature, "beta": f"{self.beta:g}", "v": 1}
        return RougeLScorer(self, settings, dataset)


class RougeLScorer(ReferenceScorer):
    """ROUGE-L against the references of a dataset.

    The references of an image stand in blocks, side by side in arrays: as many in a block as an
    image has on average. So an image with thousands of them does not make the arrays of the others
    as wide as its own.
    """

    metric: RougeL
    batch_size = 50_000

    def prepare(self) -> None:
        references = flatten_references(self.dataset.references)
        sizes = references.sizes
        width = min(_WIDEST, max(1, math.ceil(sizes.mean())))
        self._blocks = -(-sizes // width)  # of each image
        self._first = np.cumsum(self._blocks) - self._blocks
        block = self._first[references.image] + references.slot // width
        slot = references.slot % width
        self._vocabulary = WordIndex()
        texts = self._vocabulary.learn(self._words(references.texts))
        # [blocks, width]; a place without a reference has length 1 and no bit, so never a match
        self._lengths = np.ones((int(self._blocks.sum()), width), dtype=np.int64)
        self._lengths[block, slot] = texts.lengths
        # Beyond the bits of a machine word, Python's integers do the same arithmetic, only slower.
        longest = int(self._lengths.max(initial=1))
        self._dtype = np.dtype(np.uint64 if longest <= _WORD else object)
        bits = np.array([1 << i for i in range(longest)], dtype=self._dtype)
        self._edges, node = Edges.of(np.repeat(block, texts.lengths), texts.words)
        # [words of blocks + 1, width]: where the word stands in each reference; the last row, which
        # index -1 finds, is for words that no reference of the block has
        self._places = np.zeros((len(self._edges) + 1, width), dtype=self._dtype)
        place = np.repeat(slot, texts.lengths)
        np.bitwise_or.at(self._places, (node, place), bits[places_of(texts.lengths)])

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        texts = self._vocabulary.encode(self._words(captions))
        blocks = self._blocks[image_index]
        best = np.zeros((2, len(captions)))  # precision, recall
        for begin, end in runs_of_cost(blocks * self._lengths.shape[1], _CELLS):
            # pairs of a caption and a block of its image's references, caption by caption
            sizes = blocks[begin:end]
            caption = begin + np.repeat(np.arange(end - begin), sizes)
            block = self._first[image_index[caption]] + places_of(sizes)
            common = self._common(texts, caption, block)
            precision = (common / texts.lengths[caption, None]).max(axis=1)
            recall = (common / self._lengths[block]).max(axis=1)
            with_references = np.flatnonzero(sizes)
            starts = (np.cumsum(sizes) - sizes)[with_references]
            for highest, values in zip(best, (precision, recall), strict=True):
                if len(starts):
                    highest[begin + with_references] = np.maximum.reduceat(values, starts)
        precision, recall = best
        weight = self.metric.beta**2
        below = recall + weight * precision
        scores: Scores = (1 + weight) * precision * recall / np.where(below > 0, below, 1.0)
        scores[blocks == 0] = np.nan
        return scores[:, None]

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        return [tokens or [""] for tokens in self.metric.tokenizer(texts)]

    def _common(self, texts: Texts, caption: Ints, block: Ints) -> Ints:
        """[pairs, width] The length of the longest common subsequence of a pair's caption with each
        reference of its block."""
        first_word = np.cumsum(texts.lengths) - texts.lengths
        lengths = texts.lengths[caption]
        words = texts.words[np.repeat(first_word[caption], lengths) + places_of(lengths)]
        node = self._edges.find(np.repeat(block, lengths), words)
        # the longest first, so that those with a word left are always the first ones
        order = np.argsort(-lengths, kind="stable")
        starts = (np.cumsum(lengths) - lengths)[order]
        lengths = lengths[order]
        # a bit falls to 0 where the subsequence grows by that word of the reference
        state = ~np.zeros((len(order), self._places.shape[1]), dtype=self._dtype)
        for step in range(int(lengths[0]) if len(lengths) else 0):
            going = int(np.searchsorted(-lengths, -step, side="left"))  # longer than `step` words
            v = state[:going]
            match = v & self._places[node[starts[:going] + step]]
            state[:going] = (v + match) | (v & ~match)
        common = np.empty(state.shape, dtype=np.int64)
        common[order] = _bit_count(~state)
        return common


def _bit_count(values: npt.NDArray[Any]) -> Ints:
    """How many bits of each integer are set (np.bitwise_count, which NumPy 1.26 has not)."""
    if values.dtype == object:
        counts = np.array([int(v).bit_count() for v in values.ravel()], dtype=np.int64)
        return counts.reshape(values.shape)
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(*values.shape, 8)
    ones: Ints = np.unpackbits(octets, axis=-1).sum(axis=-1, dtype=np.int64)
    return ones


class RougeN(Metric):
    """F1 of the single words (ROUGE-1) and of the pairs of words (ROUGE-2), in [0, 1].

    Precision and recall of clipped counts; over several references the best F1 counts, for each of
    the two on its own, as in rouge-score's `score_multi`. 0 where nothing is in common or a side
    has no such n-gram. Not a number only where the image has no reference.

    Words are runs of a–z and 0–9 in the lower-cased text, as there: a letter with an accent parts a
    word in two.

    Parameters
    ----------
    stem
        Porter's stemmer on words of more than three characters, rouge-score's `use_stemmer`.
    """

    name = "rouge_n"
    columns = (ScoreColumn("ROUGE-1", headline=False), ScoreColumn("ROUGE-2"))

    def __init__(self, stem: bool = False) -> None:
        self.stem = stem

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> RougeNScorer | Absent:
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        settings = {
            "tok": "rouge-score",
            "stem": "porter" if self.stem else "no",
            "ref": "best",
            "v": 1,
        }
        return RougeNScorer(self, settings, dataset)


class RougeNScorer(ReferenceScorer):
    """ROUGE-1 and ROUGE-2 against the references of a dataset."""

    metric: RougeN
    batch_size = 50_000

    def prepare(self) -> None:
        self._references = [
            [self._ngrams(text) for text in group] for group in self.dataset.references
        ]

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 2), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            candidate = self._ngrams(caption)
            for k in range(2):
                f1 = [_f1(candidate[k], reference[k]) for reference in self._references[image]]
                scores[row, k] = max(f1, default=np.nan)
        return scores

    def _ngrams(self, text: str) -> tuple[Counter[Any], Counter[Any]]:
        """The words of a text and its pairs of words, with their counts."""
        words = _TOKEN.findall(text.lower())
        if self.metric.stem:
            words = [_stem(word) if len(word) > 3 else word for word in words]
        return Counter(words), Counter(pairwise(words))


def _f1(candidate: Counter[Any], reference: Counter[Any]) -> float:
    matches = sum(min(n, reference[ngram]) for ngram, n in candidate.items())
    precision = matches / max(candidate.total(), 1)
    recall = matches / max(reference.total(), 1)
    return 2 * precision * recall / (precision + recall) if matches else 0.0


@cache
def _stem(word: str) -> str:
    from nltk.stem.porter import PorterStemmer

    stemmed: str = PorterStemmer().stem(word)
    return stemmed
