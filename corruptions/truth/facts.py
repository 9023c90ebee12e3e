"""What a caption states, and what is true: the view that truth-aware corruptions have.

A `Finder` turns a caption into `CaptionFacts`. `SceneFinder` reads the alignment and the scene
graph of the embedded scenes. A text-only finder (a lexicon, a tagger) can answer the same questions
from the words alone: a corruption given that one works on any caption, without the guarantee of
truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from metaeval.corruptions.base import Caption
from metaeval.data.scenes.graph import Mark, SceneGraph, SceneObject
from metaeval.data.scenes.things import THINGS

STATEMENTS = ("noun", "attribute", "count", "relation", "state", "setting")
# What the background shows of COCO's categories although no object is annotated.
SHOWN_BEHIND = {"shelf": "book", "crowd fence": "person", "bleachers": "bench"}
Statement = tuple[str, int, str]


@dataclass(frozen=True)
class Referent:
    """The thing that a noun phrase names: COCO's category, the finer kind, number, true facts."""

    category: str
    kind: str
    n: int
    attributes: Mapping[str, str]
    area: int

    @property
    def family(self) -> str:
        """COCO's supercategory."""
        return THINGS[self.category].family


@dataclass(frozen=True)
class CaptionFacts:
    """The statements of one caption and the truth they are about.

    Attributes
    ----------
    marks
        Which words (positions in `text.split()`) state what.
    things
        What the targets of the marks are, by number.
    relations
        (subject, predicate, object), by the target of a "relation" mark.
    present
        Categories that the image shows: naming one of them would be no hallucination.
    worn
        Colours of clothes in the image.
    behind
        Categories of which the background shows some, besides those that are annotated.
    """

    marks: tuple[Mark, ...]
    things: Mapping[int, Referent]
    relations: Mapping[int, tuple[int, str, int]]
    present: frozenset[str]
    worn: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()

    def of(self, role: str, target: int | None = None) -> list[Mark]:
        """The marks of a role, in order; of one target, if given."""
        return [m for m in self.marks if m.role == role and target in (None, m.target)]

    def phrase(self, target: int) -> Mark | None:
        """The noun phrase of a target; `None` unless the caption has exactly one."""
        phrases = self.of("phrase", target)
        return phrases[0] if len(phrases) == 1 else None

    def end_of_clothes(self, phrase: Mark) -> int:
        """Where a phrase ends together with "in a red shirt", if that follows it directly."""
        owned = self.of("owned", phrase.target)
        return next((m.end for m in owned if m.start == phrase.end), phrase.end)

    def statements(self) -> frozenset[Statement]:
        """All that the caption states: objects, attributes, numbers, relations, states, setting."""
        return frozenset(map(statement, filter(lambda m: m.role in STATEMENTS, self.marks)))


def statement(mark: Mark) -> Statement:
    """What a mark states, whatever the words."""
    value = mark.value if mark.role in ("attribute", "setting") else ""
    return mark.role, mark.target, value


@runtime_checkable
class Finder(Protocol):
    """Finds the statements of a caption."""

    needs: frozenset[str]

    def find(self, caption: Caption) -> CaptionFacts | None:
        """The facts, or `None` if the finder has none about the caption."""


class SceneFinder:
    """CaptionFacts from the scene graph in `Caption.truth`; knows the scene's own captions only."""

    needs = frozenset({"scene_graphs"})

    def find(self, caption: Caption) -> CaptionFacts | None:
        graph = caption.truth
        if not isinstance(graph, SceneGraph):
            return None
        aligned = graph.caption(caption.text)
        if aligned is None:
            return None
        behind = frozenset(SHOWN_BEHIND[d] for d in graph.decor if d in SHOWN_BEHIND)
        return CaptionFacts(
            marks=aligned.marks,
            things={i: _thing(members) for i, members in enumerate(graph.groups())},
            relations={
                i: (r.subject, r.predicate, r.object) for i, r in enumerate(graph.group_relations)
            },
            present=frozenset(o.category for o in graph.objects) | behind,
            worn=frozenset(
                v for o in graph.objects for k, v in o.attributes if k in ("clothing", "dress")
            ),
            behind=behind,
        )


def _thing(members: tuple[SceneObject, ...]) -> Referent:
    shared = dict(members[0].attributes)
    for other in members[1:]:
        values = dict(other.attributes)
        shared = {k: v for k, v in shared.items() if values.get(k) == v}
    kinds = {m.kind for m in members}
    area = sum(m.box[2] * m.box[3] for m in members)
    kind = members[0].kind if len(kinds) == 1 else "mixed"
    return Referent(members[0].category, kind, len(members), shared, area)
