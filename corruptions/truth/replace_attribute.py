"""Replace attribute: "a red bus" becomes "a green bus"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaeval.corruptions.truth.base import Change, TruthCorruption, pick
from metaeval.corruptions.truth.facts import CaptionFacts, Referent, statement
from metaeval.corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.data.scenes.things import LOOKALIKES, THINGS
from metaeval.runs.records import WRONG_WORDS

COLOURS = ("red", "blue", "green", "yellow", "orange", "purple", "pink", "brown", "black", "white",
           "gray")  # fmt: skip
OPPOSITES = {"large": "small", "small": "large", "old": "young", "young": "old"}
MATERIALS = ("wooden", "metal", "plastic", "glass", "leather", "ceramic")


class ReplaceAttribute(TruthCorruption):
    """A colour, size, material or age is replaced by another that is false of the thing.

    No colour takes the place of one that people confuse with it (tan and brown, gray and silver).
    False is the one attribute.
    """

    name = "replace_attribute"
    title = "Replace attribute"
    severity = "major"
    flaw = WRONG_WORDS

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return facts.of("attribute")

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        options = false_values(facts, facts.things[place.target], place.value)
        if not options:
            return None
        patch = Patch(place.start, place.end, (pick(rng, options),))
        return Change((patch,), false=frozenset({statement(place)}))


def false_values(facts: CaptionFacts, thing: Referent, attribute: str) -> list[str]:
    """Values of the attribute that are clearly false of the thing."""
    true = thing.attributes[attribute]
    if true in OPPOSITES:
        return [OPPOSITES[true]]
    if attribute == "material":
        return [m for m in MATERIALS if m != true]
    confused = LOOKALIKES[true] | {true}
    if attribute in ("clothing", "hat", "dress"):
        return [c for c in COLOURS if c not in confused and c not in facts.worn]
    usual = [c for c in THINGS[thing.category].colours if c not in confused and " " not in c]
    return usual or [c for c in COLOURS if c not in confused]
