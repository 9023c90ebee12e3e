"""SPICE end to end: published examples, the original jar's output, the service's manners."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.java.runtime import JavaError
from metaeval.metrics.spice.metric import Spice
from metaeval.runs.store import MemoryStore, SqliteStore
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import default_cache
from metaeval.text.scene_graphs.spice_service import SpiceParser

IMAGE_544 = (
    "A man swinging a bat at a baseball on a field.",
    "A man that has a baseball bat standing in the dirt.",
    "The stands are packed as a baseball player in a gray uniform holds a bat as a catcher holds"
    " out his mitt.",
    "A baseball player holding a bat over the top of a base.",
    "A baseball game is going on for the crowd.",
)
SWINGING = "A baseball player is swinging his bat to hit the ball."
CHILDREN = (
    "two children are standing in a grassy field.",
    "there are two children standing in the grass by water.",
    "two small children with umbrellas in a field near the shore.",
)
FAIER = (
    "Two children with umbrellas in a grassy field.",
    "A girl with blue dress and a boy standing in front of trees.",
    "A couple of kids on top of a lush green field.",
    "Two dogs are standing in an oil field.",
)
# What the original jar's own command (SpiceScorer -subset, Java 17) says of CANDIDATES against
# CHILDREN: All, Object, Relation, Attribute, Color, Cardinality, Size; text as it is.
CANDIDATES = (*FAIER, "", "Three tiny kids hold red umbrellas on the lawn!")
NAN = float("nan")
JAR = [
    [0.5454545454545455, 0.6666666666666666, 0.25, 0.8, NAN, 1, 0],
    [0, 0, 0, 0, NAN, 0, 0],
    [0.16666666666666669, 0.4, 0, 0, NAN, 0, 0],
    [0.1, 0.25, 0, 0, NAN, 0, 0],
    [0, 0, 0, 0, NAN, 0, 0],
    [0.1739130434782609, 0.4444444444444444, 0, 0, NAN, 0, 0],
]


def dataset(*references: tuple[str, ...]) -> CaptionDataset:
    n = len(references)
    ids = tuple(range(n))
    human = tuple("a dog" for _ in range(n))
    return CaptionDataset("test", ids, human, references, ids, human)


@pytest.fixture(scope="module")
def cache() -> Path:
    if absent := spice_service.missing(default_cache()):
        pytest.skip(str(absent))
    return default_cache()


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(scope="module")
def raw(cache: Path, store: MemoryStore) -> Iterator[Spice]:
    """SPICE on the text as it is, against image 544 and FAIEr's children."""
    metric = Spice(tokenizer="none", cache=cache, heap_mib=1024, threads=1)
    metric.store = store
    metric.prepare(dataset(IMAGE_544, CHILDREN))
    yield metric
    metric.close()


def jvms(marker: str) -> list[int]:
    """The Java services that run with `marker` in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "SceneGraphService" in command and marker in command and "java" in command:
            found.append(int(entry.name))
    return found


def gone(marker: str, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while jvms(marker) and time.monotonic() < deadline:
        time.sleep(0.2)
    return not jvms(marker)


# ---- values ------------------------------------------------------------------------------------


@pytest.mark.java
def test_image_544_has_the_published_score(raw: Spice) -> None:
    """González-Chávez et al. print 0.222222 for the raw strings with all five references."""
    score = raw.score([SWINGING], np.array([0]))[0, 0]
    assert score == pytest.approx(0.222222, abs=1e-6)


@pytest.mark.java
def test_faier_figure_5_has_the_published_scores(cache: Path, store: MemoryStore) -> None:
    """.636, 0, .167, .1: tokenised as pycocoevalcap does (raw, the first is .545)."""
    metric = Spice(tokenizer="ptb", cache=cache, heap_mib=1024, threads=1)
    metric.store = store
    try:
        metric.prepare(dataset(CHILDREN))
        scores = metric.score(FAIER, np.zeros(4, dtype=np.intp))
    finally:
        metric.close()
    assert scores[:, 0] == pytest.approx([0.636, 0, 0.167, 0.1], abs=5e-4)


@pytest.mark.java
def test_equals_the_original_command(raw: Spice) -> None:
    scores = raw.score(CANDIDATES, np.ones(len(CANDIDATES), dtype=np.intp))
    np.testing.assert_allclose(scores, JAR, rtol=0, atol=1e-12)


@pytest.mark.java
def test_a_stored_sentence_needs_no_java(raw: Spice, cache: Path, store: MemoryStore) -> None:
    again = Spice(tokenizer="none", cache=cache)
    again.store = store
    expected = raw.score([SWINGING], np.array([0]))
    again.prepare(dataset(IMAGE_544))
    np.testing.assert_array_equal(again.score([SWINGING], np.array([0])), expected)
    assert isinstance(again._parser, SpiceParser)
    assert again._parser._process is None


@pytest.mark.java
def test_explains_which_tuples_matched(raw: Spice) -> None:
    told = raw.explain(FAIER[0], 1)
    assert told is not None
    json.dumps(told)
    right = sum(t["matched"] for t in told["candidate"])
    precision, recall = right / len(told["candidate"]), right / len(told["references"])
    expected = raw.score([FAIER[0]], np.array([1]))[0, 0]
    assert told["kind"] == "tuples"
    assert 2 * precision * recall / (precision + recall) == pytest.approx(expected, abs=1e-12)
    assert told["values"] == {"SPICE": expected}


@pytest.mark.java
def test_the_signature_says_what_would_change_a_number(cache: Path) -> None:
    plain, raw = Spice(cache=cache), Spice(cache=cache, tokenizer="none")
    assert plain.signature("SPICE") != raw.signature("SPICE")
    assert "corenlp-3.6.0-d341d586" in plain.signature("SPICE")
    assert plain.signature("SPICE").startswith("spice|parser:spice-1.0-6c6a73ae")
    assert Spice(parser="rules").signature("SPICE") != plain.signature("SPICE")
    assert Spice(cache=cache, threads=1).signature("SPICE") == plain.signature("SPICE")


def test_rules_need_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    data = dataset(CHILDREN)
    absent = Spice(cache=tmp_path).missing(data)
    assert isinstance(absent, Absent)
    metric = Spice(parser="rules", cache=tmp_path)
    assert metric.missing(data) is None
    metric.prepare(data)
    scores = metric.score([*CHILDREN, "A red bus."], np.zeros(4, dtype=np.intp))
    assert (scores[:3, 0] > 0.4).all()  # each is one of the references
    assert scores[3, 0] == 0
    assert len(metric.columns) == scores.shape[1] == 7


def test_unknown_parser_is_refused() -> None:
    with pytest.raises(ConfigError, match="parser"):
        Spice(parser="best")


# ---- manners -----------------------------------------------------------------------------------


@pytest.mark.java
def test_tuples_do_not_depend_on_threads_or_order(cache: Path) -> None:
    sentences = [SWINGING, *IMAGE_544, *CHILDREN, *FAIER, "line\nbreak", "tab\tand é ☃", ""]
    with SpiceParser(cache, heap=1024, threads=1) as one:
        expected = one(sentences)
    with SpiceParser(cache, heap=1024, threads=3) as three:
        found = three([*sentences[::-1], *sentences])
    assert found == [*expected[::-1], *expected]
    assert None not in expected
    assert expected[-1] == []


@pytest.mark.java
def test_a_sentence_over_its_time_is_nan_and_told(
    cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metric = Spice(tokenizer="none", cache=cache, heap_mib=1031, sentence_seconds=1e-9)
    long = " and ".join(["a man with a dog in a park near the old town"] * 12)
    try:
        metric.prepare(dataset((long,)))
        assert np.isnan(metric.score(["a dog"], np.array([0]))).all()
    finally:
        metric.close()
    assert "not done in time" in caplog.text
    assert gone("-Xmx1031m")


@pytest.mark.java
def test_too_small_a_heap_shows_stderr_and_leaves_no_jvm(cache: Path) -> None:
    parser = SpiceParser(cache, heap=33, threads=1)
    with pytest.raises(JavaError, match=r"OutOfMemoryError|heap"):
        parser(["a dog"])
    assert gone("-Xmx33m")


SCRIPT = """
import sys
from pathlib import Path
from metaeval.runs.store import SqliteStore
from metaeval.text.scene_graphs.spice_service import SpiceParser
cache, store, heap, first, count = sys.argv[1:]
with SpiceParser(Path(cache), SqliteStore(Path(store)), heap=int(heap), threads=1) as parse:
    print("parsed", len(parse(["a dog near a tree"])), flush=True)
    numbers = range(int(first), int(first) + int(count))
    sentences = [f"a man near {i} cats in a park" for i in numbers]
    print("parsed", sum(x is not None for x in parse(sentences)), flush=True)
"""


def start(cache: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(cache), *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        # a background job of a shell ignores SIGINT, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_jvm_outlives_its_parent(cache: Path, tmp_path: Path, ending: signal.Signals) -> None:
    heap = 1100 + int(ending)
    process = start(cache, tmp_path / "content.sqlite", heap, 0, 100_000)
    assert process.stdout is not None
    assert process.stdout.readline() == "parsed 1\n"  # the service runs, and parses the rest now
    assert jvms(f"-Xmx{heap}m")
    process.send_signal(ending)
    process.wait(30)
    process.stdout.close()
    assert process.returncode != 0
    assert gone(f"-Xmx{heap}m")


@pytest.mark.java
@pytest.mark.slow
def test_two_runs_at_once_on_one_store_both_finish(cache: Path, tmp_path: Path) -> None:
    store = tmp_path / "content.sqlite"
    both = [start(cache, store, 1024, first, 60) for first in (0, 30)]
    for process in both:
        output, _ = process.communicate(timeout=300)
        assert output == "parsed 1\nparsed 60\n"
        assert process.returncode == 0
    namespace = f"scene-graph-tuples:{spice_service.identity()}"
    keys = [spice_service.content_digest([f"a man near {i} cats in a park"]) for i in range(90)]
    assert len(SqliteStore(store).get_many(namespace, keys)) == 90
