"""Replace count: "two dogs" becomes "three dogs", "a dog is" becomes "three dogs are"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaeval.corruptions.truth.base import Change, TruthCorruption, other_number, pick
from metaeval.corruptions.truth.facts import CaptionFacts, statement
from metaeval.corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.data.scenes.lexicon import NUMBERS
from metaeval.runs.records import WRONG_WORDS


class ReplaceCount(TruthCorruption):
    """A number or article is replaced by a greater number; nouns and verbs follow it.

    Never to a smaller one: where three dogs are, "two dogs" is true as well, read as "at least
    two". So a number is also left alone where the background shows more of the kind (people in the
    stands). False is the one number. Captions whose single thing is taken up again by "it" keep
    theirs.
    """

    name = "replace_count"
    title = "Replace count"
    severity = "major"
    flaw = WRONG_WORDS

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [
            m
            for m in facts.of("count")
            if len(facts.of("noun", m.target)) == 1
            and facts.things[m.target].category not in facts.behind
            and (facts.things[m.target].n > 1 or not _again(facts, tokens, m.target))
        ]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        n = facts.things[place.target].n
        new = pick(rng, range(n + 1, max(5, n + 3)))
        patches = [Patch(place.start, place.end, (NUMBERS[new],))]
        if n == 1:
            noun = facts.of("noun", place.target)[0]
            patches.append(Patch(noun.start, noun.end, tuple(noun.value.split())))
            patches += other_number(facts, tokens, place.target)
        return Change(tuple(patches), false=frozenset({statement(place)}))


def _again(facts: CaptionFacts, tokens: Sequence[str], target: int) -> bool:
    """Whether a pronoun stands for the thing."""
    return any({"it", "it."} & set(tokens[m.start : m.end]) for m in facts.of("owned", target))
