"""FAIEr's variants: what each is called, reads and is trained with; the options of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from annotated_types import Ge

from metaeval.errors import ConfigError
from metaeval.options import (
    Below1,
    NotNegative,
    PositiveInt,
    Share,
    checked,
)
from metaeval.weights.pretrained import CORRUPTIONS


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the paper's models, or ours.

    Attributes
    ----------
    title, note
        The metric's name in tables, and what is said in brackets behind it.
    references
        How many references a training sample has, of the c - 1 that its image has: (fewest, most).
    relations
        Whether a relation level is added to the object level.
    fused
        Whether references enter at all.
    seen
        Whether the image does; where not, references alone are matched, and there must be some.
    corruptions
        Whether it is trained on corrupted captions too.
    signature
        What signatures call it, where that is not its name.
    """

    title: str
    references: tuple[int, int]
    note: str = ""
    relations: bool = True
    fused: bool = True
    seen: bool = True
    corruptions: bool = False
    signature: str | None = None


_ANY = (0, 9)
UNSEEN = "none"  # what cards and signatures call the regions of a variant that sees no image
VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "fier": Variant("FIEr", (0, 0), "no references", fused=False),
        "aier": Variant("AIEr", (1, 9), seen=False),
        "rel": Variant("FAIEr", _ANY, "object level alone", relations=False),
        "1": Variant("FAIEr-1", (1, 1)),
        "4": Variant("FAIEr-4", (9, 9)),
        "r": Variant("FAIEr", _ANY),
        CORRUPTIONS: Variant(
            "FAIEr", _ANY, "trained on corruptions", corruptions=True, signature="r_neg"
        ),
    }
)


def find_variant(name: str) -> Variant:
    """The variant called `name`; ConfigError for another."""
    if name not in VARIANTS:
        raise ConfigError(f"unknown variant '{name}' of FAIEr; choose from {', '.join(VARIANTS)}")
    return VARIANTS[name]


@checked
@dataclass(frozen=True, slots=True)
class FaierSettings:
    """Settings of a variant's training, in addition to `TrainingSettings`.

    Attributes
    ----------
    variant
        One of `VARIANTS`.
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
