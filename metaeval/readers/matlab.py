"""MATLAB's files (version 5 to 7), read by SciPy in a process of its own."""

import hashlib
import json
import struct
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path
from typing import Any

from metaeval.readers.files import native_errors, read_bytes
from metaeval.runs.source import digest_of_code
from metaeval.runs.store import remember

_MOST_VARIABLE = 1 << 30  # bytes to which a compressed variable may unpack
_COMPRESSED = 15
_READER = Path(__file__).with_name("matlab_process.py")

# A cell array is a list of its members; a struct array a list of dictionaries; a text a string (the
# rows of one with several, a list); numbers a list of numbers, in MATLAB's order.
Value = Any


def read_matlab(path: Path) -> dict[str, Value]:
    """The variables of a file by name; InputError where it is not one, or is damaged.

    SciPy needs seconds for 100,000 structs: `remember` keeps what it gave.
    """
    raw = read_bytes(path)
    with native_errors(path, "MATLAB file"):
        _check_compressed(raw)
        reader = f"MATLAB files {digest_of_code(['readers'], ['numpy', 'scipy'])}"
        made = remember(reader, hashlib.sha256(raw).hexdigest(), partial(_read, raw))
        variables: dict[str, Value] = json.loads(made)
        return variables


def _read(raw: bytes) -> bytes:
    """The variables as JSON. A wrong byte can end SciPy's process: it must not be the run's."""
    done = subprocess.run([sys.executable, str(_READER)], input=raw, capture_output=True)
    if done.returncode:
        refused = done.returncode == 1
        raise ValueError(done.stdout.decode() if refused else "SciPy's reader crashed")
    return done.stdout


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
