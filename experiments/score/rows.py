"""The captions of tables of any size, in blocks: few of them are in memory at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.data.identity import ImageIdRegistry, is_decimal
from metaeval.data.json_records import check_id
from metaeval.data.own.given import given_captions
from metaeval.data.own.tables import read_table
from metaeval.data.system_captions import known_image_id
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.readers.tables import read_parquet
from metaeval.runs.digests import digest

_UNTYPED = (".csv", ".tsv")  # whose cells are all text
_NAMES = ("caption", "candidate")


class CaptionRow(NamedTuple):
    """A caption to be scored: of which image, and its references if the table has them."""

    image_id: ImageId | None
    caption: str
    references: tuple[str, ...] | None


class RowBlock(NamedTuple):
    """Some rows that stand together; the first of all tables is row 0."""

    number: int
    first: int
    rows: list[CaptionRow]

    @property
    def digest(self) -> str:
        """32 hexadecimal digits of the block's content."""
        return digest(json.dumps(self.rows, ensure_ascii=False)).hex()


def read_rows(
    files: Iterable[Path], known: Set[ImageId] | None, tidy: Tidy
) -> Iterator[CaptionRow]:
    """The rows of tables (CSV, JSON lines, JSON, Parquet), one after another.

    A row has a `caption` (or `candidate`) and an `image_id`, one of `known`; where `known` is
    `None` it has `references` (a list of strings), and the id may be missing. Of a Parquet file few
    rows are in memory at a time, of others a file at a time.

    Raises InputError, naming file, row and field, for anything else.
    """
    for path in files:
        untyped = path.suffix.lower() in _UNTYPED
        registry = ImageIdRegistry(path, "image_id") if untyped else None
        for where, fields in _records(path):
            yield _row(path, where, fields, known, tidy, registry)


def blocks(rows: Iterable[CaptionRow], size: int) -> Iterator[RowBlock]:
    """Blocks of `size` rows, the last perhaps smaller."""
    iterator, number = iter(rows), 0
    while some := list(islice(iterator, size)):
        yield RowBlock(number, number * size, some)
        number += 1


def own_dataset(rows: Sequence[CaptionRow]) -> tuple[CaptionDataset, npt.NDArray[np.intp]]:
    """A dataset of the rows' references, and the place [n] of each row's in it.

    Rows with the same image id and references share an image of it. Ids are those of the rows or,
    where not all rows have one, places. Which photographs they are is not known to any weights.
    """
    ids: list[Any] = [row.image_id for row in rows]
    references = [row.references or () for row in rows]
    if None in ids or len(set(map(type, ids))) > 1:
        place = {texts: k for k, texts in enumerate(dict.fromkeys(references))}
        ids = [place[texts] for texts in references]
    table = pd.DataFrame({"image_id": ids, "caption": "", "references": references})
    given = given_captions(table, image_source="other")
    return given.dataset, given.image_index


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix.lower() == ".parquet":
        return read_parquet(path, most=None)
    return iter(read_table(path).rows)


def _row(
    path: Path,
    where: str,
    fields: Mapping[str, Any],
    known: Set[ImageId] | None,
    tidy: Tidy,
    registry: ImageIdRegistry | None,
) -> CaptionRow:
    """The caption of a record; with a `registry` of a file without types, digits are a number."""
    name = next((name for name in _NAMES if name in fields), _NAMES[0])
    needed = (name,) if known is None else (name, "image_id")
    if missing := [column for column in needed if column not in fields]:
        problem = f"has no column '{missing[0]}', but {', '.join(map(repr, fields))}"
        raise InputError(problem, file=path, record=where)
    caption = tidy.read(fields[name], file=path, record=where, field=name)
    given = fields.get("image_id")
    if known is None:
        if given is not None:
            check_id(given, path, where, "image_id")
        return CaptionRow(given, caption, _references(path, where, fields, tidy))
    image_id = given
    if registry is not None and isinstance(given, str) and given not in known and is_decimal(given):
        image_id = int(given)
    image_id = known_image_id(image_id, known, path, where)
    if registry is not None:
        registry.add(image_id, str(given), where)
    return CaptionRow(image_id, caption, None)


def _references(path: Path, where: str, fields: Mapping[str, Any], tidy: Tidy) -> tuple[str, ...]:
    texts = tidy.read_several(fields.get("references"), file=path, record=where, field="references")
    if not texts:
        problem = "holds no reference; give a list of them, or dataset=NAME with image ids"
        raise InputError(problem, file=path, record=where, field="references")
    return texts
