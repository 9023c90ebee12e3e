"""Shuffle: the right words in the wrong order."""

from __future__ import annotations

from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.base import Published
from metaeval.experiments.graded.published import SHUFFLE, published
from metaeval.experiments.graded.task import Graded


class ShuffleExperiment(Graded):
    """Shuffle 100 % < Shuffle 50 % < Shuffle 25 % < Human (the paper's section on word order)."""

    name = "shuffle"
    title = "Shuffle: do metrics notice wrong word order?"
    question = (
        "A quarter, half and all of a human caption's words change places; every word stays. Which "
        "metrics rank the four versions Shuffle 100% < Shuffle 50% < Shuffle 25% < Human?"
    )

    def published(self, dataset: CaptionDataset, config: DictConfig) -> Published | None:
        paper = {"rates": [0.25, 0.5, 1.0], "derange": False, "punctuation": "moves"}
        return published(SHUFFLE, paper, dataset, config)
