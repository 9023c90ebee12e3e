"""Controls: scores that ignore whether a caption is true of its image."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import (
    Absent,
    CaptionDataset,
    ImageId,
    captions_by_image,
    captions_identity,
    no_text,
    photographs,
)
from metaeval.metrics.base import Metric, ReferenceScorer, Scorer, Scores
from metaeval.options import Positive, checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest
from metaeval.text.tokenizers import base as tokenizers

Line = tuple[str | int, ...]  # words, with numbers for start, end and unknown words

_START, _END, _UNKNOWN = 0, 1, 2  # in a `Line`


def as_controls(columns: Iterable[ScoreColumn], control: bool) -> tuple[ScoreColumn, ...]:
    """The columns as controls, or as metrics like any other."""
    return tuple(replace(column, control=control) for column in columns)


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

    def score_caption(self, caption: str, image_index: int) -> float:
        content = f"{self._seed}\0{self._ids[image_index]!r}\0{caption}".encode()
        digest = hashlib.sha256(content).digest()
        return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


class Length(Metric):
    """The number of words of a caption: longer is better.

    Parameters
    ----------
    tokenizer
        "ptb" or "whitespace".
    """

    name = "length"
    needs = frozenset()
    columns = (ScoreColumn("Length", bounds=(0.0, float("inf")), control=True),)
    sign = 1

    def __init__(self, tokenizer: str = "ptb") -> None:
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> LengthScorer | Absent:
        return self.missing_part(dataset) or LengthScorer(self)


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

    def score_caption(self, caption: str, image_index: int) -> float:
        return self._sign * len(self._tokenizer([caption])[0])


class LongestCopy(Metric):
    """The longest run of words that a caption shares with a reference, over the caption's words.

    In [0, 1]: 1 where a reference holds the whole caption, 0 for a caption without words; not a
    number where the image has no reference. A control: it sees copies, not meaning.

    Parameters
    ----------
    tokenizer
        "ptb" or "whitespace".
    control
        Whether metrics are compared with it; `False`: it is a metric like any other.
    """

    name = "longest_copy"
    columns: tuple[ScoreColumn, ...] = (ScoreColumn("Longest copy", control=True),)

    @checked
    def __init__(self, tokenizer: str = "ptb", control: bool = True) -> None:
        self.tokenizer = tokenizers.get(tokenizer)
        self.columns = as_controls(self.columns, control)

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> LongestCopyScorer | Absent:
        settings = {"tok": self.tokenizer.signature, "v": 1}
        return self.missing_part(dataset) or LongestCopyScorer(self, settings, dataset)


class LongestCopyScorer(ReferenceScorer):
    """Runs of words shared with the references of a dataset."""

    metric: LongestCopy

    def prepare(self) -> None:
        self._references = self.metric.tokenizer.of_groups(self.dataset.references)

    def score_caption(self, caption: str, image_index: int) -> float:
        (words,) = self.metric.tokenizer([caption])
        runs = (_longest_run(words, reference) for reference in self._references[image_index])
        return max(runs, default=np.nan) / max(len(words), 1)


def _longest_run(words: Sequence[str], reference: Sequence[str]) -> int:
    """The length of the longest run of words that two texts share."""
    return SequenceMatcher(None, words, reference, autojunk=False).find_longest_match().size


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
        "ptb" or "whitespace".
    control
        Whether metrics are compared with it; `False`: it is a metric like any other.
    """

    name = "bigram_model"
    columns: tuple[ScoreColumn, ...] = (
        ScoreColumn("Bigram model", bounds=(float("-inf"), 0.0), control=True),
        ScoreColumn("Bigram model per word", bounds=(float("-inf"), 0.0), control=True),
    )

    @checked
    def __init__(self, k: Positive = 0.1, tokenizer: str = "ptb", control: bool = True) -> None:
        self.k = float(k)
        self.tokenizer = tokenizers.get(tokenizer)
        self.columns = as_controls(self.columns, control)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> BigramScorer | Absent:
        if (absent := self.tokenizer.missing()) is not None:
            return absent
        captions = captions_by_image(dataset)
        return no_text(captions) or BigramScorer(self, dataset, captions)


class BigramScorer(Scorer):
    """The model of a dataset's captions."""

    batch_size = 50_000

    def __init__(
        self,
        metric: BigramModel,
        dataset: CaptionDataset,
        captions: dict[ImageId, list[str]],
    ) -> None:
        settings = {
            "tok": metric.tokenizer.signature,
            "n": 2,
            "smooth": f"add-{metric.k:g}",
            "captions": captions_identity(captions),
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
        texts = self._tokenizer.of_groups(list(self._captions.values()))
        self._known = {word for group in texts for words in group for word in words}
        self._lines = {
            image: [self._line(words) for words in group]
            for image, group in zip(self._captions, texts, strict=True)
        }
        lines = [line for group in self._lines.values() for line in group]
        self._copies = Counter(lines)
        self._pairs, self._firsts = _count_bigrams(lines)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        pairs: list[int] = []
        firsts: list[int] = []
        text: list[int] = []
        texts = self._tokenizer(captions)
        for row, (words, index) in enumerate(zip(texts, image_index.tolist(), strict=True)):
            line, own_lines = self._line(words), self._lines[self._images[index]]
            # neither the image's own captions count, nor the same words of another image
            copies = self._copies[line] - own_lines.count(line)
            own_pairs, own_firsts = _count_bigrams([*own_lines, *[line] * copies])
            pairs += [self._pairs[pair] - own_pairs[pair] for pair in pairwise(line)]
            firsts += [self._firsts[word] - own_firsts[word] for word in line[:-1]]
            text += [row] * (len(line) - 1)
        # the start is not a word that could follow another
        size = len(self._known) + 2
        logs = np.log((np.array(pairs) + self._k) / (np.array(firsts) + self._k * size))
        total = np.zeros(len(texts))
        np.add.at(total, text, logs)
        return np.stack([total, total / np.bincount(text, minlength=len(texts))], axis=1)

    def _line(self, words: Sequence[str]) -> Line:
        """The words between start and end, unknown ones by one name."""
        return (_START, *(word if word in self._known else _UNKNOWN for word in words), _END)


def _count_bigrams(
    lines: Sequence[Line],
) -> tuple[Counter[tuple[str | int, str | int]], Counter[str | int]]:
    """How often each pair of words occurs, and each first word of one."""
    pairs = Counter(pair for line in lines for pair in pairwise(line))
    return pairs, Counter(word for line in lines for word in line[:-1])
