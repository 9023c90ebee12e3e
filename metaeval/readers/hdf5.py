"""HDF5, as far as it is data of this very file: no links elsewhere, nothing larger than it is."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.readers.files import one_line, open_binary

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
