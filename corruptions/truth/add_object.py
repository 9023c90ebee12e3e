"""Add object: "a dog on a couch" becomes "a dog on a couch with a cat nearby"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from metaeval.corruptions.truth.base import Change, Effect, TruthCorruption, noun_of, pick
from metaeval.corruptions.truth.facts import CaptionFacts
from metaeval.corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.data.scenes.lexicon import article
from metaeval.data.scenes.things import THINGS
from metaeval.runs.records import WRONG_WORDS

WAYS = ("with {} nearby", "with {} to the side", "next to {}", "with {} close by")


class AddObject(TruthCorruption):
    """The caption names one more thing, of a category that the image does not show.

    It is of a supercategory that the image does show, so that it could well be there. One false
    statement is added; the others stay true.
    """

    name = "add_object"
    title = "Add object"
    severity = "critical"
    flaw = WRONG_WORDS
    effect: ClassVar[Effect | None] = "hallucination"

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [Mark(len(tokens), len(tokens), "end", -1)]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        families = {thing.family for thing in facts.things.values()} - {"person"}
        absent = [k for k, t in THINGS.items() if k not in facts.present and k != "person"]
        options = [k for k in absent if THINGS[k].family in families] or absent
        kind = pick(rng, options)
        noun = noun_of(kind)
        words = pick(rng, WAYS).format(f"{article(noun)} {noun}").split()
        return Change((Patch(place.start, place.end, tuple(words)),), added=1)
