"""Captions of scenes to score, and one scoring of them, from texts to scores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from metaeval.config import build, compose_config
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Replace
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.runs.store import MemoryStore


class Captions(NamedTuple):
    """n captions, caption j of image `index[j]` of the dataset."""

    dataset: CaptionDataset
    texts: list[str]
    index: Any

    def limited(self, images: int) -> Captions:
        """Those of the first images."""
        some = np.flatnonzero(self.index < images)
        dataset = self.dataset.limited(min(images, len(self.dataset)))
        return Captions(dataset, [self.texts[k] for k in some], self.index[some])


def draw_captions(images: int, folder: str) -> Captions:
    """Four captions for each of so many scenes, each of which has four references: the human one,
    two corrupted ones, and that of another image."""
    dataset = load_scenes(n=images, cache=folder)
    texts = [text for each in replace_sets(dataset) for text in each]
    return Captions(dataset, texts, np.tile(np.arange(images), 4))


def replace_sets(dataset: CaptionDataset) -> list[list[str]]:
    """The captions of Human, Replace 25 %, Replace 50 % and Random."""
    corrupted = [
        [each.text for each in corruption.apply(dataset, seed=0)]
        for corruption in (Replace(0.25), Replace(0.5), Random())
    ]
    return [list(dataset.human), *corrupted]


def score(metric: str, folder: str, captions: Captions, options: Sequence[str] = ()) -> Any:
    """The scores of the captions, by a metric that is built and bound for them."""
    options = [option.format(folder=folder) for option in options]
    own = ["dataset=scenes", f"paths.cache={folder}", f"metrics=[{metric}]"]
    scorer = build(metric, compose_config([*own, *options])).bind(captions.dataset, MemoryStore())
    if isinstance(scorer, Absent):
        raise RuntimeError(str(scorer))
    with closing(scorer):
        scorer.prepare()
        return scorer.score(captions.texts, captions.index)
