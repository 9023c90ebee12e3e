"""The data of the images that the page shows: captions, scores, and explanations of some scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from metaeval.reports.graded.run import GradedRun
from metaeval.reports.shared.payload import fit, pack_json, pack_scores


class PackedExplanations(NamedTuple):
    """`brief`: per metric its name, columns and image ids; `data`: the explanations, packed."""

    brief: list[dict[str, Any]]
    data: str

    @property
    def size(self) -> int:
        """Bytes in the page, or a few more."""
        return len(self.data) + len(str(self.brief).encode())


class EmbeddedData(NamedTuple):
    """The packed data of the images that the page shows."""

    captions: str
    scores: str
    explanations: PackedExplanations

    @property
    def size(self) -> int:
        return len(self.captions) + len(self.scores) + self.explanations.size


def embed(
    run: GradedRun, order: Sequence[int], explanations: int, room: int
) -> tuple[EmbeddedData, int]:
    """As many images, in this order, as fit into `room` bytes, and how many these are.

    Explanations get what the captions leave them, or at least a tenth: rather fewer explanations
    than fewer captions.
    """

    @cache
    def examples(keep: int) -> tuple[str, str]:
        images = sorted(order[:keep])
        return _pack_captions(run, images), pack_scores(run.scores[:, :, images])

    left = max(room - sum(map(len, examples(len(order)))), room // 10)
    while explanations and _pack_explanations(run, order, explanations).size > left:
        explanations //= 2

    def data(keep: int) -> EmbeddedData:
        explained = _pack_explanations(run, sorted(order[:keep]), explanations)
        return EmbeddedData(*examples(keep), explained)

    keep, embedded = fit(len(order), data, room)
    return embedded, keep


def _pack_captions(run: GradedRun, images: Sequence[int]) -> str:
    """Per image [id, source, applied flags, [marked captions], [references]], images together.

    Similar texts are stored together, so that they compress well. Unpaired surrogates, which UTF-8
    cannot encode, are refused by the dataset readers.
    """
    return pack_json(
        [
            [
                run.image_ids[i],
                run.sources[i],
                sum(int(run.applied[s, i]) << s for s in range(len(run.sets))),
                [captions[i] for captions in run.captions],
                run.references[i],
            ]
            for i in images
        ]
    )


def _pack_explanations(run: GradedRun, images: Collection[int], most: int) -> PackedExplanations:
    """The explanations of those `images` (positions) that are among the `most` first ones.

    First in the order of any column of the metric, or of the column that the page opens with.
    `data` is metric → image id → position of the set → explanation.
    """
    brief: list[dict[str, Any]] = []
    data: dict[str, Any] = {}
    if not most or not run.explanations:
        return PackedExplanations(brief, pack_json(data))
    places, position = run.places(), {image: k for k, image in enumerate(run.image_ids)}
    sets = {name: k for k, name in enumerate(run.names)}
    shown = set(images)
    for name, explained in run.explanations.items():
        columns = [column for column in explained["columns"] if column in places]
        if not columns:  # the metric has no scores here
            continue
        opening = run.result.leading_column
        opened = [opening] if opening in places else []
        turn = np.min([places[column] for column in (*columns, *opened)], axis=0)
        kept = {
            str(entry["image_id"]): {
                sets[which]: payload for which, payload in entry["sets"].items() if which in sets
            }
            for entry in explained["images"]
            if (k := position.get(entry["image_id"])) in shown and turn[k] < most
        }
        data[name] = {image: payloads for image, payloads in kept.items() if payloads}
        brief.append({"name": name, "columns": columns, "images": list(data[name])})
    return PackedExplanations(brief, pack_json(data))
