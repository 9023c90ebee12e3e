"""Word order: neighbours, within trigrams, words of a kind among themselves (ARO's)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption, RatedCorruption
from metaeval.corruptions.graded.shuffle import deranged
from metaeval.corruptions.language.parsed import ParsedCaption, parse
from metaeval.corruptions.tokens import read, rewritten, words

_TOO_FEW = "has fewer than two different words to change places"


class SwapNeighbours(RatedCorruption):
    """Words change places with the next one: round(rate · n / 2) pairs of n words, at least one."""

    name = "swap_neighbours"
    title = "Neighbours swapped"
    kind = "order"
    severity_by_rate = ((0, "mild"), (0.4, "major"))

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        places = list(words(tokens))
        pairs = [(i, j) for i, j in pairwise(places) if read(tokens[i]) != read(tokens[j])]
        wanted = max(1, round(self.rate * len(places) / 2))
        new: dict[int, str] = {}
        for k in rng.permutation(len(pairs)).tolist():
            i, j = pairs[k]
            if len(new) < 2 * wanted and not {i, j} & set(new):
                new |= {i: tokens[j], j: tokens[i]}
        return _with_reason(rewritten(caption.text, new, self.rate))


class _Permuted(Corruption):
    kind = "order"

    def groups(self, caption: ParsedCaption, rng: np.random.Generator) -> list[list[int]]:
        """Sets of tokens; within each, words change places."""
        raise NotImplementedError

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        new: dict[int, str] = {}
        for group in self.groups(parse(caption.text), rng):
            before = [tokens[i] for i in group]
            order = deranged(before, rng)
            new |= {place: before[j] for place, j in zip(group, order, strict=True)}
        return _with_reason(rewritten(caption.text, new, 1.0))


def _with_reason(result: Corrupted) -> Corrupted:
    return result if result.applied else replace(result, reason=_TOO_FEW)


class ShuffleTrigrams(_Permuted):
    """Words change places within each three of them (ARO's "shuffle within trigrams")."""

    name = "shuffle_trigrams"
    title = "Shuffled within trigrams"
    severity = "major"

    def groups(self, caption: ParsedCaption, rng: np.random.Generator) -> list[list[int]]:
        places = _worded(caption)
        return [places[i : i + 3] for i in range(0, len(places), 3)]


def _worded(caption: ParsedCaption) -> list[int]:
    return [i for i, word in enumerate(caption.words) if word]


def _named(caption: ParsedCaption) -> list[int]:
    return [i for i in _worded(caption) if caption.tag(i).startswith(("NN", "JJ"))]


class ShuffleNounsAdjectives(_Permuted):
    """Nouns change places among themselves, and adjectives among themselves (ARO)."""

    name = "shuffle_nouns_adjectives"
    title = "Nouns and adjectives shuffled"
    severity = "critical"

    def groups(self, caption: ParsedCaption, rng: np.random.Generator) -> list[list[int]]:
        named = _named(caption)
        return [[i for i in named if caption.tag(i).startswith(tag)] for tag in ("NN", "JJ")]


class ShuffleOthers(_Permuted):
    """All words but nouns and adjectives change places (ARO)."""

    name = "shuffle_others"
    title = "All but nouns and adjectives shuffled"
    severity = "major"

    def groups(self, caption: ParsedCaption, rng: np.random.Generator) -> list[list[int]]:
        named: Sequence[int] = _named(caption)
        return [[i for i in _worded(caption) if i not in named]]
