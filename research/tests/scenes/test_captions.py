"""The scenes' captions: English, varied, and true of their scene."""

import itertools
import re
import string
from collections import Counter

import numpy as np
import pytest

from metaeval.data.scenes import AlignedCaption, SceneGraph, SceneObject, read_scenes
from metaeval.data.scenes.lexicon import COLOUR_WORDS, NOUNS, NUMBERS, ROLES
from research.scenes.captions import Teller
from research.scenes.draw import Draw
from research.scenes.phrases import AGE_WORDS, MATERIAL_WORDS, OWN_COLOUR_WORDS, SIZE_WORDS


@pytest.fixture(scope="module")
def scenes() -> list[SceneGraph]:
    return read_scenes("val")


@pytest.fixture(scope="module")
def captions(scenes: list[SceneGraph]) -> list[tuple[SceneGraph, AlignedCaption]]:
    return [(g, c) for g in scenes for c in g.captions]


def bare(token: str) -> str:
    return token.lower().strip(string.punctuation)


def said(caption: AlignedCaption, start: int, end: int) -> str:
    return " ".join(bare(t) for t in caption.text.split()[start:end])


def test_lengths_are_cocos(captions: list[tuple[SceneGraph, AlignedCaption]]) -> None:
    """COCO val2017: mean 10.44, standard deviation 2.33; wanted: 10.5 and 2.4 within 10 %."""
    lengths = np.array([len(c.text.split()) for _, c in captions])
    assert abs(lengths.mean() - 10.5) < 1.05
    assert abs(lengths.std() - 2.4) < 0.24
    assert lengths.min() >= 7


def test_vocabulary(captions: list[tuple[SceneGraph, AlignedCaption]]) -> None:
    assert len({bare(t) for _, c in captions for t in c.text.split()} - {""}) >= 1200


def test_five_different_captions(scenes: list[SceneGraph]) -> None:
    for g in scenes:
        plain = {" ".join(map(bare, c.text.split())) for c in g.captions}
        assert len(g.captions) == 5 == len(plain)
    every = [c.text for g in scenes for c in g.captions]
    assert len(set(every)) / len(every) > 0.98


def test_case_and_full_stops_vary_as_in_coco(
    captions: list[tuple[SceneGraph, AlignedCaption]],
) -> None:
    """COCO val2017: 75 % end in a full stop, 15 % begin in lower case."""
    texts = [c.text for _, c in captions]
    assert abs(np.mean([t.endswith(".") for t in texts]) - 0.75) < 0.02
    assert abs(np.mean([t[0].islower() for t in texts]) - 0.14) < 0.02
    assert all(t == " ".join(t.split()) for t in texts)  # as the COCO loader would have tidied it


def test_no_caption_names_everything(scenes: list[SceneGraph]) -> None:
    shares = [
        len({m.target for m in c.of("phrase")}) / len(g.groups())
        for g in scenes
        for c in g.captions
        if len(g.groups()) >= 3
    ]
    assert 0.3 < np.mean(shares) < 0.8


def test_openings_vary(captions: list[tuple[SceneGraph, AlignedCaption]]) -> None:
    openings = Counter(" ".join(map(bare, c.text.split()[:2])) for _, c in captions)
    share = {k: v / len(captions) for k, v in openings.items()}
    assert len(openings) > 400
    assert max(share.values()) < 0.15
    least = {"there is": 0.01, "a photo": 0.001, "a man": 0.01}
    assert {k: share[k] for k, n in least.items() if share[k] <= n} == {}


def test_articles_agree_with_the_sound(
    captions: list[tuple[SceneGraph, AlignedCaption]],
) -> None:
    """By spelling; no word of the vocabulary is an exception other than those named here."""
    for _, caption in captions:
        tokens = [bare(t) for t in caption.text.split()]
        for one, two in itertools.pairwise(tokens):
            if one in ("a", "an"):
                vowel = two[0] in "aeiou" and two not in ("ewe", "one")
                assert (one == "an") == vowel, caption.text
                assert two not in ("a", "an", "the", "is", "are"), caption.text


def test_no_word_is_doubled(captions: list[tuple[SceneGraph, AlignedCaption]]) -> None:
    for _, caption in captions:
        tokens = [bare(t) for t in caption.text.split()]
        assert all(a != b for a, b in itertools.pairwise(tokens)), caption.text
        assert not re.search(r"\b(is|are) (with|and|that)\b", caption.text), caption.text


def _shared(members: tuple[SceneObject, ...], name: str) -> set[str | None]:
    return {dict(m.attributes).get(name) for m in members}


def test_marked_words_are_true(captions: list[tuple[SceneGraph, AlignedCaption]]) -> None:
    colours = {v: {" ".join(w.split()) for w in ws} for v, ws in COLOUR_WORDS.items()}
    for g, caption in captions:
        groups = g.groups()
        for mark in caption.marks:
            words = said(caption, mark.start, mark.end)
            assert words or mark.role == "relation", caption.text
            if mark.role == "attribute":
                values = _shared(groups[mark.target], mark.value)
                assert len(values - {None}) == len(values) == 1, caption.text
                (value,) = values
                kind = groups[mark.target][0].kind
                if mark.value in ("colour", "clothing", "hat", "dress"):
                    own = OWN_COLOUR_WORDS.get((kind, str(value)), ())
                    allowed = set(own) if mark.value == "colour" and own else colours[str(value)]
                    assert words in allowed, caption.text
                elif mark.value == "size":
                    assert words in SIZE_WORDS[str(value)], caption.text
                elif mark.value == "material" and value != "metal":
                    assert words in MATERIAL_WORDS[str(value)], caption.text
            elif mark.role == "count":
                n = len(groups[mark.target])
                assert mark.value == str(n)
                numbers = [k for k, w in NUMBERS.items() if w in words.split()]
                assert not numbers or numbers == [n], caption.text
                if words in ("a", "an") or words.startswith(("a single", "a lone")):
                    assert n == 1, caption.text
                elif "couple" in words or "pair" in words:
                    assert n == 2, caption.text
                elif not numbers:
                    assert n >= 3, caption.text
            elif mark.role == "noun":
                assert words in _nouns(groups[mark.target], caption.text), caption.text


# Words that state nothing of the scene by themselves: articles and connectives, those by which a
# sentence says that what it names is there, and those that speak of the picture.
STATE_NOTHING = {
    *("a", "an", "the", "of", "and", "with", "while", "that", "who", "is", "are", "there", "here"),
    *("has", "containing", "featuring", "equipped", "this", "we", "see", "shows", "picture"),
    *("image", "photo", "photograph", "view", "shot", "scene", "drawing", "illustration"),
    *("cartoon", "animated"),
}
TIED = ("noun", "attribute", "count", "relation", "agree", "state", "setting", "place", "worn")
NO_FACT = ("manner", "opinion")


def test_every_word_that_states_a_fact_is_tied_to_the_graph(
    captions: list[tuple[SceneGraph, AlignedCaption]],
) -> None:
    """Over the whole vocabulary: whatever is not among the words above has a mark."""
    free: Counter[str] = Counter()
    no_fact: Counter[str] = Counter()
    for g, caption in captions:
        tokens = caption.text.split()
        tied = {i for m in caption.marks if m.role in TIED for i in range(m.start, m.end)}
        for mark in caption.marks:
            if mark.role in NO_FACT:
                assert 0 <= mark.target < len(g.groups())
                if mark.role == "opinion":
                    assert not tied & set(range(mark.start, mark.end)), caption.text
                no_fact.update(map(bare, tokens[mark.start : mark.end]))
                tied |= set(range(mark.start, mark.end))
        free.update(bare(t) for i, t in enumerate(tokens) if i not in tied)
    assert set(free) <= STATE_NOTHING, set(free) - STATE_NOTHING
    # what is marked as no fact is judgement or manner: nothing that the graph has a word for
    facts = {
        w
        for words in (COLOUR_WORDS, SIZE_WORDS, MATERIAL_WORDS, AGE_WORDS)
        for ws in words.values()
        for w in ws
    }
    assert not facts & set(no_fact)
    assert {"sturdy", "relaxed", "fresh", "quietly"} <= set(no_fact)
    assert not {"standing", "sitting", "parked", "nearby", "shirt"} & set(no_fact)


def test_states_are_those_of_the_graph(
    captions: list[tuple[SceneGraph, AlignedCaption]],
) -> None:
    """How people hold themselves and what flies, by the pose that is drawn."""
    poses = {
        ("sitting", "sits", "sit", "seated"): {"sit", "sithold"},
        ("lying", "lies", "lie", "laying", "lays", "lay"): {"lie"},
        ("walking", "walks", "walk", "strolling", "wandering"): {"walk"},
    }
    seen: Counter[str] = Counter()
    for g, caption in captions:
        for mark in caption.of("state"):
            first = g.groups()[mark.target][0]
            pose = dict(first.looks).get("pose", "")
            verb = said(caption, mark.start, mark.end).split()[0]
            seen[verb] += 1
            if verb in ("flying", "flies", "fly", "soaring", "gliding"):
                assert dict(first.attributes).get("place") == "sky", caption.text
            if first.category != "person":
                continue
            for verbs, right in poses.items():
                assert verb not in verbs or pose in right, caption.text
            if verb in ("standing", "stands", "stand"):
                assert pose not in ("sit", "sithold", "lie", "walk"), caption.text
    assert {"standing", "sitting", "walking", "flying", "parked"} <= set(seen)


def _nouns(members: tuple[SceneObject, ...], text: str) -> set[str]:
    """Every word that may stand for the group, in its number."""
    number = len(members) > 1
    kinds = {m.kind for m in members}
    keys = set(kinds) if len(kinds) == 1 else {"people", "children"}
    keys |= {"sailing boat", "row boat"} if "boat" in kinds else set()
    out = {n[number] for k in keys if k in NOUNS for n in NOUNS[k]}
    if members[0].category == "person":
        out |= {n[number] for nouns in ROLES.values() for n in nouns}
    return {" ".join(map(bare, noun.split())) for noun in out}


def test_verbs_agree_with_their_subject(
    captions: list[tuple[SceneGraph, AlignedCaption]],
) -> None:
    for g, caption in captions:
        groups = g.groups()
        for mark in caption.of("agree"):
            word = said(caption, mark.start, mark.end)
            many = len(groups[mark.target]) > 1
            if word in ("is", "are"):
                assert (word == "are") == many, caption.text
            else:
                assert word.endswith("s") != many, caption.text  # stands, stand
        for mark in caption.of("relation"):
            subject = g.group_relations[mark.target].subject
            if mark.value in ("one", "many"):
                assert (mark.value == "many") == (len(groups[subject]) > 1), caption.text


def test_relations_in_words_are_those_of_the_graph(
    captions: list[tuple[SceneGraph, AlignedCaption]],
) -> None:
    """A stated relation has both its arguments in the caption."""
    for g, caption in captions:
        named = {m.target for m in caption.of("phrase")}
        for mark in caption.of("relation"):
            relation = g.group_relations[mark.target]
            assert {relation.subject, relation.object} <= named, caption.text


def test_light_and_background_are_those_of_the_scene(scenes: list[SceneGraph]) -> None:
    """No night by day, no rain indoors: words that only one light or one background allows."""
    only = {
        "night": ("night", "nighttime", "moonlight", "stars", "starry"),
        "sunset": ("sunset", "dusk", "sundown"),
        "sunny": ("sunny", "sunshine", "sunlight"),
        "overcast": ("overcast", "gloomy", "dreary"),
    }
    for g in scenes:
        words = {bare(t) for c in g.captions for t in c.text.split()}
        indoors = g.light == "indoors"
        for light, marks in only.items():
            if light == g.light:
                continue
            found = words & set(marks)
            if light == "sunny":
                # the colour "sunny yellow" and daylight through a window are not weather
                found -= {"sunny"} if "sunny yellow" in str(g.captions) else set()
                found -= {"sunlight"} if indoors else set()
            assert not found, (g.light, found)
        for thing in ("barn", "ramp", "graffiti", "island", "rug", "mirror"):
            if thing in words:
                assert thing in g.decor, (g.image_id, thing)


def test_captions_are_stable_under_more_captions(scenes: list[SceneGraph]) -> None:
    assert Teller(scenes[0], Draw("x")).captions(3) == Teller(scenes[0], Draw("x")).captions(6)[:3]
