"""The examples of graded captions: a browser of images, sorted by their worst inversions."""

import base64
import gzip
import json
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.reports.blocks.texts import Block, rendered
from metaeval.reports.measured import PageOptions, html_of
from metaeval.reports.paper.figures import page_code
from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import MOST_CHARACTERS, cut, row_kind
from metaeval.reports.shared.page import fit_into_room, photos_of
from metaeval.reports.shared.run import LoadedRun, cell_indices, image_paths_in
from metaeval.results.base import MetricResult
from metaeval.results.graded import leading_column
from metaeval.results.measured import SETS, ranked
from metaeval.runs import files
from metaeval.runs.records import (
    APPLIED,
    CAPTION,
    EDITS,
    IMAGE_ID,
    METRIC,
    REFERENCES,
    SCORE,
    SOURCE_CAPTION,
)
from metaeval.runs.store import remember

# Marks a corrupted caption's changed words, in the caption's own text.
#
# A marked caption is the caption with every change wrapped in control characters:
# `OPEN kind before MID after CLOSE`. Dropping everything from OPEN to MID and every CLOSE gives the
# caption back. Kinds: s substituted, i inserted, d deleted, m moved (its words only changed
# places).

OPEN, MID, CLOSE = "\x01", "\x02", "\x03"
_MARKS = re.compile(f"[{OPEN}{MID}{CLOSE}]")
_DELETED = re.compile(f"{OPEN}d[^{CLOSE}]*{CLOSE} ?")
_BEFORE = re.compile(f"{OPEN}[^{MID}]*{MID}")


def mark_edits(source: str, caption: str, edits: Iterable[Mapping[str, Any]] | None) -> str:
    """`caption` with the words that `edits` changed marked.

    An edit replaces words of the source from its position on. The edits are believed only if
    applying them to the source gives the caption. A caption without edits (the human one, another
    image's) has no marks.
    """
    words, caption = _clean(source).split(), _clean(caption)
    changes = [
        (int(e["position"]), _clean(e["before"]), _clean(e["after"]))
        for e in (edits if edits is not None else ())
    ]
    changes.sort(key=lambda change: (change[0], bool(change[1])))
    moved = sorted(_bare(b) for _, b, _ in changes) == sorted(_bare(a) for _, _, a in changes)
    for shift in (0, 1) if changes else ():  # an insertion at p may mean before or after word p
        marked: list[str] = []
        place = 0
        for position, before, after in changes:
            start = position if before else position + shift
            end = start + len(before.split())
            marked += [*words[place:start], _mark(" ".join(words[start:end]), after, moved)]
            place = end
        text = " ".join([*marked, *words[place:]])
        if remove_marks(text) == caption:
            return text
    return caption


def remove_marks(text: str) -> str:
    """The caption inside a marked caption."""
    plain = _DELETED.sub("", text)
    plain = _BEFORE.sub("", plain).replace(CLOSE, "")
    return plain[:-1] if text.endswith(CLOSE) and plain.endswith(" ") else plain


def _bare(word: str) -> str:
    """A word as it moves: a full stop may stay where it was."""
    return word.strip(string.punctuation).lower() or word


def _clean(text: str) -> str:
    return _MARKS.sub("\ufffd", text) if OPEN in text or MID in text or CLOSE in text else text


def _mark(before: str, after: str, moved: bool = False) -> str:
    kind = "d" if not after else "m" if moved else "s" if before else "i"
    return f"{OPEN}{kind}{'' if kind == 'm' else before}{MID}{after}{CLOSE}"


# The data inside the page: captions and scores, compressed, for the browser to unfold.
#
# Scores are rounded to five significant digits and stored as float32 in four byte planes (all first
# bytes, all second bytes, …), which gzip packs well; 19 bits of mantissa keep all five digits.

DIGITS = 5


def pack(raw: bytes) -> str:
    """gzip, then base64; the same bytes in give the same text out."""
    return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")


def pack_json(value: Any) -> str:
    return pack(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def pack_scores(values: npt.NDArray[np.float64]) -> str:
    """Scores [c, s, n] as packed byte planes."""
    flat = round_significant(values).ravel().astype("<f4")
    bits = flat.view("<u4").copy()
    finite = np.isfinite(flat)
    bits[finite] = (bits[finite] + 8) & np.uint32(0xFFFFFFF0)  # round to 19 bits of mantissa
    planes = bits.view(np.uint8).reshape(-1, 4).T
    return pack(planes.tobytes())


def round_significant(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`values` to DIGITS significant digits; 0, infinities and NaN as they are."""
    usable = np.isfinite(values) & (values != 0)
    size = np.floor(np.log10(np.abs(np.where(usable, values, 1.0))))
    scale = 10.0 ** (DIGITS - 1 - size)
    return np.where(usable, np.round(values * scale) / scale, values)


@dataclass(frozen=True)
class Captions:
    """The captions and scores of a run in memory.

    With s sets (worst first), n images and c metric columns that ran, `captions[s][n]` holds marked
    captions (None where an image is missing in a set), `applied` is bool [s, n] and `scores`
    float64 [c, s, n], NaN for missing scores. `places` is column → the place of each image [n] in
    the order of its worst inversions, n where it is not among the worst. `explanations` are the
    metrics of explanations.json, none where the run has no such file.
    """

    sets: tuple[str, ...]
    image_ids: tuple[int | str, ...]
    image_paths: tuple[str | None, ...]
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    captions: tuple[tuple[str | None, ...], ...]
    applied: npt.NDArray[np.bool_]
    columns: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    places: Mapping[str, npt.NDArray[np.intp]]
    explanations: Mapping[str, Any]

    def worst_first(self) -> list[int]:
        """Positions of images by their worst inversions, taking turns among the metrics."""
        last = np.full(len(self.image_ids), len(self.image_ids))
        turns = np.min([last, *self.places.values()], axis=0)
        return [int(i) for i in np.argsort(turns, kind="stable")]


# the files of a run that the embedded data are made of
SOURCES = (files.CAPTIONS, files.REFERENCES, files.SCORES, files.STATISTICS, files.EXPLANATIONS)


class Embedded(NamedTuple):
    """The packed data of the `kept` images; `explained` has, per metric, name, columns and image
    ids."""

    kept: int = 0
    captions: str = ""
    scores: str = ""
    explanations: str = ""
    explained: Sequence[Mapping[str, Any]] = ()

    @property
    def size(self) -> int:
        """Bytes in the page, or a few more."""
        parts = (self.captions, self.scores, self.explanations, str(self.explained))
        return sum(len(part.encode()) for part in parts)


def examples_block(run: LoadedRun, options: PageOptions, others: Sequence[Block]) -> Block:
    """The browser of captions, with as many images as fit into the page with the `others`.

    What it embeds is remembered by the files that it is made of.
    """
    sets = run.result.extra(SETS).records
    metrics = [m for m in run.result.visible if m.ok]
    captions = cache(partial(_read_run_captions, run))
    photos, photo_note = dict[str, str](), ""
    if options.photos:
        content, order = captions(), captions().worst_first()
        paths = [content.image_paths[i] for i in order]
        photos, photo_note = photos_of([content.image_ids[i] for i in order], paths, options.photos)

    def block(embedded: Embedded) -> Block:
        meta = {
            "sets": [{"name": row["set"], "level": level} for level, row in enumerate(sets)],
            "metrics": [
                {"name": m.name, "kind": row_kind(m), "higher": m.column.higher_is_better}
                for m in metrics
            ],
            "opening": opening_column(metrics, run),
            "examples": options.examples,
            "name": run.result.experiment,
            "photos": photos,
            "explained": embedded.explained,
        }
        html = rendered(
            "captions.html.j2",
            data=embedded,
            n_images=max(row["n"] for row in sets),
            unchanged=any(row["n_unapplied"] for row in sets),
            photo_note=photo_note,
            meta=page.inert(meta),
        )
        return Block("examples", "Examples", html, levels=len(sets), embedded=True)

    rest = len(html_of(run, [*others, block(Embedded())]).encode())
    # whole thousands: the times of stages, in the page, have more or fewer digits
    limits = options.explanations, (options.max_bytes - rest) // 1000 * 1000
    embedded = remember(
        page_code(),
        f"{run.digests(*SOURCES)} {limits}",
        lambda: json.dumps(embed(captions(), *limits, leading_column(metrics))).encode(),
    )
    return block(Embedded(*json.loads(embedded)))


def opening_column(metrics: Sequence[MetricResult], run: LoadedRun) -> str | None:
    """The metric by which the examples are sorted first: the best one of the user's own, which
    nothing published is known of; else the best."""
    result = [m for m in metrics if m.column.is_ranked]
    own = [metric for metric in result if not metric.citation]
    best = ranked(own, run.result.declared[0]) or ranked(result, run.result.declared[0])
    return best[0].name if best else leading_column(metrics)


def _read_run_captions(run: LoadedRun) -> Captions:
    """Read captions, references and scores; `InputError` names the file that is wrong."""
    directory = run.directory
    explanations = directory / files.EXPLANATIONS
    references = files.read_run_table(directory / files.REFERENCES)
    captions = files.read_run_table(directory / files.CAPTIONS)
    scores = files.read_run_table(directory / files.SCORES)
    images = pd.Index(references[IMAGE_ID])
    if not images.is_unique:
        raise InputError(
            "an image occurs twice", file=directory / files.REFERENCES, field="image_id"
        )
    names = pd.Index([row["set"] for row in run.result.extra(SETS).records])
    columns = tuple(m.name for m in run.result.visible if m.ok)

    shape = (len(names), len(images))
    cells = cell_indices(captions, names, images, directory / files.CAPTIONS)
    text = np.full(shape, None, dtype=object)
    text[cells] = [
        _shown(source, caption, edits)
        for source, caption, edits in zip(
            captions[SOURCE_CAPTION], captions[CAPTION], captions[EDITS], strict=True
        )
    ]
    sources = np.full(len(images), "", dtype=object)
    sources[cells[1]] = [cut(source) for source in captions[SOURCE_CAPTION]]
    applied = np.ones(shape, dtype=bool)
    applied[cells] = captions[APPLIED]

    shown = scores[scores[METRIC].isin(columns)]
    column = pd.Index(columns).get_indexer(pd.Index(shown[METRIC]))
    values = np.full((len(columns), *shape), np.nan)
    values[(column, *cell_indices(shown, names, images, directory / files.SCORES))] = shown[SCORE]

    worst = run.result.extra("worst_images")
    places = {name: np.full(len(images), len(images), dtype=np.intp) for name in columns}
    for place, row in enumerate(worst.rows):
        for name, image in zip(worst.columns, row, strict=True):
            if name in places and image is not None:
                places[name][images.get_loc(image)] = place
    return Captions(
        sets=tuple(names),
        image_ids=tuple(images.tolist()),
        image_paths=image_paths_in(references),
        sources=tuple(sources),
        references=tuple(tuple(map(cut, r)) for r in references[REFERENCES]),
        captions=tuple(tuple(row) for row in text),
        applied=applied,
        columns=columns,
        scores=values,
        places=places,
        explanations=files.read_run_json(explanations)["metrics"] if explanations.is_file() else {},
    )


def embed(content: Captions, explanations: int, room: int, leading: str | None) -> Embedded:
    """As many images, those with the worst inversions first, as fit into `room` bytes.

    Explanations get what the captions leave them, or at least a tenth: rather fewer explanations
    than fewer captions.
    """
    order = content.worst_first()

    @cache
    def texts_and_scores(keep: int) -> tuple[str, str]:
        images = sorted(order[:keep])
        # id, source, flags of the applied sets, marked captions, references: similar texts together
        rows = [
            [
                content.image_ids[i],
                content.sources[i],
                sum(int(content.applied[s, i]) << s for s in range(len(content.sets))),
                [captions[i] for captions in content.captions],
                content.references[i],
            ]
            for i in images
        ]
        return pack_json(rows), pack_scores(content.scores[:, :, images])

    def data(keep: int) -> Embedded:
        explained = _explanations(content, sorted(order[:keep]), explanations, leading)
        return Embedded(keep, *texts_and_scores(keep), *explained)

    left = max(room - sum(map(len, texts_and_scores(len(order)))), room // 10)
    while explanations and (
        Embedded(0, "", "", *_explanations(content, order, explanations, leading)).size > left
    ):
        explanations //= 2
    return fit_into_room(len(order), data, lambda embedded: embedded.size, room)[1]


def _explanations(
    content: Captions, images: Collection[int], most: int, leading: str | None
) -> tuple[str, list[dict[str, Any]]]:
    """The explanations of those `images` (positions) that are among the `most` first ones.

    First in the order of any column of the metric, or of the leading column. The packed data are
    metric → image id → position of the set → explanation; and what is explained.
    """
    brief: list[dict[str, Any]] = []
    data: dict[str, Any] = {}
    position = {image: k for k, image in enumerate(content.image_ids)}
    sets = {name: k for k, name in enumerate(content.sets)}
    shown = set(images)
    for name, explained in content.explanations.items() if most else ():
        columns = [column for column in explained["columns"] if column in content.places]
        if not columns:  # the metric has no scores here
            continue
        ordered_by = [*columns, leading] if leading in content.places else columns
        turn = np.min([content.places[str(column)] for column in ordered_by], axis=0)
        kept = {
            str(entry["image_id"]): {
                sets[which]: payload for which, payload in entry["sets"].items() if which in sets
            }
            for entry in explained["images"]
            if (k := position.get(entry["image_id"])) in shown and turn[k] < most
        }
        data[name] = {image: payloads for image, payloads in kept.items() if payloads}
        brief.append({"name": name, "columns": columns, "images": list(data[name])})
    return pack_json(data), brief


def _shown(source: str, caption: str, edits: Iterable[Mapping[str, Any]] | None) -> str:
    """A caption with its changes marked; one that is cut has no marks."""
    if max(len(source), len(caption)) > MOST_CHARACTERS:
        return cut(caption)
    return mark_edits(source, caption, edits)
