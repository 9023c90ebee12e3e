"""SPICE end to end: published examples, the original jar's output, the service's manners."""

import itertools
import json
import math
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.dataset import Absent
from metaeval.java.process import JavaError
from metaeval.java.services import find_java
from metaeval.metrics.spice.metric import (
    CARDINALS,
    CATEGORIES,
    COLORS,
    SIZES,
    Graph,
    Spice,
    SpiceScorer,
    Synonyms,
    f_scores,
    load_synonyms,
)
from metaeval.runs.store import MemoryStore
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import default_cache, missing_parts
from metaeval.text.scene_graphs.spice_service import SpiceParser
from tests.java.processes import gone
from tests.metrics.metric_cases import bound, images, ready
from tests.metrics.ngram.ngram_cases import BASEBALL, CHILDREN

# What the original jar's own command (SpiceScorer -subset, Java 17) says of CANDIDATES against the
# references of CHILDREN, text as it is: All, Object, Relation, Attribute, Color, Cardinality, Size.
CANDIDATES = (*CHILDREN.captions, "", "Three tiny kids hold red umbrellas on the lawn!")
NAN = float("nan")
JAR = [
    [0.5454545454545455, 0.6666666666666666, 0.25, 0.8, NAN, 1, 0],
    [0, 0, 0, 0, NAN, 0, 0],
    [0.16666666666666669, 0.4, 0, 0, NAN, 0, 0],
    [0.1, 0.25, 0, 0, NAN, 0, 0],
    [0, 0, 0, 0, NAN, 0, 0],
    [0.1739130434782609, 0.4444444444444444, 0, 0, NAN, 0, 0],
]


@pytest.fixture(scope="module")
def cache() -> Path:
    if absent := missing_parts("corenlp", default_cache()):
        pytest.skip(str(absent))
    return default_cache()


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(scope="module")
def raw(cache: Path, store: MemoryStore) -> Iterator[SpiceScorer]:
    """SPICE on the text as it is, against image 544 and FAIEr's children."""
    metric = Spice(tokenizer="none", cache=cache, heap_mib=1024, threads=1)
    with closing(
        ready(metric, images([*BASEBALL.references, *CHILDREN.references]), store)
    ) as scorer:
        yield scorer


# ---- values ------------------------------------------------------------------------------------


@pytest.mark.java
def test_image_544_has_the_published_score(raw: SpiceScorer) -> None:
    """González-Chávez et al. print 0.222222 for the raw strings with all five references."""
    assert raw.score(BASEBALL.captions, np.array([0]))[0, 0] == pytest.approx(0.222222, abs=1e-6)


@pytest.mark.java
def test_faier_figure_5_has_the_published_scores(cache: Path, store: MemoryStore) -> None:
    """.636, 0, .167, .1: tokenised as pycocoevalcap does (raw, the first is .545)."""
    metric = Spice(tokenizer="ptb", cache=cache, heap_mib=1024, threads=1)
    with closing(ready(metric, CHILDREN.dataset, store)) as scorer:
        scores = scorer.score(CHILDREN.captions, np.zeros(4, dtype=np.intp))
    assert scores[:, 0] == pytest.approx([0.636, 0, 0.167, 0.1], abs=5e-4)


@pytest.mark.java
def test_equals_the_original_command(raw: SpiceScorer) -> None:
    scores = raw.score(CANDIDATES, np.ones(len(CANDIDATES), dtype=np.intp))
    np.testing.assert_allclose(scores, JAR, rtol=0, atol=1e-12)


@pytest.mark.java
def test_a_stored_sentence_needs_no_java(raw: SpiceScorer, cache: Path, store: MemoryStore) -> None:
    again = bound(Spice(tokenizer="none", cache=cache), BASEBALL.dataset, store)
    expected = raw.score(BASEBALL.captions, np.array([0]))
    again.prepare()
    np.testing.assert_array_equal(again.score(BASEBALL.captions, np.array([0])), expected)
    assert again.parser._process is None


@pytest.mark.java
def test_explains_which_tuples_matched(raw: SpiceScorer) -> None:
    explanation = raw.explain(CHILDREN.captions[0], 1)
    json.dumps(explanation)
    right = sum(t["matched"] for t in explanation["candidate"])
    precision = right / len(explanation["candidate"])
    recall = right / len(explanation["references"])
    expected = raw.score([CHILDREN.captions[0]], np.array([1]))[0, 0]
    assert explanation["kind"] == "tuples"
    assert 2 * precision * recall / (precision + recall) == pytest.approx(expected, abs=1e-12)
    assert explanation["values"] == {"SPICE": expected}


def test_rules_need_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    data = CHILDREN.dataset
    assert isinstance(Spice(parser="corenlp", cache=tmp_path).bind(data), Absent)
    scorer = ready(Spice(parser="perceptron", cache=tmp_path), data)
    scores = scorer.score([*CHILDREN.references[0], "A red bus."], np.zeros(4, dtype=np.intp))
    assert (scores[:3, 0] > 0.4).all()  # each is one of the references
    assert scores[3, 0] == 0
    assert len(scorer.columns) == scores.shape[1] == 7


@pytest.mark.parametrize(("parser", "model"), [("corenlp", None), ("perceptron", "rules")])
def test_a_column_says_what_it_is(parser: str, model: str | None) -> None:
    whole, *parts = Spice(parser=parser).columns
    bracket = f" ({model})" if model else ""
    assert whole.name == f"SPICE{bracket}"
    assert (whole.part_of, whole.headline) == (None, True)
    assert (whole.variant_of, whole.model) == ("SPICE" if model else None, model)
    kinds = ("object", "relation", "attribute", "color", "cardinality", "size")
    assert [part.name for part in parts] == [f"SPICE-{kind}{bracket}" for kind in kinds]
    assert {part.part_of for part in parts} == {whole.name}
    assert {part.model for part in parts} == {model}


@pytest.mark.parametrize("parser", ["corenlp", "perceptron"])
def test_auto_is_corenlp_where_it_is_installed_and_the_rules_elsewhere(
    parser: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A machine without CoreNLP has a row too, and the row does not pass for SPICE's."""
    folder = request.getfixturevalue("cache") if parser == "corenlp" else tmp_path
    metric, named = Spice(cache=folder), Spice(parser=parser, cache=folder)
    assert metric.columns == named.columns
    one, other = (bound(each, CHILDREN.dataset) for each in (metric, named))
    assert one.signatures == other.signatures
    assert list(tmp_path.iterdir()) == []


# ---- manners -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.java
def test_tuples_do_not_depend_on_threads_or_order(cache: Path) -> None:
    sentences = [
        *BASEBALL.captions,
        *BASEBALL.references[0],
        *CHILDREN.references[0],
        *CHILDREN.captions,
        "line\nbreak",
        "tab\tand é ☃",
        "",
    ]
    with closing(SpiceParser(cache, heap=1024, threads=1)) as one:
        expected = one(sentences)
    with closing(SpiceParser(cache, heap=1024, threads=3)) as three:
        found = three([*sentences[::-1], *sentences])
    assert found == [*expected[::-1], *expected]
    assert None not in expected
    assert expected[-1] == []


@pytest.mark.java
def test_a_sentence_over_its_time_is_nan_and_reported(
    cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metric = Spice(tokenizer="none", cache=cache, heap_mib=1031, sentence_seconds=1e-9)
    long = " and ".join(["a man with a dog in a park near the old town"] * 12)
    with closing(ready(metric, images([[long]]))) as scorer:
        assert np.isnan(scorer.score(["a dog"], np.array([0]))).all()
        process = scorer.parser._process
    assert "not done in time" in caplog.text
    assert gone(process.pid)


@pytest.mark.java
def test_too_small_a_heap_shows_stderr(cache: Path) -> None:
    with pytest.raises(JavaError, match=r"OutOfMemoryError|heap"):
        SpiceParser(cache, heap=33, threads=1)(["a dog"])


Tuples = list[list[str]]
ORACLE = Path(__file__).with_name("SpiceOracle.java")


@pytest.fixture(scope="module")
def spice_jar() -> Path:
    folder = spice_service.spice_folder()
    if isinstance(folder, Absent):
        pytest.skip(str(folder))
    return folder


@pytest.fixture(scope="module")
def synonyms(spice_jar: Path) -> Synonyms:
    return load_synonyms(spice_jar / "lib" / "Meteor-1.5.jar")


def nothing(phrase: str) -> frozenset[int]:
    return frozenset()


def test_hand_worked_f_score() -> None:
    """4 of 5 candidate tuples are right, of 6 reference tuples: P 4/5, R 4/6, F 8/11."""
    candidate = Graph([["dog", "ball", "chase"], ["dog", "brown"], ["dog", "two"]], nothing)
    found = [["dog", "brown"], ["dog", "ball", "be chase"], ["cat"], ["ball"], ["cat", "black"]]
    scores = dict(zip(CATEGORIES, f_scores(candidate, Graph(found, nothing)), strict=True))
    # objects dog, ball of dog, ball, cat; attribute (dog, brown) of (dog, brown), (cat, black)
    assert scores["Object"] == pytest.approx(0.8, abs=1e-15)
    assert (scores["Attribute"], scores["Relation"]) == (pytest.approx(0.5, abs=1e-15), 1.0)
    assert scores["All"] == pytest.approx(8 / 11, abs=1e-15)
    assert scores["Color"] == pytest.approx(2 / 3, abs=1e-15)  # 1 of 1 against 1 of 2
    assert math.isnan(scores["Cardinality"])  # no reference counts
    assert math.isnan(scores["Size"])


def test_nothing_to_compare_is_zero_and_nan() -> None:
    empty, something = Graph([], nothing), Graph([["dog"]], nothing)
    assert f_scores(something, empty)[0] == f_scores(empty, something)[0] == 0.0
    assert np.isnan(f_scores(something, empty)[1:]).all()
    assert f_scores(empty, something)[1] == 0.0


def test_synonyms_become_one_object(synonyms: Synonyms) -> None:
    """The three cars and the two buildings of SPICE's own demonstration."""
    graph = Graph(
        [
            ["horse", "stone-gray"],
            ["horse", "stone-grey"],
            ["horse", "building", "in front of"],
            ["building", "car", "behind"],
            ["motorcar", "blue"],
            ["auto"],
        ],
        synonyms,
    )
    assert {tuple("/".join(sorted(c.phrases)) for c in t) for t in graph.tuples()} == {
        ("horse",),
        ("building",),
        ("auto/car/motorcar",),
        ("horse", "stone-gray/stone-grey"),
        ("auto/car/motorcar", "blue"),
        ("horse", "in front of", "building"),
        ("building", "behind", "auto/car/motorcar"),
    }


def test_base_forms_are_found(synonyms: Synonyms) -> None:
    for form, base in [("churches", "church"), ("aardwolves", "aardwolf"), ("riding", "ride")]:
        assert synonyms(form) >= synonyms(base) > frozenset()
    assert synonyms("ice cream") == synonyms("Ice_Cream") > frozenset()
    assert synonyms("zzyzx") == frozenset()


def test_colours_counts_and_sizes_are_those_of_the_jar(spice_jar: Path) -> None:
    """The jar carries its source: its three lists of words must be ours."""
    with zipfile.ZipFile(spice_jar / "spice-1.0.jar") as jar:
        source = jar.read("edu/anu/spice/TupleFilter.java").decode()
    for name, ours in (
        ("smallNumbers", CARDINALS),
        ("commonColors", COLORS),
        ("sizeAdjectives", SIZES),
    ):
        declaration = source[source.index(f" {name} =") :]
        assert ours == set(re.findall(r'"([^"]+)"', declaration[: declaration.index(";")])) != set()


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


WORDS = _list(
    "man, person, woman, car, auto, automobile, dog, hound, cat, grass, lawn, street, road, bike,"
    "bicycle, kid, child, baby, plane, airplane, picture, photo, photograph, sofa, couch, cup, mug"
)
VALUES = _list("red, crimson, big, large, huge, small, little, two, three, black, gray, grey, old")
KINDS = _list("ride, drive, sit on, sit with, have, hold, be near, near, close to, on, in, next to")


def random_tuples(rng: np.random.Generator) -> Tuples:
    """Up to 14 tuples over few words with many synonyms, so that nearly all of them merge."""
    made: Tuples = []
    for _ in range(int(rng.integers(0, 15))):
        one, other = (str(w) for w in rng.choice(WORDS, 2))
        shapes = [[one], [one, str(rng.choice(VALUES))], [one, other, str(rng.choice(KINDS))]]
        made.append(shapes[int(rng.integers(3))])
    return made


@pytest.mark.java
def test_equals_the_jar(synonyms: Synonyms, tmp_path: Path) -> None:
    """All seven scores of 2,000 random items, to the last bit except for the order of two factors.

    Where two objects resemble a new one equally the jar goes by identity hashes, so on such items
    one of its answers under three ways to make these hashes must be ours; they are few.
    """
    cache, java = default_cache(), find_java()
    if absent := missing_parts("corenlp", cache):
        pytest.skip(str(absent))
    if (javac := shutil.which("javac")) is None:
        pytest.skip("the jar is asked by a small program: no javac on PATH")
    rng = np.random.default_rng(1)
    items = [
        {"test": random_tuples(rng), "refs": [random_tuples(rng) for _ in range(3)]}
        for _ in range(2000)
    ]
    ours = np.array(
        [
            f_scores(
                Graph(item["test"], synonyms),
                Graph(itertools.chain.from_iterable(item["refs"]), synonyms),
            )
            for item in items
        ]
    )
    jars = spice_service.class_path(cache)
    options = ["-nowarn", "--release", "11", "-encoding", "UTF-8", "-cp", jars]
    subprocess.run([javac, *options, "-d", tmp_path, ORACLE], check=True)
    path = os.pathsep.join([str(tmp_path), jars])
    equal = np.zeros(len(items), dtype=bool)
    for mode in (5, 0, 3):
        options = ["-Xmx512m", "-XX:+UnlockExperimentalVMOptions", f"-XX:hashCode={mode}"]
        output = subprocess.run(
            [java.executable, *options, "-cp", path, ORACLE.stem],
            input="".join(json.dumps(item) + "\n" for item in items).encode(),
            stdout=subprocess.PIPE,
            timeout=300,
            check=True,
        ).stdout
        scores = [json.loads(line)["scores"] for line in output.decode().splitlines()]
        theirs = [[math.nan if (f := s[c]["f"]) is None else f for c in CATEGORIES] for s in scores]
        equal |= np.isclose(ours, theirs, rtol=0, atol=1e-12, equal_nan=True).all(axis=1)
        assert np.mean(equal) > 0.99
        if equal.all():
            break
    assert equal.all()
    assert len(np.unique(ours[:, 0])) > 100


def test_a_recall_may_be_above_one() -> None:
    """Two tuples that differ match the same one of the references: 2 of 2 are right, and there is
    one to find. P = 1, R = 2, F = 4/3, as by SPICE's own definition; never more than 2."""
    synsets = {"bank": {1}, "shore": {2}, "embankment": {1, 2}}
    candidate = Graph([("bank",), ("shore",)], lambda phrase: frozenset(synsets[phrase]))
    reference = Graph([("embankment",)], lambda phrase: frozenset(synsets[phrase]))
    assert f_scores(candidate, reference)[0] == pytest.approx(4 / 3, abs=1e-12)
    assert Spice(parser="perceptron").columns[0].bounds == (0.0, 2.0)
