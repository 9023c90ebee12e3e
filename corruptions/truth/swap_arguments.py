"""Swap arguments: "a dog on a couch" becomes "a couch on a dog"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from metaeval.corruptions.base import Severity
from metaeval.corruptions.truth.base import Change, TruthCorruption, joined, other_number
from metaeval.corruptions.truth.facts import CaptionFacts, statement
from metaeval.corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.runs.records import WRONG_PLACES

# "a man with a dog" says what "a dog with a man" says; so do these, whatever verb precedes them.
SYMMETRIC = ("with", "next to", "beside", "by", "near", "alongside", "close to", "to the side of")
FACING = ("facing", "faces", "face")


class SwapArguments(TruthCorruption):
    """Subject and object of a relation change places, each with its article and adjectives.

    A swap that stays true is left alone, by the caption's own words and not by the predicate behind
    them: two things "with", "next to" or "facing" each other, and things that may look back at what
    looks at them. (`corruptions/harmless/swap_symmetric.py` makes swaps that are certainly true.)
    The verb follows its new subject. Only this relation becomes false.
    """

    name = "swap_arguments"
    title = "Swap arguments"
    severity: Severity | None = "critical"
    flaw: ClassVar[str | None] = WRONG_PLACES

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        out = []
        for mark in facts.of("relation"):
            if mark.value == "inverse" or not self.wanted(facts, tokens, mark):
                continue
            subject, _, object_ = facts.relations[mark.target]
            first, second = facts.phrase(subject), facts.phrase(object_)
            if first and second and first.end <= mark.start and mark.end <= second.start:
                out.append(mark)
        return out

    def wanted(self, facts: CaptionFacts, tokens: Sequence[str], relation: Mark) -> bool:
        """Whether the relation, as it is worded, is false the other way round."""
        _, predicate, object_ = facts.relations[relation.target]
        seen_back = predicate == "looking at" and facts.things[object_].family in (
            "animal",
            "person",
        )
        words = wording(tokens, relation)
        facing = not set(FACING).isdisjoint(words.split())
        return not (seen_back or facing or symmetric_preposition(words))

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        patches = swap_phrases(facts, tokens, place)
        if patches is None:
            return None
        return Change(patches, false=frozenset({statement(place)}))


def wording(tokens: Sequence[str], relation: Mark) -> str:
    """The words of a relation, in lower case."""
    return " ".join(tokens[relation.start : relation.end]).lower()


def symmetric_preposition(words: str) -> str | None:
    """The symmetric preposition in which a relation's wording ends, if it ends in one."""
    return next((p for p in SYMMETRIC if words == p or words.endswith(f" {p}")), None)


def swap_phrases(
    facts: CaptionFacts, tokens: Sequence[str], relation: Mark
) -> tuple[Patch, ...] | None:
    """Patches by which subject and object change places; `None` where the sentence would break."""
    subject, _, object_ = facts.relations[relation.target]
    first, second = facts.phrase(subject), facts.phrase(object_)
    if first is None or second is None:
        return None
    start, end = first.start, facts.end_of_clothes(first)
    if end > relation.start or _listed(tokens, first):
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
    return tuple(patches)


def _listed(tokens: Sequence[str], phrase: Mark) -> bool:
    """Whether the phrase is one of several subjects ("a cup and a fork on a table")."""
    commas = (tokens[phrase.start - 1] if phrase.start else "", tokens[phrase.end - 1])
    return joined(tokens, phrase) or any(token.endswith(",") for token in commas)
