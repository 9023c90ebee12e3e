"""SPICE end to end: published examples, the original jar's output, the service's manners."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.java.process import JavaError
from metaeval.metrics.spice.metric import Spice, SpiceScorer
from metaeval.runs.store import MemoryStore, SqliteStore, Store, content_digest
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import default_cache, missing_parts
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
    if absent := missing_parts("corenlp", default_cache()):
        pytest.skip(str(absent))
    return default_cache()


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    return MemoryStore()


def bound(metric: Spice, data: CaptionDataset, store: Store | None = None) -> SpiceScorer:
    """The metric's scorer, which must be able to run."""
    scorer = metric.bind(data, store)
    assert isinstance(scorer, SpiceScorer)
    return scorer


@pytest.fixture(scope="module")
def raw(cache: Path, store: MemoryStore) -> Iterator[SpiceScorer]:
    """SPICE on the text as it is, against image 544 and FAIEr's children."""
    metric = Spice(tokenizer="none", cache=cache, heap_mib=1024, threads=1)
    scorer = bound(metric, dataset(IMAGE_544, CHILDREN), store)
    scorer.prepare()
    yield scorer
    scorer.close()


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
def test_image_544_has_the_published_score(raw: SpiceScorer) -> None:
    """González-Chávez et al. print 0.222222 for the raw strings with all five references."""
    score = raw.score([SWINGING], np.array([0]))[0, 0]
    assert score == pytest.approx(0.222222, abs=1e-6)


@pytest.mark.java
def test_faier_figure_5_has_the_published_scores(cache: Path, store: MemoryStore) -> None:
    """.636, 0, .167, .1: tokenised as pycocoevalcap does (raw, the first is .545)."""
    metric = Spice(tokenizer="ptb", cache=cache, heap_mib=1024, threads=1)
    scorer = bound(metric, dataset(CHILDREN), store)
    try:
        scorer.prepare()
        scores = scorer.score(FAIER, np.zeros(4, dtype=np.intp))
    finally:
        scorer.close()
    assert scores[:, 0] == pytest.approx([0.636, 0, 0.167, 0.1], abs=5e-4)


@pytest.mark.java
def test_equals_the_original_command(raw: SpiceScorer) -> None:
    scores = raw.score(CANDIDATES, np.ones(len(CANDIDATES), dtype=np.intp))
    np.testing.assert_allclose(scores, JAR, rtol=0, atol=1e-12)


@pytest.mark.java
def test_a_stored_sentence_needs_no_java(raw: SpiceScorer, cache: Path, store: MemoryStore) -> None:
    again = bound(Spice(tokenizer="none", cache=cache), dataset(IMAGE_544), store)
    expected = raw.score([SWINGING], np.array([0]))
    again.prepare()
    np.testing.assert_array_equal(again.score([SWINGING], np.array([0])), expected)
    assert again.parser._process is None


@pytest.mark.java
def test_explains_which_tuples_matched(raw: SpiceScorer) -> None:
    explanation = raw.explain(FAIER[0], 1)
    json.dumps(explanation)
    right = sum(t["matched"] for t in explanation["candidate"])
    precision = right / len(explanation["candidate"])
    recall = right / len(explanation["references"])
    expected = raw.score([FAIER[0]], np.array([1]))[0, 0]
    assert explanation["kind"] == "tuples"
    assert 2 * precision * recall / (precision + recall) == pytest.approx(expected, abs=1e-12)
    assert explanation["values"] == {"SPICE": expected}


@pytest.mark.java
def test_the_signature_says_what_would_change_a_number(cache: Path) -> None:
    def signature(**options: Any) -> str:
        return bound(Spice(cache=cache, **options), dataset(CHILDREN)).signatures[0]

    assert signature() != signature(tokenizer="none")
    assert "corenlp-3.6.0-d341d586" in signature()
    assert signature().startswith("spice|parser:spice-1.0-6c6a73ae")
    assert signature(parser="perceptron") != signature()
    assert signature(threads=1) == signature()


def test_rules_need_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    data = dataset(CHILDREN)
    assert isinstance(Spice(parser="corenlp", cache=tmp_path).bind(data), Absent)
    scorer = bound(Spice(parser="perceptron", cache=tmp_path), data)
    scorer.prepare()
    scores = scorer.score([*CHILDREN, "A red bus."], np.zeros(4, dtype=np.intp))
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


def test_auto_is_corenlp_where_it_is_installed(cache: Path) -> None:
    metric, corenlp = Spice(cache=cache), Spice(parser="corenlp", cache=cache)
    assert metric.columns == corenlp.columns
    data = dataset(CHILDREN)
    assert bound(metric, data).signatures == bound(corenlp, data).signatures


def test_auto_uses_the_rules_elsewhere_and_names_them(tmp_path: Path) -> None:
    """A machine without CoreNLP has a row too, and the row does not pass for SPICE's."""
    metric, rules = Spice(cache=tmp_path), Spice(parser="perceptron", cache=tmp_path)
    assert [c.name for c in metric.columns][:2] == ["SPICE (rules)", "SPICE-object (rules)"]
    assert (metric.columns[0].variant_of, metric.columns[0].model) == ("SPICE", "rules")
    assert metric.columns == rules.columns
    data = dataset(CHILDREN)
    assert bound(metric, data).signatures == bound(rules, data).signatures
    assert list(tmp_path.iterdir()) == []


def test_a_metric_is_its_options(tmp_path: Path) -> None:
    """It can be pickled, and no use of it changes it."""
    metric = Spice(parser="perceptron", tokenizer="ptb", cache=tmp_path)
    before = pickle.dumps(metric)
    data = dataset(CHILDREN)
    first, second = bound(metric, data), bound(pickle.loads(before), data)
    for scorer in (first, second):
        scorer.prepare()
    index = np.zeros(4, dtype=np.intp)
    np.testing.assert_array_equal(first.score(FAIER, index), second.score(FAIER, index))
    first.explain(FAIER[0], 0)
    first.close()
    assert first.signatures == second.signatures
    assert pickle.dumps(metric) == before


def test_unknown_parser_is_refused() -> None:
    with pytest.raises(ConfigError, match="parser"):
        Spice(parser="best")


# ---- manners -----------------------------------------------------------------------------------


@pytest.mark.slow
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
def test_a_sentence_over_its_time_is_nan_and_reported(
    cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metric = Spice(tokenizer="none", cache=cache, heap_mib=1031, sentence_seconds=1e-9)
    long = " and ".join(["a man with a dog in a park near the old town"] * 12)
    scorer = bound(metric, dataset((long,)))
    try:
        scorer.prepare()
        assert np.isnan(scorer.score(["a dog"], np.array([0]))).all()
    finally:
        scorer.close()
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
    keys = [content_digest([f"a man near {i} cats in a park"]) for i in range(90)]
    assert len(SqliteStore(store).get_many(namespace, keys)) == 90
