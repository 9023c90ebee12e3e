"""Controls: scores that ignore whether a caption is true of its image."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, ImageSource
from metaeval.metrics.base import Metric, ReferenceScorer, Scorer, Scores
from metaeval.options import Positive, checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest
from metaeval.text.numbered import (
    Texts,
    WordIndex,
    flatten_references,
    places_of,
    runs_of_cost,
)
from metaeval.text.tokenizers import base as tokenizers

Ints = npt.NDArray[np.int64]

_CELLS = 2**20  # captions times words of their references, at once
_START, _END, _UNKNOWN = 0, 1, 2  # numbers of the bigram model's words


class RandomScore(Metric):
    """A number in [0, 1) that depends on the seed, the image's id and the caption alone.

    Equal captions of an image get equal scores, as they do from any metric.
    """

    name = "random_score"
    needs = frozenset()
    columns = (ScoreColumn("Random score", control=True),)

    def __init__(self, seed: int = 0) -> None:
        self.seed = int(seed)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> RandomScorer:
        return RandomScorer(self, dataset)


class RandomScorer(Scorer):
    """The random scores of a dataset's captions."""

    batch_size = 50_000

    def __init__(self, metric: RandomScore, dataset: CaptionDataset) -> None:
        super().__init__(metric.columns, {"seed": metric.seed, "v": 1})
        self._seed, self._ids = metric.seed, dataset.image_ids

    def context(self, index: int) -> bytes:
        return repr(self._ids[index]).encode()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.empty((len(captions), 1))
        for j, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            content = f"{self._seed}\0{self._ids[image]!r}\0{caption}".encode()
            digest = hashlib.sha256(content).digest()
            scores[j] = (int.from_bytes(digest[:8], "big") >> 11) / 2**53
        return scores


class Length(Metric):
    """The number of words of a caption: longer is better.

    Parameters
    ----------
    tokenizer
        "ptb", "java" or "whitespace".
    """

    name = "length"
    needs = frozenset()
    columns = (ScoreColumn("Length", bounds=(0.0, float("inf")), control=True),)
    sign = 1

    def __init__(self, tokenizer: str = "ptb") -> None:
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> LengthScorer | Absent:
        return self.tokenizer.missing() or LengthScorer(self)


class Brevity(Length):
    """Minus the number of words: shorter is better. Options as of `Length`."""

    name = "brevity"
    columns = (ScoreColumn("Brevity", bounds=(float("-inf"), 0.0), control=True),)
    sign = -1


class LengthScorer(Scorer):
    """The number of words, whatever the dataset; with the metric's sign."""

    batch_size = 50_000

    def __init__(self, metric: Length) -> None:
        super().__init__(metric.columns, {"tok": metric.tokenizer.signature, "v": 1})
        self._tokenizer, self._sign = metric.tokenizer, metric.sign

    def context(self, index: int) -> bytes:
        return b""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        lengths = [self._sign * len(tokens) for tokens in self._tokenizer(captions)]
        return np.array(lengths, dtype=np.float64).reshape(-1, 1)


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
        self._vocabulary = WordIndex()
        references = flatten_references(self.dataset.references)
        texts = self._vocabulary.learn(self._tokenizer(references.texts))
        # the words of all references, one after the other, each reference closed by a -1 that no
        # run of words passes; those of image i begin at `_begins[i]` and are `_sizes[i]`
        ends = np.cumsum(texts.lengths + 1) - 1
        self._words = np.full(len(texts.words) + len(texts.lengths), -1)
        inside = np.ones(len(self._words), dtype=np.bool_)
        inside[ends] = False
        self._words[inside] = texts.words
        self._sizes = np.zeros(len(references.sizes), dtype=np.int64)
        np.add.at(self._sizes, references.image, texts.lengths + 1)
        self._begins = np.cumsum(self._sizes) - self._sizes

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        texts = self._vocabulary.encode(self._tokenizer(captions))
        first = np.cumsum(texts.lengths) - texts.lengths
        scores = np.full(len(captions), np.nan)
        for begin, end in runs_of_cost(self._sizes[image_index], _CELLS):
            chosen = begin + np.flatnonzero(self._sizes[image_index[begin:end]])
            # the longest first, so that those with a word left are always the first ones
            chosen = chosen[np.argsort(-texts.lengths[chosen], kind="stable")]
            longest = self._longest(
                texts, first[chosen], texts.lengths[chosen], image_index[chosen]
            )
            scores[chosen] = longest / np.maximum(texts.lengths[chosen], 1)
        return scores[:, None]

    def _longest(self, texts: Texts, first: Ints, lengths: Ints, image: Ints) -> Ints:
        """The longest run of words of each caption; the captions are in descending length."""
        if not len(first):
            return first
        sizes = self._sizes[image]
        starts = np.cumsum(sizes) - sizes
        references = self._words[np.repeat(self._begins[image], sizes) + places_of(sizes)]
        run = np.zeros(len(references), dtype=np.int64)  # the run that ends at each word
        best = np.zeros_like(run)
        for step in range(int(lengths[0])):
            going = int(np.searchsorted(-lengths, -step, side="left"))
            cells = int(starts[going - 1] + sizes[going - 1])
            word = np.repeat(texts.words[first[:going] + step], sizes[:going])
            run[1:cells] = run[: cells - 1] + 1
            run[0] = 1
            run[:cells] *= references[:cells] == word
            np.maximum(best[:cells], run[:cells], out=best[:cells])
        longest: Ints = np.maximum.reduceat(best, starts)
        return longest


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
