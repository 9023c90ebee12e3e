"""Swap arguments: "a dog on a couch" becomes "a couch on a dog"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corruptions.truth.base import Change, TruthCorruption, joined, other_number
from corruptions.truth.facts import CaptionFacts, statement
from corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark

SYMMETRIC = frozenset({"next to"})


class SwapArguments(TruthCorruption):
    """Subject and object of a relation change places, each with its article and adjectives.

    Relations that hold both ways are left alone, as is looking at something that can look back.
    The verb follows its new subject. False is the one relation.
    """

    name = "swap_arguments"
    title = "Swap arguments"

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        out = []
        for mark in facts.of("relation"):
            subject, predicate, object_ = facts.relations[mark.target]
            mutual = predicate == "looking at" and facts.things[object_].family in (
                "animal",
                "person",
            )
            if mark.value == "inverse" or predicate in SYMMETRIC or mutual:
                continue
            first, second = facts.phrase(subject), facts.phrase(object_)
            if first and second and first.end <= mark.start and mark.end <= second.start:
                out.append(mark)
        return out

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        subject, _, object_ = facts.relations[place.target]
        first, second = facts.phrase(subject), facts.phrase(object_)
        if first is None or second is None:
            return None
        start, end = first.start, facts.end_of_clothes(first)
        if end > place.start or _listed(tokens, first):
            return None
        moved = [t.rstrip(",.") for t in tokens[start:end]]
        if start == 0 and not tokens[0][1:2].isupper():
            moved[0] = moved[0][:1].lower() + moved[0][1:]
        back = [t.rstrip(",.") for t in tokens[second.start : second.end]]
        patches = [
            Patch(start, end, tuple(back)),
            Patch(second.start, second.end, tuple(moved)),
        ]
        if (facts.things[subject].n > 1) != (facts.things[object_].n > 1):
            patches += other_number(facts, tokens, subject)
        return Change(tuple(patches), false=frozenset({statement(place)}))


def _listed(tokens: Sequence[str], phrase: Mark) -> bool:
    """Whether the phrase is one of several subjects ("a cup and a fork on a table")."""
    commas = (tokens[phrase.start - 1] if phrase.start else "", tokens[phrase.end - 1])
    return joined(tokens, phrase) or any(token.endswith(",") for token in commas)
