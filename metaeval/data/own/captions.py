"""Your own captions as a dataset: Karpathy's JSON, Flickr's token files, or any table."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Unpack

from metaeval.data.annotated_images import ImageFiles
from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Part, RecordCount
from metaeval.data.download import given_path
from metaeval.data.fields import Fields, common_columns, numbered_columns, rename_fields
from metaeval.data.identity import IdJoin, ImageIdRegistry, is_decimal, sources_of
from metaeval.data.own.tables import (
    FORMATS,
    Reading,
    read_json_or_lines,
    read_own_text,
    read_table,
)
from metaeval.data.records import check_id, json_type
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, PositiveInt, checked
from metaeval.readers.files import TextFile, user_path

TOKEN_SUFFIXES = (".token", ".txt")
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
_TOKEN = re.compile(r"([^\t#]+)#([0-9]{1,9})\t(.*)")


class OwnCaption(NamedTuple):
    """One caption of a file: its place, its image, the image's file name, the text, and
    whether it is of the requested split."""

    where: str
    image: ImageId
    file_name: str | None
    text: str
    wanted: bool = True


@checked
def load_own(
    file: str | Path | None = None,
    name: str | None = None,
    split: str | None = None,
    images: str | Path | None = None,
    n_references: PositiveInt | None = None,
    image_source: str | None = None,
    limit: Limit = None,
    fields: Fields | None = None,
    language: str | None = None,
    **reading: Unpack[Reading],
) -> CaptionDataset:
    """A dataset from a file of captions, by what the file is.

    - `.json` with `images` that have `sentences` (Karpathy's): ids are `cocoid`, else file stems.
    - `.token`, `.txt`: Flickr8k's and Flickr30k's lines `FILE#NUMBER<tab>CAPTION`.
    - a table of `image_id` and `caption` (one a record) or `captions` (a list, or numbered
      columns), and perhaps `image_path`; next to a single `caption` there may be `references`.

    An image's first caption, in the order of the file (of token files in that of their numbers), is
    the *Human* caption, the others are its references; there may be none. Without a file the
    dataset is the images of the folder `images`, without captions (see `images_by_id`).
    `conf/dataset/own.yaml` describes the options.

    Raises InputError, naming file and record, for anything that is not so, and for two written
    forms of one image id ("007" and "7", "a/1.jpg" and "b/1.jpg").
    """
    if file is None:
        if images is None:
            raise ConfigError("dataset=own needs a file: dataset.file=FILE (see docs/own.md)")
        return _folder(given_path(images, "images", "folder"), name, image_source).limited(limit)
    path = user_path(file)
    notes: list[str] = []
    tidy = Tidy()
    captions, sha256 = _read(path, split, fields, reading, tidy, notes)
    texts, names, read = _by_image(captions, path, tidy)
    if not texts:
        raise InputError("holds no caption" + (f" of split '{split}'" if split else ""), file=path)
    ids = tuple(sorted(texts))
    human = tuple(texts[i][0] for i in ids)
    references = tuple(tuple(texts[i][1:][:n_references]) for i in ids)
    notes[:0] = tidy.notes()
    if bare := references.count(()):
        notes.append(f"{bare:,} of {len(ids):,} images have no reference.")
    name = name or path.stem
    photographs = sources_of(ids, names, declared=image_source, collection=name)
    return CaptionDataset(
        name,
        ids,
        human,
        references,
        sources={path.name: sha256},
        notes=tuple(notes),
        parts={"images": _images(images, names, ids)},
        image_source=tuple(photographs.values()),
        records=RecordCount(read, len(human) + sum(map(len, references))),
        language=language,
    ).limited(limit)


def _by_image(
    captions: Iterable[OwnCaption], path: Path, tidy: Tidy
) -> tuple[dict[ImageId, list[str]], dict[ImageId, str], int]:
    """The captions of each image and the names of their files, and how many captions were read."""
    texts: dict[ImageId, list[str]] = {}
    names: dict[ImageId, str] = {}
    read = 0
    for where, image, file_name, text, wanted in captions:
        read += 1
        if not wanted:
            continue
        tidied = tidy.read(text, file=path, record=where, field="caption")
        if not tidied:
            raise InputError("is empty", file=path, record=where, field="caption")
        texts.setdefault(image, []).append(tidied)
        if file_name:
            names[image] = file_name
    if len({type(image) for image in texts}) > 1:
        raise InputError("image ids must be all numbers or all strings", file=path)
    return texts, names, read


def _folder(folder: Path, name: str | None, image_source: str | None) -> CaptionDataset:
    """The images of a folder, without captions."""
    names = images_by_id(folder)
    if not names:
        raise InputError(f"holds no image file ({', '.join(IMAGE_SUFFIXES)})", file=folder)
    ids, called = tuple(sorted(names)), name or folder.name
    photographs = sources_of(ids, names, declared=image_source, collection=called)
    files = ImageFiles(folder, names)
    return CaptionDataset(
        called,
        ids,
        ("",) * len(ids),
        ((),) * len(ids),
        notes=(f"{len(ids):,} images without captions: there is nothing to compare with.",),
        parts={"images": lambda: files},
        image_source=tuple(photographs.values()),
    )


def images_by_id(folder: Path) -> dict[ImageId, str]:
    """Image id → file name, of the image files of a folder.

    An id is the name without its ending, as a number if all are numbers. Raises InputError for two
    files of one id.
    """
    files = _image_files(folder)
    stems = [PurePosixPath(name).stem for name in files]
    numbers = all(map(is_decimal, stems))
    names: dict[ImageId, str] = {}
    for stem, name in zip(stems, files, strict=True):
        image: ImageId = int(stem) if numbers else stem
        if image in names:
            raise InputError(
                f"{names[image]} and {name} are both image {image}; rename one", file=folder
            )
        names[image] = name
    return names


def _image_files(folder: Path) -> list[str]:
    """The names of the image files of a folder, without hidden ones ("._1.jpg")."""
    visible = (p for p in folder.iterdir() if not p.name.startswith("."))
    return sorted(p.name for p in visible if p.suffix.lower() in IMAGE_SUFFIXES)


def _read(
    path: Path,
    split: str | None,
    fields: Fields | None,
    reading: Reading,
    tidy: Tidy,
    notes: list[str],
) -> tuple[Iterator[OwnCaption], str]:
    """The captions of a file, in its order, and its SHA-256."""
    suffix, encoding = path.suffix.lower(), reading.get("encoding")
    if suffix == ".json":
        value, sha256 = read_json_or_lines(path, encoding, "dataset", [])
        if isinstance(value, dict) and "images" in value:
            return _karpathy(value["images"], path, split), sha256
    if split not in (None, "all"):
        raise ConfigError("dataset.split is for Karpathy's files: this one has no splits")
    if suffix in TOKEN_SUFFIXES:
        text = read_own_text(path, encoding, "dataset")
        first = text.text.lstrip().partition("\n")[0].rstrip("\r")
        if suffix == ".token" or (reading.get("delimiter") is None and not _is_header(first)):
            return _token_captions(text), text.sha256
    elif suffix not in FORMATS:
        known = ", ".join((*FORMATS, *TOKEN_SUFFIXES))
        raise InputError(f"is none of {known}", file=path)
    table = read_table(path, reading, "dataset")
    notes += table.notes
    column = _caption_column(table.rows[0].fields, fields)
    optional = ("image_path",) if column == "captions" else ("image_path", "references")
    renamed = rename_fields(table.rows, fields, ("image_id", column), path, notes, optional)
    rows = [Row(record, path, where, tidy) for where, record in renamed]
    return _table_rows(rows, column, table.untyped), table.sha256


def _is_header(line: str) -> bool:
    """Whether a line may be a table's header: it names an image, and is not one of tokens."""
    names = [*re.split(r"[,;|\t]", line), *line.split()]
    return not _TOKEN.fullmatch(line) and bool(common_columns("image_id", names))


def _caption_column(record: Mapping[str, object], fields: Fields | None) -> str:
    """ "captions" where a record has a list of them, by its name or in numbered columns."""
    given = {key for key, value in (fields or {}).items() if value}
    several = "captions" in record or "captions" in given
    if several or "caption" in given or common_columns("caption", record):
        return "captions" if several else "caption"
    lists = common_columns("captions", record) or numbered_columns("captions", record)
    return "captions" if lists else "caption"


def _karpathy(images: object, path: Path, split: str | None) -> Iterator[OwnCaption]:
    if not isinstance(images, list):
        raise InputError(f"is {json_type(images)}, not a list", file=path, field="images")
    of_images = (image.get("split") for image in images if isinstance(image, dict))
    splits = dict.fromkeys(name for name in of_images if isinstance(name, str))
    choices = ", ".join([*splits, "all"])
    if split is None and len(splits) > 1:
        raise InputError(
            f"has the splits {choices}; choose one: dataset.split=test", file=path, field="split"
        )
    if split not in (None, "all", *splits):
        raise InputError(f"has no split '{split}'; choose from {choices}", file=path, field="split")
    registry = ImageIdRegistry(path)
    for k, image in enumerate(images):
        where = f"images[{k}]"
        if not isinstance(image, dict) or not isinstance(image.get("sentences"), list):
            raise InputError(
                "has no list of sentences (a file of COCO's own schema is dataset=coco)",
                file=path,
                record=where,
                field="sentences",
            )
        wanted = split in (None, "all") or image.get("split") == split
        file_name = image.get("filename")
        if not isinstance(file_name, str):
            raise InputError("is not a string", file=path, record=where, field="filename")
        field = "filename" if image.get("cocoid") is None else "cocoid"
        named = PurePosixPath(file_name).stem if field == "filename" else image["cocoid"]
        image_id = check_id(named, path, where, field)
        registry.add(image_id, f"{image.get('filepath', '')}/{file_name}".strip("/"), where, True)
        for s, sentence in enumerate(image["sentences"]):
            text = sentence.get("raw") if isinstance(sentence, dict) else None
            yield OwnCaption(f"{where}, sentences[{s}]", image_id, file_name, text, wanted)  # type: ignore[arg-type]


def token_lines(file: TextFile) -> Iterator[tuple[str, str, int, str]]:
    """Of each line `FILE#NUMBER<tab>CAPTION` its place, FILE, NUMBER and CAPTION; InputError where
    a FILE#NUMBER occurs twice."""
    places: dict[tuple[str, int], str] = {}
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number:,}"
        match = _TOKEN.fullmatch(line.rstrip("\r"))
        if match is None:
            problem = (
                "is not FILE#NUMBER, a tab and a caption; a table with a header is a .csv file"
            )
            raise InputError(problem, file=file.path, record=where)
        name, place = match[1], int(match[2])
        if (first := places.setdefault((name, place), where)) != where:
            problem = f"'{name}#{place}' occurs twice: {first} has it too"
            raise InputError(problem, file=file.path, record=where, field="FILE#NUMBER")
        yield where, name, place, match[3]


def _token_captions(file: TextFile) -> Iterator[OwnCaption]:
    """The captions of a file of tokens, each image's in the order of their numbers."""
    registry = ImageIdRegistry(file.path, "FILE")
    by_image: dict[ImageId, dict[int, OwnCaption]] = {}
    for where, name, place, text in token_lines(file):
        image = check_id(PurePosixPath(name).stem, file.path, where, "FILE")
        of_image = by_image.setdefault(registry.add(image, name, where), {})
        of_image[place] = OwnCaption(where, image, name, text)
    for of_image in by_image.values():
        yield from (of_image[place] for place in sorted(of_image))


def _table_rows(rows: Sequence[Row], column: str, untyped: bool) -> Iterator[OwnCaption]:
    ids = [row.id() for row in rows]
    # ids without types are numbers if all of them are
    numbers = untyped and all(is_decimal(str(image)) for image in ids)
    listed: dict[ImageId, list[tuple[Row, str, tuple[str, ...]]]] = {}
    for row, written in zip(rows, ids, strict=True):
        image = int(written) if numbers else written
        named, texts = row.text("image_path"), row.fields[column]
        if column == "captions" and not (texts := row.captions(column)):
            raise row.error("holds no caption", column)
        for text in texts if isinstance(texts, tuple) else [texts]:
            yield OwnCaption(row.where, image, named, text)
        if column != "captions":
            given = (row, str(texts), row.captions("references"))
            listed.setdefault(image, []).append(given)
    for image, records in listed.items():
        for text in _references(image, records):
            yield OwnCaption(f"{records[0][0].where}, references", image, None, text)


def _references(
    image: ImageId, records: Sequence[tuple[Row, str, tuple[str, ...]]]
) -> Sequence[str]:
    """The references of an image, of its records with a caption and perhaps references each.

    They are in one record, or every record has all captions of the image, as in TextCaps.
    """
    given = [(row, references) for row, _, references in records if references]
    if len(given) < 2:
        return given[0][1] if given else ()
    row, references = given[1]
    captions = {
        Tidy().read(text, file=row.path, record=row.where, field="caption")
        for row, text, _ in records
    }
    if any(others != references for _, others in given) or not captions <= set(references):
        raise row.error(f"image {image!r} has references in an earlier record, too", "references")
    return [text for text in references if text not in captions]


def _images(folder: str | Path | None, names: dict[ImageId, str], ids: Sequence[ImageId]) -> Part:
    """The image files: by the names that the file gives, otherwise by id."""
    if folder is None:
        return Absent("images", "no folder of image files was given", "dataset.images=FOLDER")
    path = given_path(folder, "images", "folder")
    there = _image_files(path)
    join = IdJoin(there, ids)
    joined = {i: str(file) for i in ids if (file := join.of(i)) is not None}
    files = ImageFiles(path, {**joined, **names})
    if not len(files):
        example = next(iter(there), None)
        files_are = f"its files are like '{example}'" if example else "it holds no image file"
        reason = f"none of the images is in {path}: ids are like {ids[0]!r}, {files_are}"
        return Absent("images", reason, "correct dataset.images, or give a column image_path")
    return lambda: files
