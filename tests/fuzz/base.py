"""An entry of the table of loaders, what its files are written with, and its values."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from tests.data.table_files import write

# fields of what is read that depend on a file's bytes or its place
PLACES = frozenset(
    {
        *("sources", "notes", "sha256", "parts", "path", "data", "images", "instances"),
        *("_loaded", "_derived", "averaged"),
    }
)


@dataclass(frozen=True)
class Loader:
    """A reader of files.

    Attributes
    ----------
    name
        What messages call it.
    make
        Writes valid files into a folder.
    load
        The project's reading of that folder.
    spared
        Files that are never damaged.
    exact
        What is accepted must be what the unharmed files hold, since checksums guard them.
    forgiving
        Text that is not JSON may be read as far as it goes.
    """

    name: str
    make: Callable[[Path], object]
    load: Callable[[Path], Any]
    spared: tuple[str, ...] = ()
    exact: bool = False
    forgiving: bool = False

    def read(self, folder: Path) -> Any:
        """What is read, as plain values that can be compared."""
        return plain(self.load(folder))


def plain(value: Any) -> Any:
    """Lists, dictionaries, texts and numbers; None for a number that is not known."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if hasattr(value, "tolist"):  # an array, a tensor, a number of NumPy's
        return plain(value.tolist())
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, Mapping):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if k not in PLACES}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return list(map(plain, value))
    assert value not in (np.inf, -np.inf), "a number that is not finite"
    return None if value != value else value


def one_file(
    name: str, file: str, content: Any, load: Callable[[Path], Any], **more: Any
) -> Loader:
    """A loader of one file. `content` is its value, or what writes it."""
    return Loader(
        name,
        lambda folder: write(folder / file, content),
        lambda folder: load(folder / file),
        **more,
    )


def tables(
    name: str,
    stem: str,
    content: Any,
    load: Callable[[Path], Any],
    kinds: Sequence[str] = (".jsonl", ".csv", ".parquet"),
) -> list[Loader]:
    """Loaders of one table in several forms."""
    return [one_file(f"{name} {k}", f"{stem}{k}", content, load) for k in kinds]


def lines(rows: Iterable[str]) -> str:
    """The rows as lines of a file."""
    return "".join(f"{row}\n" for row in rows)
