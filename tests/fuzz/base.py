"""An entry of the table of loaders, and what its files are written with."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from tests.fuzz import mutations
from tests.fuzz.mutations import Harm

Read = Callable[[Path], Any]

JSON, LINES = mutations.harm_json, mutations.harm_json_lines
COMMA, TAB, SEMICOLON = (mutations.harm_cells(mark) for mark in ",\t;")
ZIP, SAFE, MATLAB = mutations.harm_zip, mutations.harm_safetensors, mutations.harm_matlab
HARM = {".json": JSON, ".jsonl": LINES, ".csv": COMMA, ".npz": ZIP, ".safetensors": SAFE}


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
    harm
        File name (or its ending) → harm besides that to plain bytes, where it is not that of HARM.
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
    harm: Mapping[str, Harm] = field(default_factory=dict)
    spared: tuple[str, ...] = ()
    exact: bool = False
    forgiving: bool = False


def one_file(
    name: str, file: str, content: Any, read: Read, harm: Harm | None = None, **more: Any
) -> Loader:
    """A loader of one file. `content` is its value, or what writes it."""

    def make(folder: Path) -> None:
        (content if callable(content) else lambda path: write(path, content))(folder / file)

    harms = {} if harm is None else {file: harm}
    return Loader(name, make, lambda folder: read(folder / file), harms, **more)


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
