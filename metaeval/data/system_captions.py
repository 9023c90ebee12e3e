"""Captions of systems in COCO's results format: a JSON list of {"image_id": …, "caption": …}."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.data.dataset import ImageId, RecordCount
from metaeval.data.fields import Record, check_id, kind, rename_fields, require_fields
from metaeval.data.identity import ImageIdRegistry, is_decimal
from metaeval.data.own.tables import read_table, tables_in
from metaeval.data.tidy import Tidy, count_captions
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import read_json, user_path
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
    fields: Mapping[str, str | None] | None = None,
) -> SystemCaptions:
    """Read and check one system's file against the ids of the dataset's images, `known`.

    Records may have other fields too. `image_id` and `caption` have the names in `fields`, or
    common ones, which is logged. Captions are tidied by the rule of `metaeval.data.tidy`.

    Raises InputError, naming record and field, for anything else than a list of records with an
    image id of the dataset, no image twice, and a string as caption.
    """
    notes: list[str] = []
    records, sha256 = _records(path, isinstance(next(iter(known), None), int), fields, notes)
    captions: dict[ImageId, str] = {}
    place: dict[ImageId, int] = {}
    tidy = Tidy()
    for i, record in enumerate(records):
        where = f"record {i}"
        require_fields(record, ("image_id", "caption"), path, where)
        image_id = known_image_id(record["image_id"], known, path, where)
        if image_id in place:
            raise InputError(
                f"{image_id!r} occurs twice: record {place[image_id]} has it too",
                file=path,
                record=where,
                field="image_id",
            )
        place[image_id] = i
        captions[image_id] = tidy.read(record["caption"], file=path, record=where, field="caption")
    empty = sum(not caption for caption in captions.values())
    notes += tidy.notes()
    if empty:
        verb = "is" if empty == 1 else "are"
        notes.append(f"{count_captions(empty)} {verb} empty.")
    return SystemCaptions(name, path, sha256, captions, empty, tuple(notes))


def _records(
    path: Path, numbers: bool, fields: Mapping[str, str | None] | None, notes: list[str]
) -> tuple[list[Record], str]:
    """The records of a results file, at least one, and the file's SHA-256.

    With `numbers`, ids in files that hold all ids as texts (CSV, keys of an object) become numbers.
    """
    if path.suffix.lower() != ".json":
        table = read_table(path)
        notes += table.notes
        records = _renamed([row.fields for row in table.rows], path, fields, notes)
        return (
            _with_numbers(records, path) if table.untyped and numbers else records
        ), table.sha256
    value, sha256 = read_json(path)
    if isinstance(value, dict) and (by_image := _captions_by_image(value)):
        return (_with_numbers(by_image, path) if numbers else by_image), sha256
    if not isinstance(value, list):
        wrong = kind(value)
        if isinstance(value, dict) and "annotations" in value:
            wrong += " with annotations (is this a captions file instead of a system's results?)"
        raise InputError(
            f"holds {wrong} where a list of image_id and caption is expected", file=path
        )
    if not value:
        raise InputError("holds no caption", file=path)
    for i, record in enumerate(value):
        if not isinstance(record, dict):
            raise InputError(f"is {kind(record)}, not an object", file=path, record=f"record {i}")
    records = _renamed(value, path, fields, notes)
    ids = [record.get("image_id") for record in records]
    if numbers and all(isinstance(i, str) and is_decimal(i) for i in ids):
        notes.append(f"The ids of {path.name} are texts of digits; they are read as numbers.")
        log.warning("%s", notes[-1])
        records = _with_numbers(records, path)
    return records, sha256


def _renamed(
    records: Sequence[Record],
    path: Path,
    fields: Mapping[str, str | None] | None,
    notes: list[str],
) -> list[Record]:
    """The records with `image_id` and `caption` under these names."""
    rows = ((f"record {i}", record) for i, record in enumerate(records))
    names, option = ("image_id", "caption"), "task.fields"
    renamed = rename_fields(rows, fields, names, path, notes, option=option)
    return [record for _, record in renamed]


def _with_numbers(records: Sequence[Record], path: Path) -> list[Record]:
    """The records with ids of digits as numbers; InputError where two forms of a number meet."""
    registry = ImageIdRegistry(path, "image_id")
    converted = []
    for i, record in enumerate(records):
        image = record.get("image_id")
        if isinstance(image, str) and is_decimal(image):
            record = {**record, "image_id": registry.add(int(image), image, f"record {i}")}
        converted.append(record)
    return converted


def _captions_by_image(value: Mapping[str, object]) -> list[Record]:
    """The records of an object from image ids to a caption, an object with a caption, or, as in
    pycocoevalcap's `res.json`, a list of one of them; none where it is something else."""
    records = []
    for image, listed in value.items():
        one = listed[0] if isinstance(listed, list) and len(listed) == 1 else listed
        text = one.get("caption") if isinstance(one, dict) else one
        if not isinstance(text, str):
            return []
        records.append({"image_id": image, "caption": text})
    return records


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
        problem = f"{value!r:.60} is {kind(value)} where the dataset's ids are {ids}"
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
        places = [given] if isinstance(given, str | Path) else list(given)
        paths = [user_path(str(place)) for place in places]
        files_of = (tables_in(path) if path.is_dir() else [path] for path in paths)
        named = [(file.stem, file) for several in files_of for file in several]
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
