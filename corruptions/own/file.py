"""Captions that were corrupted elsewhere: `corruption=file corruption.file=FILE`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from corruptions.base import Caption, Corrupted, Corruption
from corruptions.own.function import difference
from metaeval.data.dataset import CaptionDataset
from metaeval.data.own.tables import read_table, require_columns
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.readers.values import read_number

EXPECTED = ("lower", "same")


class FileCorruption(Corruption):
    """One version of the captions, read from a file.

    Parameters
    ----------
    title
        The version's name.
    captions
        Image id, as text → caption. An image without one keeps its own: not applied.
    expected
        What it should do to a score: "lower" or "same".
    """

    name = "file"

    def __init__(self, title: str, captions: Mapping[str, str], expected: str = "lower") -> None:
        self.title = title  # type: ignore[misc]  # of this object: a file has several
        self.expected = expected  # type: ignore[assignment, misc]
        self._captions = dict(captions)
        self._missing = 0

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"version": self.title}

    def fit(self, dataset: CaptionDataset) -> None:
        self._missing = sum(str(i) not in self._captions for i in dataset.image_ids)
        if self._missing == len(dataset):
            first = next(iter(self._captions), "none")
            raise ConfigError(
                f"corruption.file: '{self.title}' has no caption of any image of {dataset.name} "
                f"(its ids are like '{first}', the dataset's like '{dataset.image_ids[0]}')"
            )

    def facts(self) -> Mapping[str, Any]:
        return {f"images_without_a_caption_in_{self.title}": self._missing}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = self._captions.get(str(caption.image_id))
        return difference(caption.text, caption.text if text is None else text, None)


def read_corruptions(file: str | Path | None = None) -> list[Corruption]:
    """The versions in a table of `image_id`, `caption` and, where there are several, `set`.

    `set` is the version's name and `level` its place in the right order, 0 = worst; by default the
    order in which they come. `expected` is "lower" (by default) or "same". Raises InputError,
    naming the record, where it is not so.
    """
    if file is None:
        raise ConfigError("give the file of corrupted captions: corruption.file=FILE")
    path = Path(file).expanduser()
    table, tidy = read_table(path), Tidy()
    require_columns(table, ["image_id", "caption"], "a file of corrupted captions")
    captions: dict[str, dict[str, str]] = {}
    level: dict[str, float] = {}
    expected: dict[str, str] = {}
    for row in table.rows:
        where, fields = row
        name = str(fields.get("set") or path.stem)
        of_set = captions.setdefault(name, {})
        image = str(row.image_id(path))
        if image in of_set:
            raise InputError(
                f"'{name}' has another caption of the image '{image}'", file=path, record=where
            )
        text = row.cell("caption", path)
        of_set[image] = tidy.read(text, file=path, record=where, field="caption")
        told = _level(fields.get("level"), len(level), path, where)
        wish = str(fields.get("expected") or "lower")
        if wish not in EXPECTED:
            raise InputError(
                f"'{wish}' is not lower or same", file=path, record=where, field="expected"
            )
        if level.setdefault(name, told) != told and fields.get("level") not in (None, ""):
            raise InputError(f"'{name}' has two levels", file=path, record=where, field="level")
        if expected.setdefault(name, wish) != wish:
            raise InputError(
                f"'{name}' is lower and same", file=path, record=where, field="expected"
            )
    worst_first = sorted(captions, key=level.__getitem__)
    return [FileCorruption(name, captions[name], expected[name]) for name in worst_first]


def _level(value: Any, default: int, path: Path, where: str) -> float:
    if value is None or value == "":
        return float(default)
    return read_number(value, path, where, "level")
