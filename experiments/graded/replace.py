"""Replace: words give way to random words; another image's caption is the floor."""

from __future__ import annotations

from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.base import Published
from metaeval.experiments.graded.published import REPLACE, published
from metaeval.experiments.graded.task import Graded


class ReplaceExperiment(Graded):
    """Random < Replace 50 % < Replace 25 % < Human (the paper's section on word replacement)."""

    name = "replace"
    title = "Replace: do metrics notice wrong words?"
    question = (
        "Human captions have a quarter and half of their words replaced by random words, and are "
        "swapped for another image's caption altogether. Which metrics rank the four versions "
        "Random < Replace 50% < Replace 25% < Human?"
    )

    def __init__(self, floor: bool = True) -> None:
        super().__init__(floor)

    def published(self, dataset: CaptionDataset, config: DictConfig) -> Published | None:
        paper = {"rates": [0.25, 0.5], "distinct": False, "min_count": 4}
        return published(REPLACE, paper, dataset, config)
