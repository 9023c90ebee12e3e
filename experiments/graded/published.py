"""The published rank-order ρ of González-Chávez et al., "Are metrics measuring what they should?".

Their tables on MS-COCO val2017: 5,000 images, the first caption as Human, four references. A run
is comparable only with the same images, sets and rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.base import Published
from metaeval.papers.expected import values_of

SOURCE = (
    "O. González-Chávez, G. Ruiz, D. Moctezuma, T. Ramirez-delReal (2022): Are metrics measuring "
    "what they should? An evaluation of image captioning task metrics, arXiv:2207.01733"
)

PAPER = "gonzalez2022metrics"
REPLACE = values_of(PAPER, "replace")
SHUFFLE = values_of(PAPER, "shuffle")


def published(
    values: Mapping[str, float],
    paper: Mapping[str, object],
    dataset: CaptionDataset,
    config: DictConfig,
) -> Published:
    """The published values, and why this run differs from the paper's protocol, if it does.

    `paper` is the corruption node (without `_target_`) that the paper used.
    """
    ours = {key: value for key, value in config.corruption.items() if key != "_target_"}
    differs = [key for key, value in paper.items() if ours.get(str(key)) != value]
    why_not = None
    if dataset.name != "coco_val2017":
        why_not = f"the paper's captions are MS-COCO val2017's, this run's are from {dataset.name}"
    elif note := next((note for note in dataset.notes if "not the captions" in note), None):
        why_not = note.rstrip(".")
    elif len(dataset) != 5000:
        why_not = f"the paper uses all 5,000 images of val2017, this run {len(dataset):,}"
    elif {len(refs) for refs in dataset.references} != {4}:
        why_not = "the paper uses four references per image"
    elif differs:
        why_not = "this run differs from the paper in " + ", ".join(
            f"corruption.{key}" for key in differs
        )
    return Published(SOURCE, values, why_not)
