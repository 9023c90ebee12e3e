"""Corruptions of a share of the words: which words are candidates, and how one is changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from string import punctuation
from typing import ClassVar

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, RatedCorruption
from metaeval.corruptions.language.base import changed
from metaeval.corruptions.language.parsed import ParsedCaption, parse
from metaeval.corruptions.language.rewriting import Rewording


class WordCorruption(RatedCorruption):
    """round(rate · n) of a caption's n words, at least one, of those that offer themselves.

    Parameters
    ----------
    rate
        The share of the caption's words to change, in (0, 1].
    """

    unchanged_reason: ClassVar[str] = "has no suitable word"

    @abstractmethod
    def words(self, caption: ParsedCaption) -> Sequence[int]:
        """The tokens that can be changed."""

    @abstractmethod
    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        """What a word becomes; nothing where it goes."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        parsed = parse(caption.text)
        offered = list(self.words(parsed))
        n = sum(bool(word) for word in parsed.words)
        chosen = sorted(rng.permutation(offered)[: max(1, round(self.rate * n))].tolist())
        rewordings = [
            Rewording(i, i + 1, self.become(_core(parsed.tokens[i].text), rng)) for i in chosen
        ]
        if len(chosen) == n and not any(r.words for r in rewordings):
            rewordings = rewordings[:-1]  # the last word stays
        return replace(
            changed(caption.text, rewordings, self.unchanged_reason), requested=self.rate
        )


def _core(token: str) -> str:
    return token.strip(punctuation)
