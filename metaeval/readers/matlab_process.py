"""Reads a MATLAB file from standard input and writes its variables to standard output, as JSON.

Run as a program, without the rest of metaeval. For a file that SciPy refuses it writes the reason
and ends with 1.
"""

import gc
import io
import json
import sys
from typing import Any

import numpy as np
from scipy.io import loadmat


def plain(value: Any) -> Any:
    """Lists, dictionaries, texts and numbers, as `matlab_json` gives them."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names:
        names = value.dtype.names
        return [{name: plain(record[name]) for name in names} for record in value.ravel("F")]
    if value.dtype == object:
        return [plain(member) for member in value.ravel("F")]
    if value.dtype.kind == "U":
        return str(value[0]) if len(value) == 1 else value.tolist() if len(value) else ""
    return value.ravel("F").tolist()


if __name__ == "__main__":
    gc.disable()  # hundreds of thousands of structs live until the end
    try:
        content = loadmat(io.BytesIO(sys.stdin.buffer.read()))
        variables = {name: plain(v) for name, v in content.items() if not name.startswith("__")}
        sys.stdout.buffer.write(json.dumps(variables).encode())
    except Exception as error:
        sys.stdout.buffer.write((str(error) or type(error).__name__).encode(errors="replace"))
        sys.exit(1)
