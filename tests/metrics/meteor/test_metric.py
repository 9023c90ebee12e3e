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
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.java.process import JavaError, JavaProcess
from metaeval.metrics.meteor import metric as server_module
from metaeval.metrics.meteor.metric import (
    Meteor,
    MeteorScorer,
    find_installation,
    make_summable,
    one_line,
    scores,
)
from tests.java.processes import gone
from tests.metrics.ngram.ngram_cases import CHILDREN, assert_unchanged_by_scoring, configured

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


def scorer_of(
    references: Sequence[Sequence[str]], pool: Sequence[str] = (), **options: Any
) -> MeteorScorer:
    """METEOR bound to these references, and prepared."""
    scorer = Meteor(**options).bind(dataset(references, pool))
    scorer.prepare()
    return scorer


def meteor_of(
    captions: Sequence[str], references: Sequence[str], **options: Any
) -> npt.NDArray[np.float64]:
    """METEOR of several candidates for one image."""
    with closing(scorer_of([references], **options)) as scorer:
        return scorer.score(captions, np.zeros(len(captions), dtype=np.intp))[:, 0]


def jvm(scorer: MeteorScorer) -> int:
    return scorer._server.pid


def statistics_by_the_jar(
    captions: Sequence[str], references: Sequence[Sequence[str]]
) -> npt.NDArray[np.float64]:
    """What the jar's own -stdio mode says of each caption against its references."""
    files = find_installation()
    arguments = ["-jar", str(files.jar), "-", "-", "-stdio", "-l", "en", "-norm"]
    arguments += ["-a", str(files.table)]
    lines = [
        f"SCORE ||| {' ||| '.join(map(one_line, group))} ||| {one_line(caption)}"
        for caption, group in zip(captions, references, strict=True)
    ]
    with JavaProcess(files.java, arguments, what="the jar", heap=2048, silence=300) as process:
        replies = process.exchange(lines)
    return np.array([reply.split() for reply in replies], dtype=np.float64)


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
    mine = meteor_of([GOLDEN], GOLDEN_REFERENCES, tokenizer=tokenizer)
    assert mine == pytest.approx([published], abs=5e-7)  # six places are published


def test_the_example_of_faier() -> None:
    mine = meteor_of(FAIER, FAIER_REFERENCES)
    assert mine == pytest.approx([0.38877, 0.17538, 0.18800, 0.25778], abs=5e-6)


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
    corpus, sentences = theirs.compute_score(
        {j: references[i] for j, i in enumerate(image)}, {j: [c] for j, c in enumerate(captions)}
    )
    return Reference(
        dataset(references),
        captions,
        image,
        np.array([line.split() for line in lines], dtype=np.float64),
        np.array(sentences),
        corpus,
    )


@pytest.fixture(scope="module")
def ours(reference: Reference) -> Iterator[MeteorScorer]:
    with closing(scorer_of(reference.data.references, tokenizer="whitespace")) as scorer:
        yield scorer


@pytest.mark.coco
def test_the_formula_is_that_of_the_jar(reference: Reference) -> None:
    assert np.abs(scores(reference.statistics) - reference.scores).max() < TOLERANCE


@pytest.mark.coco
def test_the_corpus_score_is_the_jars_aggregate(reference: Reference) -> None:
    sums = make_summable(reference.statistics).sum(axis=0, keepdims=True)
    assert scores(sums)[0] == pytest.approx(reference.corpus, rel=TOLERANCE)
    # some captions match a reference wholly, and would add a chunk each
    plain = scores(reference.statistics.sum(axis=0, keepdims=True))[0]
    assert plain < reference.corpus * (1 - 100 * TOLERANCE)
    # on its own such a caption scores the same in either form
    assert np.array_equal(scores(make_summable(reference.statistics)), scores(reference.statistics))


@pytest.mark.coco
def test_statistics_are_the_jars_although_the_table_is_cut(
    ours: MeteorScorer, reference: Reference
) -> None:
    # the whole table is in pycocoevalcap's process
    mine = ours._server.statistics(reference.captions, reference.image.tolist())
    assert np.array_equal(mine, reference.statistics)
    paraphrases = mine[:, 16:20].sum(axis=1) > 0
    synonyms = mine[:, 12:16].sum(axis=1) > 0
    assert paraphrases.sum() > 100  # otherwise this would not test the table
    assert synonyms.sum() > 100


@pytest.mark.coco
def test_scores_are_pycocoevalcaps(ours: MeteorScorer, reference: Reference) -> None:
    mine = ours.score(reference.captions, reference.image)
    assert mine.shape == (len(reference.captions), 1)
    assert mine.dtype == np.float64
    assert np.abs(mine[:, 0] - reference.scores).max() < TOLERANCE


@pytest.mark.coco
def test_no_score_depends_on_the_others(ours: MeteorScorer, reference: Reference) -> None:
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
    with closing(scorer_of(reference.data.references[:50], tokenizer="whitespace")) as scorer:
        assert scorer.score(["zebra"], np.array([0])).shape == (1, 1)
        mine = scorer.score(reference.captions[:50], np.arange(50))[:, 0]
    assert np.array_equal(mine, scores(reference.statistics[:50]))


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


HOSTILE_REFERENCES = [["a dog runs", "two dogs\nrun ||| fast"], ["", "|||"], HOSTILE, []]


@pytest.fixture(scope="module")
def hostile() -> npt.NDArray[np.float64]:
    """Scores of the hostile captions against each of the hostile references."""
    image = np.repeat(np.arange(len(HOSTILE_REFERENCES)), len(HOSTILE))
    with pytest.MonkeyPatch.context() as patch:  # where decimals have commas
        patch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
        scorer = scorer_of(HOSTILE_REFERENCES, tokenizer="none")
    with closing(scorer):
        captions = HOSTILE * len(HOSTILE_REFERENCES)
        return scorer.score(captions, image).reshape(-1, len(HOSTILE))


def test_hostile_captions_stay_in_step(hostile: npt.NDArray[np.float64]) -> None:
    first, empty, all_of_them, none = hostile
    assert first[HOSTILE.index("a dog runs")] == 1
    for same in ("a dog\nruns", "a dog\r\nruns", "a\tdog runs", "a dog ||| runs", "A DOG RUNS"):
        assert first[HOSTILE.index(same)] == 1, same
    assert first[HOSTILE.index("")] == first[HOSTILE.index("|||")] == 0
    assert (empty == 0).all()
    # whatever has a word equals itself; what has none scores 0 even so, as in the jar
    words = np.array([bool(one_line(text).strip()) for text in HOSTILE])
    assert np.array_equal(all_of_them, words.astype(float))
    assert np.isnan(none).all()


def test_hostile_captions_score_as_in_the_jar(hostile: npt.NDArray[np.float64]) -> None:
    groups = [group for group in HOSTILE_REFERENCES if group for _ in HOSTILE]
    theirs = scores(statistics_by_the_jar(HOSTILE * 3, groups))
    assert np.array_equal(hostile[:3].ravel(), theirs)


def test_no_captions_no_scores() -> None:
    assert meteor_of([], ["a dog"]).shape == (0,)


# ---- the process ----


def test_close_leaves_no_jvm_and_may_come_early() -> None:
    scorer = scorer_of([["a dog"]], ["a cat"])
    pid = jvm(scorer)
    scorer.close()  # while it is still loading
    scorer.close()
    assert gone(pid)


def test_close_without_prepare() -> None:
    scorer = Meteor().bind(dataset([["a dog"]]))
    scorer.close()


def test_two_at_once() -> None:
    zero = np.array([0])
    with (
        closing(scorer_of([["a dog runs"]])) as a,
        closing(scorer_of([["a cat sleeps"]])) as b,
    ):
        assert jvm(a) != jvm(b)
        assert a.score(["a dog runs"], zero) == b.score(["a cat sleeps"], zero) == 1
        pid = jvm(a)
        a.close()
        assert gone(pid)
        assert b.score(["a cat sleeps"], zero) == 1


def test_a_jvm_that_dies_is_one_clear_line() -> None:
    scorer = scorer_of([["a dog"]])
    pid = jvm(scorer)
    scorer.score(["a dog"], np.array([0]))
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(JavaError, match=r"^METEOR: ended with signal 9 .* after 0 of ") as caught:
        scorer.score(["a cat"], np.array([0]))
    assert "\n" not in str(caught.value)
    scorer.close()
    assert gone(pid)


def test_too_small_a_heap_is_reported() -> None:
    references = [["a dog runs over the green grass"]]
    with (
        closing(scorer_of(references, heap_mib=16)) as scorer,
        pytest.raises(JavaError, match=r"^METEOR: .*OutOfMemoryError"),
    ):
        scorer.score(["a dog"], np.array([0]))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_no_jvm_outlives_a_killed_run() -> None:
    script = (
        "from metaeval.data.dataset import CaptionDataset\n"
        "from metaeval.metrics.meteor.metric import Meteor\n"
        "import numpy as np\n"
        "m = Meteor().bind(CaptionDataset('x', (1,), ('',), (('a dog',),), (), ()))\n"
        "m.prepare()\n"
        "print(m._server.pid, flush=True)\n"
        "m.score(['a dog'], np.array([0]))\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        pid = int(child.stdout.readline())
        time.sleep(1)  # in the middle of loading
        assert Path(f"/proc/{pid}").exists()
        child.kill()
        child.wait()
    assert gone(pid)


def test_a_locale_with_decimal_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
    mine = meteor_of([GOLDEN], GOLDEN_REFERENCES, tokenizer="none")
    assert mine == pytest.approx([0.215727], abs=5e-7)


# ---- the contract ----


def test_absent_java_and_absent_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Absent("java", "no Java")
    with monkeypatch.context() as patch:
        patch.setattr(server_module, "find_java", lambda: absent)
        assert Meteor().bind(dataset([["a dog"]])) == absent
    # the package, but not its data
    package = tmp_path / "pycocoevalcap"
    package.mkdir()
    (package / "__init__.py").write_text("")
    script = (
        "from metaeval.metrics.meteor.metric import find_installation; print(find_installation())"
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.getcwd()}"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert "meteor-1.5.jar is not there" in done.stdout, done.stderr
    assert "pip install --force-reinstall pycocoevalcap" in done.stdout


def test_the_signature_names_the_files() -> None:
    files = find_installation()
    digests = (
        [
            subprocess.run(["sha256sum", path], capture_output=True, text=True).stdout[:12]
            for path in (files.jar, files.table)
        ]
        if shutil.which("sha256sum")
        else ["1e57b4c72c08", "c147ac7d2c91"]
    )
    scorer = Meteor(tokenizer="none").bind(dataset([["a dog"]]))
    assert scorer.signatures == (
        f"meteor|tok:none|norm:yes|lang:en|jar:{digests[0]}|table:{digests[1]}|v:1",
    )


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="'sv' is not one of en, de, es, fr, ru"):
        Meteor(language="sv")
    with pytest.raises(ConfigError, match="unknown tokenizer"):
        Meteor(tokenizer="nltk")
    with pytest.raises(ConfigError, match="heap_mib: 0 is not a whole number from 1"):
        Meteor(heap_mib=0)


@pytest.mark.parametrize("tokenizer", ["ptb", "none"])
def test_scoring_leaves_the_metric_as_it_was(tokenizer: str) -> None:
    metric = configured("meteor", tokenizer=tokenizer)
    assert [(column.name, column.bounds) for column in metric.columns] == [("METEOR", (0.0, 1.0))]
    assert_unchanged_by_scoring(metric, CHILDREN)


def test_texts_of_thousands_of_words_cost_no_other_score(caplog: pytest.LogCaptureFixture) -> None:
    """20,000 words ended the JVM for want of heap, and with it every score."""
    words = ["a", "dog", "runs", "on", "the", "grass"]
    giant = " ".join(words[k % 6] for k in range(20_000))
    references = [["a dog runs"], ["the grass", giant], ["dogs on grass"]]
    captions = ["a dog runs on the grass", giant, "a dog", "grass"]
    with closing(scorer_of(references, tokenizer="whitespace")) as scorer:
        scored = scorer.score(captions, np.array([0, 0, 1, 2], dtype=np.intp))[:, 0]
    with closing(scorer_of([references[0], references[2]], tokenizer="whitespace")) as scorer:
        alone = scorer.score([captions[0], captions[3]], np.array([0, 1], dtype=np.intp))[:, 0]
    assert np.isnan(scored).tolist() == [False, True, True, False]
    assert scored[[0, 3]].tolist() == alone.tolist()
    assert "METEOR: 1 captions of more than 2,000 words: not scored" in caplog.text
    assert "METEOR: 1 images have a reference of more than 2,000 words" in caplog.text
