"""A bigram language model of the dataset's other captions: fluency, without image or reference."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, ImageSource
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.options import Positive, checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest
from metaeval.text.tokenizers import base as tokenizers

Ints = npt.NDArray[np.int64]

_START, _END, _UNKNOWN = 0, 1, 2


class BigramModel(Metric):
    """The logarithm of a caption's probability under the captions of other images.

    "Bigram model" is its sum over the words and the end of the caption, "Bigram model per word" the
    mean. A control: it sees neither the image nor its references, only whether words follow each
    other as they do in captions.

    The model of an image is counted on the human captions of the whole file and the references of
    all images, *without those of the image itself* (the photograph: several documents may be of
    one) *and without any caption of the same words as the
    one that is scored* (another image's caption, say): no caption scores itself. Smoothing is
    add-k: (c(a b) + k) / (c(a) + k V), with V the words of all captions, the end and one for words
    that none of them has.

    Parameters
    ----------
    k
        What is added to every count, above 0.
    tokenizer
        "ptb", "java" or "whitespace".
    """

    name = "bigram_model"
    columns = (
        ScoreColumn("Bigram model", bounds=(float("-inf"), 0.0), control=True),
        ScoreColumn("Bigram model per word", bounds=(float("-inf"), 0.0), control=True),
    )

    @checked
    def __init__(self, k: Positive = 0.1, tokenizer: str = "ptb") -> None:
        self.k = float(k)
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> BigramScorer | Absent:
        if (absent := self.tokenizer.missing()) is not None:
            return absent
        captions = captions_by_image(dataset)
        if len(captions) < 2:
            return Absent("captions", "a language model needs captions of other images")
        return BigramScorer(self, dataset, captions)


def captions_by_image(dataset: CaptionDataset) -> dict[ImageId, list[str]]:
    """Image → its captions: the human ones of the whole file, and the references.

    An image is its source where that is known, otherwise its id. Documents of the same image (with
    other references each) share captions: these count as often as in the one that has most. So does
    the human caption, which rated data have among the references.
    """
    captions: defaultdict[ImageId, Counter[str]] = defaultdict(Counter)
    pool = zip(photographs(dataset.pool_ids, dataset.pool_source), dataset.pool, strict=True)
    for image, text in pool:
        captions[image] |= Counter([text])
    images = photographs(dataset.image_ids, dataset.image_source)
    for image, human, references in zip(images, dataset.human, dataset.references, strict=True):
        captions[image] |= Counter(references) | Counter([human] if human else [])
    return {image: list(counts.elements()) for image, counts in captions.items()}


def photographs(
    ids: Sequence[ImageId], sources: Sequence[ImageSource | None] | None
) -> list[ImageId]:
    """Which photograph each image is: its source, or its id where the source is unknown."""
    if sources is None:
        return list(ids)
    return [i if source is None else source for i, source in zip(ids, sources, strict=True)]


class Counted(NamedTuple):
    """How often each of the sorted `keys` [m] occurs, `counts` [m]."""

    keys: Ints
    counts: Ints

    @classmethod
    def of(cls, keys: Ints) -> Counted:
        return cls(*np.unique(keys, return_counts=True))

    def find(self, keys: Ints) -> Ints:
        """How often each of any keys [n] occurs."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 0)


class BigramScorer(Scorer):
    """The model of a dataset's captions."""

    batch_size = 50_000

    def __init__(
        self,
        metric: BigramModel,
        dataset: CaptionDataset,
        captions: dict[ImageId, list[str]],
    ) -> None:
        lines = [repr(i).encode() + content_digest(sorted(group)) for i, group in captions.items()]
        digest = hashlib.sha256(b"".join(sorted(lines))).hexdigest()[:8]
        settings = {
            "tok": metric.tokenizer.signature,
            "n": 2,
            "smooth": f"add-{metric.k:g}",
            "captions": f"{sum(map(len, captions.values()))}-{digest}",
            "v": 2,
        }
        super().__init__(metric.columns, settings)
        self._k, self._tokenizer = metric.k, metric.tokenizer
        self._captions = captions
        self._images = photographs(dataset.image_ids, dataset.image_source)

    def context(self, index: int) -> bytes:
        image = self._images[index]
        return repr(image).encode() + content_digest(sorted(self._captions[image]))

    def prepare(self) -> None:
        place = {image: owner for owner, image in enumerate(self._captions)}
        self._owner = np.array([place[image] for image in self._images], dtype=np.int64)
        texts, owners = [], []
        for owner, group in enumerate(self._captions.values()):
            texts += self._tokenizer(group)
            owners += [owner] * len(group)
        self._numbers: dict[str, int] = {}
        for words in texts:
            for word in words:
                self._numbers.setdefault(word, len(self._numbers) + 3)
        self._size = len(self._numbers) + 3
        self._of_same_words: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for words, owner in zip(texts, owners, strict=True):
            self._of_same_words[tuple(words)].append(owner)
        first, pair, text = self._bigrams(texts)
        owner_of = np.array(owners, dtype=np.int64)[text]
        self._pairs, self._firsts = Counted.of(pair), Counted.of(first)
        self._own_pairs = Counted.of(owner_of * self._size**2 + pair)
        self._own_firsts = Counted.of(owner_of * self._size + first)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        texts = self._tokenizer(captions)
        first, pair, text = self._bigrams(texts)
        owners = self._owner[image_index]
        copies = np.array(
            [
                sum(owner != other for other in self._of_same_words.get(tuple(words), ()))
                for words, owner in zip(texts, owners.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        size, owner, copied = self._size, owners[text], copies[text]
        pairs = self._pairs.find(pair) - self._own_pairs.find(owner * size**2 + pair)
        pairs -= copied * _occurrences(text * size**2 + pair)
        firsts = self._firsts.find(first) - self._own_firsts.find(owner * size + first)
        firsts -= copied * _occurrences(text * size + first)
        # the start is not a word that could follow another
        logs = np.log((pairs + self._k) / (firsts + self._k * (size - 1)))
        total = np.zeros(len(texts))
        np.add.at(total, text, logs)
        return np.stack([total, total / np.bincount(text, minlength=len(texts))], axis=1)

    def _bigrams(self, texts: Sequence[Sequence[str]]) -> tuple[Ints, Ints, Ints]:
        """First words, bigrams (first · size + second) and places of the texts, [all bigrams]."""
        numbers, text = [], []
        for j, words in enumerate(texts):
            known = [self._numbers.get(word, _UNKNOWN) for word in words]
            numbers += [_START, *known, _END]
            text += [j] * (len(words) + 2)
        word = np.array(numbers, dtype=np.int64)
        starts = np.flatnonzero(word != _END)
        first = word[starts]
        return first, first * self._size + word[starts + 1], np.array(text, dtype=np.int64)[starts]


def _occurrences(keys: Ints) -> Ints:
    """How often each of the keys [n] occurs among them."""
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[place.reshape(-1)], dtype=np.int64)
