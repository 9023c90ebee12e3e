"""What the page holds of explanations.json: for the images that it shows, a few per metric."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from reports.graded.row_kind import ranked
from reports.graded.run import Run
from reports.shared.payload import packed_json, places


class Explained(NamedTuple):
    """`brief`: per metric its name, columns and image ids; `data`: the explanations, packed."""

    brief: list[dict[str, Any]]
    data: str

    @property
    def size(self) -> int:
        """Bytes in the page, or a few more."""
        return len(self.data) + len(str(self.brief).encode())


def explained(run: Run, images: Collection[int], most: int) -> Explained:
    """The explanations of those `images` (positions) that are among the `most` first ones.

    First in the order of any column of the metric, or of the column that the page opens with.
    `data` is metric → image id → position of the set → what the metric tells.
    """
    brief: list[dict[str, Any]] = []
    data: dict[str, Any] = {}
    if not most or not run.explanations:
        return Explained(brief, packed_json(data))
    place, position = places(run), {i: k for k, i in enumerate(run.image_ids)}
    opening = [record["metric"] for record in ranked(run.metrics)[:1]]
    sets = {s["name"]: k for k, s in enumerate(run.sets)}
    wanted = set(images)
    for name, told in run.explanations.items():
        columns = [column for column in told["columns"] if column in place]
        if not columns:  # the metric has no scores here
            continue
        turn = np.min([place[column] for column in [*columns, *opening]], axis=0)
        kept = {
            str(entry["image_id"]): {
                sets[which]: payload for which, payload in entry["sets"].items() if which in sets
            }
            for entry in told["images"]
            if (k := position.get(entry["image_id"])) in wanted and turn[k] < most
        }
        data[name] = {image: told_of for image, told_of in kept.items() if told_of}
        brief.append({"name": name, "columns": columns, "images": list(data[name])})
    return Explained(brief, packed_json(data))
