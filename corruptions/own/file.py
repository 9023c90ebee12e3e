"""Captions that were corrupted elsewhere: `corruption=file corruption.file=FILE`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.corruptions.own.function import difference
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.data.identity import ImageIdRegistry, image_key
from metaeval.data.own.tables import read_table, require_columns
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import user_path
from metaeval.readers.tables import check_name, read_number

EXPECTED = ("lower", "same")
_RESERVED = ("human",)  # the set of the uncorrupted captions


class FileCorruption(Corruption):
    """One version of the captions, read from a file.

    Parameters
    ----------
    title
        The version's name.
    captions
        Image id, as `image_key` compares it → caption. An image without one keeps its own: not
        applied.
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
    def parameters(self) -> Mapping[str, object]:
        return {"version": self.title}

    def fit(self, dataset: CaptionDataset) -> None:
        self._missing = sum(not self.has_caption(i) for i in dataset.image_ids)
        if self._missing == len(dataset):
            first = next(iter(self._captions), "none")
            raise ConfigError(
                f"corruption.file: '{self.title}' has no caption of any image of {dataset.name} "
                f"(its ids are like '{first}', the dataset's like '{dataset.image_ids[0]}')"
            )

    def has_caption(self, image_id: ImageId) -> bool:
        return image_key(image_id) in self._captions

    def facts(self) -> Mapping[str, object]:
        return {f"images_without_a_caption_in_{self.title}": self._missing}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = self._captions.get(image_key(caption.image_id))
        return difference(caption.text, caption.text if text is None else text, None)


def read_corruptions(file: str | Path | None = None) -> list[Corruption]:
    """The versions in a table of `image_id`, `caption` and, where there are several, `set`.

    `set` is the version's name and `level` its place in the right order, 0 = worst; without any
    level it is the order in which they come. `expected` is "lower" (by default) or "same". Raises
    InputError, naming the record, where it is not so, for two sets with one level, where some sets
    have a level and others have none, and for a set with the name of the uncorrupted captions.
    """
    if file is None:
        raise ConfigError(
            "corruption.file is not set; corruption.file=FILE is a table of corrupted captions"
        )
    path = user_path(file)
    table, tidy = read_table(path), Tidy()
    require_columns(table, ["image_id", "caption"], "a file of corrupted captions")
    registry = ImageIdRegistry(path, "image_id")
    captions: dict[str, dict[str, str]] = {}
    levels: dict[str, float] = {}
    expected: dict[str, str] = {}
    for row in table.rows:
        where, fields = row
        name = _set_name(fields.get("set"), path, where)
        of_set = captions.setdefault(name, {})
        image = row.image_id(path)
        key = image_key(image)
        registry.add(key, str(image), where)
        if key in of_set:
            raise InputError(
                f"'{name}' has another caption of the image '{image}'", file=path, record=where
            )
        text = row.cell("caption", path)
        of_set[key] = tidy.read(text, file=path, record=where, field="caption")
        given = fields.get("level")
        if given not in (None, "") and given == given:
            level = read_number(given, path, where, "level")
            if levels.setdefault(name, level) != level:
                problem = f"'{name}' has two levels"
                raise InputError(problem, file=path, record=where, field="level")
        effect = str(fields.get("expected") or "lower")
        if effect not in EXPECTED:
            raise InputError(
                f"'{effect:.40}' is not lower or same", file=path, record=where, field="expected"
            )
        if expected.setdefault(name, effect) != effect:
            raise InputError(
                f"'{name}' is lower and same", file=path, record=where, field="expected"
            )
    if missing := [name for name in captions if levels and name not in levels]:
        problem = f"the set '{missing[0]}' has none, '{next(iter(levels))}' has; number every set"
        raise InputError(problem, file=path, field="level")
    _require_distinct(levels, path)
    worst_first = sorted(captions, key=lambda name: levels.get(name, 0.0))
    return [FileCorruption(name, captions[name], expected[name]) for name in worst_first]


def _set_name(value: Any, path: Path, where: str) -> str:
    """The name of a record's set; that of the file where the record has none."""
    if value is None or value == "":
        value = path.stem
    elif type(value) is int:
        value = str(value)
    name = check_name(value, file=path, record=where, field="set")
    if name.casefold() in _RESERVED:
        problem = f"'{name}' is the name of the uncorrupted captions; give the set another name"
        raise InputError(problem, file=path, record=where, field="set")
    return name


def _require_distinct(levels: Mapping[str, float], path: Path) -> None:
    by_level: dict[float, str] = {}
    for name, level in levels.items():
        if (other := by_level.setdefault(level, name)) != name:
            problem = f"the sets '{other}' and '{name}' both have level {level:g}; number them"
            raise InputError(problem, file=path, field="level")
