"""Reads a MATLAB file from standard input and writes its variables, pickled, to standard output.

Run as a program, without the rest of metaeval.
"""

import gc
import io
import pickle
import sys
from typing import Any

import numpy as np
from scipy.io import loadmat


def plain(value: Any) -> Any:
    """Lists, dictionaries, texts and arrays of one dimension, as `read_matlab` gives them."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names:
        names = value.dtype.names
        return [{name: plain(record[name]) for name in names} for record in value.ravel("F")]
    if value.dtype == object:
        return [plain(member) for member in value.ravel("F")]
    if value.dtype.kind == "U":
        return str(value[0]) if len(value) == 1 else value.tolist() if len(value) else ""
    return value.ravel("F")


def variables(raw: bytes) -> dict[str, Any] | str:
    """The variables of a file, or what is wrong with it."""
    try:
        content = loadmat(io.BytesIO(raw))
        return {name: plain(v) for name, v in content.items() if not name.startswith("__")}
    except Exception as error:
        return str(error) or type(error).__name__


if __name__ == "__main__":
    gc.disable()  # hundreds of thousands of structs live until the end
    pickle.dump(variables(sys.stdin.buffer.read()), sys.stdout.buffer)
