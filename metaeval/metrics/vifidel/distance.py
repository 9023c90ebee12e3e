"""From pairs of bags to VIFIDEL's distances: dedupe, pad, price, transport.

The price of moving object word i to caption word j, for p = 2, is the squared distance between
their vectors, each scaled by its weight where there are references:

    ‖w_i x_i - w_j x_j‖² = (w_i - w_j)² + w_i w_j ‖x_i - x_j‖²

as the vectors have length 1; for p = 1 its root. Written so, nothing is subtracted that nearly
cancels, and equal words cost exactly 0.

The weight of word k, how far it is from what the references say, is the mean, over the references
of its image, of max(0, 1 - max_t cos(x_k, x_t)) / 2, t running over the reference's content words.
A word that every reference has weighs 0, one that is unlike all their words up to 1. As the vectors
have length 1, 1 - cos is half the squared distance, and that is what is computed.

Bags of content words, as VIFIDEL's reference scorer makes them, and numbers for the words.

The scorer counts words with scikit-learn's CountVectorizer(stop_words="english"): lower case,
runs of at least two word characters, without the 318 words of scikit-learn's list (which also
holds next, top, front, side, back, fire, two …). Labels of objects go the same way, so a label of
two words (dining table, stop-sign) counts as two words.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute import transport
from metaeval.compute.device import fitting_batch, in_batches, to_device, to_host
from metaeval.runs.store import Store
from metaeval.text.word_vectors.base import WordVectors

if TYPE_CHECKING:
    import torch


Squares = npt.NDArray[np.float64]
Bag = tuple[tuple[int, int], ...]  # (number of a word, how often), words in alphabetical order

_WORD = re.compile(r"(?u)\b\w\w+\b")


def stop_words() -> frozenset[str]:
    """scikit-learn's English list."""
    package = find_spec("sklearn")  # which takes a second to import, all for one list
    folder = Path((package.submodule_search_locations or ["."])[0] if package else ".")
    file = folder / "feature_extraction" / "_stop_words.py"
    if not file.is_file():  # another release may have it elsewhere
        return frozenset(import_module("sklearn.feature_extraction.text").ENGLISH_STOP_WORDS)
    return frozenset(run_path(str(file))["ENGLISH_STOP_WORDS"])


def stop_words_identity() -> str:
    """How many stop words, and a checksum of them, for signatures."""
    listed = sorted(stop_words())
    return f"sklearn-{len(listed)}-{hashlib.sha256(' '.join(listed).encode()).hexdigest()[:8]}"


class Lexicon:
    """The content words met so far: their numbers, and their vectors."""

    def __init__(self, vectors: WordVectors, store: Store | None = None) -> None:
        self._source, self._store = vectors, store
        self._stop = stop_words()
        self._number: dict[str, int] = {}
        self._split: dict[str, Counter[str]] = {}
        self.words: list[str] = []
        self.known = np.empty(0, dtype=np.bool_)
        self.rows = np.empty((0, 0))

    def count(self, text: str) -> Counter[str]:
        """The content words of a text, known or not; do not change it."""
        if (counts := self._split.get(text)) is None:
            words = _WORD.findall(text.lower())
            counts = self._split[text] = Counter(w for w in words if w not in self._stop)
        return counts

    def learn(self, texts: Iterable[str]) -> None:
        """Number the words of texts, in alphabetical order, and look their vectors up."""
        met = {word for text in texts for word in self.count(text)}
        new = sorted(met - self._number.keys())
        if not new:
            return
        vectors = self._source.embed(new, self._store)
        self._number.update((word, len(self.words) + i) for i, word in enumerate(new))
        self.words += new
        self.known = np.concatenate([self.known, vectors.known])
        self.rows = np.concatenate([self.rows.reshape(-1, vectors.rows.shape[1]), vectors.rows])

    def count_labels(self, labels: Mapping[str, int]) -> dict[str, int]:
        """The content words of objects' labels, a word as often as the labels that hold it."""
        words: Counter[str] = Counter()
        for label, often in labels.items():
            for word, n in self.count(label).items():
                words[word] += n * often
        return words

    def unknown(self, counts: Mapping[str, int]) -> list[str]:
        """The words that have no vector, in alphabetical order."""
        return [word for word in sorted(counts) if not self.known[self._number[word]]]

    def bag(self, counts: Mapping[str, int]) -> Bag:
        """The words that have a vector, in alphabetical order, with their counts."""
        return tuple(
            (number, n)
            for word, n in sorted(counts.items())
            if self.known[number := self._number[word]]
        )

    def squared_distances(self, left: Sequence[int], right: Sequence[int]) -> Squares:
        """[len(left), len(right)] Between words by number: 2 - 2 cos, in [0, 4].

        Added up in one order for every pair, so that a number does not depend on the others
        computed for; a matrix product would.
        """
        a, b = self.rows[np.asarray(left, dtype=int)], self.rows[np.asarray(right, dtype=int)]
        squares: Squares = np.maximum(2 - 2 * np.einsum("id,jd->ij", a, b), 0)
        i, j = np.nonzero(squares < 1e-3)  # where the subtraction has lost its digits
        squares[i, j] = ((a[i] - b[j]) ** 2).sum(axis=1)
        return squares


Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class ImportanceWeights:
    """The importance weights of words, by the bags of each image's references.

    A reference without a word that has a vector is left out of the mean; without
    any other, weights are not a number. With a GPU (`device`) they are computed there.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        references: Sequence[Sequence[Bag]],
        device: torch.device | None = None,
    ) -> None:
        self._lexicon, self._device = lexicon, device
        usable = [[[word for word, _ in bag] for bag in bags if bag] for bags in references]
        self._starts = [np.cumsum([0, *map(len, bags)])[:-1] for bags in usable]
        self._words = [[word for bag in bags for word in bag] for bags in usable]

    def usable(self, image: int) -> bool:
        """Whether an image has a reference to weigh words by."""
        return bool(self._words[image])

    def of(self, image: int, words: Sequence[int]) -> npt.NDArray[np.float64]:
        """[len(words)] The weights of words in an image, in [0, 1]."""
        if not self._words[image]:
            return np.full(len(words), np.nan)
        distinct, place = np.unique(self._words[image], return_inverse=True)
        squares = self._lexicon.squared_distances(words, distinct.tolist())[:, place]
        nearest = np.minimum.reduceat(squares, self._starts[image], axis=1)
        return np.asarray(nearest.mean(axis=1) / 4)

    def of_pairs(self, images: Indices, words: Indices) -> npt.NDArray[np.float64]:
        """[…] The weight of each word in its image, of arrays of any shape."""
        size = len(self._lexicon.words)
        pairs, inverse = np.unique(images * size + words, return_inverse=True)
        image, word = np.divmod(pairs, size)
        starts = np.flatnonzero(np.diff(image, prepend=-1))
        groups = np.split(word, starts[1:])
        if self._device is not None:
            weights = self._on_device(self._device, image[starts], groups)
        else:
            weights = [
                self.of(int(image[start]), group.tolist())
                for start, group in zip(starts, groups, strict=True)
            ]
        return np.concatenate(weights)[inverse].reshape(words.shape)  # flat before numpy 2

    def _on_device(
        self, device: torch.device, images: Indices, groups: Sequence[Indices]
    ) -> list[npt.NDArray[np.float64]]:
        """The weights of each image's group of words, images padded to one size."""
        others = [self._words[i] for i in images.tolist()]
        w, t = max(map(len, groups)), max(1, *map(len, others))
        r = max(1, *(len(self._starts[i]) for i in images.tolist()))
        words = np.zeros((len(images), w), dtype=np.intp)
        references = np.zeros((len(images), t), dtype=np.intp)
        member = np.zeros((len(images), r, t), dtype=np.bool_)
        for k, (i, group) in enumerate(zip(images.tolist(), groups, strict=True)):
            words[k, : len(group)] = group
            references[k, : len(others[k])] = others[k]
            ends = [*self._starts[i][1:], len(others[k])] if len(others[k]) else []
            for reference, (start, end) in enumerate(zip(self._starts[i], ends, strict=True)):
                member[k, reference, start:end] = True
        weights = np.empty((len(images), w))
        (vectors,) = to_device(device, self._lexicon.rows)

        def work(start: int, stop: int, size: int) -> None:
            part = slice(start, stop)
            own, their, has = to_device(device, words[part], references[part], member[part])
            weights[part] = to_host(importance(vectors[own], vectors[their], has))

        an_image = 8 * ((w + t) * vectors.shape[1] + 3 * w * r * t)
        in_batches(len(images), fitting_batch(device, len(images), an_image), work)
        return [row[: len(group)] for row, group in zip(weights, groups, strict=True)]


class TransportProblems(NamedTuple):
    """P transport problems of one padded size; `which` are their positions in the call.

    objects, words
        [m, P], [n, P] Rows and columns of the table of squared distances; in padding those of some
        word of the problem.
    supply, demand
        [m, P], [n, P] Whole numbers of equal sum per problem, 0 in padding.
    object_weights, word_weights
        [m, P], [n, P] The words' importance weights, or ones.

    Arrays, or tensors on a device.
    """

    which: Any
    objects: Any
    words: Any
    supply: Any
    demand: Any
    object_weights: Any
    word_weights: Any


class BagDistance:
    """The distance between two bags of words: what it costs to turn the one into the other.

    The price of moving a word is the distance of the vectors (`p` 1) or its square (2). With a GPU
    (`device`) prices and transport are computed there.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        weights: ImportanceWeights,
        p: int,
        device: torch.device | None = None,
    ) -> None:
        self._lexicon, self._weights, self._p = lexicon, weights, p
        self._device = device

    def of_pairs(self, pairs: Sequence[tuple[Bag, Bag]], images: Indices | None = None) -> Floats:
        """[n] The distance of each pair (objects, words); equal problems are solved once.

        With `images` [n] words are weighted by these images' references; NaN where there are none.
        """
        if not pairs:
            return np.empty(0)
        places = [-1] * len(pairs) if images is None else images.tolist()
        number: dict[tuple[tuple[Bag, Bag], int], int] = {}
        inverse = [number.setdefault(key, len(number)) for key in zip(pairs, places, strict=True)]
        distinct = [pair for pair, _ in number]
        where = None if images is None else np.array([i for _, i in number], dtype=np.intp)
        problems = self.problems(distinct, where)
        distances = np.full(len(distinct), np.nan)
        if self._device is None:
            for each, cost in problems.priced():
                flow = transport.flows(cost, each.supply, each.demand)
                distances[each.which] = transport.costs(cost, flow)
        else:
            for each, solved in problems.solved_on(self._device):
                distances[each.which] = solved
        return distances[np.array(inverse, dtype=np.intp)]

    def problems(
        self, pairs: Sequence[tuple[Bag, Bag]], images: Indices | None = None
    ) -> PairProblems:
        """The pairs as transport problems."""
        return PairProblems(self._lexicon, self._weights, self._p, pairs, images)


class PairProblems:
    """Pairs of bags as transport problems, those of about one size together.

    `object_words` and `caption_words` are the numbers of the rows and columns of the table of
    squared distances.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        weights: ImportanceWeights,
        p: int,
        pairs: Sequence[tuple[Bag, Bag]],
        images: Indices | None,
    ) -> None:
        self._lexicon, self._p = lexicon, p
        self._left, self._right = (_Bags([pair[side] for pair in pairs]) for side in (0, 1))
        self.object_words = np.unique(self._left.words)
        self.caption_words = np.unique(self._right.words)
        words = np.concatenate([self._left.words, self._right.words])
        self._weights = (
            np.ones(words.shape)
            if images is None
            else weights.of_pairs(np.broadcast_to(images, words.shape), words)
        )

    def __iter__(self) -> Iterator[TransportProblems]:
        left, right, weights = self._left, self._right, self._weights
        for m, n, group in transport.group_by_size(left.sizes, right.sizes):
            which = group[~np.isnan(weights[0, group])]
            if not len(which):
                continue
            counts, frequencies = left.counts[:m, which], right.counts[:n, which]
            yield TransportProblems(
                which,
                np.searchsorted(self.object_words, left.words[:m, which]),
                np.searchsorted(self.caption_words, right.words[:n, which]),
                counts * frequencies.sum(axis=0),  # the smallest whole numbers of equal sum
                frequencies * counts.sum(axis=0),
                weights[: len(left.words)][:m, which],
                weights[len(left.words) :][:n, which],
            )

    def priced(self) -> Iterator[tuple[TransportProblems, Floats]]:
        """The problems with the price [m, n, P] of moving each word."""
        words = self.object_words.tolist(), self.caption_words.tolist()
        squares = self._lexicon.squared_distances(*words)
        for each in self:
            yield each, _prices(squares, each, self._p)

    def solved_on(self, device: torch.device) -> Iterator[tuple[TransportProblems, Floats]]:
        """The problems with their distances [P], computed on the device."""
        words = self.object_words, self.caption_words
        squares = squared_distances(*to_device(device, *(self._lexicon.rows[w] for w in words)))
        for each in self:
            yield each, self._distances(each, squares)

    def _distances(self, problems: TransportProblems, squares: torch.Tensor) -> Floats:
        m, n, count = len(problems.objects), len(problems.words), len(problems.which)
        device, distances = squares.device, np.empty(len(problems.which))

        def work(start: int, stop: int, size: int) -> None:
            part = TransportProblems(*to_device(device, *(x[..., start:stop] for x in problems)))
            cost = _prices(squares, part, self._p)
            masses = part.supply, part.demand
            distances[start:stop] = transport.distances(cost, *masses, on_device=True)

        in_batches(count, fitting_batch(device, count, transport.bytes_of_a_problem(m, n)), work)
        return distances


def _prices(squares: Any, problems: TransportProblems, p: int) -> Any:
    """[m, n, P] What moving each object word to each caption word costs; arrays or tensors."""
    a, b = problems.object_weights[:, None], problems.word_weights[None]
    distance = squares[problems.objects[:, None], problems.words[None]]
    cost = (a - b) ** 2 + a * b * distance
    return cost if p == 2 else cost**0.5


class _Bags:
    """Bags side by side, as arrays [longest, n]; padding repeats the first word with mass 0."""

    def __init__(self, bags: Sequence[Bag]) -> None:
        self.sizes: Indices = np.array([len(bag) for bag in bags], dtype=np.intp)
        self.words = np.zeros((int(self.sizes.max(initial=1)), len(bags)), dtype=np.intp)
        self.counts = np.zeros(self.words.shape)
        for k, bag in enumerate(bags):
            self.words[:, k] = bag[0][0]
            for place, (word, count) in enumerate(bag):
                self.words[place, k] = word
                self.counts[place, k] = count


def squared_distances(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Device section: between the vectors [..., m, d] and [..., n, d]: [..., m, n].

    From their differences: products of matrices lose the digits of small distances.
    """
    import torch

    return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist").square()


def importance(words: torch.Tensor, others: torch.Tensor, member: torch.Tensor) -> torch.Tensor:
    """Device section: the importance weights of words in their images, [i, w].

    NaN where no reference has a word.

    Parameters
    ----------
    words
        [i, w, d] The vectors of w words of each of i images.
    others
        [i, t, d] The vectors of the words of the image's references.
    member
        bool [i, r, t] Which of them each of r references has.
    """
    import torch

    squares = squared_distances(words, others)
    nearest = torch.where(member[:, None], squares[:, :, None], torch.inf).amin(dim=-1)
    usable = member.any(dim=-1)[:, None]
    return torch.where(usable, nearest, 0.0).sum(dim=-1) / (4 * usable.sum(dim=-1))
