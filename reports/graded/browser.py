"""The examples of graded captions: a browser of images, sorted by their worst inversions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.reports.blocks.block import Block, rendered
from metaeval.reports.graded.diff_markup import marked
from metaeval.reports.measured import PageOptions, html_of
from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import MOST_CHARACTERS, cut
from metaeval.reports.shared.payload import fit, pack_json, pack_scores
from metaeval.reports.shared.photos import thumbnails
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import LoadedRun, cell_indices, image_paths
from metaeval.results.graded import leading_column
from metaeval.results.measured import SETS, ranked
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.runs.columns import (
    APPLIED,
    CAPTION,
    EDITS,
    IMAGE_ID,
    METRIC,
    REFERENCES,
    SCORE,
    SET,
    SOURCE_CAPTION,
)


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
        turns = np.full(len(self.image_ids), len(self.image_ids))
        for place in self.places.values():
            turns = np.minimum(turns, place)
        return [int(i) for i in np.argsort(turns, kind="stable")]


class Embedded(NamedTuple):
    """The packed data of some images; `explained` has, per metric, name, columns and image ids."""

    captions: str = ""
    scores: str = ""
    explanations: str = ""
    explained: Sequence[Mapping[str, Any]] = ()

    @property
    def size(self) -> int:
        """Bytes in the page, or a few more."""
        parts = (self.captions, self.scores, self.explanations, str(self.explained))
        return sum(len(part.encode()) for part in parts)


def histogram_table(
    scores: pd.DataFrame, metrics: Sequence[str], sets: Sequence[str]
) -> pd.DataFrame:
    """The scores of these metrics as metric, set and score, in this order."""
    kept = scores[scores[METRIC].isin(metrics)].dropna(subset=[SCORE])
    table = kept[[METRIC, SET, SCORE]].rename(
        columns={METRIC: "metric", SET: "set", SCORE: "score"}
    )
    place = {name: k for k, name in enumerate(metrics)}
    return table.sort_values("metric", key=lambda column: column.map(place), kind="stable")


def examples_block(run: LoadedRun, options: PageOptions, others: Sequence[Block]) -> Block:
    """The browser of captions, with as many images as fit into the page with the `others`."""
    content = read_captions(run)
    order = content.worst_first()
    photos = thumbnails(content.image_ids, content.image_paths, order[: options.photos])
    metrics = [m for m in run.result.visible if m.ok]

    def block(embedded: Embedded, kept: int) -> Block:
        meta = {
            "sets": [{"name": name, "level": level} for level, name in enumerate(content.sets)],
            "metrics": [
                {"name": m.name, "kind": kind_of(m), "higher": m.column.higher_is_better}
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
            kept=kept,
            n_images=len(content.image_ids),
            unchanged=not content.applied.all(),
            meta=page.inert(meta),
        )
        levels = len(content.sets)
        return Block("examples", "Examples", html, levels=levels, embedded=True)

    empty = html_of(run, [*others, block(Embedded(), 0)])
    room = options.max_bytes - len(empty.encode())
    return block(*embed(content, order, options.explanations, room, leading_column(metrics)))


def opening_column(metrics: Sequence[MetricResult], run: LoadedRun) -> str | None:
    """The metric by which the examples are sorted first: the best one of the user's own, which
    nothing published is known of; else the best."""
    result = [m for m in metrics if m.column.is_ranked]
    own = [metric for metric in result if not metric.citation]
    best = ranked(own, run.result.declared[0]) or ranked(result, run.result.declared[0])
    return best[0].name if best else leading_column(metrics)


def read_captions(run: LoadedRun) -> Captions:
    """Read captions, references and scores; `InputError` names the file that is wrong."""
    directory = run.directory
    explanations = directory / files.EXPLANATIONS
    references = files.read_table(directory / files.REFERENCES)
    captions = files.read_table(directory / files.CAPTIONS)
    scores = files.read_table(directory / files.SCORES)
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
        image_paths=image_paths(references),
        sources=tuple(sources),
        references=tuple(tuple(map(cut, r)) for r in references[REFERENCES]),
        captions=tuple(tuple(row) for row in text),
        applied=applied,
        columns=columns,
        scores=values,
        places=places,
        explanations=files.read_json(explanations)["metrics"] if explanations.is_file() else {},
    )


def embed(
    content: Captions, order: Sequence[int], explanations: int, room: int, leading: str | None
) -> tuple[Embedded, int]:
    """As many images, in this order, as fit into `room` bytes, and how many these are.

    Explanations get what the captions leave them, or at least a tenth: rather fewer explanations
    than fewer captions.
    """

    @cache
    def texts_and_scores(keep: int) -> tuple[str, str]:
        images = sorted(order[:keep])
        return _packed_captions(content, images), pack_scores(content.scores[:, :, images])

    def data(keep: int) -> Embedded:
        explained = _explanations(content, sorted(order[:keep]), explanations, leading)
        return Embedded(*texts_and_scores(keep), *explained)

    left = max(room - sum(map(len, texts_and_scores(len(order)))), room // 10)
    while explanations and (
        Embedded("", "", *_explanations(content, order, explanations, leading)).size > left
    ):
        explanations //= 2
    keep, embedded = fit(len(order), data, room)
    return embedded, keep


def _packed_captions(content: Captions, images: Sequence[int]) -> str:
    """Per image [id, source, applied flags, [marked captions], [references]], images together.

    Similar texts are stored together, so that they compress well. Unpaired surrogates, which UTF-8
    cannot encode, are refused by the dataset readers.
    """
    return pack_json(
        [
            [
                content.image_ids[i],
                content.sources[i],
                sum(int(content.applied[s, i]) << s for s in range(len(content.sets))),
                [captions[i] for captions in content.captions],
                content.references[i],
            ]
            for i in images
        ]
    )


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
    return marked(source, caption, edits)
