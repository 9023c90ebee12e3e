"""Captions of systems in COCO's results format: a JSON list of {"image_id": …, "caption": …}."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.data.dataset import ImageId, RecordCount
from metaeval.data.fields import Fields, rename_fields
from metaeval.data.identity import IdJoin
from metaeval.data.own.tables import read_table, table_files
from metaeval.data.records import check_id, json_type
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy, count_captions
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import user_path
from metaeval.readers.tables import name_problem

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SystemCaptions:
    """What one system wrote.

    `captions` maps image ids to captions, in the order of the file; `empty` counts captions with
    nothing in them, which are legal (a system may fail) and scored as each metric defines.
    """

    name: str
    path: Path
    sha256: str
    captions: Mapping[ImageId, str]
    empty: int
    notes: tuple[str, ...]

    def records(self, images: Collection[ImageId]) -> RecordCount:
        """How many of the file's records a run of these images used."""
        return RecordCount(len(self.captions), sum(i in self.captions for i in images))


def read_system_captions(
    path: Path,
    name: str,
    known: Collection[ImageId],
    fields: Fields | None = None,
) -> SystemCaptions:
    """Read and check one system's file against the ids of the dataset's images, `known`.

    Records may have other fields too. `image_id` and `caption` have the names in `fields`, or
    common ones, which is logged. An image that the file calls otherwise ("000000000007.jpg" for 7)
    is found where only one can be meant, which is counted. Captions are tidied by the rule of
    `metaeval.data.tidy`.

    Raises InputError, naming record and field, for anything else than records with an image id of
    the dataset, no image twice, and a string as caption.
    """
    table = read_table(path)
    notes = list(table.notes)
    rows = [(where, _with_caption(record)) for where, record in table.rows]
    required = ("image_id", "caption")
    tidy = Tidy()
    renamed = rename_fields(rows, fields, required, path, notes, option="task.fields")
    records = [Row(record, path, where, tidy) for where, record in renamed]
    ids = [row.id() for row in records]
    join = IdJoin(known, ids)
    captions: dict[ImageId, str] = {}
    place: dict[ImageId, str] = {}
    for row, written in zip(records, ids, strict=True):
        image_id = join.of(written)
        if image_id is None:
            image_id = known_image_id(written, known, path, row.where)
        if image_id in place:
            hint = "; is this a captions file instead of a system's results?"
            raise row.error(
                f"{written!r} occurs twice: {place[image_id]} has it too"
                f"{hint * row.where.startswith('annotations')}",
                "image_id",
            )
        place[image_id] = row.where
        captions[image_id] = row.caption("caption")
    empty = sum(not caption for caption in captions.values())
    joined = join.note(path)
    for note in joined:
        log.warning("%s", note)
    notes += [*joined, *tidy.notes()]
    if empty:
        verb = "is" if empty == 1 else "are"
        notes.append(f"{count_captions(empty)} {verb} empty.")
    return SystemCaptions(name, path, table.sha256, captions, empty, tuple(notes))


def _with_caption(record: dict[str, Any]) -> dict[str, Any]:
    """A record with the only one of its captions, of `res.json`, as `caption`."""
    captions = record.get("captions")
    if "caption" in record or not isinstance(captions, list) or len(captions) != 1:
        return record
    return {"image_id": record.get("image_id"), "caption": captions[0]}


def known_image_id(
    value: Any, known: Collection[ImageId], path: Path, where: str, field: str = "image_id"
) -> ImageId:
    """The id, which must be one of the dataset's; 1.0 and true are not 1."""
    image_id = check_id(value, path, where, field)
    if image_id in known:
        return image_id
    problem = f"the dataset has no image with the id {value!r:.60}"
    expected = type(next(iter(known)))
    if type(value) is not expected:
        ids = "numbers" if expected is int else "strings"
        problem = f"{value!r:.60} is {json_type(value)} where the dataset's ids are {ids}"
    elif expected is int:
        problem += "; choose the dataset of these captions, e.g. dataset=coco_karpathy_test"
    raise InputError(problem, file=path, record=where, field=field)


def find_system_files(given: Any) -> dict[str, Path]:
    """System name → file, for `captions=…`: a folder, a file, a list of those, or name → file.

    A folder means its tables (.json, .jsonl, .csv, .tsv, .parquet) by name. A system is called
    by its file's name without the suffix, unless it is given as name → file. Raises ConfigError
    where nothing is given or two systems have one name, InputError for what is not there.
    """
    if given is None or given in ("", [], {}):
        raise ConfigError("give the systems' captions: captions=FOLDER or captions=[FILE,FILE]")
    if isinstance(given, Mapping):
        named = [(str(name), user_path(str(path))) for name, path in given.items()]
    else:
        named = [(path.stem, path) for path in table_files(given, "captions=…")]
    files: dict[str, Path] = {}
    for name, path in named:
        if not path.is_file():
            raise InputError("file not found; correct captions=…", file=path)
        if problem := name_problem(name):
            raise InputError(
                f"{problem}; rename the file, or name the system: captions={{NAME: FILE}}",
                file=ascii(str(path)),
            )
        if name in files:
            raise ConfigError(
                f"two systems are called '{name}': {files[name]} and {path}; "
                "name them: captions={NAME: FILE, …}"
            )
        files[name] = path
    return files
