"""Composite (Aditya, Yang, Baral, Aloimonos, Fermüller 2015): captions of three image sets, rated.

The official files are Mechanical Turk exports separated by `;`, one record an image:
`8k_correctness.csv`, `30k_correctness.csv` and `coco_correctness.csv` (and the same with
`_throughness`), with the columns `Input.image_url`, `Input.text1` … `Input.text4` (Flickr8k: three)
and `Answer.Q1Answer` … in the same order, ratings from 1 to 5. The first caption of each image is
one of its human captions. The files do not hold references: those come from the image sets'
own caption files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from metaeval.data.json_records import read_json, records
from metaeval.data.judgments.files import fields, find, rating, read, table, tidied
from metaeval.data.judgments.judged import Judged, Judgments, arrange
from metaeval.data.judgments.protocol import protocol_for
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError

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
_URL, _TEXT, _ANSWER = "Input.image_url", "Input.text{}", "Answer.Q{}Answer"


def load_composite(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    subsets: tuple[str, ...] | list[str] = ("8k", "30k", "coco"),
    dimensions: tuple[str, ...] | list[str] = ("correctness",),
    candidates: int = 3,
    protocol: str | None = "clipscore2021",
    own_captions: str | None = None,
    ratings: str | None = None,
    documents: str | None = None,
    statistic: str | None = None,
    limit: int | None = None,
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
    data, images, protocol, own_captions, ratings, documents, statistic, limit
        As in `metaeval.data.judgments.flickr8k.load_expert`.

    A record without an image's address (the exports end with such) is left out and counted in the
    dataset's notes. Raises InputError for files that are not there or not as they should be.
    """
    chosen = protocol_for(
        "composite", protocol, own_captions=own_captions, ratings=ratings, documents=documents,
        statistic=statistic,
    )  # fmt: skip
    for asked, known in ((subsets, SUBSETS), (dimensions, DIMENSIONS)):
        if wrong := [name for name in asked if name not in known]:
            raise ConfigError(f"dataset: '{wrong[0]}' is not one of {', '.join(known)}")
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
        raise ConfigError(f"dataset.candidates must be a whole number from 1: {candidates!r}")
    names = [f"{s}_{DIMENSIONS[d]}.csv" for s in subsets for d in dimensions]
    files = find(
        [*names, *(SUBSETS[s] for s in subsets)],
        folder="composite", source=SOURCE, root=root, data=data,
    )  # fmt: skip
    tidy, sources, empty = Tidy(), {}, 0
    judged: list[Judged] = []
    for subset in subsets:
        references, sha256 = _references(files[SUBSETS[subset]], tidy)
        sources[SUBSETS[subset]] = sha256
        rated: dict[tuple[str, int, str], dict[str, tuple[float, ...]]] = {}
        for dimension in dimensions:
            file = read(files[f"{subset}_{DIMENSIONS[dimension]}.csv"])
            sources[file.path.name] = file.sha256
            for where, record in table(file, ";"):
                if _URL not in record:
                    raise InputError("the column is missing", file=file.path, field=_URL)
                name = PurePosixPath(record[_URL].strip()).name
                if not name:
                    empty += 1
                    continue
                image = f"{subset}/{name}"
                if _key(name) not in references:
                    raise InputError(
                        f"no caption of '{name}' is in {SUBSETS[subset]}",
                        file=file.path, record=where, field=_URL,
                    )  # fmt: skip
                for k in range(1, candidates + 1):
                    text = record.get(_TEXT.format(k), "").strip()
                    if not text:
                        continue
                    column = _ANSWER.format(k)
                    value = rating(record.get(column), file.path, where, column)
                    caption = tidied(text, tidy, file.path, where, _TEXT.format(k))
                    given = rated.setdefault((image, k, caption), {})
                    given[dimension] = (*given.get(dimension, ()), value)
        judged += [
            Judged(
                image, caption, references[_key(image.split("/")[-1])], human,
                file=image.split("/")[-1],
            )
            for (image, _, caption), human in rated.items()
        ]  # fmt: skip
    notes = tidy.notes()
    if empty:
        notes.append(f"{empty} records without an image were left out.")
    # which system wrote which caption is not told, so there is no system level
    return arrange(
        "composite", "Composite", judged, chosen, sources=sources, notes=notes, images=images,
        limit=limit,
    )  # fmt: skip


def _references(path: Path, tidy: Tidy) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """An image set's captions by image (its file's stem), and the file's SHA-256."""
    found: dict[str, list[str]] = {}
    if path.suffix == ".json":
        value, sha256 = read_json(path)
        names = {r.get("id"): r.get("file_name") for r in records(value, "images", path)}
        for i, record in enumerate(records(value, "annotations", path)):
            where, name = f"annotations[{i}]", names.get(record.get("image_id"))
            if not isinstance(name, str) or not isinstance(record.get("caption"), str):
                raise InputError("has no image or no caption", file=path, record=where)
            caption = tidied(record["caption"], tidy, path, where, "caption")
            found.setdefault(_key(name), []).append(caption)
    else:
        file = read(path)
        sha256 = file.sha256
        for where, (name, text) in fields(file, ("caption id", "caption")):
            caption = tidied(text, tidy, path, where, "caption")
            found.setdefault(_key(name.split("#")[0]), []).append(caption)
    return {image: tuple(captions) for image, captions in found.items()}, sha256


def _key(name: str) -> str:
    return PurePosixPath(name).stem
