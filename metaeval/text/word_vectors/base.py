"""Word vectors: words in, unit vectors out, read from the formats the field keeps them in.

`VectorFile` reads word2vec's binary format, the text format of word2vec and GloVe, and gensim's
KeyedVectors, through a memory map: only the rows of the needed words are read.
"""

from __future__ import annotations

import gzip
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute.requirements import offline
from metaeval.data.dataset import Absent
from metaeval.data.download import download
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import user_path
from metaeval.runs.records import CaptionModel
from metaeval.runs.store import Store
from metaeval.text.word_vectors.gensim import GensimTable
from metaeval.text.word_vectors.index import BinaryTable, TextTable, VectorTable

FORMATS: dict[str, type[VectorTable]] = {
    "word2vec": BinaryTable,
    "text": TextTable,
    "gensim": GensimTable,
}
_ENDINGS = {
    ".bin": "word2vec",
    ".txt": "text",
    ".vec": "text",
    ".kv": "gensim",
    ".wordvectors": "gensim",
    ".npy": "gensim",
}


class Vectors(NamedTuple):
    """The vectors of n words: float64 [n, d] of length 1, and bool [n], which words have one.

    The row of a word without a vector is 0.
    """

    rows: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]


class WordVectors(ABC):
    """Where the vectors of words come from: options, which can be pickled and stay as they are.

    `caption_models` names the model that they come from, where it was trained on captions of
    benchmark images.
    """

    caption_models: ClassVar[tuple[CaptionModel, ...]] = ()

    def fetch(self) -> None:  # noqa: B027  (most sources have nothing to fetch)
        """Make the downloads that the user requested, if any. Raises DownloadError."""

    def missing(self) -> Absent | None:
        """What keeps the vectors from being read, or `None`. Cheap; touches no network."""
        return None

    @abstractmethod
    def identity(self, store: Store | None = None) -> str:
        """Name and checksum, for signatures: `glove.6B.300d:0a1b2c3d4e5f`.

        `store` may remember the checksum of a large file.
        """

    @abstractmethod
    def embed(self, words: Sequence[str], store: Store | None = None) -> Vectors:
        """The vectors of words, each by itself and exactly as it is written."""


class VectorFile(WordVectors):
    """Word vectors in a file.

    Parameters
    ----------
    path
        The file. `None`: the file of `url` in the cache folder.
    format
        "word2vec" (binary), "text" (word2vec's, with a first line of counts, or GloVe's, without),
        "gensim" (KeyedVectors: the .kv file and the .npy next to it), or "auto": by the name.
    cache
        The folder for downloads and for the index of where in the file each word is.
    url, sha256, md5
        Where the file can be had, and its checksums (one is enough); a .gz is unpacked.
    download
        Whether `fetch` downloads it if it is missing.

    Raises ConfigError for an unknown format, InputError (on use) for a file that is not in it.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        format: str = "auto",
        cache: str | Path = "~/.cache/metaeval",
        url: str | None = None,
        sha256: str | None = None,
        md5: str | None = None,
        download: bool = False,
    ) -> None:
        if path is None and url is None:
            raise ConfigError("vectors.path is not set; give a file of word vectors")
        if format not in (*FORMATS, "auto"):
            known = ", ".join((*FORMATS, "auto"))
            raise ConfigError(f"unknown vectors.format '{format}'; choose from {known}")
        self.format, self.download = format, download
        self._url = url if path is None else None
        self._sha256, self._md5 = sha256, md5
        self._folder = user_path(cache) / "vectors"
        name = url.rsplit("/", 1)[-1] if url else ""
        self._packed = self._folder / name
        self.path = user_path(path) if path else self._folder / name.removesuffix(".gz")

    def fetch(self) -> None:
        if self._url is None or not self.download or offline() or self.path.is_file():
            return
        download(self._url, self._packed, sha256=self._sha256, md5=self._md5)
        if self._packed != self.path:
            part = self.path.with_name(self.path.name + ".part")
            with gzip.open(self._packed) as packed, part.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 22)
            part.replace(self.path)
            self._packed.unlink()

    def missing(self) -> Absent | None:
        if self.path.is_file():
            return None
        reason = f"word vectors {self.path} not found"
        if self._url is None:
            return Absent("vectors", reason, "set vectors.path=FILE")
        if self.download and offline():
            reason += ", and nothing is downloaded while offline"
        return Absent("vectors", reason, f"vectors.download=true downloads them from {self._url}")

    def identity(self, store: Store | None = None) -> str:
        return f"{self.path.name}:{self.table().sha256[:12]}"

    def embed(self, words: Sequence[str], store: Store | None = None) -> Vectors:
        table = self.table()
        place = table.find(set(words))
        known = np.array([word in place for word in words], dtype=np.bool_)
        rows = np.zeros((len(words), table.dimension))
        for i, word in enumerate(words):
            if known[i]:
                rows[i] = table.row(place[word])
        return unit(rows, known)

    def table(self) -> VectorTable:
        """The opened file; InputError where there is none, or one that is not in the format."""
        if (absent := self.missing()) is not None:
            raise InputError(str(absent))
        format = self.format
        if format == "auto":
            if self.path.suffix not in _ENDINGS:
                problem = f"say what it is: vectors.format={'|'.join(FORMATS)}"
                raise InputError(problem, file=self.path)
            format = _ENDINGS[self.path.suffix]
        stat = self.path.stat()
        return _open_table(format, self.path, self._folder, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _open_table(format: str, path: Path, cache: Path, size: int, changed: int) -> VectorTable:
    """A file of this size and time of change, opened once per process."""
    return FORMATS[format](path, cache)


def unit(rows: npt.NDArray[np.float64], known: npt.NDArray[np.bool_]) -> Vectors:
    """Scale rows to length 1; a row of zeros has no direction and counts as unknown."""
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    known = known & (lengths[:, 0] > 0)
    return Vectors(np.where(known[:, None], rows / np.where(lengths > 0, lengths, 1), 0.0), known)
