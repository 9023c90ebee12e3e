"""The sheet that annotators fill in, and its key: which corruption made which item."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.readers.files import read_text
from metaeval.readers.tables import read_csv
from metaeval.runs.csv_text import csv_text
from metaeval.runs.files import atomic

VERDICTS = {"l": "lower", "s": "same", "x": "neither"}
SHEET = ("item", "captions", "a", "b", "verdict")
KEY = ("item", "corruption", "level", "kind", "severity", "expected")
SEPARATOR = " | "


class SheetItem(NamedTuple):
    """A changed caption.

    Attributes
    ----------
    captions
        The image's other captions.
    a, b
        The caption and its corrupted version.
    """

    captions: tuple[str, ...]
    a: str
    b: str
    corruption: str
    level: str
    kind: str
    severity: str
    expected: str

    @property
    def digest(self) -> str:
        """Identifies the item by its two texts."""
        return _digest(f"{self.a}\0{self.b}")


def draw(
    dataset: CaptionDataset, corruptions: Sequence[Corruption], each: int, seed: int
) -> list[SheetItem]:
    """Up to `each` changed captions of every corruption, over all its levels, in random order.

    Images and order are drawn by a hash of the seed, so the same arguments give the same items.
    Items with the same two texts are drawn once.
    """
    items: dict[str, SheetItem] = {}
    for _, levels in groupby(corruptions, key=lambda c: c.name):
        made = islice(_changed(dataset, list(levels), seed), each)
        items |= {item.digest: item for item in made}
    return sorted(items.values(), key=lambda item: _digest(f"{seed}\0{item.digest}"))


def _changed(
    dataset: CaptionDataset, levels: Sequence[Corruption], seed: int
) -> Iterator[SheetItem]:
    makers = [_maker(corruption, dataset, seed) for corruption in levels]
    order = sorted(
        product(range(len(levels)), range(len(dataset))),
        key=lambda pair: _digest(f"{seed} {levels[pair[0]].label} {dataset.image_ids[pair[1]]}"),
    )
    for level, i in order:
        result, corruption = makers[level](i), levels[level]
        if result.applied:
            yield SheetItem(
                tuple(r for r in dataset.references[i] if r != result.text),
                dataset.human[i],
                result.text,
                corruption.name,
                corruption.label,
                corruption.kind,
                corruption.severity or "",
                corruption.expected,
            )


def _maker(corruption: Corruption, dataset: CaptionDataset, seed: int) -> Any:
    """A function from an image's position to its corrupted caption."""
    if type(corruption).apply is not Corruption.apply:
        return corruption.apply(dataset, seed).__getitem__
    corruption.fit(dataset)
    graphs: Any = dataset.part("scene_graphs") if "scene_graphs" in corruption.needs else {}

    def corrupted(i: int) -> Corrupted:
        image_id = dataset.image_ids[i]
        caption = Caption(image_id, dataset.human[i], graphs.get(image_id))
        return corruption.corrupt(caption, corruption.generator(seed, image_id))

    return corrupted


def write_sheet(items: Sequence[SheetItem], sheet: Path, key: Path) -> None:
    """Write the sheet for annotators, without a hint at the corruption, and its key."""
    rows = [(i.digest, SEPARATOR.join(i.captions), i.a, i.b, "") for i in items]
    _write(sheet, SHEET, rows)
    keys = [(i.digest, i.corruption, i.level, i.kind, i.severity, i.expected) for i in items]
    _write(key, KEY, keys)


def read_key(path: Path) -> dict[str, dict[str, str]]:
    """Item → corruption, level, kind, severity and expected effect."""
    key: dict[str, dict[str, str]] = {}
    for where, row in _rows(path, KEY):
        if key.setdefault(row["item"], row) is not row:
            raise InputError(f"'{row['item']}' occurs twice", file=path, record=where, field="item")
    return key


def read_verdicts(path: Path) -> dict[str, str]:
    """Item → "lower", "same" or "neither", of the items with a verdict.

    Raises InputError, naming the row, for a verdict other than l, s, x or nothing.
    """
    verdicts: dict[str, str] = {}
    for where, row in _rows(path, ("item", "verdict")):
        letter = row["verdict"].strip().lower()
        if not letter:
            continue
        if letter not in VERDICTS:
            raise InputError(
                f"'{row['verdict']}' is not l, s or x; write one of them or leave the cell empty",
                file=path, record=where, field="verdict",
            )  # fmt: skip
        if row["item"] in verdicts:
            raise InputError(
                f"'{row['item']}' has two verdicts; keep one", file=path, record=where, field="item"
            )
        verdicts[row["item"]] = VERDICTS[letter]
    return verdicts


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    for where, row in read_csv(read_text(path)):
        for name in needed:
            if name not in row:
                raise InputError("the column is missing; is it a sheet of this audit?",
                                 file=path, record=where, field=name)  # fmt: skip
        yield where, row


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    text = csv_text([header, *rows])
    atomic(path, lambda p: p.write_text(text, encoding="utf-8", newline="\n"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
