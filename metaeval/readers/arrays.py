"""NumPy's files: arrays mapped into memory, and archives whose members are sized before reading."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from importlib import import_module
from math import prod
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.readers.files import native_errors, open_binary
from metaeval.readers.zips import member_bytes, open_zip

Array = npt.NDArray[Any]
MOST_ARRAY = 64 << 30  # bytes of an array that is mapped, and that lies on the disk in full
MOST_UNPACKED = 4 << 30  # bytes of an array that has to be unpacked into memory
_CUT_SHORT = "is not {}, or is cut short"
# version → what reads the header; the third has names of records in Unicode
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_KINDS = "?biufcSU"  # what an array may hold: no objects, no records


def map_array(path: Path) -> Array:
    """The array in an .npy file, mapped into memory; InputError for other files."""
    with open_binary(path, MOST_ARRAY) as file, native_errors(path, "a NumPy array", _CUT_SHORT):
        shape, order, dtype, offset = _header(file)
        if not prod(shape):
            return np.zeros(shape, dtype)
        return np.memmap(path, dtype, "r", offset, shape, order)


class ArrayArchive:
    """An .npz file, open: its members' names, and each as an array. A context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip = open_zip(path, "NumPy archive")
        self.names = tuple(name.removesuffix(".npy") for name in self._zip.namelist())
        if len(set(self.names)) != len(self.names):  # "x" and "x.npy": which is meant?
            self._zip.close()
            raise InputError("is damaged: an array occurs twice", file=path)

    def __enter__(self) -> ArrayArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def array(self, name: str) -> Array:
        """A member; InputError, naming it, where it is missing, damaged, or of objects."""
        if name not in self.names:
            raise InputError("is missing", file=self.path, field=name)
        raw = member_bytes(self._zip, f"{name}.npy", self.path, MOST_UNPACKED)
        with native_errors(self.path, "a NumPy array", _CUT_SHORT, name):
            shape, order, dtype, offset = _header(io.BytesIO(raw))
            return np.frombuffer(memoryview(raw)[offset:], dtype).reshape(shape, order=order)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], Literal["F", "C"], np.dtype[Any], int]:
    """Shape, order and dtype of an array in NumPy's format, and where its numbers begin.

    Raises ValueError for objects and records, and where the file has more or fewer numbers.
    """
    version = np.lib.format.read_magic(file)
    shape, by_column, dtype = _HEADERS[version](file)
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise ValueError(f"it holds {dtype.str!r:.20}: objects are not read")
    offset, size = file.tell(), prod(shape) * dtype.itemsize  # Python's numbers do not overflow
    here = file.seek(0, 2) - offset
    if size != here or min(shape, default=0) < 0:
        raise ValueError(f"the header announces {size:,} bytes, the file has {here:,}")
    return shape, "F" if by_column else "C", dtype, offset


_MOST_RATIO = 200  # what compression reaches on numbers
_FREE = 1 << 20  # bytes to which any data set may unpack
_MOST_ROW = 1 << 30


class Hdf5File:
    """An open file: its data sets' names, and their values. A context manager.

    Raises InputError for another kind of file, for a data set whose numbers are in another file
    (external storage and links, virtual data sets), and for one that announces far more numbers
    than are there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        open_binary(path).close()  # a regular file that can be read
        self._h5py = import_module("h5py")
        with self._errors():
            self._file = self._h5py.File(path, "r")
            self.names = frozenset(n for n in self._file if isinstance(n, str))  # others: bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a data set."""
        return tuple(self._dataset(name).shape)

    def array(self, name: str, row: int | None = None) -> npt.NDArray[Any]:
        """All of a data set, or one row of it."""
        dataset = self._dataset(name)
        n = dataset.size if row is None else dataset.size // max(1, dataset.shape[0])
        if n * dataset.dtype.itemsize > _MOST_ROW:
            raise InputError(f"holds {n:,} numbers: too many", file=self.path, field=name)
        with self._errors(name):
            return np.asarray(dataset[()] if row is None else dataset[row])

    def _dataset(self, name: str) -> Any:
        if name not in self.names:
            raise InputError("is missing", file=self.path, field=name)
        with self._errors(name):
            link = self._file.get(name, getlink=True)
            if not isinstance(link, self._h5py.HardLink):
                raise InputError("is a link; links are not followed", file=self.path, field=name)
            dataset = self._file[name]
            if not isinstance(dataset, self._h5py.Dataset) or dataset.shape is None:
                raise InputError("is not a data set", file=self.path, field=name)
            if dataset.external or dataset.is_virtual:
                raise InputError(
                    "has its numbers in other files, which are not opened",
                    file=self.path,
                    field=name,
                )
            size, stored = dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size()
        if size > max(_FREE, _MOST_RATIO * stored):
            raise InputError(
                f"the header announces {size:,} bytes, the file has {stored:,}",
                file=self.path,
                field=name,
            )
        return dataset

    def _errors(self, field: str | None = None) -> AbstractContextManager[None]:
        return native_errors(self.path, "HDF5", "cannot be read as {}", field)
