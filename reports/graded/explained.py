"""What the page holds of explanations.json: for the images that it shows, a few per metric."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from reports.graded.run import GradedRun
from reports.shared.payload import pack_json


class PackedExplanations(NamedTuple):
    """`brief`: per metric its name, columns and image ids; `data`: the explanations, packed."""

    brief: list[dict[str, Any]]
    data: str

    @property
    def size(self) -> int:
        """Bytes in the page, or a few more."""
        return len(self.data) + len(str(self.brief).encode())


def pack_explanations(run: GradedRun, images: Collection[int], most: int) -> PackedExplanations:
    """The explanations of those `images` (positions) that are among the `most` first ones.

    First in the order of any column of the metric, or of the column that the page opens with.
    `data` is metric → image id → position of the set → what the metric says.
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
        opening = run.statistics["leading_column"]
        turn = np.min([places[column] for column in (*columns, opening)], axis=0)
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
