"""What is true of a scene: objects with attributes and boxes, relations, and the setting.

The graph is the ground truth. Captions are made from it, the image is drawn from it, and each
caption keeps, word for word, which fact it expresses (`Mark`).
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object.

    Attributes
    ----------
    category
        COCO's name: "person", "dining table".
    kind
        What exactly: "boy", "desk", "baseball"; equals `category` if no finer word exists.
    attributes
        (name, value) pairs that a viewer can see: ("colour", "red"), ("size", "small"),
        ("material", "wooden"), ("age", "old"), ("clothing", "red shirt"), …
    box
        x, y, width, height in pixels of the scene's `width` × `height`, inside the image.
    group
        Objects that a caption counts together ("three dogs") share a number.
    looks
        What only the drawing needs: pose, hair, the colours of clothes, mirroring.
    layer
        Drawing order: a higher layer hides a lower one.
    """

    category: str
    kind: str
    attributes: tuple[tuple[str, str], ...]
    box: tuple[int, int, int, int]
    group: int
    looks: tuple[tuple[str, str], ...] = ()
    layer: int = 0


class Relation(NamedTuple):
    """`objects[subject] predicate objects[object]`, the predicate in its canonical form."""

    subject: int
    predicate: str
    object: int


class Mark(NamedTuple):
    """What the words `start` ≤ i < `end` of a caption express (words as `text.split()` gives).

    `role` is one of
    "noun"      the head of a noun phrase; `target` the group
    "attribute" a true adjective or piece of clothing; `target` the group, `value` the attribute's
                name ("colour")
    "count"     the determiner or number of a noun phrase; `target` the group
    "phrase"    the whole noun phrase; `target` the group
    "relation"  verb and preposition; `target` the index in `SceneGraph.group_relations`; `value`
                the grammatical form: "ing" (participle), "one" and "many" (finite), "prep", or
                "inverse" where the object comes first ("a couch with a dog lying on it")
    "state"     what a group in no relation does ("standing", "parked"); `target` the group
    "setting"   where it all happens
    "place"     where a group is that is named in passing ("nearby", "in the sky"); `target` the
                group
    "worn"      a whole piece of clothing ("wearing a red hat"); `target` the group, `value` the
                attribute's name ("hat")
    "manner"    an adverb, and
    "opinion"   an adjective that no picture decides ("calmly", "sturdy"): they state no fact;
                `target` the group
    "owned"     words that only make sense with the phrase of group `target` ("wearing a red hat")
    "agree"     a word that changes with the number of group `target`; `value` its other form
    """

    start: int
    end: int
    role: str
    target: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class AlignedCaption:
    """A caption and the facts its words express."""

    text: str
    marks: tuple[Mark, ...]

    def of(self, role: str) -> list[Mark]:
        """The marks of one role, in order."""
        return [mark for mark in self.marks if mark.role == role]


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """The truth about one image.

    `group_relations` are the relations between groups, which captions speak of ("three men riding
    horses"); `relations` are the same facts between single objects.
    """

    image_id: int
    width: int
    height: int
    setting: str
    light: str
    decor: tuple[str, ...]
    objects: tuple[SceneObject, ...]
    relations: tuple[Relation, ...]
    group_relations: tuple[Relation, ...]
    captions: tuple[AlignedCaption, ...] = ()
    backdrop: tuple[tuple[str, str], ...] = ()

    def groups(self) -> tuple[tuple[SceneObject, ...], ...]:
        """The objects by group number."""
        out: list[list[SceneObject]] = []
        for item in self.objects:
            while len(out) <= item.group:
                out.append([])
            out[item.group].append(item)
        return tuple(map(tuple, out))

    def caption(self, text: str) -> AlignedCaption | None:
        """The alignment of one of the scene's own captions, `None` for any other text."""
        return next((c for c in self.captions if c.text == text), None)
