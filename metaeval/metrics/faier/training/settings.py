"""The options of FAIEr's training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from metaeval.errors import ConfigError
from metaeval.metrics.faier.variants import find_variant
from metaeval.options import (
    Below1,
    NotNegative,
    PositiveInt,
    Share,
    checked,
)


@checked
@dataclass(frozen=True, slots=True)
class FaierSettings:
    """Settings of a variant's training, in addition to `TrainingSettings`.

    Attributes
    ----------
    variant
        One of those of `variants.py`.
    batch
        Images in a batch.
    splits
        In how many splits into candidate and references a batch's captions are used.
    margin
        Of all hinges, except those that `similarity_margin` is for.
    similarity_margin
        The margin, in the loss within images, of a wrong pair that has nothing in common: it is
        given a margin of similarity_margin · (1 - similarity of its caption and the image's own);
        see `metaeval.training.caption_similarity`. 0: the margin is the same for all.
    unreferenced
        For variants that see any number of references: the share of samples that get none, however
        many were drawn.
    across
        Weight of the loss across images, with the hardest negatives as the wrong scores; 0 is the
        paper's loss alone.
    levels
        Weight of the same loss on each level for itself, with its part of the margin and the
        negatives that are hardest for both together; 0 is the paper's loss alone.
    lost_regions, mirrored
        The share of regions that are left out (never an image's first), and of images whose left
        and right are exchanged (gold regions only).
    """

    variant: str = "r"
    batch: Annotated[int, Ge(2)] = 100
    splits: PositiveInt = 5
    margin: NotNegative = 0.2
    similarity_margin: NotNegative = 0.0
    unreferenced: Share = 0.0
    across: NotNegative = 0.0
    levels: NotNegative = 0.0
    lost_regions: Below1 = 0.0
    mirrored: Share = 0.0

    def __post_init__(self) -> None:
        if find_variant(self.variant).corruptions:
            raise ConfigError(f"the variant '{self.variant}' is shipped only; choose another")
