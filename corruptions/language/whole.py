"""Whole captions: of another image, empty, generic, and of words glued together.

`Corpus` models all human captions of a file: similarity, a trigram model, frequent n-grams.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from metaeval.corruptions.base import (
    Caption,
    Corrupted,
    Corruption,
    reads_the_same,
    rewritten_whole,
)
from metaeval.corruptions.graded.random import FromOtherImage
from metaeval.corruptions.language.base import KnowsImages
from metaeval.corruptions.language.categories import Known, mentions
from metaeval.corruptions.language.parsed import NO_THINGS, parse
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
            if self.ids[k] != image_id and not reads_the_same(self.captions[k], text):
                yield self.captions[k]

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
        counts = Counter(
            " ".join(words[i : i + _NGRAM])
            for words in map(_words, self.captions)
            for i in range(len(words) - _NGRAM + 1)
        )
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


_GENERIC = (
    "A photo of something.",
    "An image of some things.",
    "A picture of a scene.",
    "This is a picture.",
    "There is something in this photo.",
    "Some things are in a place.",
)


class _Whole(Corruption, kind="whole caption", severity="critical"):
    """Replaces the whole caption."""


class Generic(_Whole, title="Generic caption"):
    """A caption that is true of every image and not specific to this one."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return rewritten_whole(
            caption.text, _GENERIC[int(rng.integers(len(_GENERIC)))], "is generic"
        )


class Empty(_Whole, title="Empty caption"):
    """No caption at all."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return rewritten_whole(caption.text, "", "is empty already")


class ObjectList(_Whole, title="List of objects", severity="major"):
    """The nouns of the caption, one after another, without anything else."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        parsed = parse(caption.text)
        named = [p for p in parsed.phrases if parsed.word(p.head) not in NO_THINGS]
        nouns = list(dict.fromkeys(" ".join(parsed.words[p.noun : p.end]) for p in named))
        if len(nouns) < 2:
            return Corrupted(
                caption.text, False, realised=0.0, reason="names fewer than two things"
            )
        return rewritten_whole(caption.text, ", ".join(nouns), "is a list already")


class ShuffledReferences(KnowsImages, _Whole, title="References' words shuffled"):
    """Words of all references and the caption in random order, as many as the caption has."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        known = self.known(caption)
        words = [
            word
            for token in " ".join((caption.text, *known.references)).split()
            if (word := token.strip(".,!?\"'").lower())
        ]
        n = len(caption.text.split())
        text = " ".join(words[i] for i in rng.permutation(len(words))[:n].tolist())
        return rewritten_whole(caption.text, text, "has too few words")


class JoinCaptions(FromOtherImage, _Whole, title="Another image's caption added"):
    """The caption, and another image's behind it."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        other = self._donated.get(caption.image_id, "")
        first = caption.text.rstrip()
        joint = first if first.endswith((".", "!", "?")) else f"{first}."
        unsuited = not other or reads_the_same(other, caption.text)
        new = caption.text if unsuited else f"{joint} {other}"
        return rewritten_whole(caption.text, new, "no other caption")


class _FromCorpus(KnowsImages, _Whole):
    """Makes captions from all human captions of the dataset's file."""

    corpus: Corpus  # of `fit`

    def fit(self, dataset: CaptionDataset) -> None:
        super().fit(dataset)
        self.corpus = corpus_of(dataset)

    def facts(self) -> Mapping[str, object]:
        return {"corpus_captions": len(self.corpus.captions)}


class SimilarImage(_FromCorpus, title="Most similar image's caption"):
    """The caption of the most similar other image that names a thing missing in this image.

    Similar by tf-idf over the words of all human captions of the file. Of COCO's categories, the
    other caption names at least one, and not people, that is neither annotated nor named in this
    image's captions: else it might be true here, too.
    """

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        known = self.known(caption)
        for text in self.corpus.most_similar(caption.image_id, caption.text):
            if {m.category for m in mentions(parse(text))} - known.present - {"person"}:
                return rewritten_whole(caption.text, text, "the same caption")
        return Corrupted(
            caption.text, False, realised=0.0, reason="no similar caption is false of it"
        )


class Nonsense(_FromCorpus, title="Fluent nonsense"):
    """A sentence that a trigram model of all human captions makes up: fluent, of no image.

    Probably not about this image: it shares at most one content word with its captions.
    """

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        known = self.known(caption)
        for _ in range(20):
            text = self.corpus.sentence(rng)
            if 5 <= len(text.split()) <= 20 and self._strange(text, known):
                return rewritten_whole(caption.text, text, "the same caption")
        return Corrupted(caption.text, False, realised=0.0, reason="20 sentences might be about it")

    @staticmethod
    def _strange(text: str, known: Known) -> bool:
        nouns = {token.word for token in parse(text).tokens if token.is_noun}
        return len((nouns - NO_THINGS) & known.words) < 2


class FrequentNgrams(_FromCorpus, title="Frequent n-grams glued"):
    """Frequent four-grams of all human captions glued together, about as long as the caption."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        grams: Sequence[str] = self.corpus.frequent
        n = max(2, round(len(caption.text.split()) / 4))
        if len(grams) < n:
            return Corrupted(caption.text, False, realised=0.0, reason="the corpus is too small")
        chosen = rng.permutation(len(grams))[:n].tolist()
        return rewritten_whole(caption.text, " ".join(grams[i] for i in chosen), "the same caption")
