"""MATLAB's files (version 5 to 7), read by SciPy in a process of its own."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

from metaeval.readers.files import native_errors

_MOST_VARIABLE = 1 << 30  # bytes to which a compressed variable may unpack
_COMPRESSED = 15
_READER = Path(__file__).with_name("matlab_process.py")


def matlab_json(path: Path, raw: bytes) -> bytes:
    """The variables of the file `path`, whose content is `raw`, by name, as JSON; InputError where
    it is not one, or is damaged.

    A cell array is a list of its members; a struct array a list of objects; a text a string (the
    rows of one with several, a list); numbers a list, in MATLAB's order.
    """
    with native_errors(path, "MATLAB file"):
        _check_compressed(raw)
        # a wrong byte can end SciPy's process: it must not be the run's
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
