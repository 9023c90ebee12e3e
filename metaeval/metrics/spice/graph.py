"""SPICE's arithmetic (Anderson et al. 2016): tuples of captions → a graph → tuples → F-score.

A *concept* is a set of phrases with the union of their synonym sets. Two concepts are similar if
they share a phrase or a synonym set. A graph is grown tuple by tuple, and what is similar becomes
one concept, so "man" and "person" of two references are one object:

- an object joins the object that it resembles most (the Jaccard index of the synonym sets; 1 if
  the phrase is already there), or becomes a new one;
- an attribute joins the first similar attribute of its object;
- a relation joins the first similar relation between the same two objects.

The graph's tuples are its objects, (object, attribute) pairs and (subject, relation, object)
triples. A candidate tuple is correct if *any* reference tuple of the same length is similar in
every place, so several candidate tuples may be justified by one reference tuple.

One thing SPICE leaves to chance: when two objects resemble a new one equally, its jar takes the
one that comes first in the order of identity hashes. Here it is the object that was there first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Synsets = Callable[[str], frozenset[int]]
Counts = npt.NDArray[np.int64]

CATEGORIES = ("All", "Object", "Relation", "Attribute", "Color", "Cardinality", "Size")

_ALL, _OBJECT, _RELATION, _ATTRIBUTE, _COLOR, _CARDINALITY, _SIZE = range(len(CATEGORIES))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CARDINALS = _words("one two three four five six seven eight nine ten")
COLORS = _words(
    "black brown blue red yellow pink gray grey green dark light white cream orange purple maroon"
    " beige violet"
)
SIZES = _words(
    "baby beefy big bony boundless brawny broad bulky chunky colossal compact corpulent cosmic"
    " cubby curvy elfin emaciated endless enormous epic expansive extensive fat fleshy full-size"
    " gargantuan gaunt giant gigantic grand great heavy hefty huge hulking illimitable immeasurable"
    " immense infinitesimal lanky large lean life-size limitless little mammoth massive meager"
    " measly microscopic mini miniature minuscule minute narrow obese outsized oversize overweight"
    " paltry petite pint-size plump pocket-size portly pudgy puny rotund scanty scraggy scrawny"
    " short sizable skeletal skimpy skinny slender slim small squat stocky stout strapping sturdy"
    " tall teensy teeny teeny-tiny teeny-weeny thick thickset thin tiny titanic towering trifling"
    " trim tubby undersized underweight unlimited vast wee whopping wide"
)
_VALUES = ((_COLOR, COLORS), (_CARDINALITY, CARDINALS), (_SIZE, SIZES))


class Concept:
    """A set of phrases that count as one, and the union of their synonym sets."""

    __slots__ = ("phrases", "synsets")

    def __init__(self, phrase: str, synsets: frozenset[int]) -> None:
        self.phrases = {phrase}
        self.synsets = set(synsets)

    def similar(self, other: Concept) -> bool:
        """Whether they share a synonym set or a phrase."""
        return not (
            self.synsets.isdisjoint(other.synsets) and self.phrases.isdisjoint(other.phrases)
        )

    def merge(self, other: Concept) -> None:
        """Take in another's phrases and synonym sets."""
        self.phrases |= other.phrases
        self.synsets |= other.synsets

    @property
    def phrase(self) -> str | None:
        """The phrase, if there is only one: SPICE's colours, counts and sizes are not merged."""
        return next(iter(self.phrases)) if len(self.phrases) == 1 else None


@dataclass(slots=True, eq=False)
class Node:
    """An object with its attributes, and its relations to other objects."""

    concept: Concept
    attributes: list[Concept] = field(default_factory=list)
    relations: list[tuple[Concept, Node]] = field(default_factory=list)


class Graph:
    """The merged scene graph of one or more captions.

    Parameters
    ----------
    tuples
        Proposed tuples, in order: (object), (object, attribute) or (subject, object, relation):
        the parser's order, in which the relation comes last.
    synsets
        Phrase → its synonym sets.
    """

    def __init__(self, tuples: Iterable[Sequence[str]], synsets: Synsets) -> None:
        self.nodes: list[Node] = []
        self._where: dict[str, Node] = {}
        self._synsets = synsets
        for proposed in tuples:
            node = self._node(proposed[0])
            if len(proposed) == 2:
                self._join(node.attributes, proposed[1])
            elif len(proposed) == 3:
                self._relate(node, self._node(proposed[1]), proposed[2])

    def _node(self, phrase: str) -> Node:
        if phrase in self._where:  # its synonym sets are in there as well
            return self._where[phrase]
        synsets = self._synsets(phrase)
        best, best_similarity = None, 0.0
        for node in self.nodes if synsets else ():
            shared = len(synsets & node.concept.synsets)
            if shared:
                similarity = shared / len(synsets | node.concept.synsets)
                if similarity > best_similarity:
                    best, best_similarity = node, similarity
        concept = Concept(phrase, synsets)
        if best is None:
            best = Node(concept)
            self.nodes.append(best)
        else:
            best.concept.merge(concept)
        self._where[phrase] = best
        return best

    def _join(self, concepts: list[Concept], phrase: str) -> None:
        if any(phrase in concept.phrases for concept in concepts):
            return
        new = Concept(phrase, self._synsets(phrase))
        for concept in concepts:
            if concept.similar(new):
                concept.merge(new)
                return
        concepts.append(new)

    def _relate(self, source: Node, target: Node, relation: str) -> None:
        phrase = relation.removeprefix("be ")
        new = Concept(phrase, self._synsets(phrase))
        there = [concept for concept, end in source.relations if end is target]
        if any(concept.phrase == phrase for concept in there):
            return
        for concept in there:
            if concept.similar(new):
                concept.merge(new)
                return
        source.relations.append((new, target))

    def tuples(self) -> list[tuple[Concept, ...]]:
        """All tuples: objects, their attributes, then (subject, relation, object) triples."""
        tuples: list[tuple[Concept, ...]] = []
        for node in self.nodes:
            tuples.append((node.concept,))
            tuples += [(node.concept, attribute) for attribute in node.attributes]
        for node in self.nodes:
            tuples += [(node.concept, kind, end.concept) for kind, end in node.relations]
        return tuples

    def sizes(self) -> Counts:
        """The number of tuples in each of `CATEGORIES`."""
        counts = np.zeros(len(CATEGORIES), np.int64)
        for node in self.nodes:
            counts[_OBJECT] += 1
            counts[_RELATION] += len(node.relations)
            counts[_ATTRIBUTE] += len(node.attributes)
            for concept in node.attributes:
                counts[_kinds(concept)] += 1
        counts[_ALL] = counts[_OBJECT] + counts[_RELATION] + counts[_ATTRIBUTE]
        return counts

    def correct(self, references: Graph) -> Counts:
        """The number of tuples, in each of `CATEGORIES`, that the references justify."""
        counts = np.zeros(len(CATEGORIES), np.int64)
        similar = {
            id(node): [other for other in references.nodes if node.concept.similar(other.concept)]
            for node in self.nodes
        }
        for node in self.nodes:
            others = similar[id(node)]
            if not others:
                continue
            counts[_OBJECT] += 1
            for concept in node.attributes:
                partners = [a for other in others for a in other.attributes if a.similar(concept)]
                counts[_ATTRIBUTE] += bool(partners)
                for kind in _kinds(concept):  # justified by an attribute of the same kind only
                    counts[kind] += any(kind in _kinds(a) for a in partners)
            for concept, end in node.relations:
                ends = similar[id(end)]
                counts[_RELATION] += any(
                    other_end in ends and other_concept.similar(concept)
                    for other in others
                    for other_concept, other_end in other.relations
                )
        counts[_ALL] = counts[_OBJECT] + counts[_RELATION] + counts[_ATTRIBUTE]
        return counts


def _kinds(attribute: Concept) -> list[int]:
    phrase = attribute.phrase
    return [kind for kind, phrases in _VALUES if phrase in phrases]


def f_scores(candidate: Graph, references: Graph) -> npt.NDArray[np.float64]:
    """F1 of a candidate's tuples, float64, one value per category of `CATEGORIES`.

    "All" is SPICE, 0 where there is nothing to compare. A subset's score is NaN where the
    references have no such tuple, as in SPICE: a caption cannot be judged on colours that no
    reference mentions.
    """
    right = candidate.correct(references)
    sizes, wanted = candidate.sizes(), references.sizes()
    scores = np.zeros(len(CATEGORIES))
    for i, (tp, test, reference) in enumerate(zip(right, sizes, wanted, strict=True)):
        if reference == 0:
            scores[i] = 0.0 if i == _ALL else np.nan
        elif tp > 0:
            precision, recall = float(tp) / float(test), float(tp) / float(reference)
            scores[i] = 2.0 * (precision * recall) / (precision + recall)
    return scores
