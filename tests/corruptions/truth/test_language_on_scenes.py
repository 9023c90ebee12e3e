"""Corruptions of language on scenes: what the truth says of them, by a reader of another make."""

from __future__ import annotations

import pytest

from benchmarks.corruption_audit.reader import judgement, still_reads
from benchmarks.corruption_audit.scenes import (
    CONTENT,
    LANGUAGE,
    UNKNOWN,
    Row,
    by_content,
    by_language,
    rows,
)
from metaeval.corruptions.base import Corrupted
from metaeval.data.scenes import (
    AlignedCaption,
    Mark,
    Relation,
    SceneGraph,
    SceneObject,
    load_scenes,
)
from metaeval.runs.records import Edit

TEXT = "Two men riding a brown horse next to a red car."
MARKS = (
    Mark(0, 1, "count", 0),
    Mark(1, 2, "noun", 0),
    Mark(0, 2, "phrase", 0),
    Mark(2, 3, "relation", 0, "ing"),
    Mark(3, 4, "count", 1),
    Mark(4, 5, "attribute", 1, "colour"),
    Mark(5, 6, "noun", 1),
    Mark(3, 6, "phrase", 1),
    Mark(6, 8, "relation", 1, "prep"),
    Mark(8, 9, "count", 2),
    Mark(9, 10, "attribute", 2, "colour"),
    Mark(10, 11, "noun", 2),
    Mark(8, 11, "phrase", 2),
)


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
        ([(5, "horse", "animal"), (4, "brown", "huge")], "lost"),  # as bad as the worst statement
        ([(5, "horse", "steed"), (4, "brown", "shiny")], None),  # one word is not known
        ([(6, "next", "on"), (7, "to", "top"), (8, "", "of")], "false"),
        ([(6, "next", "beside"), (7, "to", "")], "true"),
        ([(6, "next", "during"), (7, "to", "")], "lost"),
        ([(11, "", "and"), (11, "", "another"), (11, "", "car")], "false"),  # there is one
        ([(0, "Two", "One"), (1, "men", "man")], "lost"),
        ([(0, "Two", "The"), (0, "", "We"), (0, "", "see")], "lost"),
        ([(0, "", "A"), (0, "", "photo"), (0, "", "of"), (0, "Two", "two")], "true"),
        ([(2, "", "who"), (2, "", "are")], "true"),
        ([(2, "riding", "who"), (2, "", "are")], "lost"),
    ],
)
def test_judgement_by_hand(edits: list[tuple[int, str, str]], expected: str | None) -> None:
    made = tuple(Edit(*edit) for edit in edits)
    tokens = TEXT.split()
    for place, before, after in reversed(edits):
        tokens[place : place + bool(before)] = [after] if after else []
    assert judgement(graph(), TEXT, Corrupted(" ".join(tokens), True, made)) == expected


def test_phrases_that_change_places() -> None:
    """A passive says the same; another link between the same phrases does not."""
    passive = "A brown horse being ridden by two men next to a red car."
    edits = [(0, "Two", "A"), (1, "men", "brown"), (2, "", "horse"), (2, "riding", "being")]
    edits += [(3, "", "ridden"), (3, "", "by"), (3, "a", "two"), (4, "brown", "men")]
    made = tuple(Edit(*e) for e in [*edits, (5, "horse", "")])
    assert judgement(graph(), TEXT, Corrupted(passive, True, made)) == "true"
    turned = passive.replace("being ridden by", "riding")
    made = tuple(
        Edit(*e) for e in [*edits[:3], (2, "riding", "riding"), *edits[6:], (5, "horse", "")]
    )
    assert judgement(graph(), TEXT, Corrupted(turned, True, made)) == "false"


def test_the_same_words_are_true_whatever_the_blanks() -> None:
    for text in (TEXT.upper(), TEXT.replace(" ", "  "), TEXT.rstrip("."), TEXT.replace("Two", "2")):
        assert judgement(graph(), TEXT, Corrupted(text, True)) == "true"


@pytest.mark.parametrize(
    ("new", "reads"),
    [
        (TEXT.lower(), True),
        (TEXT.rstrip("."), True),
        (TEXT.replace(" ", "\t"), True),
        (TEXT.replace("horse", "hosre"), False),
        (TEXT.replace("horse", "HorSe"), False),
        (TEXT.replace("horse", "horse,"), False),
        (TEXT.replace("a brown", "an brown"), False),
        (TEXT.replace(" a ", " "), False),
        ("", False),
    ],
)
def test_what_is_still_read_word_for_word(new: str, reads: bool) -> None:
    assert still_reads(TEXT, new) == reads


def test_on_scenes_every_change_keeps_its_word() -> None:
    """All 1,000 scenes: `python -m benchmarks.corruption_audit scenes`."""
    data = load_scenes(n=40)
    content, language = rows(CONTENT, by_content, data, 0), rows(LANGUAGE, by_language, data, 0)
    assert [row.label for row in (*content, *language) if row.broken] == []
    judged = sum(n for row in content for verdict, n in row.judged.items() if verdict != UNKNOWN)
    assert judged > 0.98 * sum(row.changed for row in content)
    assert {row.expected for row in content} == {"lower", "same"}


def test_a_change_that_breaks_its_word_is_counted() -> None:
    judged = {"false": 2, "lost": 3, "true": 5, UNKNOWN: 7}
    assert Row("Too mild", "lower", 17, judged).broken == 5
    assert Row("No harm", "same", 17, judged).broken == 5
    assert Row("Unknown", "lower", 7, {UNKNOWN: 7}).broken == 0
