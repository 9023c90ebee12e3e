"""RoCOCO (Park et al. 2024): captions of COCO images with one word replaced, in four kinds.

One JSON list a kind: records with `image` (the file's name) and `caption`, a list of human captions
followed by their altered versions: five of each, or six human ones and five altered ones.
The kinds are what the new word is: of the same concept as the old one, of another concept, any word
of the vocabulary, or a dangerous word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from metaeval.data.annotated_images import ImagePlaces
from metaeval.data.files import find_files
from metaeval.data.image_source import source_of_file
from metaeval.data.json_records import kind as json_type
from metaeval.data.json_records import require_fields
from metaeval.data.pairs.pairs import CaptionPair, CaptionPairs, arrange_pairs, chosen_kinds
from metaeval.data.pairs.sugarcrepe import numbered_records
from metaeval.data.tidy import Tidy, letters_and_digits
from metaeval.errors import InputError
from metaeval.options import Limit, checked
from metaeval.readers.json_text import read_json

KINDS = ("same_concept", "diff_concept", "rand_voca", "danger")
SOURCE = "https://github.com/pseulki/rococo"
_PUNCTUATION = re.compile(r"[^\w\s'-]|(?<!\w)['-]|['-](?!\w)")


@checked
def load_rococo(
    root: str | Path | None = None,
    captions: str | Path | None = None,
    near_copies: str = "drop",
    kinds: tuple[str, ...] | list[str] | None = None,
    limit: Limit = None,
    **places: Unpack[ImagePlaces],
) -> CaptionPairs:
    """RoCOCO: the 5,000 images of the Karpathy test split, five altered captions per kind.

    Parameters
    ----------
    root
        The folder of the files; by default `rococo` in the data folder.
    captions
        The captions file that holds the references; by default COCO's in the data folder.
    near_copies
        "drop" or "keep" references that are nearly the true caption (a word in five differs).
    kinds
        Only these of `KINDS`; by default those whose files are there.
    limit
        Only the first `limit` images by name.
    places
        `instances`, `images`, `data`: see `metaeval.data.annotated_images`.

    Notes
    -----
    Altered captions are partly lower-cased and without punctuation, true ones are not. Both sides
    are converted to lower case without punctuation, so that no metric can use that difference.
    An altered caption is paired with the true one that shares the most words at the same places. An
    altered caption that still equals one of its image's true captions is left out and counted.

    Raises InputError for files that are not there or not as they should be.
    """
    chosen = chosen_kinds(kinds, KINDS)
    if kinds is None:
        chosen = _present(chosen, root, places) or chosen[:1]
    files = find_files(
        [f"{kind}.json" for kind in chosen],
        folder="rococo",
        source=SOURCE,
        root=root,
        data=places.get("data"),
    )
    tidy, sources = Tidy(), {}
    pairs: list[CaptionPair] = []
    read = 0
    for kind in chosen:
        path = files[f"{kind}.json"]
        value, sources[path.name] = read_json(path)
        for pair in _pairs(value, kind, tidy, path):
            read += 1
            if pair is not None:
                pairs.append(pair)
    notes = tidy.notes()
    if left_out := read - len(pairs):
        notes.append(f"{left_out:,} altered captions equal a true one and were left out.")
    return arrange_pairs(
        "rococo",
        "RoCOCO",
        pairs,
        sources=sources,
        notes=notes,
        captions=captions,
        near_copies=near_copies,
        limit=limit,
        read=read,
        **places,
    )


def _present(kinds: Sequence[str], root: str | Path | None, places: ImagePlaces) -> list[str]:
    """The kinds whose files are there."""
    there = []
    for kind in kinds:
        try:
            find_files(
                [f"{kind}.json"], folder="rococo", source=SOURCE, root=root, data=places.get("data")
            )
        except InputError:
            continue
        there.append(kind)
    return there


def _pairs(value: Any, kind: str, tidy: Tidy, path: Path) -> Iterator[CaptionPair | None]:
    """A pair for each altered caption; `None` for one that equals a true caption."""
    for where, record in numbered_records(value, path):
        require_fields(record, ["image", "caption"], path, where)
        name = tidy.read(record["image"], file=path, record=where, field="image").split("/")[-1]
        if (source := source_of_file(name)) is None:
            raise InputError(
                f"'{name}' is not the name of one of COCO's images",
                file=path,
                record=where,
                field="image",
            )
        given = record["caption"]
        if not isinstance(given, list) or len(given) < 2:
            raise InputError(
                f"is {json_type(given)}, not a list of true captions and altered ones",
                file=path,
                record=where,
                field="caption",
            )
        texts = [tidy.read(t, file=path, record=where, field="caption") for t in given]
        altered_ones = len(texts) // 2
        true = texts[:-altered_ones]
        for place, altered in enumerate(texts[-altered_ones:]):
            if letters_and_digits(altered) in map(letters_and_digits, true):
                yield None
                continue
            made_from = _made_from(altered, true, place)
            yield CaptionPair(
                name,
                kind,
                normalised(made_from),
                normalised(altered),
                made_from=made_from,
                file=name,
                source=source,
            )


def normalised(caption: str) -> str:
    """Lower case, without punctuation except inside words, single spaces.

    >>> normalised("A man's red-hot  stove, on fire .")
    "a man's red-hot stove on fire"
    """
    return " ".join(_PUNCTUATION.sub(" ", caption.lower()).split())


def _made_from(altered: str, true: Sequence[str], place: int) -> str:
    """The true caption with the most equal words at equal places from either end; of several, the
    one at the same place in the list."""
    words = normalised(altered).split()

    def shared(k: int) -> tuple[float, bool]:
        other = normalised(true[k]).split()
        equal = [
            sum(a == b for a, b in zip(one, two, strict=False))
            for one, two in ((words, other), (words[::-1], other[::-1]))
        ]
        return max(equal) / max(len(words), len(other), 1), k == place

    return true[max(range(len(true)), key=shared)]
