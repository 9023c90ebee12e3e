"""THumB 1.0 (Kasai et al. 2022): 500 COCO images, four captioners and a human caption, rated.

`mscoco_THumB-1.0.jsonl` has one record per caption: `SYS`, `seg_id` (the COCO image id), `hyp`,
`image` (the file's name), `P` and `R` (1 to 5), the penalties `Fl`, `Con`, `Inc`, and `human_score`
= (P + R)/2 + Fl + Con + Inc. `mscoco_references.json` (JSON Lines in spite of its name) has
`seg_id` and `refs`; the human caption that was rated is not among them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from metaeval.data.download import find_files
from metaeval.data.identity import source_of_file
from metaeval.data.judgments.judged import Choices, JudgedCaption, Judgments, arrange, protocol_for
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import TextFile, read_json_lines, read_text
from metaeval.readers.tables import check_name, read_number
from metaeval.runs.records import HUMAN

RATINGS = "mscoco_THumB-1.0.jsonl"
REFERENCES = "mscoco_references.json"
SOURCE = "https://github.com/jungokasai/THumB (folder mscoco)"
DIMENSIONS = {
    "total": "human_score",
    "precision": "P",
    "recall": "R",
    "fluency": "Fl",
    "conciseness": "Con",
    "inclusive": "Inc",
}


# precision and recall are ratings, the others penalties; the total is at most the former's mean
_SCALES: dict[str, tuple[float, float]] = {
    "P": (1, 5),
    "R": (1, 5),
    "Fl": (-5, 0),
    "Con": (-5, 0),
    "Inc": (-5, 0),
}


@checked
def load_thumb(
    root: str | Path | None = None,
    data: str | Path | None = None,
    instances: str | Path | None = None,
    images: str | Path | None = None,
    dimensions: tuple[str, ...] | list[str] = ("total", "precision", "recall"),
    systems: tuple[str, ...] | list[str] | None = None,
    human_reference: bool = False,
    limit: Limit = None,
    **choices: Unpack[Choices],
) -> Judgments:
    """THumB: 2,500 captions of 500 images by four captioners and people.

    Parameters
    ----------
    root
        The folder of the two files; by default `thumb` in the data folder.
    dimensions
        Which of "total", "precision", "recall", "fluency", "conciseness", "inclusive".
    systems
        Only these; the paper reports correlations with and without "Human".
    human_reference
        Whether the rated caption of a person joins the references of the machines' captions, as in
        the scores that the authors published.
    instances
        COCO's annotated objects; by default those in the data folder.
    data, images, limit, choices
        As in `metaeval.data.judgments.flickr8k.load_expert`; the paper's statistic, Pearson's r, is
        the default.

    Raises InputError for files that are not there or not as they should be.
    """
    choices.setdefault("statistic", "pearson")
    chosen = protocol_for("thumb", None, **choices)
    if wrong := [name for name in dimensions if name not in DIMENSIONS]:
        names = ", ".join(f"'{name}'" for name in wrong)
        raise ConfigError(f"dataset.dimensions: {names} not among {', '.join(DIMENSIONS)}")
    files = find_files([RATINGS, REFERENCES], folder="thumb", source=SOURCE, root=root, data=data)
    rated, reference_file = read_text(files[RATINGS]), read_text(files[REFERENCES])
    tidy = Tidy()
    references = _references(reference_file, tidy)
    judged, written_by, read = [], set(), 0
    for where, record in read_json_lines(rated):
        read += 1
        image = _image(record, rated.path, where)
        for field in ("SYS", "hyp", "image"):
            if not isinstance(record.get(field), str):
                raise InputError("is not a string", file=rated.path, record=where, field=field)
        if image not in references:
            raise InputError(
                f"'{image}' is not in {REFERENCES}", file=rated.path, record=where, field="seg_id"
            )
        check_name(record["SYS"], file=rated.path, record=where, field="SYS")
        written_by.add(record["SYS"])
        if systems is not None and record["SYS"] not in systems:
            continue
        human = {}
        for name in dimensions:
            field = DIMENSIONS[name]
            low, high = _SCALES.get(field, (-math.inf, 5))
            value = read_number(record.get(field), rated.path, where, field, low=low, high=high)
            human[name] = (value,)
        caption = tidy.read(record["hyp"], file=rated.path, record=where, field="hyp")
        file, source = record["image"], source_of_file(record["image"])
        judged.append(
            JudgedCaption(image, caption, references[image], human, record["SYS"], file, source)
        )
    if unknown := [name for name in systems or () if name not in written_by]:
        names = ", ".join(f"'{name}'" for name in unknown)
        raise ConfigError(f"dataset.systems: {names} not among {', '.join(sorted(written_by))}")
    if human_reference:
        judged = _with_human_reference(judged)
    return arrange(
        "thumb",
        "THumB 1.0",
        judged,
        chosen,
        sources={RATINGS: rated.sha256, REFERENCES: reference_file.sha256},
        notes=tidy.notes(),
        instances=instances,
        images=images,
        data=data,
        limit=limit,
        read=read,
    )


def _image(record: Mapping[str, Any], file: Path, where: str) -> str:
    """The COCO id of a record's image, a number or a text."""
    value = record.get("seg_id")
    if type(value) not in (int, str) or not str(value).strip():
        problem = "is missing" if "seg_id" not in record else f"{value!r:.60} is not an id"
        raise InputError(problem, file=file, record=where, field="seg_id")
    return str(value)


def _with_human_reference(judged: list[JudgedCaption]) -> list[JudgedCaption]:
    """The person's caption of each image behind the references of the machines' captions."""
    people = {j.image: j.candidate for j in judged if j.system == HUMAN}
    return [
        j
        if j.system == HUMAN or j.image not in people
        else replace(j, references=(*j.references, people[j.image]))
        for j in judged
    ]


def _references(file: TextFile, tidy: Tidy) -> dict[str, tuple[str, ...]]:
    """Image id → the image's references."""
    references: dict[str, tuple[str, ...]] = {}
    for where, record in read_json_lines(file):
        captions = record.get("refs")
        if not isinstance(captions, list) or not all(isinstance(c, str) for c in captions):
            raise InputError("is not a list of strings", file=file.path, record=where, field="refs")
        image = _image(record, file.path, where)
        if image in references:
            raise InputError(f"{image} occurs twice", file=file.path, record=where, field="seg_id")
        references[image] = tuple(
            tidy.read(caption, file=file.path, record=where, field="refs") for caption in captions
        )
    return references
