"""Truth-aware corruptions: grammatical, and false of the scene by an independent reading."""

import itertools
import re
import string
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from metaeval.corruptions.base import Caption
from metaeval.corruptions.truth.base import Harmed, TruthCorruption
from metaeval.corruptions.truth.changes import (
    AddObject,
    DropSalient,
    ReplaceAttribute,
    ReplaceCount,
    ReplaceObject,
    ReplaceRelation,
    SwapArguments,
    SwapSymmetric,
)
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import (
    AlignedCaption,
    Mark,
    Relation,
    SceneGraph,
    SceneObject,
    load_scenes,
)
from metaeval.data.scenes.lexicon import COLOUR_WORDS, NOUNS, NUMBERS
from tests.corruptions.test_properties import with_edits

ALL: tuple[type[TruthCorruption], ...] = (
    ReplaceObject,
    ReplaceAttribute,
    ReplaceRelation,
    ReplaceCount,
    SwapArguments,
    AddObject,
    DropSalient,
)
# The least share of captions that must offer something to change.
APPLIED = {
    "replace_object": 0.98,
    "replace_attribute": 0.5,
    "replace_relation": 0.55,
    "replace_count": 0.93,
    "swap_arguments": 0.4,
    "add_object": 1.0,
    "drop_salient": 0.5,
    "swap_symmetric": 0.07,
}


@cache
def scenes() -> CaptionDataset:
    return load_scenes(n=1500)


@cache
def corrupted(corruption: type[TruthCorruption]) -> list[Any]:
    """What a corruption makes of the scenes."""
    return corruption().apply(scenes(), seed=3)


def changed(corruption: type[TruthCorruption]) -> Iterator[tuple[SceneGraph, str, Harmed]]:
    """The graph, the caption and what became of it, of all captions that could be changed."""
    graphs = scenes().part("scene_graphs")
    for i, source, result in zip(
        scenes().image_ids, scenes().human, corrupted(corruption), strict=True
    ):
        if result.applied:
            yield graphs[i], source, result


def bare(token: str) -> str:
    return token.lower().strip(string.punctuation)


@pytest.mark.parametrize("corruption", [*ALL, SwapSymmetric], ids=lambda c: c.name)
def test_enough_captions_change_as_their_edits_record(corruption: type[TruthCorruption]) -> None:
    results = corrupted(corruption)
    assert sum(r.applied for r in results) / len(results) >= APPLIED[corruption.name]
    for source, result in zip(scenes().human, results, strict=True):
        assert result.applied == (result.text != source) == bool(result.edits)
        assert with_edits(source, result.edits) == result.text
        assert 0 <= result.harm <= (corruption.expected == "lower")
        assert (result.harm > 0) == (result.applied and corruption.expected == "lower")


NUMBER = {word: n for n, word in NUMBERS.items()}
MANY = ("couple", "pair", "group", "herd", "flock", "bunch", "few", "number")


@pytest.mark.parametrize("corruption", ALL, ids=lambda c: c.name)
def test_english_stays_in_order(corruption: type[TruthCorruption]) -> None:
    for source, result in zip(scenes().human, corrupted(corruption), strict=True):
        tokens = result.text.split()
        words = [bare(t) for t in tokens]
        for one, two in itertools.pairwise(words):
            if one in ("a", "an"):
                assert (one == "an") == (two[0] in "aeiou" and two not in ("ewe", "one")), result
            assert one != two or one in ("it",), result
            # "two are", "three a": nothing of the kind
            assert NUMBER.get(one, 0) < 2 or two not in ("a", "an", "is", "are", "the"), result
        assert result.text[0].isupper() == source[0].isupper(), result
        assert result.text.endswith(".") == source.endswith("."), result
        assert not any(t.endswith((".", ",")) and t[-2:-1] in ",." for t in tokens), result
        assert not any(t.endswith(".") for t in tokens[:-1]), result
        one_thing = words[:2] == ["there", "are"] and words[2] in ("a", "an", "one")
        assert not one_thing or words[3] in MANY, result


# every noun, singular and plural, and the kind that it may stand for
KINDS = [(noun, kind) for kind, pairs in NOUNS.items() for pair in pairs for noun in pair]


def test_replaced_objects_are_not_in_the_image() -> None:
    people = {"man", "woman", "boy", "girl"}
    for g, source, result in itertools.islice(changed(ReplaceObject), 500):
        new = [w for e in result.edits if (w := bare(e.after)) not in ("a", "an", "")]
        # one word of a name may stay: "baseball bat" to "baseball glove"
        sub = {bare(t) for t in result.text.split()} - {bare(t) for t in source.split()}
        text, changed_words = f" {' '.join(map(bare, result.text.split()))} ", sub | set(new)
        named = {
            kind
            for noun, kind in KINDS
            if f" {noun} " in text and changed_words & set(noun.split())
        }
        true = {o.kind for o in g.objects} | {o.category for o in g.objects if o.kind not in people}
        if any(o.category == "boat" for o in g.objects):
            true |= {"sailing boat", "row boat"}
        assert named - true, (source, result.text)


def test_replaced_attributes_are_false() -> None:
    values = {" ".join(w.split()): v for v, ws in COLOUR_WORDS.items() for w in ws}
    for g, _, result in changed(ReplaceAttribute):
        caption = g.captions[0]
        first = next(e.position for e in result.edits if bare(e.before) not in ("a", "an"))
        mark = next(m for m in caption.of("attribute") if m.start <= first < m.end)
        true = {
            value
            for o in g.groups()[mark.target]
            for name, value in o.attributes
            if name == mark.value
        }
        words = " ".join(bare(e.after) for e in result.edits if e.after)
        new = words.removeprefix("an ").removeprefix("a ")
        assert not {new, values.get(new, new)} & true, result


def test_replaced_counts_are_wrong() -> None:
    for g, _, result in changed(ReplaceCount):
        caption = g.captions[0]
        edit = next(e for e in result.edits if bare(e.after) in NUMBER)
        new = NUMBER[bare(edit.after)]
        mark = next(m for m in caption.of("count") if m.start <= edit.position < m.end)
        category = g.groups()[mark.target][0].category
        shown = sum(o.category == category for o in g.objects)
        assert new > shown, result  # "two dogs" is true of three
        behind = {"crowd fence": "person", "shelf": "book", "bleachers": "bench"}
        assert category not in {behind.get(d) for d in g.decor}, result


def test_a_greater_count_of_who_may_stand_behind_is_not_made_up() -> None:
    """Six people at bat before full stands: "seven people" might well be in the picture."""
    text, marks = (
        "Two men on the field.",
        [
            Mark(0, 1, "count", 0, "2"),
            Mark(1, 2, "noun", 0, "man"),
            Mark(0, 2, "phrase", 0),
        ],
    )
    empty = scene(text, marks, 2)
    made = [
        every(ReplaceCount(), text, graph)
        for graph in (replace(empty, decor=("crowd fence",)), empty)
    ]
    assert made == [{text}, {"Three men on the field.", "Four men on the field."}]


# Words between two things after which either may be called first; written down here once more, so
# that the corruption's own list is compared with another.
BOTH_WAYS = re.compile(
    r"\b(with|next to|beside|by|near|alongside|close to|to the side of|facing|faces|face)$"
)


def relation_words(g: SceneGraph, result: Harmed) -> str:
    """The words of the relation whose subject and object have both changed theirs."""
    caption, changed = g.captions[0], {e.position for e in result.edits}
    touched = {m.target for m in caption.of("phrase") if changed & set(range(m.start, m.end))}
    mark = next(
        m
        for m in caption.of("relation")
        if m.value != "inverse" and {*g.group_relations[m.target][::2]} <= touched
    )
    return " ".join(bare(t) for t in caption.text.split()[mark.start : mark.end])


def test_swaps_that_stay_true_are_harmless_and_no_others() -> None:
    wordings = {relation_words(g, result) for g, _, result in changed(SwapArguments)}
    assert {"holding", "riding", "on", "in front of"} <= wordings
    assert not [words for words in wordings if BOTH_WAYS.search(words)]
    wordings = {relation_words(g, result) for g, _, result in changed(SwapSymmetric)}
    assert all(map(BOTH_WAYS.search, wordings))
    verbs = {BOTH_WAYS.sub("", words).strip() for words in wordings}
    assert verbs == {"", "located", "situated"}
    facts = {(r.harm, r.effect, r.false) for r in corrupted(SwapSymmetric)}
    assert facts == {(0, None, 0)}


@pytest.mark.parametrize(
    ("words", "false", "harmless"),
    [
        ("holding", True, False),
        ("with", False, True),
        ("beside", False, True),
        ("is located next to", False, True),
        ("standing next to", False, False),
        ("walking with", False, False),
        ("facing", False, False),
        ("on", True, False),
    ],
)
def test_the_words_say_which_swap_is_true(words: str, false: bool, harmless: bool) -> None:
    phrase = words.split()
    n = len(phrase)
    text = f"A man {words} a brown horse on the beach."
    marks = [
        Mark(0, 1, "count", 0, "1"),
        Mark(1, 2, "noun", 0, "men"),
        Mark(0, 2, "phrase", 0),
        Mark(2 + (phrase[0] == "is"), 2 + n, "relation", 0, "ing"),
        Mark(2 + n, 5 + n, "phrase", 1),
        Mark(4 + n, 5 + n, "noun", 1, "horses"),
    ]
    other = {f"A brown horse {words} a man on the beach."}
    made = [every(swap, text, scene(text, marks)) for swap in (SwapArguments(), SwapSymmetric())]
    assert made == [other if changes else {text} for changes in (false, harmless)]


def test_added_objects_are_not_in_the_image() -> None:
    for g, source, result in changed(AddObject):
        added = " ".join(map(bare, result.text.split()[len(source.split()) :]))
        match = re.fullmatch(
            r"(?:with|next to) an? (.+?)(?: nearby| to the side| close by)?", added
        )
        assert match, added
        kinds = {kind for noun, kind in KINDS if noun == match[1]}
        assert not kinds & {o.category for o in g.objects}, (added, g.objects)
        assert result.text.startswith(source.rstrip("."))
        assert (result.effect, result.added) == ("hallucination", 1)


def test_dropping_loses_the_salient_and_adds_nothing() -> None:
    for g, source, result in changed(DropSalient):
        allowed = {bare(t) for t in source.split()} | {"a", "an", "is", "are"}
        assert {bare(t) for t in result.text.split()} <= allowed, (source, result.text)
        deleted = {e.position for e in result.edits if not e.after}
        gone = [m for m in g.captions[0].of("phrase") if set(range(m.start, m.end)) <= deleted]
        assert gone, (source, result.text)
        assert (result.lost > 0, result.effect) == (True, "omission")


# ---- by hand: one scene, its truth in full, and what each corruption must make of it


def scene(text: str, marks: list[Mark], people: int = 1) -> SceneGraph:
    objects = [
        SceneObject("person", "man", (("clothing", "red"),), (10, 100, 50, 100), 0),
        SceneObject("horse", "horse", (("colour", "brown"),), (5, 150, 120, 100), 1),
    ]
    if people == 2:
        objects = [*objects, objects[0], objects[1]]
    relations = (Relation(0, "riding", 1),)
    return SceneGraph(
        1,
        336,
        336,
        "beach",
        "sunny",
        (),
        tuple(objects),
        relations,
        relations,
        (AlignedCaption(text, tuple(marks)),),
    )


TEXT = "A man is riding a brown horse on the beach."
MARKS = [
    Mark(0, 1, "count", 0, "1"),
    Mark(1, 2, "noun", 0, "men"),
    Mark(0, 2, "phrase", 0),
    Mark(2, 3, "agree", 0, "are"),
    Mark(3, 4, "relation", 0, "ing"),
    Mark(4, 5, "count", 1, "1"),
    Mark(5, 6, "attribute", 1, "colour"),
    Mark(6, 7, "noun", 1, "horses"),
    Mark(4, 7, "phrase", 1),
    Mark(7, 10, "setting", 0),
]


def every(corruption: TruthCorruption, text: str, graph: SceneGraph) -> set[str]:
    """What 60 seeds make of the caption."""
    caption = Caption(1, text, graph)
    return {corruption.corrupt(caption, corruption.generator(s, 1)).text for s in range(60)}


@pytest.mark.parametrize(
    ("corruption", "expected"),
    [
        (SwapArguments(), {"A brown horse is riding a man on the beach."}),
        # the man covers 5,000 px², the horse 12,000; both count double
        (DropSalient(), {"A man on the beach."}),
        (
            ReplaceCount(),
            {f"{n} men are riding a brown horse on the beach." for n in ("Two", "Three", "Four")}
            | {f"A man is riding {n} brown horses on the beach." for n in ("two", "three", "four")},
        ),
        # the colours of horses but those that pass for brown
        (
            ReplaceAttribute(),
            {f"A man is riding a {c} horse on the beach." for c in ("black", "white", "gray")},
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_by_hand(corruption: TruthCorruption, expected: set[str]) -> None:
    assert every(corruption, TEXT, scene(TEXT, MARKS)) == expected
    lower = TEXT[0].lower() + TEXT[1:].rstrip(".")
    expected = {text[0].lower() + text[1:].rstrip(".") for text in expected}
    assert every(corruption, lower, scene(lower, MARKS)) == expected


@pytest.mark.parametrize(
    ("corruption", "some", "pattern"),
    [
        (
            ReplaceRelation(),
            {"A man is standing next to a brown horse on the beach."},
            r"A man is \w+ing .+ a brown horse on the beach\.",
        ),
        (
            ReplaceObject(),
            {
                "A woman is riding a brown horse on the beach.",
                "A man is riding a brown elephant on the beach.",
            },
            r"A woman is riding a brown horse on the beach\."
            r"|A man is riding a brown (?!horse)\w+ on the beach\.",
        ),
        (
            AddObject(),
            {"A man is riding a brown horse on the beach next to an elephant."},
            r"A man is riding a brown horse on the beach (?!.*horse).+\.",
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_some_of_many_by_hand(corruption: TruthCorruption, some: set[str], pattern: str) -> None:
    made = every(corruption, TEXT, scene(TEXT, MARKS))
    assert some <= made
    assert [text for text in made if not re.fullmatch(pattern, text)] == []


@pytest.mark.parametrize(
    ("corruption", "text", "harm"),
    [
        # he does not ride an elephant; but the count, the colour and the relation are right
        (ReplaceObject(), "A man is riding a brown elephant on the beach.", 1 / 7),
        (ReplaceObject(), "A woman is riding a brown horse on the beach.", 1 / 7),
        (ReplaceAttribute(), "A man is riding a black horse on the beach.", 1 / 7),
        (SwapArguments(), "A brown horse is riding a man on the beach.", 1 / 7),
        # eight statements, one of them false
        (
            AddObject(),
            "A man is riding a brown horse on the beach next to an elephant.",
            1 / 8,
        ),
        # left: the man, his number, the setting
        (DropSalient(), "A man on the beach.", 4 / 7),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_harm_by_hand(corruption: TruthCorruption, text: str, harm: float) -> None:
    """Seven statements: two objects, two numbers, a colour, a relation, the setting."""
    caption = Caption(1, TEXT, scene(TEXT, MARKS))
    results = [corruption.corrupt(caption, corruption.generator(s, 1)) for s in range(200)]
    made = next(result for result in results if result.text == text)
    assert (made.statements, made.harm) == (7, pytest.approx(harm))


def test_times_changes_more_places() -> None:
    once, thrice = ReplaceObject(), ReplaceObject(times=3)
    assert (once.label, thrice.label) == ("Replace object", "Replace object ×3")
    assert once.parameters != thrice.parameters
    a, b = (sum(r.false for r in c.apply(scenes(), 0)) for c in (once, thrice))
    assert b > 1.3 * a


@pytest.mark.parametrize("corruption", ALL, ids=lambda c: c.name)
def test_without_the_truth_nothing_is_changed(corruption: type[TruthCorruption]) -> None:
    plain = CaptionDataset("coco", (1,), ("a dog",), (("a cat",),), (1,), ("a dog",))
    assert str(corruption().missing(plain)) == "the dataset 'coco' has no scene graphs"
    c = corruption()
    for caption in (Caption(1, TEXT), Caption(1, "Another text.", scene(TEXT, MARKS))):
        result = c.corrupt(caption, c.generator(0, 1))
        assert (result.text, result.applied, result.edits) == (caption.text, False, ())
