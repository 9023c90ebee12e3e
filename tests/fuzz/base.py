"""An entry of the table of loaders, and what its files are written with."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

Read = Callable[[Path], Any]


@dataclass(frozen=True)
class Loader:
    """A reader of files.

    Attributes
    ----------
    name
        What the table of results calls it.
    make
        Writes valid files into a folder.
    read
        The project's reading of that folder, as plain values that can be compared.
    spared
        Files that are never damaged.
    exact
        What is accepted must be what the unharmed files hold, since checksums guard them.
    forgiving
        Text that is not JSON may be read as far as it goes.
    """

    name: str
    make: Callable[[Path], object]
    read: Read
    spared: tuple[str, ...] = ()
    exact: bool = False
    forgiving: bool = False


def one_file(name: str, file: str, content: Any, read: Read, **more: Any) -> Loader:
    """A loader of one file. `content` is its value, or what writes it."""

    def make(folder: Path) -> None:
        (content if callable(content) else lambda path: write(path, content))(folder / file)

    return Loader(name, make, lambda folder: read(folder / file), **more)


def tables(
    name: str,
    stem: str,
    content: Any,
    read: Read,
    kinds: Sequence[str] = (".jsonl", ".csv", ".parquet"),
) -> list[Loader]:
    """Loaders of one table in several forms."""
    return [one_file(f"{name} {k}", f"{stem}{k}", content, read) for k in kinds]


def write(path: Path, value: Any) -> None:
    """A text, JSON, or records as JSON Lines, CSV (lists in JSON) or Parquet, by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pd.DataFrame(value).to_parquet(path)
    elif path.suffix == ".csv" and not isinstance(value, str):
        pd.DataFrame([{k: _cell(v) for k, v in row.items()} for row in value]).to_csv(
            path, index=False
        )
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{as_json(row)}\n" for row in value), encoding="utf-8")
    else:
        path.write_text(value if isinstance(value, str) else as_json(value), encoding="utf-8")


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(value: Any) -> Any:
    return as_json(value) if isinstance(value, list) else value


def lines(rows: Iterable[str]) -> str:
    """The rows as lines of a file."""
    return "".join(f"{row}\n" for row in rows)
