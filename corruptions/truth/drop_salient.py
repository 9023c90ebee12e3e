"""Drop salient: "a man riding a horse on a beach" becomes "a horse on a beach"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from metaeval.corruptions.truth.base import Change, Effect, TruthCorruption, joined, other_number
from metaeval.corruptions.truth.facts import STATEMENTS, CaptionFacts, statement
from metaeval.corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.runs.records import MISSING_WORDS

ALIVE = ("person", "animal")


class DropSalient(TruthCorruption):
    """The most salient thing that the caption names is left out; what remains is true.

    Salient is what covers most of the image, people and animals counting double. Captions that
    name nothing else keep it, and so do those whose sentence would break.
    """

    name = "drop_salient"
    title = "Drop salient object"
    severity = "major"
    flaw = MISSING_WORDS
    effect: ClassVar[Effect | None] = "omission"

    def __init__(self) -> None:
        super().__init__(times=1)

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        named = [m for m in facts.of("phrase") if m.target in facts.things]
        if len({m.target for m in named}) < 2:
            return []
        return [max(named, key=lambda m: (_salience(facts, m.target), -m.start))]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        gone = _removal(facts, tokens, place)
        if gone is None:
            return None
        ranges, flips = gone
        dead = {i for a, b in ranges for i in range(a, b)}
        left = [m for m in facts.of("phrase") if not dead & set(range(m.start, m.end))]
        if not left or len(tokens) - len(dead) < 3:
            return None
        remaining = {
            statement(m)
            for m in facts.marks
            if m.role in STATEMENTS and not dead & set(range(m.start, m.end))
        }
        patches = [Patch(a, b, ()) for a, b in ranges]
        patches += [p for p in flips if p.start not in dead]
        return Change(tuple(patches), lost=facts.statements() - remaining)


def _salience(facts: CaptionFacts, target: int) -> int:
    thing = facts.things[target]
    return thing.area * (2 if thing.family in ALIVE else 1)


Removal = tuple[list[tuple[int, int]], list[Patch]]


def _removal(facts: CaptionFacts, tokens: Sequence[str], phrase: Mark) -> Removal | None:
    """Which words to delete so that the thing is gone and the rest is still a sentence."""
    target = phrase.target
    if any("," in t for t in tokens) or facts.phrase(target) is None:
        return None  # lists of three would need new commas
    for mark in facts.of("owned"):
        if mark.target != target and mark.start <= phrase.start and phrase.end <= mark.end:
            return [(mark.start, mark.end)], []
    if joined(tokens, phrase):
        return None
    for mark in facts.of("relation"):
        subject, _, object_ = facts.relations[mark.target]
        if object_ == target and mark.end <= phrase.start:
            return _without_object(facts, tokens, phrase, mark)
        other = facts.phrase(object_)
        if subject == target and mark.value != "inverse" and other and other.start >= mark.end:
            return _without_subject(facts, tokens, phrase, other)
    return _without_owner(facts, phrase)


def _without_object(
    facts: CaptionFacts, tokens: Sequence[str], phrase: Mark, relation: Mark
) -> Removal | None:
    """A relation and its object go: "a man (riding a horse)"."""
    start = relation.start
    while start and tokens[start - 1].lower() in ("is", "are", "that", "who"):
        start -= 1
    if start == 0:
        return None
    owned = _owned(facts, phrase.target, phrase.end)
    return [(start, facts.end_of_clothes(phrase)), *owned], []


def _without_subject(
    facts: CaptionFacts, tokens: Sequence[str], phrase: Mark, other: Mark
) -> Removal:
    """A subject and its relation go: "(a man riding) a horse on a beach"."""
    target = phrase.target
    flips: list[Patch] = []
    if (facts.things[target].n > 1) != (facts.things[other.target].n > 1):
        flips = other_number(facts, tokens, target)
    return [(phrase.start, other.start), *_owned(facts, target, other.end)], flips


def _without_owner(facts: CaptionFacts, phrase: Mark) -> Removal | None:
    """At the caption's beginning, the owner goes and what it has stays: "(a man with) a dog"."""
    for mark in facts.of("owned", phrase.target):
        inner = [m for m in facts.of("phrase") if mark.start <= m.start and m.end <= mark.end]
        if inner and not phrase.start:
            return [(phrase.start, inner[0].start), (inner[0].end, mark.end)], []
    return None


def _owned(facts: CaptionFacts, target: int, after: int) -> list[tuple[int, int]]:
    """Later words that only make sense with the thing."""
    return [(m.start, m.end) for m in facts.of("owned", target) if m.start >= after]
