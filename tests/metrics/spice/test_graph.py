"""SPICE's merging and matching: by hand, by its definition, and against the jar's own classes."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.dataset import Absent
from metaeval.java.process import run_once
from metaeval.java.runtime import JavaRuntime, find_java
from metaeval.java.services import find_compiler
from metaeval.metrics.spice.metric import (
    CARDINALS,
    CATEGORIES,
    COLORS,
    SIZES,
    Graph,
    Spice,
    Synonyms,
    f_scores,
    load_synonyms,
)
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import default_cache, missing_parts

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


def phrases(graph: Graph) -> set[tuple[str, ...]]:
    return {tuple("/".join(sorted(c.phrases)) for c in t) for t in graph.tuples()}


def test_hand_worked_f_score() -> None:
    """4 of 5 candidate tuples are right, of 6 reference tuples: P 4/5, R 4/6, F 8/11."""
    candidate = Graph([["dog", "ball", "chase"], ["dog", "brown"], ["dog", "two"]], nothing)
    references = Graph([["dog", "brown"], ["dog", "ball", "be chase"], ["cat"], ["ball"]], nothing)
    references = Graph([*_tuples(references), ["cat", "black"]], nothing)
    scores = dict(zip(CATEGORIES, f_scores(candidate, references), strict=True))
    # objects dog, ball of dog, ball, cat; attribute (dog, brown) of (dog, brown), (cat, black)
    assert scores["Object"] == pytest.approx(0.8, abs=1e-15)
    assert scores["Attribute"] == pytest.approx(0.5, abs=1e-15)
    assert scores["Relation"] == 1.0
    assert scores["All"] == pytest.approx(8 / 11, abs=1e-15)
    assert scores["Color"] == pytest.approx(2 / 3, abs=1e-15)  # 1 of 1 against 1 of 2
    assert math.isnan(scores["Cardinality"])  # no reference counts
    assert math.isnan(scores["Size"])


def _tuples(graph: Graph) -> Tuples:
    flat = [[next(iter(c.phrases)) for c in t] for t in graph.tuples()]
    return [[t[0], t[2], t[1]] if len(t) == 3 else t for t in flat]


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
    assert phrases(graph) == {
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
        listed = re.findall(r'"([^"]+)"', declaration[: declaration.index(";")])
        assert ours == set(listed) != set()


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


def brute_force(candidate: Graph, references: Graph) -> float:
    """SPICE by its definition: all pairs of tuples."""
    mine, theirs = candidate.tuples(), references.tuples()
    right = sum(
        any(
            len(t) == len(r) and all(a.similar(b) for a, b in zip(t, r, strict=True))
            for r in theirs
        )
        for t in mine
    )
    if not right:
        return 0.0
    precision, recall = right / len(mine), right / len(theirs)
    return 2 * precision * recall / (precision + recall)


def test_equals_the_definition(synonyms: Synonyms) -> None:
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(300):
        candidate = Graph(random_tuples(rng), synonyms)
        references = Graph(random_tuples(rng), synonyms)
        scores.append(f_scores(candidate, references)[0])
        assert scores[-1] == pytest.approx(brute_force(candidate, references), abs=1e-15)
    assert 50 < sum(s > 0 for s in scores) < 300


@pytest.mark.java
def test_equals_the_jar(synonyms: Synonyms, tmp_path: Path) -> None:
    """All seven scores of 2,000 random items, to the last bit except for the order of two factors.

    Where two objects resemble a new one equally the jar goes by identity hashes, so on such items
    one of its answers under three ways to make these hashes must be ours; they are few.
    """
    cache, java = default_cache(), find_java()
    assert isinstance(java, JavaRuntime)
    if absent := missing_parts("corenlp", cache):
        pytest.skip(str(absent))
    if isinstance(javac := find_compiler(), Absent):
        pytest.skip(f"the jar is asked by a small program: {javac}")
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
        output = run_once(
            java,
            ["-XX:+UnlockExperimentalVMOptions", f"-XX:hashCode={mode}", "-cp", path, ORACLE.stem],
            what="SPICE's own scorer",
            heap=512,
            timeout=300,
            stdin="".join(json.dumps(item) + "\n" for item in items).encode(),
        )
        scores = [json.loads(line)["scores"] for line in output.decode().splitlines()]
        theirs = [[math.nan if (f := s[c]["f"]) is None else f for c in CATEGORIES] for s in scores]
        equal |= np.isclose(ours, theirs, rtol=0, atol=1e-12, equal_nan=True).all(axis=1)
        assert np.mean(equal) > 0.99
        if equal.all():
            break
    assert equal.all()
    assert len(np.unique(ours[:, 0])) > 100


def test_missing_jars_are_reported(tmp_path: Path) -> None:
    absent = spice_service.installed_jars(tmp_path)
    assert "stanford-corenlp-3.6.0-models.jar" in absent.reason
    assert "--install spice" in absent.remedy


def test_a_recall_may_be_above_one() -> None:
    """Two tuples that differ match the same one of the references: 2 of 2 are right, and there is
    one to find. P = 1, R = 2, F = 4/3, as by SPICE's own definition; never more than 2."""
    synsets = {"bank": {1}, "shore": {2}, "embankment": {1, 2}}
    candidate = Graph([("bank",), ("shore",)], lambda phrase: frozenset(synsets[phrase]))
    reference = Graph([("embankment",)], lambda phrase: frozenset(synsets[phrase]))
    assert f_scores(candidate, reference)[0] == pytest.approx(4 / 3, abs=1e-12)
    assert Spice(parser="perceptron").columns[0].bounds == (0.0, 2.0)
