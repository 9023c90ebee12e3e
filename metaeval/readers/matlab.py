"""MATLAB's files (version 5 to 7): strings, numbers, cell arrays and structs, every length checked.

SciPy's reader is faster, but a single wrong byte can end its process, and it does not look at the
checksum of compressed variables. Format: "MAT-File Format", MathWorks (R2023a), chapter 1.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.errors import InputError, MetaevalError
from metaeval.readers.files import one_line, read_bytes

_MOST_VARIABLE = 1 << 30  # bytes to which a compressed variable may unpack
_MOST_DEPTH = 32
_COMPRESSED, _MATRIX = 15, 14
_NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_WHOLE = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 12: "q", 13: "Q"}
_TAGS = {order: struct.Struct(f"{order}II") for order in "<>"}
_TEXTS = {
    order: {
        1: "latin1",
        2: "latin1",
        4: f"utf-16-{end}",
        16: "utf-8",
        17: f"utf-16-{end}",
        18: f"utf-32-{end}",
    }
    for order, end in {"<": "le", ">": "be"}.items()
}
_CELL, _STRUCT, _CHAR = 1, 2, 4
_CLASSES = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}
_COMPLEX = 0x0800

# A cell array is a list of its members; a struct array a list of dictionaries; a text a string (the
# rows of one with several, a list); numbers an array of one dimension, in MATLAB's order.
Value = Any


def read_matlab(path: Path) -> dict[str, Value]:
    """The variables of a file by name; InputError where it is not one, or is damaged."""
    raw = read_bytes(path)
    if len(raw) < 128 or raw[126:128] not in (b"IM", b"MI"):
        hdf5 = " (it is of version 7.3: save it with -v7)" if b"MATLAB 7.3" in raw[:128] else ""
        raise InputError(f"not a readable MATLAB file{hdf5}", file=path)
    order = "<" if raw[126:128] == b"IM" else ">"
    variables: dict[str, Value] = {}
    try:
        reader = _Elements(raw, order, 128, len(raw))
        while not reader.at_end():
            kind, begin, end = reader.next()
            part, data = (raw, (begin, end))
            if kind == _COMPRESSED:
                part = _inflated(raw[begin:end])
                inner = _Elements(part, order, 0, len(part))
                kind, *ends = inner.next()
                data = (ends[0], ends[1])
                inner.require_end("a compressed variable")
            if kind != _MATRIX:
                raise _DamagedError(f"a variable is of the unknown type {kind}")
            name, value = _matrix(_Elements(part, order, *data), 0)
            if name in variables:
                raise _DamagedError(f"the variable '{name:.40}' occurs twice")
            variables[name] = value
    except (_DamagedError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"not a readable MATLAB file ({one_line(error)})", file=path) from None
    return variables


class _DamagedError(Exception):
    """The file violates the format."""


class _Elements:
    """The elements of a file or a matrix, in order: type, and the position of their data."""

    def __init__(self, raw: bytes, order: str, begin: int, end: int) -> None:
        self.raw, self.order, self.position, self.end = raw, order, begin, end
        self._tag = _TAGS[order].unpack_from

    def at_end(self) -> bool:
        return self.position >= self.end

    def require_end(self, what: str) -> None:
        """Refuse data after the last element: a wrong length would otherwise go unnoticed."""
        if not self.at_end():
            raise _DamagedError(f"{what} holds data after its end")

    def next(self) -> tuple[int, int, int]:
        at = self.position
        if at + 8 > self.end:
            raise _DamagedError("it ends within an element")
        kind, size = self._tag(self.raw, at)
        if kind >> 16:  # up to four bytes, in the tag itself
            size, kind = kind >> 16, kind & 0xFFFF
            if size > 4:
                raise _DamagedError("an element of four bytes holds more")
            self.position = at + 8
            return kind, at + 4, at + 4 + size
        begin, stop = at + 8, at + 8 + size
        if stop > self.end:
            raise _DamagedError("an element is longer than the file")
        # elements begin at multiples of eight bytes, except compressed ones
        self.position = stop if kind == _COMPRESSED else min(stop + -size % 8, self.end)
        return kind, begin, stop

    def numbers(self) -> np.ndarray[Any, Any]:
        kind, begin, n = self._counted_numbers()
        return np.frombuffer(self.raw, self.order + _NUMBERS[kind], n, begin)

    def whole_numbers(self) -> tuple[int, ...]:
        """Flags, shapes and lengths: a file has millions, too short to be worth an array each."""
        kind, begin, n = self._counted_numbers()
        if kind not in _WHOLE:
            raise _DamagedError(f"whole numbers are of the type {kind}")
        return struct.unpack_from(f"{self.order}{n}{_WHOLE[kind]}", self.raw, begin)

    def _counted_numbers(self) -> tuple[int, int, int]:
        kind, begin, end = self.next()
        if kind not in _NUMBERS:
            raise _DamagedError(f"numbers are of the unknown type {kind}")
        width = int(_NUMBERS[kind][1])
        if (end - begin) % width:
            raise _DamagedError("numbers are cut short")
        return kind, begin, (end - begin) // width

    def text(self) -> str:
        kind, begin, end = self.next()
        if kind not in _TEXTS[self.order]:
            raise _DamagedError(f"a text is of the unknown type {kind}")
        return self.raw[begin:end].decode(_TEXTS[self.order][kind])


def _inflated(packed: bytes) -> bytes:
    """A compressed variable, with its checksum verified."""
    worker = zlib.decompressobj()
    out = worker.decompress(packed, _MOST_VARIABLE)
    if worker.unconsumed_tail:
        raise _DamagedError(f"a variable unpacks to more than {_MOST_VARIABLE:,} bytes")
    if not worker.eof:
        raise _DamagedError("a compressed variable is cut short")
    if worker.unused_data:
        raise _DamagedError("a compressed variable holds data after its end")
    return out


def _matrix(elements: _Elements, depth: int) -> tuple[str, Value]:
    """The name and the value of an array."""
    if elements.at_end():
        return "", np.zeros(0)  # how an empty member of a cell array is written
    if depth > _MOST_DEPTH:
        raise _DamagedError("arrays are nested too deep")
    flags, shape = elements.whole_numbers(), elements.whole_numbers()
    if len(flags) < 2 or len(shape) < 2 or min(shape) < 0:
        raise _DamagedError("an array has no shape")
    name = elements.text()
    value = _value(elements, flags[0], shape, depth)
    elements.require_end("an array")
    return name, value


def _value(elements: _Elements, flags: int, shape: tuple[int, ...], depth: int) -> Value:
    kind, n = flags & 0xFF, math.prod(shape)
    if kind == _CELL:
        return [_member(elements, depth) for _ in range(_counted(n, elements))]
    if kind == _STRUCT:
        return _structs(elements, n, depth)
    if kind == _CHAR:
        return _text(elements, shape, n)
    if kind not in _CLASSES or flags & _COMPLEX:
        raise _DamagedError(f"arrays of the class {kind} are not known")
    values = elements.numbers()
    if len(values) != n:
        raise _DamagedError(f"an array of {n:,} numbers holds {len(values):,}")
    return values.astype(_CLASSES[kind])


def _counted(n: int, elements: _Elements) -> int:
    """A number of members, if there is room for them."""
    if 8 * n > elements.end - elements.position:
        raise _DamagedError(f"an array of {n:,} members has no room for them")
    return n


def _member(elements: _Elements, depth: int) -> Value:
    kind, begin, end = elements.next()
    if kind != _MATRIX:
        raise _DamagedError("a member of an array is not an array")
    return _matrix(_Elements(elements.raw, elements.order, begin, end), depth + 1)[1]


def _structs(elements: _Elements, n: int, depth: int) -> list[dict[str, Value]]:
    lengths = elements.whole_numbers()
    kind, begin, end = elements.next()
    width = lengths[0] if len(lengths) == 1 else 0
    if kind not in (1, 2) or width < 1 or (end - begin) % width:
        raise _DamagedError("the fields of a struct have no names")
    raw = elements.raw
    names = [
        raw[at : at + width].split(b"\0")[0].decode("latin1") for at in range(begin, end, width)
    ]
    if len(set(names)) != len(names):
        raise _DamagedError("a field of a struct occurs twice")
    _counted(n * len(names), elements)
    if not names and n > 1:
        raise _DamagedError("structs have no fields")
    return [{name: _member(elements, depth) for name in names} for _ in range(n)]


def _text(elements: _Elements, shape: tuple[int, ...], n: int) -> str | list[str]:
    """A text, or the rows of one with several; characters are stored column by column."""
    text = "" if elements.at_end() else elements.text()  # an empty text may have no data element
    if not n:
        if text:
            raise _DamagedError(f"a text of 0 characters holds {len(text):,}")
        return ""
    if shape[0] == 1 and len(text.encode("utf-16-le")) == 2 * n:
        return text  # characters outside the 16 bits count as two
    if len(text) != n:
        raise _DamagedError(f"a text of {n:,} characters holds {len(text):,}")
    if shape[0] == 1:
        return text
    rows = shape[0]
    return [text[i::rows] for i in range(rows)]


@contextmanager
def native_errors(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads `path` into an InputError that names it.

    Libraries in Rust raise `PanicException`, which is not an `Exception`, for malformed files: it
    would end the whole run. Interrupts and exits pass through.
    """
    try:
        yield
    except (MetaevalError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise InputError(
            f"is not a readable {what} ({one_line(error) or type(error).__name__})", file=path
        ) from None
