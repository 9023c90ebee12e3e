"""In how many documents of a corpus each n-gram occurs: the basis of CIDEr's idf."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.metrics.ngram.ngrams import Edges, Ints, Ngrams, Trie, WordIndex, distinct_ngrams
from metaeval.readers.arrays import ArrayArchive
from metaeval.runs.store import content_digest

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
            for total, count, node in zip(documents, counts, nodes, strict=True):
                total[node] += count
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
                for count in np.flatnonzero(np.bincount(df)).tolist():
                    logs[count] = math.log(max(1, count))
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
