"""NumPy's files: arrays mapped into memory, and archives whose members are sized before reading."""

from __future__ import annotations

import ast
import zipfile
import zlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.readers.files import one_line, open_binary
from metaeval.readers.zips import open_zip, read_member

Array = npt.NDArray[Any]
MOST_ARRAY = 64 << 30  # bytes of an array that is mapped, and that lies on the disk in full
MOST_UNPACKED = 4 << 30  # bytes of an array that has to be unpacked into memory
_MOST_HEADER = 1 << 16
_BROKEN = (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error)
_KINDS = "?biufcSU"  # what an array may hold: no objects, no records


def map_array(path: Path) -> Array:
    """The array in an .npy file, mapped into memory; InputError for other files."""
    with open_binary(path, MOST_ARRAY) as file:
        shape, by_column, dtype = _header(file, path)
        offset = file.tell()
        here = file.seek(0, 2) - offset
    size = _size(shape, dtype)
    if size != here:
        problem = f"the header announces {size:,} bytes, the file has {here:,}"
        raise InputError(f"is not a NumPy array, or is cut short ({problem})", file=path)
    if not size:
        return np.zeros(shape, dtype)
    try:
        return np.memmap(path, dtype, "r", offset, tuple(shape), "F" if by_column else "C")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({one_line(error)})", file=path) from None


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
        with read_member(self._zip, f"{name}.npy", self.path, MOST_UNPACKED) as file:
            shape, by_column, dtype = _header(file, self.path, name)
            size = _size(shape, dtype)
            here = self._zip.getinfo(f"{name}.npy").file_size
            if size > here:
                raise InputError(
                    f"the header announces {size:,} bytes, the file has {here:,}",
                    file=self.path,
                    field=name,
                )
            try:
                raw = file.read(size + 1)
            except _BROKEN as error:
                raise InputError(
                    f"cannot be read ({one_line(error, 100)})", file=self.path, field=name
                ) from None
        if len(raw) != size:
            raise InputError(
                f"the header announces {size:,} bytes, the file has another number",
                file=self.path,
                field=name,
            )
        return np.frombuffer(raw, dtype).reshape(tuple(shape), order="F" if by_column else "C")


def _header(
    file: IO[bytes], path: Path, field: str | None = None
) -> tuple[Sequence[int], bool, np.dtype[Any]]:
    """Shape, whether it goes by columns, and dtype of an array in NumPy's format, read by hand."""
    try:
        start = file.read(8)
        if start[:6] != b"\x93NUMPY" or len(start) < 8 or start[6] not in (1, 2, 3) or start[7]:
            raise ValueError("it does not begin as one")
        length = int.from_bytes(file.read(2 if start[6] == 1 else 4), "little")
        if length > _MOST_HEADER:
            raise ValueError(f"its header has {length:,} bytes")
        header = file.read(length)
        if len(header) != length:  # an array without numbers is not noticed otherwise
            raise ValueError("cut short")
        text = header.decode("latin1" if start[6] < 3 else "utf-8")
        facts = ast.literal_eval(text.strip(" \n"))  # what the format pads with
        if not isinstance(facts, dict) or set(facts) != {"descr", "fortran_order", "shape"}:
            raise ValueError("unexpected header")
        shape, descr, by_column = facts["shape"], facts["descr"], facts["fortran_order"]
        if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"its shape is {shape!r:.40}")
        if not isinstance(descr, str) or not isinstance(by_column, bool):
            raise ValueError("it holds records")
        dtype = np.dtype(descr)
        if dtype.kind not in _KINDS or dtype.hasobject or not dtype.itemsize:
            raise ValueError(f"it holds {descr!r:.20}: objects are not read")
        return shape, by_column, dtype
    except (*_BROKEN, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(
            f"is not a NumPy array, or is cut short ({one_line(error, 100)})",
            file=path,
            field=field,
        ) from None


def _size(shape: Sequence[int], dtype: np.dtype[Any]) -> int:
    size = dtype.itemsize
    for n in shape:
        size *= n  # Python's whole numbers do not overflow
    return size


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
        h5py = import_module("h5py")
        self._h5py, self._errors = (
            h5py,
            (
                OSError,
                KeyError,
                ValueError,
                TypeError,
                RuntimeError,
                NotImplementedError,
                OverflowError,
                UnicodeError,
                MemoryError,
                AttributeError,
            ),
        )
        try:
            self._file = h5py.File(path, "r")
            self.names = frozenset(n for n in self._file if isinstance(n, str))  # others: bytes
        except self._errors as error:
            raise self._problem(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
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
        try:
            return np.asarray(dataset[()] if row is None else dataset[row])
        except self._errors as error:
            raise self._problem(error, name) from None

    def _dataset(self, name: str) -> Any:
        if name not in self.names:
            raise InputError("is missing", file=self.path, field=name)
        try:
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
        except self._errors as error:
            raise self._problem(error, name) from None
        if size > max(_FREE, _MOST_RATIO * stored):
            raise InputError(
                f"the header announces {size:,} bytes, the file has {stored:,}",
                file=self.path,
                field=name,
            )
        return dataset

    def _problem(self, error: BaseException, field: str | None = None) -> InputError:
        return InputError(
            f"cannot be read as HDF5 ({one_line(error, 100)})", file=self.path, field=field
        )
