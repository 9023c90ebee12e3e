"""Corruptions of language on scenes: what the truth says of them, by a reader of another make."""

from __future__ import annotations

import pytest

from benchmarks.corruption_audit.scenes import Row, judgement, rows
from corruptions.base import Corrupted
from metaeval.data.scenes import (
    AlignedCaption,
    Mark,
    Relation,
    SceneGraph,
    SceneObject,
)
from metaeval.runs.records import Edit

SCENES = 250
LEAST_JUDGED = 0.6  # of all changes that harm; the rest uses words that scenes have not


@pytest.fixture(scope="module")
def table() -> list[Row]:
    return rows(SCENES)


def test_no_harm_is_true_and_no_harmless_change_false(table: list[Row]) -> None:
    wrong = [
        row
        for row in table
        if (row.expected == "lower" and row.judged.get("true"))
        or (row.expected == "same" and (row.judged.get("false") or row.judged.get("lost")))
    ]
    assert not wrong


def test_most_changes_can_be_judged(table: list[Row]) -> None:
    harmful = [row for row in table if row.expected == "lower"]
    judged = sum(row.changed - row.judged.get("not judged", 0) for row in harmful)
    assert judged / sum(row.changed for row in harmful) > LEAST_JUDGED
    assert sum(row.changed > 0 for row in table) > 40


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
