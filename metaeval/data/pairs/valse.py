"""VALSE (Parcalabescu et al. 2022): foils centred on linguistic phenomena, on COCO's images.

A piece is a JSON object, name → `image_file`, `caption`, `foil`, and `mturk`: how many of three
people found that the caption alone fits the image. Pairs that fewer than two chose the caption of
are not valid, as in its authors' own evaluation. `plurals` changed COCO's caption a little
("exactly one"): what it was made from is `orig_caption`. The pieces on other images (Visual7W,
SWiG, VisDial) have no references and are not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from metaeval.data.annotated_images import ImagePlaces
from metaeval.data.files import find_files
from metaeval.data.image_source import source_of_file
from metaeval.data.json_records import require_fields
from metaeval.data.pairs.pairs import CaptionPair, CaptionPairs, arrange_pairs, chosen_kinds
from metaeval.data.pairs.sugarcrepe import numbered_records
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.options import Limit, checked
from metaeval.readers.json_text import read_json

KINDS = ("plurals", "relations", "foil-it")
SOURCE = "https://github.com/Heidelberg-NLP/VALSE (folder data)"
PEOPLE = 3  # judged each pair
VALID = 2  # of them, from where a pair counts


@checked
def load_valse(
    root: str | Path | None = None,
    captions: str | Path | None = None,
    near_copies: str = "drop",
    kinds: tuple[str, ...] | list[str] | None = None,
    validated: bool = True,
    limit: Limit = None,
    **places: Unpack[ImagePlaces],
) -> CaptionPairs:
    """VALSE's pieces on COCO's images: plurals, relations and foil-it.

    Parameters
    ----------
    root
        The folder of the files; by default `valse` in the data folder.
    validated
        Only pairs whose caption at least two of three people chose.
    captions, near_copies, kinds, limit, places
        As in `metaeval.data.pairs.sugarcrepe.load_sugarcrepe`.

    Raises InputError for files that are not there or not as they should be.
    """
    chosen = chosen_kinds(kinds, KINDS)
    files = find_files(
        [f"{kind}.json" for kind in chosen],
        folder="valse",
        source=SOURCE,
        root=root,
        data=places.get("data"),
    )
    tidy, sources, invalid = Tidy(), {}, 0
    pairs: list[CaptionPair] = []
    for kind in chosen:
        path = files[f"{kind}.json"]
        value, sources[path.name] = read_json(path)
        for where, record in numbered_records(value, path):
            require_fields(record, ("image_file", "caption", "foil"), path, where)
            if validated and _votes(record, path, where) < VALID:
                invalid += 1
                continue
            pairs.append(_pair(record, kind, tidy, path, where))
    notes = tidy.notes()
    if invalid:
        notes.append(
            f"{invalid:,} pairs were left out: fewer than {VALID} of {PEOPLE} people chose the "
            "caption."
        )
    return arrange_pairs(
        "valse",
        "VALSE",
        pairs,
        sources=sources,
        notes=notes,
        captions=captions,
        near_copies=near_copies,
        limit=limit,
        read=len(pairs) + invalid,
        **places,
    )


def _votes(record: dict[str, object], path: Path, where: str) -> int:
    votes = record.get("mturk")
    chosen = votes.get("caption") if isinstance(votes, dict) else None
    if type(chosen) is not int or not 0 <= chosen <= PEOPLE:
        raise InputError(
            "does not say how many people chose the caption", file=path, record=where, field="mturk"
        )
    return chosen


def _pair(record: dict[str, object], kind: str, tidy: Tidy, path: Path, where: str) -> CaptionPair:
    text = {
        key: tidy.read(record[key], file=path, record=where, field=key)
        for key in ("image_file", "caption", "foil", "orig_caption")
        if key in record
    }
    if (source := source_of_file(text["image_file"])) is None:
        raise InputError(
            f"'{text['image_file']}' is not the name of one of COCO's images",
            file=path,
            record=where,
            field="image_file",
        )
    return CaptionPair(
        text["image_file"],
        kind,
        text["caption"],
        text["foil"],
        made_from=text.get("orig_caption"),
        file=text["image_file"],
        source=source,
    )
