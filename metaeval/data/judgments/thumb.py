"""THumB 1.0 (Kasai et al. 2022): 500 COCO images, four captioners and a human caption, rated.

`mscoco_THumB-1.0.jsonl` has one record a caption: `SYS`, `seg_id` (the COCO image id), `hyp`,
`image` (the file's name), `P` and `R` (1 to 5), the penalties `Fl`, `Con`, `Inc`, and `human_score`
= (P + R)/2 + Fl + Con + Inc. `mscoco_references.json` (JSON Lines in spite of its name) has
`seg_id` and `refs`; the human caption that was rated is not among them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metaeval.data.judgments.files import Text, find, rating, read, tidied
from metaeval.data.judgments.judged import Judged, Judgments, arrange
from metaeval.data.judgments.protocol import protocol_for
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError

RATINGS = "mscoco_THumB-1.0.jsonl"
REFERENCES = "mscoco_references.json"
SOURCE = "https://github.com/jungokasai/THumB (folder mscoco)"
DIMENSIONS = {
    "total": "human_score", "precision": "P", "recall": "R", "fluency": "Fl",
    "conciseness": "Con", "inclusive": "Inc",
}  # fmt: skip


def load_thumb(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    dimensions: tuple[str, ...] | list[str] = ("total", "precision", "recall"),
    systems: tuple[str, ...] | list[str] | None = None,
    own_captions: str | None = None,
    ratings: str | None = None,
    documents: str | None = None,
    statistic: str | None = "pearson",
    limit: int | None = None,
) -> Judgments:
    """THumB: 2,500 captions of 500 images by four captioners and people.

    Parameters
    ----------
    root
        The folder of the two files; by default `thumb` in the data folder.
    dimensions
        Which of "total", "precision", "recall", "fluency", "conciseness", "inclusive".
    systems
        Only these; the paper tells correlations with and without "Human".
    data, images, own_captions, ratings, documents, statistic, limit
        As in `metaeval.data.judgments.flickr8k.load_expert`; the paper's statistic is Pearson's r.

    Raises InputError for files that are not there or not as they should be.
    """
    chosen = protocol_for(
        "thumb", None, own_captions=own_captions, ratings=ratings, documents=documents,
        statistic=statistic,
    )  # fmt: skip
    if wrong := [name for name in dimensions if name not in DIMENSIONS]:
        raise ConfigError(f"dataset.dimensions: '{wrong[0]}' is not one of {', '.join(DIMENSIONS)}")
    files = find([RATINGS, REFERENCES], folder="thumb", source=SOURCE, root=root, data=data)
    rated, reference_file = read(files[RATINGS]), read(files[REFERENCES])
    tidy = Tidy()
    references: dict[str, tuple[str, ...]] = {}
    for where, record in lines(reference_file):
        captions = record.get("refs")
        if not isinstance(captions, list) or not all(isinstance(c, str) for c in captions):
            raise InputError(
                "is not a list of strings", file=reference_file.path, record=where, field="refs"
            )
        references[str(record.get("seg_id"))] = tuple(
            tidied(c, tidy, reference_file.path, where, "refs") for c in captions
        )
    judged = []
    for where, record in lines(rated):
        image = str(record.get("seg_id"))
        for field in ("SYS", "hyp", "image"):
            if not isinstance(record.get(field), str):
                raise InputError("is not a string", file=rated.path, record=where, field=field)
        if image not in references:
            raise InputError(
                f"'{image}' is not in {REFERENCES}", file=rated.path, record=where, field="seg_id"
            )
        if systems is not None and record["SYS"] not in systems:
            continue
        human = {
            name: (rating(record.get(DIMENSIONS[name]), rated.path, where, DIMENSIONS[name]),)
            for name in dimensions
        }
        caption = tidied(record["hyp"], tidy, rated.path, where, "hyp")
        judged.append(
            Judged(image, caption, references[image], human, record["SYS"], record["image"])
        )
    return arrange(
        "thumb", "THumB 1.0", judged, chosen,
        sources={RATINGS: rated.sha256, REFERENCES: reference_file.sha256},
        notes=tidy.notes(), images=images, limit=limit,
    )  # fmt: skip


def lines(file: Text) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a JSON Lines file: where, and the object."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError(
                f"invalid JSON ({error})", file=file.path, record=f"line {number:,}"
            ) from None
        if not isinstance(record, dict):
            raise InputError("is not an object", file=file.path, record=f"line {number:,}")
        yield f"line {number:,}", record
