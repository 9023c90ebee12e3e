"""ROUGE-L (Lin, 2004) by pycocoevalcap's rule, ROUGE-1 and ROUGE-2 by that of Google's rouge-score.

The longest common subsequences come from the bit-parallel algorithm of Crochemore et al. (2001) in
the form of Hyyrö (2004): a reference is one integer, a bit per word; one addition moves the
comparison on by one word of the candidate.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.language import GRAPHEME, UNSPACED_SCRIPTS
from metaeval.metrics.base import Metric, ReferenceScorer
from metaeval.options import Positive, checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.tokenizers import base as tokenizers

# After lower-casing and `_of_other_script`; anything else parts words. Other scripts than Latin: a
# word is a run of letters, or one letter where the script has no spaces.
_TOKEN = re.compile(f"{GRAPHEME}|(?:[a-z0-9]|[^\\x00-\u036f{UNSPACED_SCRIPTS}][\u0300-\u036f]*)+")
_NO_OTHER_SCRIPT = re.compile("LATIN|MODIFIER|MATHEMATICAL")  # in the name of a letter


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
        "ptb" or "whitespace".
    """

    name = "rouge_l"
    columns = (ScoreColumn("ROUGE-L"),)

    @checked
    def __init__(self, beta: Positive = 1.2, tokenizer: str = "ptb") -> None:
        self.beta = float(beta)
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> RougeLScorer | Absent:
        settings = {"tok": self.tokenizer.signature, "beta": f"{self.beta:g}", "v": 1}
        return self.missing_part(dataset) or RougeLScorer(self, settings, dataset)


class RougeLScorer(ReferenceScorer):
    """ROUGE-L against the references of a dataset."""

    metric: RougeL
    batch_size = 50_000

    def prepare(self) -> None:
        self._references = [
            [(_places(words), max(len(words), 1)) for words in group]
            for group in self.metric.tokenizer.of_groups(self.dataset.references)
        ]

    def score_caption(self, caption: str, image_index: int) -> float:
        (words,) = self.metric.tokenizer([caption])
        weight = self.metric.beta**2
        common = [(_common(words, *each), each[1]) for each in self._references[image_index]]
        precision = max((n / max(len(words), 1) for n, _ in common), default=np.nan)
        recall = max((n / length for n, length in common), default=np.nan)
        below = recall + weight * precision
        return (1 + weight) * precision * recall / below if below != 0 else 0.0


def _places(words: Sequence[str]) -> dict[str, int]:
    """Word → the places where it stands, a bit each; of no words those of one empty word."""
    places: dict[str, int] = {}
    for k, word in enumerate(words or [""]):
        places[word] = places.get(word, 0) | 1 << k
    return places


def _common(words: Sequence[str], places: Mapping[str, int], length: int) -> int:
    """The length of the longest common subsequence of some words and a reference of `length`."""
    # a bit falls to 0 where the subsequence grows by that word of the reference
    state = every = (1 << length) - 1
    for word in words or [""]:
        match = state & places.get(word, 0)
        state = (state + match | state - match) & every
    return length - state.bit_count()


class RougeN(Metric):
    """F1 of the single words (ROUGE-1) and of the pairs of words (ROUGE-2), in [0, 1].

    Precision and recall of clipped counts; over several references the best F1 counts, for each of
    the two on its own, as in rouge-score's `score_multi`. 0 where nothing is in common or a side
    has no such n-gram. Not a number only where the image has no reference.

    Words are runs of a–z and 0–9 in the lower-cased text, as there: a Latin letter with an accent
    parts a word in two. Letters of other scripts, which rouge-score leaves out, belong to words,
    too; in scripts without spaces a letter with its marks is a word.

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
        stem = "porter" if self.stem else "no"
        settings = {"tok": "rouge-score", "stem": stem, "ref": "best", "v": 2}
        return self.missing_part(dataset) or RougeNScorer(self, settings, dataset)


class RougeNScorer(ReferenceScorer):
    """ROUGE-1 and ROUGE-2 against the references of a dataset."""

    metric: RougeN
    batch_size = 50_000

    def prepare(self) -> None:
        self._references = [
            [self._ngrams(text) for text in group] for group in self.dataset.references
        ]

    def score_caption(self, caption: str, image_index: int) -> list[float]:
        candidate, references = self._ngrams(caption), self._references[image_index]
        return [max((_f1(candidate[k], r[k]) for r in references), default=np.nan) for k in (0, 1)]

    def _ngrams(self, text: str) -> tuple[Counter[Any], Counter[Any]]:
        """The words of a text and its pairs of words, with their counts."""
        text = text.lower()
        if not text.isascii():
            text = "".join(c if c < "\u0370" or _of_other_script(c) else " " for c in text)
        words = _TOKEN.findall(text)
        if self.metric.stem:
            words = [_stem(word) if len(word) > 3 else word for word in words]
        return Counter(words), Counter(pairwise(words))


def _f1(candidate: Counter[Any], reference: Counter[Any]) -> float:
    matches = sum(min(n, reference[ngram]) for ngram, n in candidate.items())
    precision = matches / max(candidate.total(), 1)
    recall = matches / max(reference.total(), 1)
    return 2 * precision * recall / (precision + recall) if matches else 0.0


@cache
def _of_other_script(character: str) -> bool:
    """Whether it is a letter, a mark or a digit of another script than Latin."""
    kind = unicodedata.category(character)
    name = unicodedata.name(character, "LATIN")
    return (kind[0] in "LM" or kind == "Nd") and not _NO_OTHER_SCRIPT.search(name)


@cache
def _stem(word: str) -> str:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer().stem(word)
