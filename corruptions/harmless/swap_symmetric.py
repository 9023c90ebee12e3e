"""Swap symmetric: "a man with a dog" becomes "a dog with a man", which is equally true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from metaeval.corruptions.truth.base import Change, Effect
from metaeval.corruptions.truth.facts import CaptionFacts
from metaeval.corruptions.truth.swap_arguments import (
    SwapArguments,
    swap_phrases,
    symmetric_preposition,
    wording,
)
from metaeval.data.scenes.graph import Mark

PLACED = ("located", "situated")  # participles for which the relation is symmetric


class SwapSymmetric(SwapArguments):
    """Subject and object of a relation that holds both ways change places.

    Only where the relation is symmetric: a bare preposition ("with", "next to", "near"), or
    "located" and "situated" before it. A dog *sitting* next to a bench is left alone, because the
    bench does not sit. Nothing becomes false.
    """

    name = "swap_symmetric"
    title = "Swap symmetric"
    severity = "none"
    expected: ClassVar[Literal["lower", "same"]] = "same"
    effect: ClassVar[Effect | None] = None
    flaw: ClassVar[str | None] = None

    def wanted(self, facts: CaptionFacts, tokens: Sequence[str], relation: Mark) -> bool:
        words = wording(tokens, relation)
        preposition = symmetric_preposition(words)
        verb = words.removesuffix(preposition or "").strip()
        return preposition is not None and verb in ("", *PLACED)

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        patches = swap_phrases(facts, tokens, place)
        return None if patches is None else Change(patches)
