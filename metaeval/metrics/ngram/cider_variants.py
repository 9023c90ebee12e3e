"""CIDEr as its paper first defines it, and CIDEr-R (Santos et al., 2021); `cider.py` is CIDEr-D."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from metaeval.metrics.ngram.cider import DATASET, Cider, CiderScorer, Floats
from metaeval.runs.records import ScoreColumn
from metaeval.text.numbered import Ints

_WORD = re.compile(r"\w+")
REPETITION, LENGTH = 0.8, 0.2  # how much each of CIDEr-R's penalties weighs, as exponents


class CiderPlain(Cider):
    """CIDEr without the two changes that made it CIDEr-D, in [0, 10].

    The mean over n = 1 … 4 and over the references of the cosine of tf-idf vectors (Vedantam et
    al., Eq. 2 and 3), times 10 as in the authors' code: counts are not clipped, lengths do not
    matter. Words are not stemmed, as in the authors' Python code and unlike their paper. Everything
    else, and the options, are CIDEr's (`Cider`).
    """

    name = "cider_plain"
    columns = (ScoreColumn("CIDEr (not D)", bounds=(0.0, 10.0), variant_of="CIDEr", model="not D"),)

    def __init__(
        self,
        tokenizer: str = "ptb",
        idf: str | Path = DATASET,
        data: str | Path | None = None,
        cache: str | Path | None = None,
    ) -> None:
        super().__init__(tokenizer=tokenizer, idf=idf, data=data, cache=cache)

    def _form(self) -> dict[str, object]:
        return {"clip": "no"}

    @property
    def _scorer(self) -> type[CiderScorer]:
        return _PlainScorer


class _PlainScorer(CiderScorer):
    clipped = False

    def _penalty(
        self, words: list[list[str]], bigrams: Ints, caption: Ints, reference: Ints
    ) -> Floats:
        return np.ones(len(caption))


class CiderR(CiderPlain):
    """CIDEr-R, in [0, 10]: CIDEr-D with penalties for references of different lengths.

    Each pair's clipped cosines are multiplied by r^0.8 · l^0.2. l = exp(-(a - b)²/b²), a and b
    being the lengths of candidate and reference in words. r is the geometric mean, over the
    distinct words of the candidate, of 1 / (1 + d): d is how far the word's count is from the
    reference's, or, where the word is not in the reference, how often it is repeated (count - 1).
    Words of r are runs of word characters. An empty candidate scores 0 (the authors' code gives NaN
    there). Options are those of `CiderPlain`.
    """

    name = "cider_r"
    columns = (ScoreColumn("CIDEr-R", bounds=(0.0, 10.0)),)

    def _form(self) -> dict[str, object]:
        return {"repetition": REPETITION, "length": LENGTH}

    @property
    def _scorer(self) -> type[CiderScorer]:
        return _RScorer


class _RScorer(CiderScorer):
    def _penalty(
        self, words: list[list[str]], bigrams: Ints, caption: Ints, reference: Ints
    ) -> Floats:
        counts = [_count_words(each) for each in words]
        of_references = self._reference_counts
        lengths, of_reference_lengths = bigrams.tolist(), self._bigrams.tolist()
        return np.array(
            [
                _repetition(counts[c], of_references[r]) ** REPETITION
                * _length(lengths[c] + 1, of_reference_lengths[r] + 1) ** LENGTH
                for c, r in zip(caption.tolist(), reference.tolist(), strict=True)
            ],
            dtype=np.float64,
        )

    @cached_property
    def _reference_counts(self) -> list[Counter[str]]:
        return [
            _count_words(words)
            for words in self._words([text for group in self.dataset.references for text in group])
        ]


def _count_words(words: Sequence[str]) -> Counter[str]:
    return Counter(_WORD.findall(" ".join(words)))


def _repetition(candidate: Counter[str], reference: Counter[str]) -> float:
    """The geometric mean of 1 / (1 + d) over the candidate's distinct words; 0 without any."""
    if not candidate:
        return 0.0
    logs = [
        math.log1p(abs(n - reference[word]) if word in reference else n - 1)
        for word, n in candidate.items()
    ]
    return math.exp(-math.fsum(logs) / len(logs))


def _length(candidate: int, reference: int) -> float:
    return math.exp(-((candidate - reference) ** 2) / reference**2)
