"""Groups of images: by the caption's length, the objects annotated, the Random caption's fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.runs.columns import CAPTION, IMAGE_ID, SET

Floats = npt.NDArray[np.float64]


class GroupMembers(NamedTuple):
    """Images that are alike in one respect: `by` says in which, `label` how, `members` bool [n]."""

    by: str
    label: str
    members: npt.NDArray[np.bool_]


def image_groups(
    dataset: CaptionDataset, images: Sequence[Any], captions: pd.DataFrame, floor: str | None
) -> list[GroupMembers]:
    """Up to three groups of about equal size by each respect in which the images differ.

    `images` are the ids in the order of the members; `floor` is the set of other images' captions.
    """
    place = dataset.positions()
    rows = [place[image] for image in images]
    lengths = np.array([len(dataset.human[k].split()) for k in rows], dtype=np.float64)
    groups = thirds("words of the human caption", lengths)
    objects = dataset.part("objects")
    if not isinstance(objects, Absent):
        groups += thirds("annotated objects", _object_counts(objects, images))
    if floor is not None:
        part = captions[captions[SET] == floor].set_index(IMAGE_ID)[CAPTION]
        references = [dataset.references[k] for k in rows]
        fits = [fit(part[i], refs) for i, refs in zip(images, references, strict=True)]
        groups += thirds(f"share of the {floor} caption's words in a reference", np.array(fits), 2)
    return groups


def fit(caption: str, references: Sequence[str]) -> float:
    """The largest share of a caption's distinct words that one reference has, in [0, 1]."""
    words = _words(caption)
    shares = [len(words & _words(r)) / max(len(words), 1) for r in references]
    return max(shares, default=0.0)


def _words(text: str) -> set[str]:
    return {word.strip(".,!?;:\"'") for word in text.lower().split()}


def _object_counts(objects: Mapping[Any, Any], images: Sequence[Any]) -> Floats:
    return np.array(
        [len(objects[i].labels) if i in objects else 0 for i in images], dtype=np.float64
    )


def thirds(by: str, values: Floats, digits: int = 0) -> list[GroupMembers]:
    """Groups cut at the thirds of the values; equal values stay together, so there may be fewer."""
    cuts = np.unique(np.quantile(values, [1 / 3, 2 / 3]))
    group = np.searchsorted(cuts, values, side="left")
    members = [group == g for g in np.unique(group)]
    if len(members) < 2:
        return []
    return [
        GroupMembers(by, _range(values[m].min(), values[m].max(), digits), np.asarray(m))
        for m in members
    ]


def _range(low: float, high: float, digits: int) -> str:
    ends = f"{low:.{digits}f}", f"{high:.{digits}f}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
