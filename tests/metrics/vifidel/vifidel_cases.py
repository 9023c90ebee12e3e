"""Small datasets and word vectors for the tests of VIFIDEL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Objects
from metaeval.metrics.vifidel.metric import Vifidel, VifidelScorer
from metaeval.text.word_vectors.base import VectorFile

# Not of length 1, on purpose: the metric scales them. Scaled, their numbers are simple.
VECTORS = {
    "dog": (2.0, 0.0),
    "cat": (0.0, 3.0),
    "man": (6.0, 8.0),
    "hound": (5.0, 0.0),
    "ball": (-1.0, 0.0),
    "dining": (0.0, -1.0),
    "table": (4.0, -3.0),
    "zero": (0.0, 0.0),
}


def vector_file(folder: Path, vectors: Mapping[str, Sequence[float]] = VECTORS) -> VectorFile:
    """A text file of vectors."""
    path = folder / "vectors.txt"
    lines = [" ".join([word, *map(repr, map(float, row))]) for word, row in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return VectorFile(path, cache=folder / "cache")


def dataset(
    labels: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    with_objects: bool = True,
) -> CaptionDataset:
    """Images 0 … n - 1 with these objects and references."""
    ids = tuple(range(len(labels)))
    objects: dict[ImageId, Objects] = {
        i: Objects(tuple(names), np.zeros((len(names), 4)))
        for i, names in zip(ids, labels, strict=True)
    }
    absent = Absent("objects", "the file of objects was not found", "set dataset.instances")
    captions = tuple(f"caption {i}" for i in ids)
    return CaptionDataset(
        "toy",
        ids,
        captions,
        tuple(map(tuple, references)),
        ids,
        captions,
        parts={"objects": (lambda: objects) if with_objects else absent},
    )


def bound(metric: Vifidel, data: CaptionDataset) -> VifidelScorer:
    """The metric's scorer, which must be able to run."""
    scorer = metric.bind(data)
    assert isinstance(scorer, VifidelScorer)
    return scorer


def ready(metric: Vifidel, data: CaptionDataset) -> VifidelScorer:
    """The metric's scorer, prepared as a run would."""
    scorer = bound(metric, data)
    scorer.prepare()
    return scorer
