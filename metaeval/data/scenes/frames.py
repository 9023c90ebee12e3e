"""Verbs in the form a sentence needs, marked as the relation that they state."""

from __future__ import annotations

from metaeval.data.scenes.cast import Actor
from metaeval.data.scenes.graph import SceneGraph
from metaeval.data.scenes.verbs import Frame
from metaeval.data.scenes.wording import Words


def verb_words(frame: Frame, form: str, index: int, a: Actor) -> Words:
    """Verb and preposition, marked as the relation; a finite verb also as agreeing."""
    out = Words()
    rest = frame.rest.split()
    if form in ("one", "many"):
        agreeing, other = (frame.one, frame.many) if form == "one" else (frame.many, frame.one)
        verb = agreeing.split()
        out.add(verb[:1], "agree", a.group, other.split()[0])
        out.add(verb[1:] + rest)
    elif form == "ing":
        out.add(frame.ing.split() + rest)
    else:
        out.add(rest)
    out.wrap("relation", index, form)
    return out


def shifted(words: Words, at: int) -> Words:
    """Marks grown by one word that was inserted at `at`."""
    words.marks = [m._replace(end=m.end + 1) if m.end > at or m.role == "relation" else m
                   for m in words.marks]  # fmt: skip
    return words


def doing_of(a: Actor, graph: SceneGraph) -> str:
    """Which verbs fit a group that is in no relation."""
    if a.place == "sky":
        return "sky"
    if a.place in ("wall", "counter"):
        return a.place
    if a.category == "person":
        if a.pose == "walk":
            return "walker"
        if a.pose in ("sit", "sithold"):
            return "seated"
        if a.pose == "lie":
            return "lying"
        return "person"
    if a.category in ("dog", "cat") and a.pose in ("sit", "lie"):
        return {"sit": "seated", "lie": "lying"}[a.pose]
    if a.category == "train":
        return "train"
    if a.category == "boat":
        return "boat"
    if a.family == "vehicle":
        return "parked"
    if a.category == "bird" and graph.setting in ("ocean", "lake"):
        return "water"
    if a.category in ("cow", "sheep", "horse", "zebra", "giraffe", "elephant"):
        return "grazer"
    if a.family == "animal":
        return "animal"
    return "thing"
