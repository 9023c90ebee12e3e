"""N-grams of many texts at once, as arrays: what BLEU, SacreBLEU, ROUGE-L and CIDEr have in common.

Words become numbers once (`WordIndex`). An n-gram is then a pair: the (n-1)-gram that it begins
with, and its last word. So the n-grams of a text, an image or a whole corpus are a trie,
kept as one sorted array of (prefix, last word) keys per order (`Edges`). Nothing is hashed: two
n-grams have the same number only if they are the same n-gram.

All numbers here are counts, so no result depends on rounding, and what is said of one text never
depends on the other texts in a call.

Texts as numbers: the words of many captions, and of all images' references, in flat arrays.

What counts words for many captions at once (n-gram metrics, the longest copy) starts from these.
References differ in number from image to image, so nothing here has a side as long as the most.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.readers.arrays import ArrayArchive
from metaeval.runs.store import content_digest

Ints = npt.NDArray[np.int64]


class Texts(NamedTuple):
    """n texts as numbers: `words` [all words], one text after the other, and `lengths` [n]."""

    words: Ints
    lengths: Ints


class FlatReferences(NamedTuple):
    """The references of all images in one list: `texts` [r], the `image` [r] that each belongs to,
    and their number per image, `sizes` [n]."""

    texts: list[str]
    image: Ints
    sizes: Ints


def flatten_references(references: Sequence[Sequence[str]]) -> FlatReferences:
    """Put the references of all images into one list."""
    sizes = np.array([len(group) for group in references], dtype=np.int64)
    image = np.repeat(np.arange(len(sizes)), sizes)
    return FlatReferences(list(chain.from_iterable(references)), image, sizes)


def places_of(sizes: Ints) -> Ints:
    """The place, from 0, of each member of groups of these sizes, group after group."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def runs_of_cost(cost: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Begin and end of runs of n texts, one after the other, that together cost about `most`: less
    than `most` and the costliest of them.

    >>> list(runs_of_cost(np.array([1, 1, 1, 9, 1]), 3))
    [(0, 2), (2, 3), (3, 5)]
    """
    run = np.cumsum(cost) // most
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    return pairwise([*starts.tolist(), len(cost)])


class WordIndex:
    """The words of the references, numbered from 0 in the order of their appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def words(self) -> list[str]:
        """The words that were learnt, by their numbers."""
        return list(self._numbers)

    def learn(self, texts: Sequence[Sequence[str]]) -> Texts:
        """Number the words of the texts, new ones too, and keep the numbers."""
        encoded, self._numbers = self._encoded(texts)
        return encoded

    def encode(self, texts: Sequence[Sequence[str]]) -> Texts:
        """Number the words of the texts. A word that was never learnt gets a number of its own
        beyond the learnt ones, good for this call only."""
        return self._encoded(texts)[0]

    def _encoded(self, texts: Sequence[Sequence[str]]) -> tuple[Texts, dict[str, int]]:
        numbers = defaultdict(count(len(self._numbers)).__next__, self._numbers)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        words = map(numbers.__getitem__, chain.from_iterable(texts))
        return Texts(np.fromiter(words, np.int64, int(lengths.sum())), lengths), dict(numbers)


class Ngrams(NamedTuple):
    """The g distinct n-grams of one order in each of n texts, in the order of their appearance.

    text, tf
        [g] Which text, and how often the n-gram occurs in it (term frequency, at least 1).
    prefix, last
        [g] The n-gram without its last word, as an index into the `Ngrams` of the order below
        (for single words: the text itself), and its last word.
    """

    text: Ints
    tf: Ints
    prefix: Ints
    last: Ints


class Edges:
    """The edges of a trie at one depth: (node above, word) pairs, each with a number.

    The numbers run from 0 in the order of the pairs; they are the nodes at this depth.
    """

    def __init__(self, keys: Ints) -> None:
        self.keys = keys

    @classmethod
    def of(cls, above: npt.NDArray[Any], words: Ints) -> tuple[Edges, Ints]:
        """The edges for these pairs, which may come more than once, and the node of each pair."""
        keys, nodes = np.unique(_key(above, words), return_inverse=True)
        return cls(keys), nodes

    def __len__(self) -> int:
        return len(self.keys)

    def below(self, above: Ints) -> Ints:
        """The keys of the same edges where node k above them is called `above[k]`: ascending, as
        these are."""
        return _key(above[self.keys >> 32], self.keys & 0xFFFFFFFF)

    def find(self, above: npt.NDArray[Any], words: Ints) -> Ints:
        """The nodes that the pairs lead to, [pairs]; -1 where there is none or `above` is -1."""
        nodes = np.full(len(words), -1)
        if len(self):
            pairs = np.flatnonzero(above >= 0)
            keys = _key(above[pairs], words[pairs])
            place = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
            known = self.keys[place] == keys
            nodes[pairs[known]] = place[known]
        return nodes


class Trie:
    """The n-grams below each of several roots (the images, or one corpus), numbered per order."""

    def __init__(self, edges: Sequence[Edges] = ()) -> None:
        self.edges = list(edges)

    def grow(self, ngrams: Sequence[Ngrams], roots: npt.NDArray[Any]) -> list[Ints]:
        """Take in the n-grams of texts that belong to `roots` [texts], into a trie still empty.

        Returns, order by order, the number [g] that each n-gram has got.
        """
        numbers, above = [], roots
        for order in ngrams:
            edges, above = Edges.of(above[order.prefix], order.last)
            self.edges.append(edges)
            numbers.append(above)
        return numbers

    def sizes(self) -> list[int]:
        """How many n-grams there are of each order."""
        return [len(edges) for edges in self.edges]

    def united(self, other: Trie) -> tuple[Trie, list[Ints], list[Ints]]:
        """A trie of the n-grams of both below their one root; order by order, the number in it of
        each n-gram of this one, and of the other."""
        both, of_self, of_other = Trie(), [], []
        mine = others = np.zeros(1, dtype=np.int64)
        for one, two in zip(self.edges, other.edges, strict=True):
            keys_of_one, keys_of_two = one.below(mine), two.below(others)
            keys = np.union1d(keys_of_one, keys_of_two)
            mine, others = (np.searchsorted(keys, each) for each in (keys_of_one, keys_of_two))
            both.edges.append(Edges(keys))
            of_self.append(mine)
            of_other.append(others)
        return both, of_self, of_other

    def find(self, ngrams: Sequence[Ngrams], roots: npt.NDArray[Any]) -> list[Ints]:
        """Order by order, the number [g] of each n-gram of texts that belong to `roots` [texts];
        -1 where the trie does not have it."""
        numbers, above = [], roots
        for edges, order in zip(self.edges, ngrams, strict=True):
            above = edges.find(above[order.prefix], order.last)
            numbers.append(above)
        return numbers


def split_tokens_containing_spaces(texts: list[list[str]]) -> list[list[str]]:
    """The texts with each token that holds white space ("2 1/2" is one PTB token) taken apart.

    pycocoevalcap joins a caption's tokens with spaces; its BLEU and CIDEr split them at any white
    space, its ROUGE-L at those spaces only.
    """
    if all(len(word.split()) == 1 for word in set(chain.from_iterable(texts))):
        return texts
    return [" ".join(tokens).split() for tokens in texts]


def distinct_ngrams(texts: Texts, max_n: int) -> list[Ngrams]:
    """The distinct n-grams of each text with their counts, for the orders 1 … max_n."""
    words, lengths = texts
    text = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(words))  # words to the text's end
    prefix = text.copy()  # per position: the number of the (n-1)-gram that begins there
    orders = []
    for n in range(1, max_n + 1):
        begins = np.flatnonzero(left >= n)
        keys = _key(prefix[begins], words[begins + n - 1])
        _, first, which, tf = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        by_place = np.argsort(first)
        at = begins[first[by_place]]
        orders.append(Ngrams(text[at], tf[by_place], prefix[at], words[at + n - 1]))
        prefix[begins] = np.argsort(by_place)[which]
    return orders


def _key(above: npt.NDArray[Any], words: Ints) -> Ints:
    """One integer for a pair of them, both below 2³¹."""
    return (above.astype(np.int64, copy=False) << 32) | words


ORDERS = 4
SUFFIX = ".npz"
_FORMAT = "cider-df-1"


class _Counted(NamedTuple):
    """The n-grams of some documents, and order by order how many documents have each."""

    ngrams: Trie
    documents: list[Ints]


class DocumentFrequencies:
    """The n-grams of documents (orders 1 … 4), and how many of the documents have each.

    A document is the references of an image. Documents can be added at any time, some at once:
    what is kept grows with the number of distinct n-grams (12 to 16 bytes each) and words, not with
    that of the documents.

    Attributes
    ----------
    n
        The number of documents.
    words
        The words of all documents, numbered.
    """

    def __init__(self) -> None:
        self.n, self.words = 0, WordIndex()
        self._counted: list[_Counted] = []
        self._idf: list[npt.NDArray[np.float64]] = []

    @classmethod
    def of(cls, documents: Iterable[Sequence[list[str]]]) -> DocumentFrequencies:
        """Those of documents, each the tokenised references of an image."""
        frequencies = cls()
        frequencies.add(documents)
        return frequencies

    def add(self, documents: Iterable[Sequence[list[str]]]) -> None:
        """Count more documents, each the tokenised references of an image."""
        groups = list(documents)
        image = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        texts = self.words.learn([words for group in groups for words in group])
        ngrams, trie = distinct_ngrams(texts, ORDERS), Trie()
        inside = trie.grow(ngrams, np.zeros_like(image))
        in_document = Trie().grow(ngrams, image)
        documents_with = []
        for size, number, node in zip(trie.sizes(), inside, in_document, strict=True):
            # each (document, n-gram) counts once, however many of its references have it
            once = np.zeros(int(node.max(initial=-1)) + 1, dtype=np.int64)
            once[node] = number
            documents_with.append(np.bincount(once, minlength=size))
        self.n += len(groups)
        self._idf = []
        self._counted.append(_Counted(trie, documents_with))
        # those of like size are united, so each n-gram is moved a few times and not with each call
        while len(self._counted) > 1 and _size(self._counted[-1]) * 2 > _size(self._counted[-2]):
            self._unite()

    def _unite(self) -> None:
        other, one = self._counted.pop(), self._counted.pop()
        ngrams, of_one, of_other = one.ngrams.united(other.ngrams)
        documents = [np.zeros(size, dtype=np.int64) for size in ngrams.sizes()]
        for counts, nodes in ((one.documents, of_one), (other.documents, of_other)):
            for total, more, node in zip(documents, counts, nodes, strict=True):
                total[node] += more
        self._counted.append(_Counted(ngrams, documents))

    def _whole(self) -> _Counted:
        if not self._counted:
            self.add([])
        while len(self._counted) > 1:
            self._unite()
        return self._counted[0]

    def find(self, ngrams: Sequence[Ngrams]) -> list[Ints]:
        """Order by order, the number [g] of each n-gram of texts; -1 where no document has it."""
        root = np.zeros(int(ngrams[0].text.max(initial=-1)) + 1, dtype=np.int64)
        return self._whole().ngrams.find(ngrams, root)

    def idf(self) -> list[npt.NDArray[np.float64]]:
        """Order by order, ln N - ln max(1, df) of each n-gram, and, last, of all others."""
        if not self._idf:
            log_n = math.log(self.n) if self.n else 0.0
            for df in self._whole().documents:
                logs = np.zeros(int(df.max(initial=0)) + 1)
                for n in np.flatnonzero(np.bincount(df)).tolist():
                    logs[n] = math.log(max(1, n))
                self._idf.append(log_n - np.append(logs[df], 0.0))
        return self._idf

    def save(self, path: Path, corpus: CountedCorpus) -> None:
        """Write them into a file; the same documents in the same order are the same bytes."""
        whole = self._whole()
        arrays = {f"keys{k}": edges.keys for k, edges in enumerate(whole.ngrams.edges, 1)}
        arrays |= {f"df{k}": df for k, df in enumerate(whole.documents, 1)}
        words = np.frombuffer("\n".join(self.words.words()).encode(), dtype=np.uint8)
        header = np.array([_FORMAT, str(corpus.n), corpus.digest, corpus.tokenizer])
        with path.open("wb") as file:
            np.savez_compressed(file, told=header, words=words, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> DocumentFrequencies:
        """Read what `save` wrote; InputError, naming the file, for anything else."""
        frequencies = cls()
        frequencies.n = read_corpus(path).n
        with ArrayArchive(path) as archive:
            arrays = [
                (archive.array(f"keys{k}"), archive.array(f"df{k}")) for k in range(1, ORDERS + 1)
            ]
            words = archive.array("words").tobytes()
        try:
            texts = words.decode().split("\n") if words else []
        except UnicodeDecodeError:
            raise InputError("is damaged: its words are not UTF-8", file=path) from None
        frequencies.words.learn([texts])
        if len(frequencies.words.words()) != len(texts):
            raise InputError("is damaged: a word occurs twice", file=path)
        for keys, df in arrays:
            if not (
                keys.dtype == df.dtype == np.int64 and keys.ndim == 1 and keys.shape == df.shape
            ):
                raise InputError("is damaged: its arrays do not fit together", file=path)
            sound = df.min(initial=1) > 0 and df.max(initial=0) <= frequencies.n
            if not sound or bool(np.any(np.diff(keys) <= 0)):
                raise InputError("is damaged: its counts or their order are wrong", file=path)
        ngrams = Trie([Edges(keys) for keys, _ in arrays])
        frequencies._counted = [_Counted(ngrams, [df for _, df in arrays])]
        return frequencies


class CountedCorpus(NamedTuple):
    """The header of a file of document frequencies.

    `n` documents, a digest of them all (see `digest_documents`), and the signature of the tokenizer
    that made words of them.
    """

    n: int
    digest: str
    tokenizer: str


def read_corpus(path: Path) -> CountedCorpus:
    """The header of a file, without the counts; InputError for another file."""
    with ArrayArchive(path) as archive:
        header = archive.array("told").tolist() if "told" in archive.names else None
    if not isinstance(header, list) or len(header) != 4 or header[0] != _FORMAT:
        raise InputError("holds no document frequencies of CIDEr", file=path)
    if not re.fullmatch(r"[0-9]{1,15}", header[1]) or not re.fullmatch(r"[0-9a-f]{8}|", header[2]):
        raise InputError("is damaged: its header does not name the counted documents", file=path)
    return CountedCorpus(int(header[1]), str(header[2]), str(header[3]))


def digest_documents(digests: Iterable[bytes]) -> str:
    """Eight hexadecimal digits of documents, whatever their order, from `digest_document`'s."""
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()[:8]


def digest_document(references: Sequence[str]) -> bytes:
    """16 bytes of a document, whatever the order of its references."""
    return content_digest(sorted(references))


def _size(counted: _Counted) -> int:
    return sum(counted.ngrams.sizes())
