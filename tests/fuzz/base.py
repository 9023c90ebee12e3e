"""An entry of the table of loaders, and what its files are written with."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.data.table_files import write

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
    return Loader(
        name,
        lambda folder: write(folder / file, content),
        lambda folder: read(folder / file),
        **more,
    )


def tables(
    name: str,
    stem: str,
    content: Any,
    read: Read,
    kinds: Sequence[str] = (".jsonl", ".csv", ".parquet"),
) -> list[Loader]:
    """Loaders of one table in several forms."""
    return [one_file(f"{name} {k}", f"{stem}{k}", content, read) for k in kinds]


def lines(rows: Iterable[str]) -> str:
    """The rows as lines of a file."""
    return "".join(f"{row}\n" for row in rows)
