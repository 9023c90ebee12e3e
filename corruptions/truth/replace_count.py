"""Replace count: "two dogs" becomes "four dogs", "a dog is" becomes "three dogs are"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corruptions.truth.base import Change, TruthCorruption, other_number, pick
from corruptions.truth.facts import CaptionFacts, statement
from corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.data.scenes.lexicon import NUMBERS


class ReplaceCount(TruthCorruption):
    """A number or article gives way to another number; nouns and verbs follow it.

    False is the one number. Captions whose single thing is taken up again by "it" keep theirs.
    """

    name = "replace_count"
    title = "Replace count"

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [
            m
            for m in facts.of("count")
            if len(facts.of("noun", m.target)) == 1
            and (facts.things[m.target].n > 1 or not _again(facts, tokens, m.target))
        ]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        n = facts.things[place.target].n
        new = pick(rng, [k for k in range(2, max(5, n + 3)) if k != n])
        patches = [Patch(place.start, place.end, (NUMBERS[new],))]
        if n == 1:
            noun = facts.of("noun", place.target)[0]
            patches.append(Patch(noun.start, noun.end, tuple(noun.value.split())))
            patches += other_number(facts, tokens, place.target)
        return Change(tuple(patches), false=frozenset({statement(place)}))


def _again(facts: CaptionFacts, tokens: Sequence[str], target: int) -> bool:
    """Whether a pronoun stands for the thing."""
    return any({"it", "it."} & set(tokens[m.start : m.end]) for m in facts.of("owned", target))
