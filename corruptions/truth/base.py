"""The contract of a truth-aware corruption: it uses the truth, and records what it made false.

To add one, copy `ReplaceAttribute` (`changes.py`): give its head a `title` and the `role` of the
words that can be changed, and list in `replacements` what would be false there. For other places or
several changes write `places` and `change`. The harm follows from the statements that a change
makes false or loses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, RepeatedCorruption, T
from metaeval.corruptions.language.rewriting import Rewording, reworded
from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.graph import Mark, SceneGraph, SceneObject
from metaeval.data.scenes.lexicon import NOUNS

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


def facts_of(caption: Caption) -> CaptionFacts | None:
    """The facts from the scene graph in `Caption.truth`; it knows the scene's own captions only."""
    graph = caption.truth
    if not isinstance(graph, SceneGraph) or (aligned := graph.caption(caption.text)) is None:
        return None
    behind = frozenset(SHOWN_BEHIND[d] for d in graph.decor if d in SHOWN_BEHIND)
    relations = [(r.subject, r.predicate, r.object) for r in graph.group_relations]
    return CaptionFacts(
        marks=aligned.marks,
        things={i: _thing(members) for i, members in enumerate(graph.groups())},
        relations=dict(enumerate(relations)),
        present=frozenset(o.category for o in graph.objects) | behind,
        worn=frozenset(
            v for o in graph.objects for k, v in o.attributes if k in ("clothing", "dress")
        ),
        behind=behind,
    )


def _thing(members: tuple[SceneObject, ...]) -> Referent:
    # an attribute has one value in each member
    shared = dict(p for p in members[0].attributes if all(p in m.attributes for m in members))
    kinds = {m.kind for m in members}
    area = sum(m.box[2] * m.box[3] for m in members)
    kind = members[0].kind if len(kinds) == 1 else "mixed"
    return Referent(members[0].category, kind, len(members), shared, area)


Effect = Literal["contradiction", "hallucination", "omission"]


@dataclass(frozen=True, slots=True)
class Change:
    """Patches, and which of the caption's statements they make false or lose.

    A statement is false if it does not hold for the thing that the caption names, whatever the
    thing is called now: of "a woman in red", said of a man in red, the woman alone is false.
    `added` counts new statements, all of them false.
    """

    patches: tuple[Rewording, ...]
    false: frozenset[Statement] = frozenset()
    lost: frozenset[Statement] = frozenset()
    added: int = 0


@dataclass(frozen=True, slots=True)
class Harmed(Corrupted):
    """A corrupted caption, and how far from the truth it is.

    Attributes
    ----------
    effect
        "contradiction" (a statement became false), "hallucination" (a false one was added),
        "omission" (a true one was lost); `None` where the caption is as true as before.
    harm
        In [0, 1]: the share of the corrupted caption's statements that are false, or, for an
        omission, the share of the source's that were lost. 0 where nothing was changed.
    statements
        What the source caption stated: each object, attribute, number, relation, state and setting
        once.
    false, lost, added
        How many of them became false, how many were lost, how many false ones were added.
    """

    effect: Effect | None = "contradiction"
    harm: float = 0.0
    statements: int = 0
    false: int = 0
    lost: int = 0
    added: int = 0


class TruthCorruption(RepeatedCorruption, needs=frozenset({"scene_graphs"})):
    """Changes a caption in one or more places so that it is false (or less) of its image.

    Parameters
    ----------
    times
        In how many places, at most; a caption that offers fewer is changed where it can be.
    """

    effect: ClassVar[Effect | None] = "contradiction"
    role: ClassVar[str]

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        """Where the caption could be changed, in order: by default the marks of `role`."""
        return facts.of(self.role)

    def replacements(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark
    ) -> Sequence[str]:
        """What would be false in a place."""
        raise NotImplementedError

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        """One change at a place, or `None` if the truth leaves no false alternative."""
        options = self.replacements(facts, tokens, place)
        if not options:
            return None
        patch = Rewording(place.start, place.end, tuple(pick(rng, options).split()))
        return Change((patch,), false=frozenset({statement(place)}))

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Harmed:
        facts = facts_of(caption)
        if facts is None:
            return Harmed(caption.text, False, effect=self.effect)
        tokens = caption.text.split()
        places = self.places(facts, tokens)
        in_order = (places[i] for i in rng.permutation(len(places)).tolist())
        drawn = (self.change(facts, tokens, place, rng) for place in in_order)
        chosen = self.apart(
            (change, {p for r in change.patches for p in range(r.start, r.end + 1)})
            for change in drawn
            if change is not None
        )
        return self._applied(caption.text, facts, chosen)

    def _applied(self, text: str, facts: CaptionFacts, changes: list[Change]) -> Harmed:
        statements = len(facts.statements())
        patches = [patch for change in changes for patch in change.patches]
        new, edits = reworded(text, patches) if patches else (text, ())
        if new == text:
            return Harmed(text, False, effect=self.effect, statements=statements)
        false = len(frozenset[Statement]().union(*(change.false for change in changes)))
        lost = len(frozenset[Statement]().union(*(change.lost for change in changes)))
        added = sum(change.added for change in changes)
        wrong, total = false + added, statements + added
        if self.effect == "omission":
            wrong, total = lost, statements
        harm = wrong / total if total else 0.0
        return Harmed(
            new, True, edits, None, None, self.effect, harm, statements, false, lost, added
        )


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """One of the options, each with the same chance."""
    return options[int(rng.integers(len(options)))]


def noun_of(kind: str, many: bool = False) -> str:
    """What captions call a thing of this kind; a boat is "a sailing boat"."""
    return NOUNS["sailing boat" if kind == "boat" else kind][0][many]


def is_coordinated(tokens: Sequence[str], phrase: Mark) -> bool:
    """Whether "and" ties the phrase to another."""
    return "and" in (*tokens[: phrase.start][-1:], *tokens[phrase.end :][:1])


def other_number(facts: CaptionFacts, target: int) -> list[Rewording]:
    """Patches that put every word agreeing with `target` into its other number."""
    return [Rewording(m.start, m.end, tuple(m.value.split())) for m in facts.of("agree", target)]
