"""Replace object: "a dog on a couch" becomes "a cat on a couch"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaeval.corruptions.truth.base import Change, TruthCorruption, noun_of, pick
from metaeval.corruptions.truth.facts import CaptionFacts, statement
from metaeval.corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.data.scenes.things import THINGS
from metaeval.runs.records import WRONG_WORDS

COUNTERPARTS = {"man": "woman", "woman": "man", "boy": "girl", "girl": "boy"}


class ReplaceObject(TruthCorruption):
    """A noun is replaced by that of another category of the same supercategory.

    The new category is nowhere in the image. A man becomes a woman (a boy a girl, and back); a
    mixed group of people becomes a group of animals. Number and article stay right. False is what
    the thing is called; its attributes, its number and its relations are what they were.
    """

    name = "replace_object"
    title = "Replace object"
    severity = "critical"
    flaw = WRONG_WORDS

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return facts.of("noun")

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        thing = facts.things[place.target]
        if thing.category == "person" and thing.kind in COUNTERPARTS:
            kinds = [COUNTERPARTS[thing.kind]]
        else:
            family = "animal" if thing.category == "person" else thing.family
            kinds = [k for k, t in THINGS.items() if t.family == family and k not in facts.present]
        if not kinds:
            return None
        kind = pick(rng, kinds)
        patch = Patch(place.start, place.end, tuple(noun_of(kind, thing.n > 1).split()))
        return Change((patch,), false=frozenset({statement(place)}))
