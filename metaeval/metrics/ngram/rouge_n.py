"""ROUGE-1 and ROUGE-2 (Lin, 2004), by the rule of Google's rouge-score package."""

from __future__ import annotations

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
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store

_WORD = re.compile(r"[a-z0-9]+")  # after lower-casing; anything else parts words


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
        words = _WORD.findall(text.lower())
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
