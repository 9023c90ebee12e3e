"""METEOR against pycocoevalcap's, which talks to the same jar in the jar's own way."""

import os
import re
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.meteor import metric as server_module
from metaeval.metrics.meteor.metric import (
    PARAMETERS,
    Meteor,
    find_installation,
    request_line,
    scores,
)
from tests.java.processes import gone
from tests.metrics.metric_cases import images, ready, scores_of
from tests.metrics.ngram.ngram_cases import BASEBALL, CHILDREN, Case
from tests.shared import write_texts

pytestmark = pytest.mark.java

IMAGES = 150
WHITESPACE = Meteor(tokenizer="whitespace")


# ---- published numbers and worked cases ----


@pytest.mark.parametrize(
    ("case", "published", "near"),
    [
        (BASEBALL, [0.211362], 5e-7),  # six places; without a tokenizer: tests/java
        (CHILDREN, [0.38877, 0.17538, 0.18800, 0.25778], 5e-6),  # FAIEr's example
    ],
)
def test_printed_examples(case: Case, published: list[float], near: float) -> None:
    mine = scores_of(Meteor(tokenizer="ptb"), case.dataset, case.captions)
    assert mine[:, 0] == pytest.approx(published, abs=near)


def test_the_formula_by_hand() -> None:
    # "a b" against "a b c": two content words matched exactly, in one chunk; no function words.
    precision, recall = 1.0, 2 / 3
    f_mean = precision * recall / (0.85 * precision + 0.15 * recall)
    table = np.array(
        [
            [2, 3, 0, 0, 2, 2, 0, 0, *[0] * 12, 1, 2, 2],
            [5, 6, 1, 2, *[0] * 19],  # nothing matches
            [0, 6, 0, 2, *[0] * 19],  # an empty caption
            [2, 2, 0, 0, 2, 2, 0, 0, *[0] * 12, 1, 2, 2],  # the same words
        ],
        dtype=np.float64,
    )
    expected = f_mean * (1 - 0.6 * (1 / 2) ** 0.2), 0, 0, 1
    assert scores(table) == pytest.approx(expected, abs=1e-15)
    assert scores(table[:0]).shape == (0,)


# ---- pycocoevalcap, on real captions ----


class Reference(NamedTuple):
    """600 captions of 150 COCO images, and what pycocoevalcap says about them."""

    data: CaptionDataset
    captions: list[str]
    image: npt.NDArray[np.intp]
    statistics: npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def reference(val2017: CaptionDataset) -> Reference:
    """Human captions, shuffled, and two other images'; PTB tokens."""
    from pycocoevalcap.meteor.meteor import Meteor as Theirs

    from metaeval.text.tokenizers.base import get

    data = val2017.limited(IMAGES)
    groups = [
        [" ".join(tokens) for tokens in get("ptb")([human, *references])]
        for human, references in zip(data.human, data.references, strict=True)
    ]
    rng = np.random.default_rng(0)
    human = [group[0] for group in groups]
    shuffled = [" ".join(rng.permutation(text.split())) for text in human]
    captions = human + shuffled + human[1:] + human[:1] + human[2:] + human[:2]
    references = [group[1:] for group in groups]
    image = np.tile(np.arange(IMAGES), 4)
    theirs = Theirs()
    lines = [theirs._stat(c, references[i]) for c, i in zip(captions, image, strict=True)]
    return Reference(
        images(references),
        captions,
        image,
        np.array([line.split() for line in lines], dtype=np.float64),
    )


@pytest.mark.slow
@pytest.mark.coco
def test_statistics_are_the_jars_although_the_table_is_cut(reference: Reference) -> None:
    # the whole table is in pycocoevalcap's process
    with closing(ready(WHITESPACE, reference.data)) as scorer:
        mine = scorer._server.statistics(reference.captions, reference.image.tolist())
    assert np.array_equal(mine, reference.statistics)
    # otherwise this would not test the table: captions with synonyms, and with paraphrases
    assert min((mine[:, k : k + 4].sum(axis=1) > 0).sum() for k in (12, 16)) > 30


@pytest.mark.slow
@pytest.mark.coco
def test_words_that_come_later_are_looked_up_too(reference: Reference) -> None:
    # the first batch knows none of the second's words: the table has to be read again
    with closing(ready(WHITESPACE, reference.data.limited(50))) as scorer:
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


def test_hostile_captions_stay_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has a word equals itself; what has none scores 0 even so, as in the jar."""
    # where decimals have commas
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
    image = np.repeat(np.arange(len(HOSTILE_REFERENCES)), len(HOSTILE))
    captions = HOSTILE * len(HOSTILE_REFERENCES)
    metric, data = Meteor(tokenizer="none"), images(HOSTILE_REFERENCES)
    hostile = scores_of(metric, data, captions, image).reshape(-1, len(HOSTILE))
    same = ("a dog\nruns", "a dog\r\nruns", "a\tdog runs", "a dog ||| runs", "A DOG RUNS")
    assert [hostile[0, HOSTILE.index(text)] for text in ("a dog runs", *same)] == [1] * 6
    words = np.array([bool(request_line(text).strip()) for text in HOSTILE])
    np.testing.assert_array_equal(hostile[1:3], [0 * words, words])
    assert np.isnan(hostile[3]).all()


# ---- the process ----


def test_close_leaves_no_jvm_and_may_come_early() -> None:
    scorer = ready(Meteor(), images([["a dog"]]))
    for _ in range(2):
        scorer.close()  # first while it is still loading
    assert gone(scorer._server._process.pid)


# ---- the contract ----


def test_absent_java_and_absent_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Absent("java", "no Java")
    with monkeypatch.context() as patch:
        patch.setattr(server_module, "find_java", lambda: absent)
        assert Meteor().bind(images([["a dog"]])) == absent
    # the package, but not its data
    write_texts(tmp_path, {"pycocoevalcap/__init__.py": ""})
    script = (
        "from metaeval.metrics.meteor.metric import find_installation; print(find_installation())"
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.getcwd()}"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert "meteor-1.5.jar is not there" in done.stdout, done.stderr
    assert "pip install --force-reinstall pycocoevalcap" in done.stdout


def test_the_signature_names_the_files() -> None:
    files = find_installation()
    jar, table = (sha256(path.read_bytes()).hexdigest()[:12] for path in (files.jar, files.table))
    metric = Meteor(tokenizer="none")
    assert [(column.name, column.bounds) for column in metric.columns] == [("METEOR", (0.0, 1.0))]
    (signature,) = metric.bind(images([["a dog"]])).signatures
    assert signature == f"meteor|tok:none|norm:yes|lang:en|jar:{jar}|table:{table}|v:1"


@pytest.mark.slow
def test_texts_of_thousands_of_words_cost_no_other_score(caplog: pytest.LogCaptureFixture) -> None:
    """20,000 words ended the JVM for want of heap, and with it every score."""
    words = ["a", "dog", "runs", "on", "the", "grass"]
    giant = " ".join(words[k % 6] for k in range(20_000))
    references = [["a dog runs"], ["the grass", giant], ["dogs on grass"]]
    captions = ["a dog runs on the grass", giant, "a dog", "grass"]
    scored = scores_of(WHITESPACE, images(references), captions, [0, 0, 1, 2])[:, 0]
    alone = scores_of(WHITESPACE, images(references[::2]), captions[::3], [0, 1])[:, 0]
    assert np.isnan(scored).tolist() == [False, True, True, False]
    assert scored[[0, 3]].tolist() == alone.tolist()
    assert "METEOR: 1 captions of more than 2,000 words: not scored" in caplog.text
    assert "METEOR: 1 images have a reference of more than 2,000 words" in caplog.text


LANGUAGES = Path(__file__).parents[2] / "data" / "languages"
GERMAN = [
    line.split("\t")
    for line in (LANGUAGES / "german.txt").read_text(encoding="utf-8").splitlines()
    if line.strip()
]
GERMAN_HUMAN = tuple(first for first, *_ in GERMAN)
# each image has two references: its own second caption and the next image's
GERMAN_REFERENCES = tuple(
    (own, following)
    for (_, own), (_, following) in zip(GERMAN, [*GERMAN[1:], GERMAN[0]], strict=True)
)
GERMAN_DATA = images(GERMAN_REFERENCES, GERMAN_HUMAN, language="de")
GERMAN_CAPTIONS = [
    *GERMAN_HUMAN[:12],
    *(own for _, own in GERMAN[12:24]),
    *GERMAN_HUMAN[24:],
]  # some match wholly

INSTALLATION = find_installation()


def jar(folder: Path, language: str) -> tuple[list[float], float]:
    hypotheses, references = folder / "hypotheses", folder / "references"
    hypotheses.write_text("\n".join(GERMAN_CAPTIONS) + "\n", encoding="utf-8")
    lines = [text for texts in GERMAN_REFERENCES for text in texts]
    references.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [INSTALLATION.java.executable, "-Dfile.encoding=UTF-8", "-jar", INSTALLATION.jar]
    options = ["-r", "2", "-norm", "-m", "exact stem", "-l", language]
    done = subprocess.run(
        [*command, hypotheses, references, *options],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    segments = re.findall(r"^Segment \d+ score:\s+(\S+)$", done.stdout, re.MULTILINE)
    final = re.search(r"^Final score:\s+(\S+)$", done.stdout, re.MULTILINE)
    return [float(score) for score in segments], float(final[1])


@pytest.mark.parametrize("language", sorted(PARAMETERS.keys() - {"en"}))
def test_scores_are_the_jars(language: str, tmp_path: Path) -> None:
    """The texts are German: function words and stems differ by language, and so do the scores."""
    expected, final = jar(tmp_path, language)
    metric = Meteor(tokenizer="none", language=language)  # type: ignore[arg-type]
    with closing(ready(metric, GERMAN_DATA)) as scorer:
        table = scorer.statistics(GERMAN_CAPTIONS, np.arange(len(GERMAN_CAPTIONS)))
    # the same arithmetic in another order
    np.testing.assert_allclose(metric.of_statistics(table)[:, 0], expected, rtol=0, atol=1e-12)
    sums = table.sum(axis=0, keepdims=True)
    assert metric.of_statistics(sums, corpus=True)[0, 0] == pytest.approx(final, abs=1e-12)


def test_the_column_and_the_signature_say_what_matches() -> None:
    metric = Meteor(language="de")
    (column,) = metric.columns
    assert (column.name, column.variant_of) == ("METEOR (de, exact and stem)", "METEOR")
    (signature,) = metric.bind(GERMAN_DATA).signatures
    parts = "lang:de", "modules:exact+stem", "table:"
    assert [part in signature for part in parts] == [True, True, False]
    # captions in another language name the option
    others = (Meteor(), Meteor(language="fr"))
    assert {m.scorer(GERMAN_DATA).remedy for m in others} == {"metric.meteor.language=de"}
