"""The data folder, and finding the files of a dataset in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from metaeval.errors import InputError
from metaeval.readers.files import user_path


def data_folder(data: str | Path | None = None) -> Path | None:
    """The folder of data sets: `data` or, where none is given, METAEVAL_DATA; `None` without."""
    folder = data if data is not None else os.environ.get("METAEVAL_DATA")
    return user_path(folder) if folder else None


def given_path(path: str | Path, option: str, kind: str = "file") -> Path:
    """A file or folder that the user named, which must then be there."""
    given = user_path(path)
    if not (given.is_dir() if kind == "folder" else given.is_file()):
        raise InputError(f"{kind} not found; correct dataset.{option}", file=given)
    return given


def find_files(
    names: Sequence[str],
    *,
    folder: str,
    source: str,
    root: str | Path | None = None,
    data: str | Path | None = None,
) -> dict[str, Path]:
    """The files of those names in `root` or, where none is given, in `folder` of the data folder.

    `data` is the data folder (default: METAEVAL_DATA), `source` says where the files come from.
    Raises InputError, in one line, naming all that are not there.
    """
    if root is not None:
        bases = [user_path(root)]
    else:
        top = data_folder(data)
        bases = [top / folder, top] if top else []
    places = {name: [base / name for base in bases] for name in names}
    files = {
        name: next(path for path in paths if path.is_file())
        for name, paths in places.items()
        if any(path.is_file() for path in paths)
    }
    if missing := [name for name in names if name not in files]:
        looked = ", ".join(map(str, bases)) or "METAEVAL_DATA (which is not set)"
        raise InputError(
            f"{', '.join(missing)}: not there; looked in {looked}. Get "
            f"{'it' if len(missing) == 1 else 'them'} from {source}, and give the folder as "
            "dataset.root"
        )
    return files
