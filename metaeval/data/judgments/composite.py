"""Composite (Aditya, Yang, Baral, Aloimonos, Fermüller 2015): captions of three image sets, rated.

The official files are Mechanical Turk exports separated by `;`, one record per image:
`8k_correctness.csv`, `30k_correctness.csv` and `coco_correctness.csv` (and the same with
`_throughness`), with the columns `Input.image_url`, `Input.text1` … `Input.text4` (Flickr8k: three)
and `Answer.Q1Answer` … in the same order, ratings from 1 to 5. The first caption of each image is
one of its human captions, lower-cased and respaced; the second is of the captioner of Karpathy and
Fei-Fei (2015), the third of the authors' own scene description graphs (SDG). The files do not hold
references: those come from the image sets' own caption files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, Unpack

from metaeval.data.download import find_files
from metaeval.data.fields import records, unique_ids
from metaeval.data.identity import source_of_file
from metaeval.data.judgments.judged import (
    Choices,
    JudgedCaption,
    Judgments,
    arrange,
    own_captions_of,
    protocol_for,
)
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import TextFile, read_json, read_text
from metaeval.readers.tables import read_csv, read_fields, read_number
from metaeval.runs.records import HUMAN

# subset → its caption file
SUBSETS = {
    "8k": "Flickr8k.token.txt",
    "30k": "results_20130124.token",
    "coco": "captions_val2014.json",
}
# dimension → the word in the file names (the second one is misspelt in the official names)
DIMENSIONS = {"correctness": "correctness", "thoroughness": "throughness"}
SOURCE = (
    "https://imagesdg.wordpress.com/image-to-scene-description-graph/ (AMT evaluations), its "
    "references from Flickr8k, Flickr30k and COCO 2014"
)
SYSTEMS = (HUMAN, "Karpathy", "SDG")  # who wrote the first, the second and the third caption
_COLLECTIONS = {"8k": "flickr8k", "30k": "flickr30k", "coco": None}
_LEAST_OWN = 0.9  # in Composite it is all of them
_URL, _TEXT, _ANSWER = "Input.image_url", "Input.text{}", "Answer.Q{}Answer"


@checked
def load_composite(
    root: str | Path | None = None,
    data: str | Path | None = None,
    instances: str | Path | None = None,
    images: str | Path | None = None,
    subsets: tuple[str, ...] | list[str] = ("8k", "30k", "coco"),
    dimensions: tuple[str, ...] | list[str] = ("correctness",),
    candidates: Literal[3, 4] = 3,
    systems: tuple[str, ...] | list[str] | None = None,
    limit: Limit = None,
    protocol: str | None = "clipscore2021",
    **choices: Unpack[Choices],
) -> Judgments:
    """Composite: 11,985 captions (three of each of 3,995 images), rated from 1 to 5.

    Parameters
    ----------
    root
        The folder of the csv files and of the three caption files; by default `composite` in the
        data folder.
    subsets, dimensions
        Which of "8k", "30k", "coco" and of "correctness", "thoroughness".
    candidates
        How many captions of an image: 3 as in all published correlations, 4 for all there are.
    systems
        Only the captions of these: "Human", "Karpathy", "SDG".
    instances
        COCO's annotated objects, for the captions of COCO's images; by default those in the data
        folder.
    data, images, limit, protocol, choices
        As in `metaeval.data.judgments.flickr8k.load_expert`.

    A record without an image's address (the exports end with such) is left out and counted in the
    dataset's notes. Raises InputError for files that are not there or not as they should be, and
    for captions among which the first ones are not: Composite's own references hold them all.
    """
    chosen = protocol_for("composite", protocol, **choices)
    written_by = [*SYSTEMS, *(f"caption {k}" for k in range(len(SYSTEMS) + 1, candidates + 1))]
    for option, asked, known in (
        ("subsets", subsets, list(SUBSETS)),
        ("dimensions", dimensions, list(DIMENSIONS)),
        ("systems", systems or (), written_by[:candidates]),
    ):
        if unknown := [name for name in asked if name not in known]:
            quoted = ", ".join(f"'{name}'" for name in unknown)
            raise ConfigError(f"dataset.{option}: {quoted} not among {', '.join(known)}")
    names = [f"{s}_{DIMENSIONS[d]}.csv" for s in subsets for d in dimensions]
    files = find_files(
        [*names, *(SUBSETS[s] for s in subsets)],
        folder="composite",
        source=SOURCE,
        root=root,
        data=data,
    )
    tidy, sources, empty, read = Tidy(), {}, 0, 0
    judged: list[JudgedCaption] = []
    for subset in subsets:
        references, sha256 = _references(files[SUBSETS[subset]], tidy)
        sources[SUBSETS[subset]] = sha256
        rated: dict[tuple[str, int, str], dict[str, tuple[float, ...]]] = {}
        for dimension in dimensions:
            file = read_text(files[f"{subset}_{DIMENSIONS[dimension]}.csv"])
            sources[file.path.name] = file.sha256
            for answer in _answers(file, candidates, tidy):
                if answer is None:
                    empty += 1
                    continue
                where, key, value = answer
                if _stem(key[0]) not in references:
                    raise InputError(
                        f"no caption of '{key[0]}' is in {SUBSETS[subset]}",
                        file=file.path,
                        record=where,
                        field=_URL,
                    )
                human = rated.setdefault(key, {})
                human[dimension] = (*human.get(dimension, ()), value)
        part = [
            JudgedCaption(
                f"{subset}/{name}",
                caption,
                references[_stem(name)],
                human,
                system=written_by[k - 1],
                file=name,
                subset=subset,
                source=source_of_file(name, _COLLECTIONS[subset]),
            )
            for (name, k, caption), human in rated.items()
        ]
        _require_own_captions(part, files[SUBSETS[subset]])
        read += len(part)
        judged += [j for j in part if systems is None or j.system in systems]
    notes = tidy.notes()
    if empty:
        notes.append(f"{empty} records without an image were left out.")
    return arrange(
        "composite",
        "Composite",
        judged,
        chosen,
        sources=sources,
        notes=notes,
        limit=limit,
        read=read + empty,
        instances=instances,
        images=images,
        data=data,
    )


def _require_own_captions(judged: Sequence[JudgedCaption], captions: Path) -> None:
    """Refuse a caption file in which the first captions of most images are missing.

    With it, a person's caption would be compared with itself in some images and not in others.
    """
    people = [j for j in judged if j.system == HUMAN]
    has_caption = [caption is not None for caption in own_captions_of(people)]
    if has_caption and sum(has_caption) < _LEAST_OWN * len(has_caption):
        raise InputError(
            f"holds the first caption of {sum(has_caption):,} of {len(has_caption):,} images only: "
            "these are not the references of Composite, whose first captions are all among them",
            file=captions,
        )


Answer = tuple[str, tuple[str, int, str], float]


def _answers(file: TextFile, candidates: int, tidy: Tidy) -> Iterator[Answer | None]:
    """Where, image, number and text of a caption, and its rating; `None` for an empty record."""
    for where, record in read_csv(file, ";"):
        if _URL not in record:
            raise InputError("the column is missing", file=file.path, field=_URL)
        name = PurePosixPath(record[_URL].strip()).name
        if not name:
            yield None
            continue
        for k in range(1, candidates + 1):
            text, column = _TEXT.format(k), _ANSWER.format(k)
            if caption := record.get(text, "").strip():
                value = read_number(
                    record.get(column), file.path, where, column, low=1, high=5, whole=True
                )
                caption = tidy.read(caption, file=file.path, record=where, field=text)
                yield where, (name, k, caption), value


def _references(path: Path, tidy: Tidy) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """An image set's captions by image (its file's stem), and the file's SHA-256."""
    references: dict[str, list[str]] = {}
    if path.suffix == ".json":
        value, sha256 = read_json(path)
        images = records(value, "images", path)
        ids = unique_ids(images, "images", path)
        names = {i: r.get("file_name") for i, r in zip(ids, images, strict=True)}
        for i, record in enumerate(records(value, "annotations", path)):
            where, image_id = f"annotations[{i}]", record.get("image_id")
            known = isinstance(image_id, int | str) and not isinstance(image_id, bool)
            name = names.get(image_id) if known else None  # type: ignore[arg-type]
            if not isinstance(name, str) or not isinstance(record.get("caption"), str):
                raise InputError("has no image or no caption", file=path, record=where)
            caption = tidy.read(record["caption"], file=path, record=where, field="caption")
            references.setdefault(_stem(name), []).append(caption)
    else:
        file = read_text(path)
        sha256 = file.sha256
        for where, (name, text) in read_fields(file, ("caption id", "caption")):
            caption = tidy.read(text, file=path, record=where, field="caption")
            references.setdefault(_stem(name.split("#")[0]), []).append(caption)
    return {image: tuple(captions) for image, captions in references.items()}, sha256


def _stem(name: str) -> str:
    return PurePosixPath(name).stem
