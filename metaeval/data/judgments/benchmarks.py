"""Benchmarks of judged captions in their official files: Composite, Flickr8k and THumB 1.0."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal, Unpack

from metaeval.data.coco.captions import read_captions
from metaeval.data.download import find_files
from metaeval.data.identity import source_of_file
from metaeval.data.judgments.judged import (
    Choices,
    JudgedCaption,
    Judgments,
    Protocol,
    ProtocolName,
    arrange,
    own_captions_of,
    protocol_for,
)
from metaeval.data.own.captions import token_lines
from metaeval.data.records import require_known
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.options import Limit, checked
from metaeval.readers.files import TextFile, read_json_lines, read_text
from metaeval.readers.tables import check_name, read_csv, read_fields, read_number
from metaeval.runs.records import HUMAN

# Composite (Aditya, Yang, Baral, Aloimonos, Fermüller 2015): captions of three image sets, rated.
#
# The official files are Mechanical Turk exports separated by `;`, one record per image:
# `8k_correctness.csv`, `30k_correctness.csv` and `coco_correctness.csv` (and the same with
# `_throughness`), with the columns `Input.image_url`, `Input.text1` … `Input.text4` (Flickr8k:
# three) and `Answer.Q1Answer` … in the same order, ratings from 1 to 5. The first caption of each
# image is one of its human captions, lower-cased and respaced; the second is of the captioner of
# Karpathy and Fei-Fei (2015), the third of the authors' own scene description graphs (SDG). The
# files do not hold references: those come from the image sets' own caption files.

Subset = Literal["8k", "30k", "coco"]
Dimension = Literal["correctness", "thoroughness"]
# subset → its caption file
SUBSETS = {
    "8k": "Flickr8k.token.txt",
    "30k": "results_20130124.token",
    "coco": "captions_val2014.json",
}
# dimension → the word in the file names (the second one is misspelt in the official names)
_WORDS = {"correctness": "correctness", "thoroughness": "throughness"}
_COMPOSITE = (
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
    subsets: tuple[Subset, ...] | list[Subset] = ("8k", "30k", "coco"),
    dimensions: tuple[Dimension, ...] | list[Dimension] = ("correctness",),
    candidates: Literal[3, 4] = 3,
    systems: tuple[str, ...] | list[str] | None = None,
    limit: Limit = None,
    protocol: ProtocolName = "clipscore2021",
    **choices: Unpack[Choices],
) -> Judgments:
    """Composite: 11,985 captions (three of each of 3,995 images), rated from 1 to 5.

    `conf/dataset/composite.yaml` describes the options. A record without an image's address (the
    exports end with such) is left out and counted in the dataset's notes.

    Raises InputError for files that are not there or not as they should be, and for captions among
    which the first ones are not: Composite's own references hold them all.
    """
    chosen = protocol_for("composite", protocol, **choices)
    written_by = [*SYSTEMS, *(f"caption {k}" for k in range(len(SYSTEMS) + 1, candidates + 1))]
    require_known("systems", systems, written_by[:candidates])
    names = [f"{s}_{_WORDS[d]}.csv" for s in subsets for d in dimensions]
    files = find_files(
        [*names, *(SUBSETS[s] for s in subsets)],
        folder="composite",
        source=_COMPOSITE,
        root=root,
        data=data,
    )
    tidy, empty, read = Tidy(), 0, 0
    sources: dict[str, str] = {}
    judged: list[JudgedCaption] = []
    for subset in subsets:
        ratings: dict[str, TextFile] = {
            d: read_text(files[f"{subset}_{_WORDS[d]}.csv"]) for d in dimensions
        }
        sources |= {file.path.name: file.sha256 for file in ratings.values()}
        captions = files[SUBSETS[subset]]
        part, n_empty, sources[captions.name] = _subset(
            subset, captions, ratings, written_by[:candidates], tidy
        )
        empty, read = empty + n_empty, read + len(part)
        judged += [j for j in part if systems is None or j.system in systems]
    left_out = [f"{empty} records without an image were left out."] if empty else []
    return arrange(
        "composite",
        "Composite",
        judged,
        chosen,
        sources=sources,
        notes=[*tidy.notes(), *left_out],
        limit=limit,
        read=read + empty,
        instances=instances,
        images=images,
        data=data,
    )


CaptionKey = tuple[str, int, str]  # Composite's: image, number, text


def _subset(
    subset: str,
    captions: Path,
    ratings: Mapping[str, TextFile],
    written_by: Sequence[str],
    tidy: Tidy,
) -> tuple[list[JudgedCaption], int, str]:
    """The rated captions of an image set, how many records are empty, and the SHA-256 of the
    file of its captions; `ratings` is dimension → its answers."""
    references, sha256 = _references_of(captions, tidy)
    rated, empty = _ratings_by_caption(ratings, references, captions.name, len(written_by), tidy)
    judged = [
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
    _require_own_captions(judged, captions)
    return judged, empty, sha256


def _ratings_by_caption(
    files: Mapping[str, TextFile],
    references: Mapping[str, object],
    captions: str,
    candidates: int,
    tidy: Tidy,
) -> tuple[dict[CaptionKey, dict[str, tuple[float, ...]]], int]:
    """Return caption → dimension → its ratings, and how many records are empty.

    `files` is dimension → its answers; `captions` is the name of the file of the references.
    """
    rated: dict[CaptionKey, dict[str, tuple[float, ...]]] = {}
    empty = 0
    for dimension, file in files.items():
        for where, record in read_csv(file, ";"):
            if _URL not in record:
                raise InputError("the column is missing", file=file.path, field=_URL)
            name = PurePosixPath(record[_URL].strip()).name
            empty += not name
            if name and _stem(name) not in references:
                problem = f"no caption of '{name}' is in {captions}"
                raise InputError(problem, file=file.path, record=where, field=_URL)
            for key, value in _answers(file.path, where, record, name, candidates, tidy):
                human = rated.setdefault(key, {})
                human[dimension] = (*human.get(dimension, ()), value)
    return rated, empty


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


def _answers(
    path: Path, where: str, record: Mapping[str, str], name: str, candidates: int, tidy: Tidy
) -> Iterator[tuple[CaptionKey, float]]:
    """Image, number and text of each caption of a record, and its rating."""
    for k in range(1, candidates + 1) if name else ():
        text, column = _TEXT.format(k), _ANSWER.format(k)
        if caption := record.get(text, "").strip():
            value = read_number(record.get(column), path, where, column, low=1, high=5, whole=True)
            yield (name, k, tidy.read(caption, file=path, record=where, field=text)), value


def _references_of(path: Path, tidy: Tidy) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """An image set's captions by image (its file's stem), and the file's SHA-256."""
    if path.suffix == ".json":
        coco = read_captions(path)
        tidied = {_stem(coco.file_names[i]): texts for i, texts in coco.captions.items()}
        return tidied, coco.sha256
    file = read_text(path)
    _, by_image = _tokens(file, tidy)
    return {_stem(image): texts for image, texts in by_image.items()}, file.sha256


def _stem(name: str) -> str:
    return PurePosixPath(name).stem


# Flickr8k-Expert and Flickr8k-CF: the official files of Hodosh, Young and Hockenmaier (2013).
#
# `Flickr8k.token.txt` holds "IMAGE.jpg#K <tab> caption", five captions per image.
# `ExpertAnnotations.txt` holds an image, the id of a caption, and three experts' ratings from 1 to
# 4; `CrowdFlowerAnnotations.txt` an image, the id of a caption, the share of "yes" to "does the
# caption describe the image?", and the numbers of yes and no.

TOKENS = "Flickr8k.token.txt"
EXPERT = "ExpertAnnotations.txt"
CROWD = "CrowdFlowerAnnotations.txt"
_MOST_PEOPLE = 1_000_000  # who said yes, or no
_FLICKR8K = "Flickr8k_text.zip of the Flickr8k dataset (Hodosh, Young and Hockenmaier, 2013)"


@checked
def load_expert(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: Limit = None,
    protocol: ProtocolName = "clipscore2021",
    **choices: Unpack[Choices],
) -> Judgments:
    """5,822 captions, each rated by three experts from 1 (unrelated) to 4 (describes the image).

    `conf/dataset/flickr8k_expert.yaml` describes the options. "clipscore2021": own captions dropped
    (5,664 captions left), every rating as a row (16,992), every row a document, τ-c.

    Raises InputError for files that are not there or not as they should be.
    """
    chosen = protocol_for("flickr8k_expert", protocol, **choices)
    return _flickr8k(
        "flickr8k_expert", "Flickr8k-Expert", EXPERT, _EXPERTS, chosen, root, data, images, limit
    )


@checked
def load_crowd(
    root: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: Limit = None,
    protocol: ProtocolName = "clipscore2021",
    **choices: Unpack[Choices],
) -> Judgments:
    """47,830 captions with the share of at least three people who said that it fits the image.

    As `load_expert`. "clipscore2021": an image's own captions stay, but go out of the image's
    references; every caption a document; τ-b.
    """
    chosen = protocol_for("flickr8k_cf", protocol, **choices)
    return _flickr8k(
        "flickr8k_cf", "Flickr8k-CF", CROWD, _PEOPLE, chosen, root, data, images, limit
    )


# of the numbers in a line: the name and the scale of each
_EXPERTS = {f"expert {k}": (1, 4) for k in (1, 2, 3)}
_PEOPLE = {"share of yes": (0, 1), "yes": (0, _MOST_PEOPLE), "no": (0, _MOST_PEOPLE)}


def _flickr8k(
    name: str,
    title: str,
    annotations: str,
    scales: Mapping[str, tuple[int, int]],
    protocol: Protocol,
    root: str | Path | None,
    data: str | Path | None,
    images: str | Path | None,
    limit: int | None,
) -> Judgments:
    """The judgements in a file of annotations of Flickr8k's captions."""
    names = [TOKENS, annotations]
    files = find_files(names, folder="flickr8k", source=_FLICKR8K, root=root, data=data)
    tokens, rated = read_text(files[TOKENS]), read_text(files[annotations])
    tidy, judged = Tidy(), []
    captions, references = _tokens(tokens, tidy)
    known: dict[str, Mapping[str, object]] = {"image": references, "caption id": captions}
    for where, (image, caption, *cells) in read_fields(rated, ("image", "caption id", *scales)):
        for field, written in (("image", image), ("caption id", caption)):
            if written not in known[field]:
                problem = f"no caption of '{written}' is in {TOKENS}"
                raise InputError(problem, file=rated.path, record=where, field=field)
        numbers = [  # ratings are integers, proportions in [0, 1]
            read_number(cell, rated.path, where, column, low=low, high=high, whole=high > 1)
            for cell, (column, (low, high)) in zip(cells, scales.items(), strict=True)
        ]
        human = {"rating": tuple(numbers)}
        if annotations == CROWD:
            share, yes, no = numbers
            if yes + no < 1 or abs(share - yes / (yes + no)) > 1e-5:
                problem = f"{share:g} is not the share of {yes:g} yes and {no:g} no"
                raise InputError(problem, file=rated.path, record=where, field="share of yes")
            human = {"yes": (share,)}
        source = source_of_file(image, "flickr8k")
        of_image = references[image]
        judged.append(
            JudgedCaption(image, captions[caption], of_image, human, file=image, source=source)
        )
    return arrange(
        name,
        title,
        judged,
        protocol,
        sources={TOKENS: tokens.sha256, annotations: rated.sha256},
        notes=tidy.notes(),
        images=images,
        data=data,
        limit=limit,
    )


def _tokens(file: TextFile, tidy: Tidy) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The captions of a file of tokens by id, and by image in the order of the file."""
    by_id: dict[str, str] = {}
    by_image: dict[str, tuple[str, ...]] = {}
    for where, image, number, text in token_lines(file):
        caption = tidy.read(text, file=file.path, record=where, field="caption")
        by_id[f"{image}#{number}"] = caption
        by_image[image] = (*by_image.get(image, ()), caption)
    return by_id, by_image


# THumB 1.0 (Kasai et al. 2022): 500 COCO images, four captioners and a human caption, rated.
#
# `mscoco_THumB-1.0.jsonl` has one record per caption: `SYS`, `seg_id` (the COCO image id), `hyp`,
# `image` (the file's name), `P` and `R` (1 to 5), the penalties `Fl`, `Con`, `Inc`, and
# `human_score` = (P + R)/2 + Fl + Con + Inc. `mscoco_references.json` (JSON Lines in spite of its
# name) has `seg_id` and `refs`; the human caption that was rated is not among them.

RATINGS = "mscoco_THumB-1.0.jsonl"
REFERENCES = "mscoco_references.json"
Rated = Literal["total", "precision", "recall", "fluency", "conciseness", "inclusive"]
_THUMB = "https://github.com/jungokasai/THumB (folder mscoco)"
THUMB_FIELDS = {
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
    dimensions: tuple[Rated, ...] | list[Rated] = ("total", "precision", "recall"),
    systems: tuple[str, ...] | list[str] | None = None,
    human_reference: bool = False,
    limit: Limit = None,
    **choices: Unpack[Choices],
) -> Judgments:
    """THumB: 2,500 captions of 500 images by four captioners and people.

    `conf/dataset/thumb.yaml` describes the options; the paper's statistic, Pearson's r, is the
    default. With `human_reference` the rated caption of a person joins the references of the
    machines' captions, as in the scores that the authors published.

    Raises InputError for files that are not there or not as they should be.
    """
    choices.setdefault("statistic", "pearson")
    chosen = protocol_for("thumb", None, **choices)
    files = find_files([RATINGS, REFERENCES], folder="thumb", source=_THUMB, root=root, data=data)
    rated, reference_file = read_text(files[RATINGS]), read_text(files[REFERENCES])
    tidy = Tidy()
    references = _thumb_references(reference_file, tidy)
    read = [
        _thumb_caption(Row(record, rated.path, where, tidy), dimensions, references)
        for where, record in read_json_lines(rated)
    ]
    require_known("systems", systems, sorted({str(j.system) for j in read}))
    judged = [j for j in read if systems is None or j.system in systems]
    if human_reference:  # behind the references of the machines' captions of the image
        people = {j.image: (j.candidate,) for j in judged if j.system == HUMAN}
        judged = [
            j
            if j.system == HUMAN
            else replace(j, references=j.references + people.get(j.image, ()))
            for j in judged
        ]
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
        read=len(read),
    )


def _thumb_caption(
    row: Row, dimensions: Sequence[str], references: Mapping[str, tuple[str, ...]]
) -> JudgedCaption:
    """The rated caption of a record of THumB."""
    image, file = str(row.id("seg_id")), row.caption("image")
    if image not in references:
        raise row.error(f"'{image}' is not in {REFERENCES}", "seg_id")
    human = {}
    for name in dimensions:
        field = THUMB_FIELDS[name]
        low, high = _SCALES.get(field, (-math.inf, 5))
        value = read_number(row.fields.get(field), row.path, row.where, field, low=low, high=high)
        human[name] = (value,)
    return JudgedCaption(
        image,
        row.caption("hyp"),
        references[image],
        human,
        check_name(row.value("SYS"), file=row.path, record=row.where, field="SYS"),
        file,
        source_of_file(file),
    )


def _thumb_references(file: TextFile, tidy: Tidy) -> dict[str, tuple[str, ...]]:
    """Image id → the image's references."""
    references: dict[str, tuple[str, ...]] = {}
    for where, record in read_json_lines(file):
        row = Row(record, file.path, where, tidy)
        if not isinstance(record.get("refs"), list):
            raise row.error("is not a list of strings", "refs")
        if (image := str(row.id("seg_id"))) in references:
            raise row.error(f"{image} occurs twice", "seg_id")
        references[image] = row.captions("refs")
    return references
