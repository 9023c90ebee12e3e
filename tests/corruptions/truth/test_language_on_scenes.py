"""Corruptions of language on scenes: what the truth says of them, by a reader of another make."""

from __future__ import annotations

import pytest

from benchmarks.corruption_audit.scenes import judgement
from corruptions.base import Corrupted
from metaeval.data.scenes import (
    AlignedCaption,
    Mark,
    Relation,
    SceneGraph,
    SceneObject,
)
from metaeval.runs.records import Edit

TEXT = "Two men riding a brown horse next to a red car."
MARKS = (
    Mark(0, 1, "count", 0), Mark(1, 2, "noun", 0), Mark(0, 2, "phrase", 0),
    Mark(2, 3, "relation", 0, "ing"),
    Mark(3, 4, "count", 1), Mark(4, 5, "attribute", 1, "colour"), Mark(5, 6, "noun", 1),
    Mark(3, 6, "phrase", 1), Mark(6, 8, "relation", 1, "prep"),
    Mark(8, 9, "count", 2), Mark(9, 10, "attribute", 2, "colour"), Mark(10, 11, "noun", 2),
    Mark(8, 11, "phrase", 2),
)  # fmt: skip


def graph() -> SceneGraph:
    man = SceneObject("person", "man", (), (0, 0, 9, 9), 0)
    horse = SceneObject("horse", "horse", (("colour", "brown"),), (0, 0, 9, 9), 1)
    car = SceneObject("car", "car", (("colour", "red"),), (0, 0, 9, 9), 2)
    relations = (Relation(0, "riding", 1), Relation(1, "next to", 2))
    caption = AlignedCaption(TEXT, MARKS)
    objects = (man, man, horse, car)
    return SceneGraph(1, 9, 9, "street", "sunny", (), objects, (), relations, (caption,))


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([(5, "horse", "elephant")], "false"),
        ([(5, "horse", "steed")], "true"),
        ([(5, "horse", "animal")], "lost"),
        ([(5, "horse", "vehicle")], "false"),
        ([(5, "horse", "gadget")], None),  # the lexicon has no such word
        ([(4, "brown", "white")], "false"),
        ([(4, "brown", "chestnut")], "true"),
        ([(4, "brown", "")], "lost"),
        ([(4, "brown", "broken")], None),  # nor does it know what is broken
        ([(0, "Two", "Three")], "false"),
        ([(0, "Two", "2")], "true"),
        ([(0, "Two", "Several")], "lost"),
        ([(2, "riding", "pulling")], "false"),
        ([(2, "", "not")], "false"),
        ([(2, "", "possibly")], "lost"),
        ([(11, "", "and"), (11, "", "a"), (11, "", "zebra")], "false"),
        ([(5, "horse", "car"), (10, "car.", "horse.")], "false"),  # a brown car
        ([(1, "men", "horses"), (5, "horse", "man")], "false"),  # the horses ride
        ([(4, "brown", "red"), (9, "red", "brown")], "false"),
    ],
)  # fmt: skip
def test_judgement_by_hand(edits: list[tuple[int, str, str]], expected: str | None) -> None:
    made = tuple(Edit(*edit) for edit in edits)
    tokens = TEXT.split()
    for place, before, after in reversed(edits):
        tokens[place : place + bool(before)] = [after] if after else []
    assert judgement(graph(), TEXT, Corrupted(" ".join(tokens), True, made)) == expected
