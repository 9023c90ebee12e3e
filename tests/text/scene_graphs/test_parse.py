"""Captions as scene graphs: the built-in parser by hand and against SPICE's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from metaeval.errors import ConfigError
from metaeval.runs.store import SqliteStore
from metaeval.text.scene_graphs.parse import (
    CaptionGraph,
    missing_parts,
    parse_captions,
    parser_identity,
)
from metaeval.text.scene_graphs.rules.tagger import tag
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.tokenizers.base import get as get_tokenizer

KINDS = ("objects", "attributes", "relations")


def rules(sentence: str) -> CaptionGraph:
    return parse_captions([sentence], parser="lexicon")[0]


@pytest.mark.parametrize(
    ("sentence", "objects", "attributes", "relations"),
    [
        (
            "A brown dog sits on two chairs.",
            {"dog", "chair"},
            {("dog", "brown"), ("chair", "two")},
            {("dog", "sit on", "chair")},
        ),
        (
            "a young man riding a wave on a white surfboard",
            {"man", "wave", "surfboard"},
            {("man", "young"), ("surfboard", "white")},
            {("man", "ride", "wave"), ("wave", "on", "surfboard")},
        ),
        (
            "A black and white photo of a group of kids.",
            {"photo", "group", "kid"},
            {("photo", "black"), ("photo", "white")},
            {("photo", "of", "group"), ("group", "of", "kid")},
        ),
        (
            "A couple of birds standing in front of the old red barn",
            {"couple", "bird", "front", "barn"},
            {("bird", "a"), ("barn", "old"), ("barn", "red")},
            {("bird", "stand in front of", "barn")},
        ),
        (
            "The woman's hat is green.",
            {"woman", "hat"},
            {("hat", "green")},
            {("woman", "have", "hat")},
        ),
        (
            "A boy holds a knife and fork in his hands.",
            {"boy", "knife", "fork", "hand"},
            set(),
            {
                ("boy", "hold", "knife"),
                ("boy", "hold", "fork"),
                ("boy", "have", "hand"),
                ("knife", "in", "hand"),
            },
        ),
        (
            "A baseball player is smiling.",
            {"player"},
            {("player", "baseball"), ("player", "smile")},
            set(),
        ),
        (
            "A pizza topped with cheese, mushrooms and olives",
            {"pizza", "cheese", "mushroom", "olive"},
            set(),
            {("pizza", "top with", x) for x in ("cheese", "mushroom", "olive")},
        ),
        (
            "A man followed by a dog.",
            {"man", "dog"},
            set(),
            {("man", "follow", "dog")},
        ),
        ("", set(), set(), set()),
        ("?!", set(), set(), set()),
    ],
)
def test_rules_on_hand_worked_captions(
    sentence: str,
    objects: set[str],
    attributes: set[tuple[str, str]],
    relations: set[tuple[str, str, str]],
) -> None:
    graph = rules(sentence)
    assert set(graph.objects) == objects
    assert set(graph.attributes) == attributes
    assert set(graph.relations) == relations


def test_words_the_tagger_must_distinguish() -> None:
    def tags(sentence: str) -> list[str]:
        return [token.tag for token in tag(sentence)]

    assert tags("the dogs run") == ["DT", "NNS", "VB"]
    assert tags("a run down building") == ["DT", "NN", "IN", "NN"]
    assert tags("a parking lot") == ["DT", "NN", "NN"]
    assert tags("a man parking a car")[2] == "VBG"
    assert [t.lemma for t in tag("women wearing glasses on buses")] == [
        "woman",
        "wear",
        "glass",
        "on",
        "bus",
    ]


def test_any_text_is_parsed() -> None:
    """No text makes the reader stop or raise: random strings of the words that steer it."""
    rng = np.random.default_rng(0)
    steering = (
        "a the his two red dog dogs of in front next to is are has been sitting sits parked by"
        " and or , . 's there it they who that while not very couple lots up é"
    )
    words = steering.split()
    for _ in range(3000):
        sentence = " ".join(rng.choice(words, int(rng.integers(1, 25))))
        graph = rules(sentence)
        named = set(graph.objects)
        assert {a for a, _ in graph.attributes} <= named
        assert {x for s, _, o in graph.relations for x in (s, o)} <= named


def test_equal_sentences_in_equal_graphs_out_in_order() -> None:
    sentences = ["A red bus.", "A blue car.", "A red bus."]
    for parser in ("perceptron", "lexicon"):
        graphs = parse_captions(sentences, parser=parser)
        assert graphs == [parse_captions([s], parser=parser)[0] for s in sentences]
        assert graphs[0] == graphs[2] != graphs[1]


def test_triplets_are_those_that_the_shipped_weights_have_learned() -> None:
    """FAIEr's "lexicon" stays as it is: its scores must not change with SPICE's."""
    assert TripletParser("lexicon").identity() == "rules-1" != parser_identity("perceptron")
    sentence = "a woman and dog sitting in a large chair posing for a picture"
    triplets = [tuple(t) for t in rules(sentence).relations]
    assert TripletParser("lexicon")([sentence]) == [triplets]
    assert TripletParser("lexicon")([sentence]) == [triplets]


def test_a_graph_from_tuples_is_as_the_command_writes_it() -> None:
    """As `-noSynsets` does: nothing merged, "be" dropped, ends of relations are objects."""
    graph = CaptionGraph.from_tuples(
        [["man", "hill", "be on"], ["man", "old"], ["person"], ["man", "old"]]
    )
    assert graph == CaptionGraph(
        ("man", "hill", "person"), (("man", "old"),), (("man", "on", "hill"),)
    )


def test_the_docstring_is_true() -> None:
    code = "import doctest, metaeval.text.scene_graphs.parse as m; print(doctest.testmod(m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "failed=0, attempted=1" in done.stdout


def test_unknown_parser_is_refused() -> None:
    with pytest.raises(ConfigError, match="stanza"):
        parse_captions(["a dog"], parser="stanza")


@pytest.mark.java
@pytest.mark.coco
@pytest.mark.slow
def test_rules_agree_with_spice_on_coco(coco_root: Path, tmp_path: Path) -> None:
    """On 200 references of val2017, which the parser has not seen, by more than `lexicon`.

    Tokenised, as SPICE reads them unless `metric.spice.tokenizer=none`.
    """
    if absent := missing_parts("corenlp"):
        pytest.skip(str(absent))
    file = coco_root / "coco/annotations/captions_val2017.json"
    annotations = json.loads(file.read_text())["annotations"]
    chosen = np.random.default_rng(0).choice(len(annotations), 200, replace=False)
    raw = [annotations[i]["caption"] for i in chosen]
    captions = [" ".join(tokens) for tokens in get_tokenizer("ptb")(raw)]
    store = SqliteStore(tmp_path / "content.sqlite")
    theirs = parse_captions(captions, parser="corenlp", store=store)
    assert parse_captions(captions[:3], parser="corenlp", store=store) == theirs[:3]
    first, best = (agreement(parse_captions(captions, parser=p), theirs) for p in OURS)
    assert best["objects"] >= 0.90
    assert best["attributes"] >= 0.75
    assert best["relations"] >= 0.62
    assert best["relations"] > first["relations"]


OURS = ("lexicon", "perceptron")


def agreement(ours: list[CaptionGraph], theirs: list[CaptionGraph]) -> dict[str, float]:
    """The F-score of each kind of tuple, over all captions."""
    values = {}
    for kind in KINDS:
        pairs = [
            (set(getattr(a, kind)), set(getattr(b, kind)))
            for a, b in zip(ours, theirs, strict=True)
        ]
        shared = sum(len(a & b) for a, b in pairs)
        values[kind] = 2 * shared / sum(len(a) + len(b) for a, b in pairs)
    return values
