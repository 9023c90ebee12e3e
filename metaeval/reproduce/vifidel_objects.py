"""VIFIDEL by the number of annotated objects: nested subsets of an image's objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from metaeval.config import build, compose_config
from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Objects, Part
from metaeval.errors import InputError
from metaeval.reproduce.compare import Values
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import score_captions

MOST = 8  # objects; images with fewer take no part


def by_number_of_objects(
    dataset: CaptionDataset, most: int = MOST, seed: int = 0, store: Store | None = None
) -> Values:
    """Column → number of objects → the mean score of the images' human captions.

    The objects of each image are put in a random order, once; with k objects VIFIDEL sees the first
    k. Only images with `most` objects or more take part: all numbers are of the same images.
    """
    part = dataset.part("objects")
    if isinstance(part, Absent):
        raise InputError(str(part))
    objects: Mapping[ImageId, Objects] = part
    n_objects = [len(objects[i].labels) if i in objects else 0 for i in dataset.image_ids]
    rich = [k for k, n in enumerate(n_objects) if n >= most]
    if not rich:
        raise InputError(f"{dataset.name}: no image has {most} annotated objects")
    chosen = dataset.subset(rich)
    rng = np.random.default_rng(seed)
    order = {i: rng.permutation(len(objects[i].labels)) for i in chosen.image_ids}
    metric = build("vifidel", compose_config(["metrics=[vifidel]"]))
    store = store or MemoryStore()
    values: dict[str, dict[str, float | None]] = {}
    for n in range(1, most + 1):
        fewer = {i: _some(objects[i], order[i][:n]) for i in chosen.image_ids}
        parts: dict[str, Part] = {**chosen.parts, "objects": partial(dict, fewer)}
        seen = replace(chosen, parts=parts, _loaded={})
        index = np.arange(len(seen), dtype=np.intp)
        scored = score_captions(metric, seen, seen.human, index, store)
        if scored.scores is None:
            raise InputError(f"VIFIDEL: {scored.reason}")
        for column, scores in zip(scored.columns, scored.scores.T, strict=True):
            values.setdefault(column.name, {})[str(n)] = float(np.nanmean(scores))
    return values


def _some(objects: Objects, rows: np.ndarray) -> Objects:
    return Objects(tuple(objects.labels[k] for k in rows.tolist()), objects.boxes[rows])
