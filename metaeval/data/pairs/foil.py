"""FOIL (Shekhar et al. 2017): one noun of a COCO caption replaced by a false one.

The official file (`foilv1.0_test_2017.json`, annotated like COCO's captions) lists `annotations`
with `image_id`, `id` (of COCO's caption), `caption`, `foil` (true or false), `target_word` and
`foil_word`: the caption itself, and behind it its foils under the same `id`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from metaeval.data.annotated_images import ImagePlaces
from metaeval.data.files import find_files
from metaeval.data.image_source import coco_source
from metaeval.data.json_records import records, require_fields
from metaeval.data.pairs.pairs import CaptionPair, CaptionPairs, arrange_pairs
from metaeval.data.tidy import Tidy, count_captions
from metaeval.errors import InputError
from metaeval.options import Limit, checked
from metaeval.readers.json_text import read_json

FILE = "foilv1.0_test_2017.json"
SOURCE = "https://foilunitn.github.io"


@checked
def load_foil(
    root: str | Path | None = None,
    captions: str | Path | None = None,
    near_copies: str = "drop",
    file: str = FILE,
    limit: Limit = None,
    **places: Unpack[ImagePlaces],
) -> CaptionPairs:
    """FOIL: every foil with the caption that it was made from.

    Parameters
    ----------
    root
        The folder of the file; by default `foil` in the data folder.
    file
        Its name.
    captions, near_copies, limit, places
        As in `metaeval.data.pairs.sugarcrepe.load_sugarcrepe`.

    A foil whose caption is not in the file is left out and counted in the notes. Raises InputError
    for a file that is not there or not as it should be.
    """
    path = find_files([file], folder="foil", source=SOURCE, root=root, data=places.get("data"))[
        file
    ]
    value, sha256 = read_json(path)
    tidy = Tidy()
    true: dict[int | str, tuple[int, str]] = {}
    foils: list[tuple[int | str, int, str]] = []
    for i, record in enumerate(records(value, "annotations", path)):
        where = f"annotations[{i}]"
        require_fields(record, ("id", "image_id", "caption", "foil"), path, where)
        image, key = record["image_id"], record["id"]
        if not isinstance(record["foil"], bool):
            raise InputError("is not true or false", file=path, record=where, field="foil")
        if type(image) is not int or image < 0:
            raise InputError(
                f"{image!r:.60} is not a COCO id", file=path, record=where, field="image_id"
            )
        if type(key) not in (int, str):
            raise InputError(f"{key!r:.60} is not an id", file=path, record=where, field="id")
        caption = tidy.read(record["caption"], file=path, record=where, field="caption")
        if record["foil"]:
            foils.append((key, image, caption))
        elif true.setdefault(key, (image, caption)) != (image, caption):
            raise InputError(
                f"another caption has the id {key!r:.60}, too", file=path, record=where, field="id"
            )
    for key, image, _ in foils:
        if key in true and true[key][0] != image:
            raise InputError(
                f"a foil of the image {image} has the id {key!r:.60} of a caption of the image "
                f"{true[key][0]}",
                file=path,
                field="image_id",
            )
    pairs = [
        CaptionPair(str(image), "object", true[key][1], foil, source=coco_source(image))
        for key, image, foil in foils
        if key in true
    ]
    notes = tidy.notes()
    if lone := len(foils) - len(pairs):
        notes.append(
            f"{count_captions(lone)} called foils were left out: nothing true has their id."
        )
    return arrange_pairs(
        "foil",
        "FOIL",
        pairs,
        sources={path.name: sha256},
        notes=notes,
        captions=captions,
        near_copies=near_copies,
        limit=limit,
        read=len(foils),
        **places,
    )
