"""Models of all human captions of a file: similarity, a trigram model, frequent n-grams."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from metaeval.corruptions.language.categories import mentions
from metaeval.corruptions.language.parsed import parse
from metaeval.data.dataset import CaptionDataset, ImageId

_START, _END = "<s>", "</s>"
_NGRAM, _MOST = 4, 50
_NEAREST = 50


class Corpus:
    """The human captions of a whole file, by image id; independent of any limit.

    Attributes
    ----------
    ids, captions
        The images and their captions.
    """

    def __init__(self, ids: Sequence[ImageId], captions: Sequence[str]) -> None:
        self.ids, self.captions = tuple(ids), tuple(captions)

    def most_similar(self, image_id: ImageId, text: str) -> Iterator[str]:
        """The 50 other captions that are most like a text, by tf-idf; ties in the file's order."""
        vectorizer, table = self._tfidf
        similarity = (table @ vectorizer.transform([text]).T).toarray()[:, 0]
        least = np.partition(similarity, -n)[-n] if (n := min(_NEAREST, len(similarity))) else 0.0
        near = np.flatnonzero(similarity >= least)
        for k in near[np.argsort(-similarity[near], kind="stable")].tolist():
            if self.ids[k] != image_id and self.captions[k].lower().split() != text.lower().split():
                yield self.captions[k]

    def surely_named(self, text: str) -> frozenset[str]:
        """The categories that a caption names beyond doubt."""
        return frozenset(m.category for m in mentions(parse(text)))

    def sentence(self, rng: np.random.Generator) -> str:
        """A sentence drawn word by word from the trigram model."""
        words = [_START, _START]
        while len(words) < 40:
            following, shares = self._trigrams[words[-2], words[-1]]
            words.append(following[int(np.searchsorted(shares, rng.random(), side="right"))])
            if words[-1] == _END:
                break
        text = " ".join(word for word in words[2:] if word != _END)
        return f"{text[:1].upper()}{text[1:]}."

    @cached_property
    def frequent(self) -> tuple[str, ...]:
        """The 50 most frequent four-grams, the most frequent first, ties by the alphabet."""
        counts: Counter[str] = Counter()
        for words in map(_words, self.captions):
            counts.update(" ".join(words[i : i + _NGRAM]) for i in range(len(words) - _NGRAM + 1))
        return tuple(sorted(counts, key=lambda gram: (-counts[gram], gram))[:_MOST])

    @cached_property
    def _tfidf(self) -> tuple[TfidfVectorizer, csr_matrix]:
        vectorizer = TfidfVectorizer(sublinear_tf=True)
        try:
            return vectorizer, vectorizer.fit_transform(self.captions)
        except ValueError:  # no word has two letters: Chinese in tokens, captions without words
            vectorizer.set_params(analyzer=lambda text: text.split() or [text])
            return vectorizer, vectorizer.fit_transform(self.captions)

    @cached_property
    def _trigrams(self) -> dict[tuple[str, str], tuple[list[str], npt.NDArray[np.float64]]]:
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for caption in self.captions:
            words = [_START, _START, *_words(caption), _END]
            for a, b, c in zip(words, words[1:], words[2:], strict=False):
                counts[a, b][c] += 1
        return {
            pair: (sorted(after), np.cumsum([after[w] for w in sorted(after)]) / after.total())
            for pair, after in counts.items()
        }


def _words(caption: str) -> list[str]:
    return [w for token in caption.lower().split() if (w := token.strip(".,!?;:\"'"))]


def corpus_of(dataset: CaptionDataset) -> Corpus:
    """The corpus of a dataset's file, made once."""
    return dataset.derive(
        "corpus of human captions", lambda: Corpus(dataset.pool_ids, dataset.pool)
    )
