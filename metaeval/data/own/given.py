"""A dataset from Python objects: candidates and references in lists, mappings, tables."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.data.coco.captions import read_captions
from metaeval.data.dataset import (
    Absent,
    CaptionDataset,
    ImageId,
    ImagePaths,
    Objects,
    Part,
    items_by_references,
)
from metaeval.data.identity import sources_of
from metaeval.data.own.captions import images_by_id
from metaeval.data.own.tables import read_table
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.readers.files import user_path

NAME = "given"
WHOLE_IMAGE = (0.0, 0.0, 1.0, 1.0)


class GivenCaptions(NamedTuple):
    """Candidates, in the order in which they were given, and the dataset that they are of.

    `image_index` [n] is each candidate's image; `notes` says what was left out or changed.
    """

    dataset: CaptionDataset
    captions: list[str]
    image_index: npt.NDArray[np.intp]
    notes: tuple[str, ...]


def given_captions(
    candidates: Any,
    references: Any = None,
    images: Any = None,
    objects: Any = None,
    image_source: str | None = None,
) -> GivenCaptions:
    """Make a dataset of candidates and of what is known of their images.

    Parameters
    ----------
    candidates
        A list of captions (or an array, a Series, a generator), each of an image of its own; a
        mapping from image ids to a caption or several; a table with columns `image_id`, `caption`
        and perhaps `references`, which are those of the row; a file in COCO's results format.
    references
        As the candidates: a list with the references of each candidate (a string is one reference,
        or several as in a cell of a table), a mapping from image ids, or a captions file of COCO's.
        `None`: there are none.
    images, objects
        Image files and annotated objects, as a list or a mapping in the same way; or the folder of
        the image files, named by the ids. The objects of an image are an `Objects`, or a list of
        labels or of (label, [x1, y1, x2, y2]) with boxes in [0, 1].
    image_source
        As in `metaeval.data.identity.sources_of`.

    The dataset has the images that have a candidate, no others: they are the corpus of CIDEr's idf.
    Raises InputError for what does not fit together.
    """
    tidy = Tidy()
    if not isinstance(candidates, str | Path | Mapping) and not _is_table(candidates):
        candidates = _in_order(candidates, "candidates")
    ids, texts = _candidates(candidates)
    file = Path(candidates) if isinstance(candidates, str | Path) else None
    if not ids:
        raise InputError("no candidate caption", file=file)
    if len({type(i) for i in ids}) > 1:
        raise InputError("image ids must be all numbers or all strings", file=file)
    named = zip((f"image {i!r}" for i in ids), texts, strict=True)
    captions = [tidy.read(t, file=file, record=i, field="caption") for i, t in named]
    known = sorted(set(ids))
    by_image = _by_image(references, known, candidates, "references")
    rows = candidates.get("references") if references is None and _is_table(candidates) else None
    items = items_by_references(ids, _read_references(ids, rows, by_image, tidy))
    files = _by_image(images, known, candidates, "images")
    paths = {i: user_path(path) for i, path in files.items() if path is not None}
    names = {i: path.name for i, path in paths.items()}
    sources = sources_of(known, names, declared=image_source, collection=NAME)
    dataset = CaptionDataset(
        NAME,
        items.image_ids,
        tuple(captions[c] for c in items.caption),
        items.references,
        parts=_parts(paths, _by_image(objects, known, candidates, "objects"), known),
        image_source=tuple(sources[i] for i in items.image_ids),
    )
    notes = list(tidy.notes())
    if unused := len(by_image) - sum(i in by_image for i in known):
        notes.append(f"{unused:,} images have references and no candidate: they are left out.")
    return GivenCaptions(dataset, captions, items.of_caption, tuple(notes))


def _read_references(
    ids: list[ImageId], rows: Iterable[Any] | None, by_image: Mapping[ImageId, Any], tidy: Tidy
) -> list[tuple[str, ...]]:
    """The references of each candidate: those of its row, or of its image where there are none."""

    def read(image_id: ImageId, cell: Any) -> tuple[str, ...]:
        where = f"image {image_id!r}"
        return tidy.read_several(_cell(cell), file=None, record=where, field="references")

    if rows is not None:  # those of one image may differ
        return [read(i, cell) for i, cell in zip(ids, rows, strict=True)]
    of_image = {i: read(i, by_image.get(i)) for i in sorted(set(ids))}
    return [of_image[i] for i in ids]


def _is_table(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "itertuples")


def _candidates(given: Any) -> tuple[list[ImageId], list[Any]]:
    """The image and the text of each candidate."""
    if _is_table(given):
        for column in ("image_id", "caption"):
            if column not in given:
                there = ", ".join(map(str, given.columns))
                raise InputError(f"the table of candidates has no column '{column}', but {there}")
        return [_plain_id(i) for i in given["image_id"]], list(given["caption"])
    if isinstance(given, str | Path):
        table = read_table(user_path(given))
        rows = [Row(row.fields, table.path, row.where, Tidy()) for row in table.rows]
        return [row.id() for row in rows], [row.value("caption") for row in rows]
    if isinstance(given, Mapping):
        pairs = [(i, text) for i, value in given.items() for text in _listed(value)]
        return [_plain_id(i) for i, _ in pairs], [text for _, text in pairs]
    return list(range(len(given))), given


def _by_image(given: Any, known: list[ImageId], candidates: Any, what: str) -> dict[ImageId, Any]:
    """Image id → what is given of it."""
    if given is None:
        return {}
    if isinstance(given, str | Path):
        path = user_path(given)
        if what == "images" and path.is_dir():
            return _images_of(path, known)
        if what != "references":
            raise InputError(f"{what} must be a list or a mapping, not {given!r}")
        return dict(read_captions(path).captions)
    if isinstance(given, Mapping):
        by_id = {_plain_id(i): value for i, value in given.items()}
        if lacking := [i for i in known if i not in by_id]:
            there = ", ".join(repr(i) for i in list(by_id)[:3])
            raise InputError(
                f"{what} of {len(lacking):,} of {len(known):,} images are missing, of "
                f"{lacking[0]!r} for one; there are those of {there} …"
            )
        return by_id
    listed = _in_order(given, what)
    if not isinstance(candidates, list):
        raise InputError(f"{what} must be a mapping from image ids, as the candidates have ids")
    if len(listed) != len(known):
        turned = " (they are given by candidate: are they the other way round?)"
        raise InputError(
            f"{len(listed):,} {what} for {len(known):,} candidates{turned * (what == 'references')}"
        )
    return dict(zip(known, listed, strict=True))


def _images_of(folder: Path, known: list[ImageId]) -> dict[ImageId, Path]:
    """Image id → its file in a folder; InputError where no image is there."""
    names = images_by_id(folder)
    by_id = {i: folder / names[i] for i in known if i in names}
    if not by_id:
        there = ", ".join(repr(i) for i in list(names)[:3]) or "none"
        raise InputError(
            f"has no file of image {known[0]!r} nor of any other; there are {there} …", file=folder
        )
    return by_id


def _plain_id(value: Any) -> ImageId:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | str):
        raise InputError(f"{value!r:.40} is not an image id: ids are whole numbers or strings")
    return plain


def _in_order(given: Any, what: str) -> list[Any]:
    """What a list, an array, a Series or a generator holds, in its order."""
    if not isinstance(given, Iterable) or isinstance(given, set | frozenset):
        raise InputError(f"{what} must be a list or a mapping, not {type(given).__name__}")
    return list(given)


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)


def _cell(value: Any) -> Any:
    """A cell of a table: one text, or a list of what it holds; `None` where it is missing."""
    if isinstance(value, Iterable):
        return value if isinstance(value, str) else list(value)
    return None if pd.isna(value) else value


def _parts(
    paths: Mapping[ImageId, Path], objects: Mapping[ImageId, Any], known: list[ImageId]
) -> dict[str, Part]:
    parts: dict[str, Part] = {
        "images": Absent("images", "no image files were given", "give images=[…]"),
        "objects": Absent("objects", "no objects were given", "give objects=[…]"),
    }
    if paths:
        if lost := [path for path in paths.values() if not path.is_file()]:
            raise InputError("image file not found", file=lost[0])
        files = ImagePaths(paths, f"{len(paths):,} files")
        parts["images"] = lambda: files
    if objects:
        annotated = {i: _objects(objects[i], i) for i in known}
        parts["objects"] = lambda: annotated
    return parts


def _objects(given: Any, image_id: ImageId) -> Objects:
    if isinstance(given, Objects):
        return given
    labels, boxes = [], []
    for one in given:
        label, box = (one, WHOLE_IMAGE) if isinstance(one, str) else one
        corners = np.asarray(box, dtype=np.float64)
        if corners.shape != (4,) or not ((corners >= 0) & (corners <= 1)).all():
            raise InputError(
                f"the box of '{label}' of image {image_id!r} is not x1, y1, x2, y2 in [0, 1]"
            )
        labels.append(str(label))
        boxes.append(corners)
    return Objects(tuple(labels), np.array(boxes).reshape(len(labels), 4))
