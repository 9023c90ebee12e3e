"""The options of FAIEr's training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from metaeval.errors import ConfigError
from metaeval.metrics.faier.variants import find_variant
from metaeval.options import (
    Below1,
    NonNegativeInt,
    NotNegative,
    Positive,
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
    word_dropout
        The share of words that are read as `<unk>` in training.
    lost_regions, mirrored
        The share of regions that are left out (never an image's first), and of images whose left
        and right are exchanged (gold regions only).
    spoiled
        For "corruptions": in so many splits every candidate has a shuffled and a replaced copy.
    spoiled_order, spoiled_words
        For "corruptions": how far, at least, a copy should be below of which every word is at the
        wrong place, and one of which every word is wrong.
    spoiled_within, spoiled_across
        For "corruptions": weights of the ranking of an image's own texts, and of all of the batch.
    spoiled_shuffled
        For "corruptions": weight of the shuffled copies in both, that of the replaced being 1.
    """

    variant: str = "r"
    batch: Annotated[int, Ge(2)] = 100
    splits: PositiveInt = 5
    margin: NotNegative = 0.2
    similarity_margin: NotNegative = 0.0
    unreferenced: Share = 0.0
    across: NotNegative = 0.0
    levels: NotNegative = 0.0
    word_dropout: Below1 = 0.0
    lost_regions: Below1 = 0.0
    mirrored: Share = 0.0
    spoiled: NonNegativeInt = 1
    spoiled_order: Positive = 0.6
    spoiled_words: Positive = 1.5
    spoiled_within: NotNegative = 1.0
    spoiled_across: NotNegative = 1.0
    spoiled_shuffled: NotNegative = 1.0

    def __post_init__(self) -> None:
        find_variant(self.variant)
        if self.spoiled > self.splits:
            raise ConfigError(f"task.model.spoiled is {self.spoiled}, of {self.splits} splits")
