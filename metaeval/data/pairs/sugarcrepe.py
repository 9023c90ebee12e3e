"""SugarCrepe (Hsieh et al. 2023) and SugarCrepe++ (Dumpala et al. 2024): hard false captions.

SugarCrepe holds one JSON object a kind, number → `filename`, `caption`, `negative_caption`. The
images and the true captions are COCO val2017's; a language model wrote the false ones, and those
that two text-only models recognise were thinned out. SugarCrepe++ has a list of records for
five of the kinds, with a second true caption in other words, `caption2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from metaeval.data.annotated_images import ImagePlaces
from metaeval.data.files import find_files
from metaeval.data.image_source import source_of_file
from metaeval.data.json_records import kind as json_type
from metaeval.data.json_records import require_fields
from metaeval.data.pairs.pairs import CaptionPair, CaptionPairs, arrange_pairs, chosen_kinds
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.options import Limit, checked
from metaeval.readers.json_text import read_json

REPLACED_OR_SWAPPED = ("replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att")
KINDS = (*REPLACED_OR_SWAPPED, "add_obj", "add_att")
SOURCE = "https://github.com/RAIVNLab/sugar-crepe (folder data)"
SOURCE_PP = "https://github.com/Sri-Harsha/scpp (folder data)"


@checked
def load_sugarcrepe(
    root: str | Path | None = None,
    captions: str | Path | None = None,
    near_copies: str = "drop",
    kinds: tuple[str, ...] | list[str] | None = None,
    limit: Limit = None,
    **places: Unpack[ImagePlaces],
) -> CaptionPairs:
    """SugarCrepe: 7,511 pairs of 1,560 images of COCO val2017, in seven kinds.

    Parameters
    ----------
    root
        The folder of the seven files; by default `sugarcrepe` in the data folder.
    captions
        The captions file that holds the references; by default COCO's in the data folder.
    near_copies
        "keep" or "drop" references that are nearly the true caption (a word in five differs).
    kinds
        Only these of `KINDS`.
    limit
        Only the first `limit` images by name.
    places
        `instances`, `images`, `data`: see `metaeval.data.annotated_images`.

    Raises InputError for files that are not there or not as they should be.
    """
    chosen = chosen_kinds(kinds, KINDS)
    files = find_files(
        [f"{kind}.json" for kind in chosen],
        folder="sugarcrepe",
        source=SOURCE,
        root=root,
        data=places.get("data"),
    )
    return _load(
        "sugarcrepe", "SugarCrepe", chosen, files, None, captions, near_copies, limit, **places
    )


@checked
def load_sugarcrepe_pp(
    root: str | Path | None = None,
    captions: str | Path | None = None,
    near_copies: str = "drop",
    kinds: tuple[str, ...] | list[str] | None = None,
    limit: Limit = None,
    **places: Unpack[ImagePlaces],
) -> CaptionPairs:
    """SugarCrepe++: 4,757 triplets of a true caption, a true paraphrase and a false near-copy.

    The files are looked for in `sugarcrepe_pp` in the data folder; all else as in
    `load_sugarcrepe`.
    """
    chosen = chosen_kinds(kinds, REPLACED_OR_SWAPPED)
    files = find_files(
        [f"{kind}.json" for kind in chosen],
        folder="sugarcrepe_pp",
        source=SOURCE_PP,
        root=root,
        data=places.get("data"),
    )
    return _load(
        "sugarcrepe_pp",
        "SugarCrepe++",
        chosen,
        files,
        "caption2",
        captions,
        near_copies,
        limit,
        **places,
    )


def _load(
    name: str,
    title: str,
    kinds: Sequence[str],
    files: dict[str, Path],
    paraphrase: str | None,
    captions: str | Path | None,
    near_copies: str,
    limit: int | None,
    **places: Unpack[ImagePlaces],
) -> CaptionPairs:
    tidy, sources = Tidy(), {}
    pairs: list[CaptionPair] = []
    for kind in kinds:
        path = files[f"{kind}.json"]
        value, sources[path.name] = read_json(path)
        pairs += _pairs(value, kind, paraphrase, tidy, path)
    return arrange_pairs(
        name,
        title,
        pairs,
        sources=sources,
        notes=tidy.notes(),
        captions=captions,
        near_copies=near_copies,
        limit=limit,
        **places,
    )


def _pairs(
    value: Any, kind: str, paraphrase: str | None, tidy: Tidy, path: Path
) -> Iterator[CaptionPair]:
    fields = ["filename", "caption", "negative_caption", *([paraphrase] if paraphrase else [])]
    for where, record in numbered_records(value, path):
        require_fields(record, fields, path, where)
        text = {k: tidy.read(record[k], file=path, record=where, field=k) for k in fields}
        if (source := source_of_file(text["filename"])) is None:
            raise InputError(
                f"'{text['filename']}' is not the name of one of COCO's images",
                file=path,
                record=where,
                field="filename",
            )
        yield CaptionPair(
            text["filename"],
            kind,
            text["caption"],
            text["negative_caption"],
            paraphrase=text[paraphrase] if paraphrase else None,
            file=text["filename"],
            source=source,
        )


def numbered_records(value: Any, path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """The records of a JSON object (name → record) or of a list, each with its place."""
    if isinstance(value, dict):
        listed = [(f"record '{key}'", record) for key, record in value.items()]
    elif isinstance(value, list):
        listed = [(f"record {k}", record) for k, record in enumerate(value)]
    else:
        raise InputError(f"holds {json_type(value)} where records are expected", file=path)
    for where, record in listed:
        if not isinstance(record, dict):
            raise InputError(f"is {json_type(record)}, not an object", file=path, record=where)
        yield where, record
