"""Files of word vectors whose rows are not all of one length: an index says where each word is.

The index is made in one pass over the file, together with the file's checksum, and kept in the
cache folder; it is made anew when size or time of the file have changed.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.progress import progress_bar
from metaeval.readers.arrays import ArrayArchive
from metaeval.readers.files import open_binary

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf)")


class VectorTable(ABC):
    """Rows of numbers, found by words.

    `sha256` is that of the file, `dimension` the numbers in a row.
    """

    sha256: str
    dimension: int
    _words: Sequence[str]
    _places: Sequence[int]  # of the words' rows

    def __init__(self, path: Path, cache: Path) -> None:
        self.path = path

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

    def finite(self, row: npt.NDArray[np.float32], where: str) -> npt.NDArray[np.float32]:
        """The row itself; InputError where a number of it is not finite."""
        if not np.isfinite(row).all():
            raise InputError("holds numbers that are not finite", file=self.path, record=where)
        return row


class IndexedTable(VectorTable):
    """A file that has to be read through once to know where its words are."""

    def __init__(self, path: Path, cache: Path) -> None:
        super().__init__(path, cache)
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
    def entries(self, data: mmap.mmap, seen: Callable[[int], None]) -> Iterator[tuple[bytes, int]]:
        """Every word and where its row begins; sets `dimension` first. Says how far it `seen`."""

    def _write(self, index: Path) -> None:
        words, places = [], []
        digest, done = hashlib.sha256(), 0
        name = f"indexing {self.path.name}"
        with progress_bar(total=len(self._bytes), desc=name, unit="B", unit_scale=True) as bar:

            def seen(position: int) -> None:
                nonlocal done
                if position - done >= 1 << 22 or position == len(self._bytes):
                    digest.update(self._bytes[done:position])
                    bar.update(position - done)
                    done = position

            for word, place in self.entries(self._bytes, seen):
                words.append(word)
                places.append(place)
            seen(len(self._bytes))
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
                sha256=digest.hexdigest(),
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


class BinaryTable(IndexedTable):
    """word2vec's binary format: counts, then per word its bytes, a space, and float32 numbers."""

    def row(self, place: int) -> npt.NDArray[np.float32]:
        row = np.frombuffer(self._bytes, dtype="<f4", count=self.dimension, offset=place)
        return self.finite(row, f"the row at byte {place:,}")

    def entries(self, data: mmap.mmap, seen: Callable[[int], None]) -> Iterator[tuple[bytes, int]]:
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
            seen(position)
        if data[position : position + 64].strip() or len(data) > position + 64:
            raise InputError(f"goes on after its {n:,} words", file=self.path)


class TextTable(IndexedTable):
    """A word and its numbers per line, separated by spaces; word2vec has a line of counts first.

    Words may contain spaces, as some of GloVe's do: the numbers are the last fields. A word whose
    last part is a number is refused: the row has one number too many. A byte-order mark is allowed.
    """

    def row(self, place: int) -> npt.NDArray[np.float32]:
        end = self._bytes.find(b"\n", place)
        line = self._bytes[place : end if end >= 0 else len(self._bytes)]
        try:
            with np.errstate(over="ignore"):  # it becomes infinite, which is refused below
                fields = line.split()
                if not all(map(_NUMBER.fullmatch, fields)):  # NumPy would also read "1_0"
                    raise ValueError
                row = np.array(fields, dtype=np.float32)
        except ValueError:
            row = np.empty(0, dtype=np.float32)
        if len(row) != self.dimension or not np.isfinite(row).all():
            raise InputError(
                f"should hold {self.dimension} numbers: {line[:40].decode(errors='replace')!r}",
                file=self.path,
                record=f"the row at byte {place:,}",
            )
        return row

    def entries(self, data: mmap.mmap, seen: Callable[[int], None]) -> Iterator[tuple[bytes, int]]:
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
            seen(position)
        if counts and n != counts[0]:
            problem = f"holds {n:,} words where its first line says {counts[0]:,}"
            raise InputError(problem, file=self.path)
