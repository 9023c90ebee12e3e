"""MATLAB's files (version 5 to 7), read by SciPy in a process of its own."""

import pickle
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.readers.files import native_errors, read_bytes

_MOST_VARIABLE = 1 << 30  # bytes to which a compressed variable may unpack
_COMPRESSED = 15
# A wrong byte can end SciPy's process: it must not be the run's.
_READ = """
import io, pickle, sys
from scipy.io import loadmat
try:
    result = loadmat(io.BytesIO(sys.stdin.buffer.read()))
except Exception as error:
    result = str(error) or type(error).__name__
pickle.dump(result, sys.stdout.buffer)
"""

# A cell array is a list of its members; a struct array a list of dictionaries; a text a string (the
# rows of one with several, a list); numbers an array of one dimension, in MATLAB's order.
Value = Any


def read_matlab(path: Path) -> dict[str, Value]:
    """The variables of a file by name; InputError where it is not one, or is damaged."""
    raw = read_bytes(path)
    with native_errors(path, "MATLAB file"):
        _check_compressed(raw)
        command = [sys.executable, "-c", _READ]
        done = subprocess.run(command, input=raw, capture_output=True)
        if done.returncode:
            raise ValueError("SciPy's reader crashed")
        content = pickle.loads(done.stdout)
        if isinstance(content, str):
            raise ValueError(content)
        return {name: _plain(v) for name, v in content.items() if not name.startswith("__")}


def _check_compressed(raw: bytes) -> None:
    """Refuse a compressed variable that is too large, or has another checksum: SciPy reads both."""
    order, at = "<" if raw[126:128] == b"IM" else ">", 128
    while at + 8 <= len(raw):
        kind, size = struct.unpack_from(f"{order}II", raw, at)
        if kind == _COMPRESSED:
            worker = zlib.decompressobj()
            worker.decompress(raw[at + 8 : at + 8 + size], _MOST_VARIABLE)
            if not worker.eof:
                raise ValueError(f"a variable is cut short or above {_MOST_VARIABLE:,} bytes")
        at += 8 + size
    if at != len(raw):
        raise ValueError("it is cut short, or holds data after its end")


def _plain(value: Any) -> Value:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names:
        names = value.dtype.names
        return [{name: _plain(record[name]) for name in names} for record in value.ravel("F")]
    if value.dtype == object:
        return [_plain(member) for member in value.ravel("F")]
    if value.dtype.kind == "U":
        return str(value[0]) if len(value) == 1 else value.tolist() if len(value) else ""
    return value.ravel("F")
