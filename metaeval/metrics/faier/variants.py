"""FAIEr's variants: what each is called, reads and is trained with. The one table of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from metaeval.errors import ConfigError
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
