"""The data folder."""

from __future__ import annotations

import os
from pathlib import Path

from metaeval.readers.files import user_path


def data_folder(data: str | Path | None = None) -> Path | None:
    """The folder of data sets: `data` or, where none is given, METAEVAL_DATA; `None` without."""
    folder = data if data is not None else os.environ.get("METAEVAL_DATA")
    return user_path(folder) if folder else None
