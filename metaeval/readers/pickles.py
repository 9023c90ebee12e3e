"""Pickles as data: names in a pickle are looked up in a fixed table, and nowhere else.

Python's module written in C trusts a pickle's numbers (one instruction of five bytes can ask for
gigabytes), so this reads with the one written in Python, less the instructions that data do not
need. Arrays of NumPy come out as `PickledArray`: no dtype is ever built from what a pickle says.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.readers.files import one_line

# names of pickle's instructions that call what is not in the table, or make room before they read
_REFUSED = (
    pickle.INST,
    pickle.OBJ,
    pickle.EXT1,
    pickle.EXT2,
    pickle.EXT4,
    pickle.BYTEARRAY8,
    pickle.NEXT_BUFFER,
    pickle.READONLY_BUFFER,
    pickle.PERSID,
)
_NUMBERS = {"f2", "f4", "f8"}  # dtypes that vectors are kept in


class _Whole(io.BytesIO):
    """Bytes of which none may be missing: Python's reader accepts fewer than it requested."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EOFError("it is cut short")
        return data

    def readline(self, size: int | None = -1) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n"):
            raise EOFError("it is cut short")
        return line


class _DataUnpickler(pickle._Unpickler):
    dispatch: ClassVar[dict[int, Any]] = {
        code: load
        for code, load in pickle._Unpickler.dispatch.items()
        if bytes([code]) not in _REFUSED
    }

    def __init__(self, raw: bytes, names: Names, persistent: Callable[[Any], Any] | None) -> None:
        super().__init__(_Whole(raw), encoding="latin1")
        self._names, self._persistent = names, persistent

    def find_class(self, module: str, name: str) -> Any:
        stands_for = self._names(f"{module}.{name}")
        if stands_for is None:
            raise _Refused(f"{module}.{name}")
        return stands_for

    def persistent_load(self, pid: Any) -> Any:
        if self._persistent is None:
            raise pickle.UnpicklingError("refers to something outside")
        return self._persistent(pid)


Names = Callable[[str], Any]


class _Refused(Exception):
    """A pickle named something that is not in the table."""


def read_pickle(
    raw: bytes,
    file: Path,
    names: Names,
    *,
    what: str,
    persistent: Callable[[Any], Any] | None = None,
) -> Any:
    """What a pickle holds, every name in it replaced by what `names` gives for it.

    Parameters
    ----------
    names
        "module.name" → what stands for it (a plain class or function of metaeval), or `None`.
    what
        What the file should be, for messages: "word vectors".
    persistent
        Reads what the pickle refers to outside itself.

    Raises InputError for a pickle that names anything else (it is not run), or is none.
    """
    try:
        return _DataUnpickler(raw, names, persistent).load()
    except _Refused as error:
        raise InputError(
            f"contains code ({error}) and was not opened; only {what} are read", file=file
        ) from None
    except InputError:
        raise
    except Exception as error:  # a broken pickle makes its reader raise nearly anything
        raise InputError(
            f"holds no {what}, or is cut short ({one_line(error) or type(error).__name__})",
            file=file,
        ) from None


class PickledArray:
    """A pickle's description of a NumPy array, unread: `shape`, `dtype`, `data`, and its order."""

    def __init__(self, *_: Any) -> None:
        self.shape: Any = None
        self.dtype: Any = None
        self.data: Any = None
        self.by_column: Any = False

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, self.by_column, self.data = state

    def read(self, file: Path, field: str) -> npt.NDArray[np.floating[Any]]:
        """The array, of floating-point numbers; InputError for others."""
        name = self.dtype.name if isinstance(self.dtype, _PickledDtype) else ""
        kind, order = name.lstrip("<>=|"), self._byte_order()
        if kind not in _NUMBERS or order not in ("<", ">"):
            raise InputError("is not an array of floating-point numbers", file=file, field=field)
        shape, data = self.shape, self.data
        if isinstance(data, str):  # as Python 2 wrote bytes
            try:
                data = data.encode("latin1")
            except UnicodeEncodeError:
                data = None
        good = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
        if not good or not isinstance(data, bytes):
            raise InputError("is not an array", file=file, field=field)
        dtype = np.dtype(order + kind)
        size = dtype.itemsize
        for n in shape:
            size *= n
        if size != len(data):
            raise InputError(
                f"holds {len(data):,} bytes for the shape {list(shape)}", file=file, field=field
            )
        flat = np.frombuffer(data, dtype)
        return flat.reshape(shape, order="F" if self.by_column else "C")

    def _byte_order(self) -> str:
        name = self.dtype.name
        given = name[0] if name[:1] in "<>=|" else self.dtype.order
        return "<" if given in ("=", "|", "", "<") else str(given)


class _PickledDtype:
    """A pickle's description of a dtype."""

    def __init__(self, name: Any = "", *_: Any) -> None:
        self.name = name if isinstance(name, str) else ""
        self.order = ""

    def __setstate__(self, state: Any) -> None:
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else ""
        self.order = order if isinstance(order, str) and len(order) == 1 else ""


class Shell:
    """Replaces an object of some library; its content goes into `__dict__`."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, Mapping):
            self.__dict__.update({str(key): value for key, value in state.items()})


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> PickledArray:
    array = PickledArray()
    array.__setstate__((1, shape, dtype, order == "F", bytes(data)))
    return array


def _latin1(text: Any, encoding: Any) -> bytes:
    if encoding != "latin1" or not isinstance(text, str):
        raise pickle.UnpicklingError("holds bytes in another form")
    return text.encode("latin1")


def _scalar(*_: Any) -> None:
    """A NumPy scalar: metaeval reads none."""


_NUMPY: dict[str, object] = {
    "numpy.ndarray": PickledArray,
    "numpy.dtype": _PickledDtype,
    "collections.OrderedDict": OrderedDict,
    "_codecs.encode": _latin1,
}
for _core in ("numpy.core", "numpy._core"):
    _NUMPY[f"{_core}.multiarray._reconstruct"] = PickledArray
    _NUMPY[f"{_core}.multiarray.scalar"] = _scalar
    _NUMPY[f"{_core}.numeric._frombuffer"] = _from_buffer


def numpy_names(name: str) -> Any:
    """The replacements of NumPy's names, and of Python's in pickles of arrays."""
    return _NUMPY.get(name)
