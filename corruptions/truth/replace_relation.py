"""Replace relation: "a man riding a horse" becomes "a man hiding behind a horse"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaeval.corruptions.truth.base import Change, TruthCorruption, pick
from metaeval.corruptions.truth.facts import CaptionFacts, statement
from metaeval.corruptions.truth.patch import Patch
from metaeval.data.scenes.graph import Mark
from metaeval.runs.records import WRONG_WORDS

# (participle, finite singular, finite plural) and what follows the verb.
Verb = tuple[str, str, str, str]
STANDING, SITTING = ("standing", "stands", "stand"), ("sitting", "sits", "sit")
LYING, WALKING = ("lying", "lies", "lie"), ("walking", "walks", "walk")

# Predicates of one kind: what they are, which verbs and which bare prepositions contradict them.
CONTRARIES: tuple[tuple[tuple[str, ...], tuple[Verb, ...], tuple[str, ...]], ...] = (
    (
        ("riding", "on skis", "sitting on", "lying on", "standing on", "on"),
        ((*STANDING, "next to"), (*LYING, "under"), (*STANDING, "behind"), (*SITTING, "beneath")),
        ("under", "next to", "behind", "beneath", "beside"),
    ),
    (
        ("holding", "carrying", "wearing", "pulling", "swinging", "flying", "walking"),
        ((*SITTING, "on"), ("kicking", "kicks", "kick", ""), (*STANDING, "on top of"),
         ("jumping", "jumps", "jump", "over"), ("stepping", "steps", "step", "on")),
        ("without",),
    ),
    (("under",), ((*STANDING, "on top of"), (*SITTING, "on"), (*STANDING, "on")),
     ("on top of", "on", "above")),
    (("in",), ((*STANDING, "behind"), (*LYING, "under"), (*STANDING, "next to")),
     ("under", "next to", "behind", "beside")),
    (("next to",), ((*STANDING, "on top of"), (*LYING, "under"), (*SITTING, "on")),
     ("on top of", "under", "on", "beneath")),
    (("in front of",), ((*STANDING, "behind"), (*SITTING, "on top of"), (*LYING, "under")),
     ("behind", "on top of", "under")),
    (("behind",), ((*STANDING, "in front of"), (*SITTING, "on top of")),
     ("in front of", "on top of", "under")),
    (("looking at",), (("riding", "rides", "ride", "on"), (*SITTING, "on"),
                       ("chasing", "chases", "chase", ""), (*STANDING, "on top of")),
     ("on top of",)),
    (("sitting at",), ((*LYING, "under"), (*STANDING, "on"), (*WALKING, "on")),
     ("under", "on top of")),
)  # fmt: skip


class ReplaceRelation(TruthCorruption):
    """Verb and preposition are replaced by another relation that cannot hold between the two.

    The grammatical form stays: participle, finite verb in its number, or bare preposition. False is
    the one relation.
    """

    name = "replace_relation"
    title = "Replace relation"
    severity = "major"
    flaw = WRONG_WORDS

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [m for m in facts.of("relation") if m.value != "inverse"]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        predicate = facts.relations[place.target][1]
        relation = " ".join(tokens[place.start : place.end]).lower()
        for predicates, verbs, prepositions in CONTRARIES:
            if predicate in predicates:
                if place.value == "prep":
                    options = list(prepositions)
                else:
                    form = ("ing", "one", "many").index(place.value)
                    options = [f"{verb[form]} {verb[3]}".strip() for verb in verbs]
                new = pick(rng, [option for option in options if option != relation])
                patch = Patch(place.start, place.end, tuple(new.split()))
                return Change((patch,), false=frozenset({statement(place)}))
        return None
