"""METEOR against pycocoevalcap's, which talks to the same jar in the jar's own way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.java.runtime import JavaError, JavaRuntime, find_java
from metaeval.metrics.meteor import metric as meteor_module
from metaeval.metrics.meteor.engine import JarEngine, ServerEngine, one_line
from metaeval.metrics.meteor.metric import Meteor
from metaeval.metrics.meteor.score import additive, scores
from tests.java.processes import gone

pytestmark = pytest.mark.java

# pycocoevalcap's score comes through the jar's EVAL, which prints all digits of its double; ours
# adds the same terms in another order, so a few units in the last place may differ
TOLERANCE = 1e-12
IMAGES = 500


def dataset(references: Sequence[Sequence[str]], pool: Sequence[str] = ()) -> CaptionDataset:
    n = len(references)
    return CaptionDataset(
        "test",
        tuple(range(n)),
        ("",) * n,
        tuple(tuple(texts) for texts in references),
        tuple(range(len(pool))),
        tuple(pool),
    )


def meteor_of(
    captions: Sequence[str], references: Sequence[str], **options: str
) -> npt.NDArray[np.float64]:
    """METEOR of several candidates for one image."""
    metric = Meteor(**options)  # type: ignore[arg-type]
    metric.prepare(dataset([references]))
    try:
        return metric.score(captions, np.zeros(len(captions), dtype=np.intp))[:, 0]
    finally:
        metric.close()


def jvm(metric: Meteor) -> int:
    assert metric._engine is not None
    return metric._engine._process.pid


# ---- published numbers and worked cases ----

GOLDEN_REFERENCES = [
    "A man swinging a bat at a baseball on a field.",
    "A man that has a baseball bat standing in the dirt.",
    "The stands are packed as a baseball player in a gray uniform holds a bat as a catcher holds "
    "out his mitt.",
    "A baseball player holding a bat over the top of a base.",
    "A baseball game is going on for the crowd.",
]
GOLDEN = "A baseball player is swinging his bat to hit the ball."
FAIER_REFERENCES = [
    "two children are standing in a grassy field.",
    "there are two children standing in the grass by water.",
    "two small children with umbrellas in a field near the shore.",
]
FAIER = [
    "Two children with umbrellas in a grassy field.",
    "A girl with blue dress and a boy standing in front of trees.",
    "A couple of kids on top of a lush green field.",
    "Two dogs are standing in an oil field.",
]


@pytest.mark.parametrize(("tokenizer", "published"), [("none", 0.215727), ("ptb", 0.211362)])
def test_the_papers_example(tokenizer: str, published: float) -> None:
    found = meteor_of([GOLDEN], GOLDEN_REFERENCES, tokenizer=tokenizer)
    assert found == pytest.approx([published], abs=5e-7)  # six places are published


def test_the_example_of_faier() -> None:
    found = meteor_of(FAIER, FAIER_REFERENCES)
    assert found == pytest.approx([0.38877, 0.17538, 0.18800, 0.25778], abs=5e-6)


def test_the_formula_by_hand() -> None:
    # "a b" against "a b c": two content words matched exactly, in one chunk; no function words.
    statistics = [2, 3, 0, 0, 2, 2, 0, 0, *[0] * 12, 1, 2, 2]
    precision, recall = 1.0, 2 / 3
    f_mean = precision * recall / (0.85 * precision + 0.15 * recall)
    expected = f_mean * (1 - 0.6 * (1 / 2) ** 0.2)
    nothing = [5, 6, 1, 2, *[0] * 19]
    empty = [0, 6, 0, 2, *[0] * 19]
    same = [2, 2, 0, 0, 2, 2, 0, 0, *[0] * 12, 1, 2, 2]
    table = np.array([statistics, nothing, empty, same], dtype=np.float64)
    assert scores(table) == pytest.approx([expected, 0, 0, 1], abs=1e-15)
    assert scores(table[:0]).shape == (0,)


# ---- pycocoevalcap, on real captions ----


class Reference(NamedTuple):
    """2,000 captions of 500 COCO images, and what pycocoevalcap says about them."""

    data: CaptionDataset
    captions: list[str]
    image: npt.NDArray[np.intp]
    statistics: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    corpus: float


@pytest.fixture(scope="module")
def reference(coco_root: Path) -> Reference:
    """Human captions, half of their words replaced, shuffled, and other images'; PTB tokens."""
    from pycocoevalcap.meteor.meteor import Meteor as Theirs

    from metaeval.text.tokenizers.base import get

    records = json.loads((coco_root / "coco/annotations/captions_val2017.json").read_text())
    by_image: dict[int, list[str]] = {}
    for record in sorted(records["annotations"], key=lambda r: r["id"]):
        by_image.setdefault(record["image_id"], []).append(record["caption"])
    groups = [[" ".join(t) for t in get("ptb")(by_image[i][:5])] for i in sorted(by_image)[:IMAGES]]
    rng = np.random.default_rng(0)
    human = [group[0] for group in groups]
    words = [word for text in human for word in text.split()]
    replaced = [
        " ".join(w if rng.random() < 0.5 else str(rng.choice(words)) for w in text.split())
        for text in human
    ]
    shuffled = [" ".join(rng.permutation(text.split())) for text in human]
    captions = human + replaced + shuffled + human[1:] + human[:1]
    references = [group[1:] for group in groups]
    image = np.tile(np.arange(IMAGES), 4)
    theirs = Theirs()
    lines = [theirs._stat(c, references[i]) for c, i in zip(captions, image, strict=True)]
    corpus, found = theirs.compute_score(
        {j: references[i] for j, i in enumerate(image)}, {j: [c] for j, c in enumerate(captions)}
    )
    return Reference(
        dataset(references),
        captions,
        image,
        np.array([line.split() for line in lines], dtype=np.float64),
        np.array(found),
        corpus,
    )


@pytest.fixture(scope="module")
def ours(reference: Reference) -> Iterator[Meteor]:
    metric = Meteor(tokenizer="whitespace")
    metric.prepare(reference.data)
    yield metric
    metric.close()


@pytest.mark.coco
def test_the_formula_is_that_of_the_jar(reference: Reference) -> None:
    assert np.abs(scores(reference.statistics) - reference.scores).max() < TOLERANCE


@pytest.mark.coco
def test_the_corpus_score_is_the_jars_aggregate(reference: Reference) -> None:
    sums = additive(reference.statistics).sum(axis=0, keepdims=True)
    assert scores(sums)[0] == pytest.approx(reference.corpus, rel=TOLERANCE)
    # some captions match a reference wholly, and would add a chunk each
    plain = scores(reference.statistics.sum(axis=0, keepdims=True))[0]
    assert plain < reference.corpus * (1 - 100 * TOLERANCE)
    # on its own such a caption scores the same in either form
    assert np.array_equal(scores(additive(reference.statistics)), scores(reference.statistics))


@pytest.mark.coco
def test_statistics_are_the_jars_although_the_table_is_cut(
    ours: Meteor, reference: Reference
) -> None:
    assert isinstance(ours._engine, ServerEngine)  # the whole table is in pycocoevalcap's process
    found = ours._engine.statistics(reference.captions, reference.image.tolist())
    assert np.array_equal(found, reference.statistics)
    paraphrases = found[:, 16:20].sum(axis=1) > 0
    synonyms = found[:, 12:16].sum(axis=1) > 0
    assert paraphrases.sum() > 100  # else this would not tell anything about the table
    assert synonyms.sum() > 100


@pytest.mark.coco
def test_scores_are_pycocoevalcaps(ours: Meteor, reference: Reference) -> None:
    found = ours.score(reference.captions, reference.image)
    assert found.shape == (len(reference.captions), 1)
    assert found.dtype == np.float64
    assert np.abs(found[:, 0] - reference.scores).max() < TOLERANCE


@pytest.mark.coco
def test_no_score_depends_on_the_others(ours: Meteor, reference: Reference) -> None:
    chosen = np.random.default_rng(1).permutation(len(reference.captions))[:300]
    captions, image = [reference.captions[j] for j in chosen], reference.image[chosen]
    whole = ours.score(captions, image)[:, 0]
    single = [ours.score([captions[j]], image[[j]])[0, 0] for j in range(20)]
    assert np.array_equal(whole[:20], single)
    assert np.array_equal(whole[::-1], ours.score(captions[::-1], image[::-1])[:, 0])
    assert np.array_equal(whole, scores(reference.statistics[chosen]))


@pytest.mark.coco
def test_words_that_come_later_are_looked_up_too(reference: Reference) -> None:
    # the first batch knows none of the second's words: the table has to be read again
    metric = Meteor(tokenizer="whitespace")
    metric.prepare(dataset(reference.data.references[:50]))
    try:
        assert metric.score(["zebra"], np.array([0])).shape == (1, 1)
        found = metric.score(reference.captions[:50], np.arange(50))[:, 0]
    finally:
        metric.close()
    assert np.array_equal(found, scores(reference.statistics[:50]))


@pytest.mark.coco
def test_the_jar_alone_gives_the_same(reference: Reference) -> None:
    rows = np.arange(0, len(reference.captions), 5)
    captions = [reference.captions[j] for j in rows]
    metric = Meteor(tokenizer="whitespace", engine="jar")
    metric.prepare(reference.data)
    try:
        assert isinstance(metric._engine, JarEngine)
        found = metric.score(captions, reference.image[rows])[:, 0]
    finally:
        metric.close()
    assert np.array_equal(found, scores(reference.statistics[rows]))


# ---- hostile input ----

HOSTILE = [
    "a dog\nruns",
    "a dog\r\nruns",
    "a\tdog runs",
    "a dog ||| runs",
    "|||",
    "SCORE ||| a dog ||| runs",
    "EVAL ||| 1.0 1.0",
    "",
    "   ",
    "\x00a\x0bdog\x1f \x85runs",
    "a dog\u2028runs\u2029",
    "🐶 läuft – “schnell” 日本",
    "\ud800 a dog",
    "?!. ,;:--''``",
    "...",
    "DOTMULTI DOTDOTMULTI.. a.b.c. U.S. Mr. dog",
    "a dog " * 150,
    "TEXTS 5",
    "A DOG RUNS",
    "a dog runs",
]


@pytest.fixture(scope="module")
def hostile() -> dict[str, npt.NDArray[np.float64]]:
    """Scores of the hostile captions, and of hostile references, by both engines."""
    found = {}
    references = [["a dog runs", "two dogs\nrun ||| fast"], ["", "|||"], HOSTILE, []]
    image = np.repeat(np.arange(len(references)), len(HOSTILE))
    for engine in ("server", "jar"):
        metric = Meteor(tokenizer="none", engine=engine)
        with pytest.MonkeyPatch.context() as patch:  # where decimals have commas
            patch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
            metric.prepare(dataset(references))
        found[engine] = metric.score(HOSTILE * len(references), image).reshape(-1, len(HOSTILE))
        metric.close()
    return found


def test_hostile_captions_stay_in_step(hostile: dict[str, npt.NDArray[np.float64]]) -> None:
    first, empty, all_of_them, none = hostile["server"]
    assert first[HOSTILE.index("a dog runs")] == 1
    for same in ("a dog\nruns", "a dog\r\nruns", "a\tdog runs", "a dog ||| runs", "A DOG RUNS"):
        assert first[HOSTILE.index(same)] == 1, same
    assert first[HOSTILE.index("")] == first[HOSTILE.index("|||")] == 0
    assert (empty == 0).all()
    # whatever has a word equals itself; what has none scores 0 even so, as in the jar
    words = np.array([bool(one_line(text).strip()) for text in HOSTILE])
    assert np.array_equal(all_of_them, words.astype(float))
    assert np.isnan(none).all()


def test_both_engines_agree_on_hostile_captions(
    hostile: dict[str, npt.NDArray[np.float64]],
) -> None:
    assert np.array_equal(hostile["server"], hostile["jar"], equal_nan=True)


def test_no_captions_no_scores() -> None:
    assert meteor_of([], ["a dog"]).shape == (0,)


# ---- the process ----


def test_close_leaves_no_jvm_and_may_come_early() -> None:
    metric = Meteor()
    metric.prepare(dataset([["a dog"]], ["a cat"]))
    pid = jvm(metric)
    metric.close()  # while it is still loading
    metric.close()
    assert gone(pid)


def test_two_at_once() -> None:
    a, b = Meteor(), Meteor()
    try:
        a.prepare(dataset([["a dog runs"]]))
        b.prepare(dataset([["a cat sleeps"]]))
        assert jvm(a) != jvm(b)
        zero = np.array([0])
        assert a.score(["a dog runs"], zero) == b.score(["a cat sleeps"], zero) == 1
        pid = jvm(a)
        a.close()
        assert gone(pid)
        assert b.score(["a cat sleeps"], zero) == 1
    finally:
        a.close()
        b.close()


def test_a_jvm_that_dies_is_one_clear_line() -> None:
    metric = Meteor()
    metric.prepare(dataset([["a dog"]]))
    pid = jvm(metric)
    metric.score(["a dog"], np.array([0]))
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(JavaError, match=r"^METEOR: ended with signal 9 .* after 0 of ") as caught:
        metric.score(["a cat"], np.array([0]))
    assert "\n" not in str(caught.value)
    metric.close()
    assert gone(pid)


def test_too_small_a_heap_says_so() -> None:
    metric = Meteor(heap_mib=16)
    metric.prepare(dataset([["a dog runs over the green grass"]]))
    try:
        with pytest.raises(JavaError, match=r"^METEOR: .*OutOfMemoryError"):
            metric.score(["a dog"], np.array([0]))
    finally:
        metric.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_no_jvm_outlives_a_killed_run() -> None:
    script = (
        "from metaeval.data.dataset import CaptionDataset\n"
        "from metaeval.metrics.meteor.metric import Meteor\n"
        "import numpy as np\n"
        "m = Meteor()\n"
        "m.prepare(CaptionDataset('x', (1,), ('',), (('a dog',),), (), ()))\n"
        "print(m._engine._process.pid, flush=True)\n"
        "m.score(['a dog'], np.array([0]))\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        time.sleep(1)  # in the middle of loading
        assert Path(f"/proc/{pid}").exists()
        child.kill()
        child.wait()
    assert gone(pid)


def test_a_locale_with_decimal_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
    found = meteor_of([GOLDEN], GOLDEN_REFERENCES, tokenizer="none")
    assert found == pytest.approx([0.215727], abs=5e-7)


def test_a_runtime_without_compiler_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = find_java()
    assert isinstance(java, JavaRuntime)
    jlink = java.executable.resolve().with_name("jlink")
    home = tmp_path / "a runtime"
    modules = ["--add-modules", "java.base,java.desktop"]
    if (
        not jlink.exists()
        or subprocess.run([jlink, *modules, "--output", home], capture_output=True).returncode
    ):
        pytest.skip("cannot make a Java runtime without a compiler here (no jlink or no jmods)")
    monkeypatch.setenv("JAVA_HOME", str(home))
    runtime = find_java()
    assert isinstance(runtime, JavaRuntime)
    assert not runtime.can_compile
    metric = Meteor(tokenizer="none")
    metric.prepare(dataset([GOLDEN_REFERENCES]))
    try:
        assert isinstance(metric._engine, JarEngine)
        found = metric.score([GOLDEN], np.array([0]))
    finally:
        metric.close()
    assert found[0] == pytest.approx([0.215727], abs=5e-7)


# ---- the contract ----


def test_absent_java_and_absent_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset([["a dog"]])
    assert Meteor().missing(data) is None
    absent = Absent("java", "no Java")
    with monkeypatch.context() as patch:
        patch.setattr(meteor_module, "find_java", lambda: absent)
        assert Meteor().missing(data) == absent
    # the package, but not its data
    package = tmp_path / "pycocoevalcap"
    package.mkdir()
    (package / "__init__.py").write_text("")
    script = "from metaeval.metrics.meteor.engine import find_files; print(find_files())"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.getcwd()}"}
    told = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert "pip install --force-reinstall pycocoevalcap" in told.stdout, told.stderr


def test_the_signature_names_the_files() -> None:
    from metaeval.metrics.meteor.engine import Files, find_files

    files = find_files()
    assert isinstance(files, Files)
    digests = (
        [
            subprocess.run(["sha256sum", path], capture_output=True, text=True).stdout[:12]
            for path in (files.jar, files.table)
        ]
        if shutil.which("sha256sum")
        else ["1e57b4c72c08", "c147ac7d2c91"]
    )
    assert Meteor(tokenizer="none").signature("METEOR") == (
        f"meteor|tok:none|norm:yes|lang:en|jar:{digests[0]}|table:{digests[1]}|v:1"
    )


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="English"):
        Meteor(language="de")
    with pytest.raises(ConfigError, match="unknown engine 'fast'"):
        Meteor(engine="fast")
    with pytest.raises(ConfigError, match="unknown tokenizer"):
        Meteor(tokenizer="nltk")
    with pytest.raises(ConfigError, match="heap_mib must be at least 1, not 0"):
        Meteor(heap_mib=0)


def test_the_configuration_builds_it() -> None:
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    from metaeval.installation import conf

    metric = instantiate(OmegaConf.load(conf() / "metric/meteor.yaml"))
    assert isinstance(metric, Meteor)
    assert (metric.name, metric.columns, metric.bounds) == ("meteor", ("METEOR",), (0.0, 1.0))
