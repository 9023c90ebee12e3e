"""VIFIDEL with other objects than the annotated ones: fewer of them, and wrong ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from metaeval.config import build, compose_config
from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Objects, Part
from metaeval.data.judgments.judged import Judgments
from metaeval.errors import InputError
from metaeval.reproduce.compare import Values
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import score_captions
from metaeval.stats.correlation.correlations import correlations

WRONG = (0.0, 0.1, 0.25, 0.5, 1.0)  # shares of wrong objects
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
        fewer = {}
        for i in chosen.image_ids:
            rows, there = order[i][:n], objects[i]
            fewer[i] = Objects(tuple(there.labels[k] for k in rows.tolist()), there.boxes[rows])
        parts: dict[str, Part] = {**chosen.parts, "objects": partial(dict, fewer)}
        seen = replace(chosen, parts=parts, _loaded={})
        index = np.arange(len(seen), dtype=np.intp)
        scored = score_captions(metric, seen, seen.human, index, store)
        if scored.scores is None:
            raise InputError(f"VIFIDEL: {scored.reason}")
        for column, scores in zip(scored.columns, scored.scores.T, strict=True):
            values.setdefault(column.name, {})[str(n)] = float(np.nanmean(scores))
    return values


def with_wrong_objects(
    judged: Judgments, shares: Sequence[float] = WRONG, seed: int = 0, store: Store | None = None
) -> Values:
    """Column → share of wrong objects in per cent → Spearman's ρ with the ratings.

    Each object of an image gets, with the share as its probability, the label of an object drawn
    from all images, as a detector that errs would give it. An image has the same wrong objects in
    all of its documents, and those of a share are wrong with every greater share.
    """
    dataset, dimension = judged.dataset, judged.dimensions[0]
    part = dataset.part("objects")
    if isinstance(part, Absent):
        raise InputError(str(part))
    objects: Mapping[ImageId, Objects] = part
    known = [i for i in dataset.image_ids if i in objects]
    pool = [label for i in known for label in objects[i].labels]
    rows, ratings = judged.rows(dimension)
    metric = build("vifidel", compose_config(["metrics=[vifidel]"]))
    store = store or MemoryStore()
    image_of = dict(zip(dataset.image_ids, dataset.image_source or dataset.image_ids, strict=True))
    values: dict[str, dict[str, float | None]] = {}
    for share in shares:
        wrong = {i: _mislabelled(objects[i], pool, share, seed, str(image_of[i])) for i in known}
        parts: dict[str, Part] = {**dataset.parts, "objects": partial(dict, wrong)}
        seen = replace(dataset, parts=parts, _loaded={})
        candidates = [j.candidate for j in judged.judged]
        scored = score_captions(metric, seen, candidates, judged.image_index, store)
        if scored.scores is None:
            raise InputError(f"VIFIDEL: {scored.reason}")
        for column, scores in zip(scored.columns, scored.scores.T, strict=True):
            rho = correlations(scores[rows], ratings).spearman
            values.setdefault(column.name, {})[f"{100 * share:g}"] = rho
    return values


def _mislabelled(
    objects: Objects, pool: Sequence[str], share: float, seed: int, image: str
) -> Objects:
    rng = np.random.default_rng([seed, *image.encode()])
    chances, drawn = (
        rng.random(len(objects.labels)),
        rng.integers(len(pool), size=len(objects.labels)),
    )
    labels = [
        pool[k] if chance < share else label
        for label, chance, k in zip(objects.labels, chances, drawn.tolist(), strict=True)
    ]
    return Objects(tuple(labels), objects.boxes)
