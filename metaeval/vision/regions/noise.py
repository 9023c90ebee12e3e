"""Annotated objects made worse on purpose: what a detector's mistakes would cost a metric."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval

from metaeval.data.dataset import ImageId, Objects
from metaeval.options import NonNegativeInt, Share, checked
from metaeval.vision.regions.categories import CATEGORIES, category_of


@checked
@dataclass(frozen=True)
class BoxNoise:
    """Objects dropped, labels confused and boxes jittered, each at a rate.

    The random numbers are drawn from the seed and the image's id, the same at every rate: what is
    dropped or confused at 10 % is so at 30 %, too, and a box moves in the same direction.

    Parameters
    ----------
    dropped
        The share of the objects that are left out, with label and box.
    confused
        The share of the objects that get the label of another of COCO's 80 categories, each of
        them equally likely.
    jittered
        How far boxes move, in [0, 0.5]: a centre by up to this share of the box's width and height
        in each direction, width and height by up to this share of themselves; cut off at the
        image's edge.
    seed
        Of the random numbers.
    """

    dropped: Share = 0.0
    confused: Share = 0.0
    # a box that moves by more than half of its size may leave the image
    jittered: Annotated[float, Interval(ge=0, le=0.5)] = 0.0
    seed: NonNegativeInt = 0

    @classmethod
    def of(cls, options: Mapping[str, Any] | None) -> BoxNoise:
        """The noise of these options; none for `None`."""
        return cls(**(options or {}))

    @property
    def title(self) -> str:
        """What columns say of it: "30 % dropped"; empty without noise."""
        rates = {name: getattr(self, name) for name in ("dropped", "confused", "jittered")}
        return ", ".join(f"{100 * rate:g} % {name}" for name, rate in rates.items() if rate)

    @property
    def identity(self) -> str:
        """For signatures: "+noise-d0.3-c0-j0-s0"; empty without noise."""
        if not self.title:
            return ""
        return f"+noise-d{self.dropped:g}-c{self.confused:g}-j{self.jittered:g}-s{self.seed}"

    def apply(self, objects: Objects, image_id: ImageId) -> Objects:
        """The objects of an image with the noise; the same ones without any."""
        if not self.title:
            return objects
        digest = hashlib.sha256(f"{self.seed}\0box noise\0{image_id}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:16], "little"))
        m = len(objects.labels)
        dropped, confused = rng.random(m) < self.dropped, rng.random(m) < self.confused
        steps = rng.integers(1, len(CATEGORIES), m)
        moves = self.jittered * rng.uniform(-1, 1, (m, 4))
        labels = [
            _another(label, int(step)) if wrong else label
            for label, step, wrong in zip(objects.labels, steps, confused, strict=True)
        ]
        corners = objects.boxes
        if self.jittered:
            size = corners[:, 2:] - corners[:, :2]
            centre = corners[:, :2] + size / 2 + moves[:, :2] * size
            half = size * (1 + moves[:, 2:]) / 2
            corners = np.clip(np.hstack([centre - half, centre + half]), 0.0, 1.0)
        kept = np.flatnonzero(~dropped)
        return Objects(tuple(labels[k] for k in kept), corners[kept])


def _another(label: str, step: int) -> str:
    """The category so many places after this one; a label that is none of COCO's counts as the
    last."""
    place = category_of(label)
    return CATEGORIES[((len(CATEGORIES) - 1 if place is None else place) + step) % len(CATEGORIES)]
