"""From a scene graph to captions, as different people would write them.

A caption picks what it talks about (one relation, one group, a table full of things), a form of
sentence, and a length drawn from COCO's distribution; then it adds true details until the length
is reached. Every word that states a fact is marked with the fact.
"""

from __future__ import annotations

from metaeval.data.scenes.draw import Draw
from metaeval.data.scenes.graph import AlignedCaption, SceneGraph
from metaeval.data.scenes.sentences import Sentences
from metaeval.data.scenes.wording import Words

# How many of 1,000 captions have how many words (COCO val2017, longest tail cut at 21).
_LENGTHS = {7: 9, 8: 163, 9: 223, 10: 213, 11: 152, 12: 99, 13: 58, 14: 33, 15: 18, 16: 11,
            17: 7, 18: 5, 19: 4, 20: 3, 21: 2}  # fmt: skip
LENGTHS = tuple(n for n, times in _LENGTHS.items() for _ in range(times))
SHORTEST = 7  # words, as in COCO val2017


class Teller(Sentences):
    """Writes different captions of one scene."""

    def captions(self, k: int) -> tuple[AlignedCaption, ...]:
        """`k` captions that differ in more than case and punctuation."""
        out: list[AlignedCaption] = []
        seen: set[str] = set()
        tries = 0
        while len(out) < k:
            words = self._tell(self.draw.pick(LENGTHS))
            tries += 1
            if len(words) < SHORTEST and tries < 5 * k:
                continue
            key = " ".join(words.words).replace(",", "").lower()
            if key not in seen:
                seen.add(key)
                out.append(_typed(words, self.draw))
        return tuple(out)

    def _tell(self, target: int) -> Words:
        draw = self.draw
        self.mentioned = set()
        self.definite = draw.chance(5)
        if not self.relations:
            return self._group(draw.pick(self.actors), target)
        roll = draw.below(100)
        single = [a for a in self.actors if a.group not in self._related()]
        if roll < 8 and single:
            return self._group(draw.pick(single), target)
        if roll < 13:
            return self._group(draw.pick(self._free()), target)
        index, relation = self.relations[0] if draw.chance(60) else draw.pick(self.relations)
        if relation.predicate == "on" and draw.chance(75):
            return self._spread(relation.object, target)
        if relation.predicate == "next to" and self.indoors and draw.chance(45):
            return self._room(target)
        return self._relation(index, relation, target)


def _typed(words: Words, draw: Draw) -> AlignedCaption:
    """Type it as annotators do: mostly a capital and a full stop, not always."""
    text = list(words.words)
    if not draw.chance(13):
        text[0] = text[0][0].upper() + text[0][1:]
    stop = "." if draw.chance(75) else ""
    return AlignedCaption(" ".join(text) + stop, tuple(words.marks))


def write_captions(graph: SceneGraph, draw: Draw, k: int) -> tuple[AlignedCaption, ...]:
    """`k` different captions of a scene, each aligned with it."""
    return Teller(graph, draw).captions(k)
