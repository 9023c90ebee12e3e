"""Python against the original jar, exactly: no tolerance, every token of every caption."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from metaeval.data.dataset import Absent
from metaeval.java.process import JavaError
from metaeval.java.runtime import JavaRuntime
from metaeval.text.tokenizers import java as jar_module
from metaeval.text.tokenizers.base import get
from metaeval.text.tokenizers.java import JavaPtbTokenizer
from metaeval.text.tokenizers.ptb import PtbTokenizer

NASTY = json.loads((Path(__file__).parent / "nasty.json").read_text(encoding="utf-8"))


def coco(path: Path) -> list[str]:
    return [item["caption"] for item in json.loads(path.read_bytes())["annotations"]]


def flickr8k(root: Path) -> list[str]:
    lines = (root / "flickr8k/Flickr8k.token.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("\t", 1)[1] for line in lines]


def captioners(root: Path) -> list[str]:
    files = sorted((root / "coco/captioners").glob("*.json"))
    return [item["caption"] for file in files for item in json.loads(file.read_bytes())]


def shuffled(texts: Sequence[str], rng: random.Random) -> list[str]:
    return [" ".join(rng.sample(words := text.split(), len(words))) for text in texts]


def differences(texts: Sequence[str]) -> list[tuple[str, list[str], list[str]]]:
    ours, theirs = PtbTokenizer().tokenize(texts), JavaPtbTokenizer().tokenize(texts)
    return [row for row in zip(texts, ours, theirs, strict=True) if row[1] != row[2]]


@pytest.mark.java
def test_the_table_is_what_the_jar_says() -> None:
    texts = [text for text, _ in NASTY]
    assert [" ".join(tokens) for tokens in get("java")(texts)] == [tokens for _, tokens in NASTY]


@pytest.mark.java
def test_glued_pieces_of_the_table_agree() -> None:
    """20,000 random strings: pieces of the difficult ones, glued with and without spaces."""
    rng = random.Random(0)
    pieces = sorted({piece for text, _ in NASTY for piece in text.split()} - {"ALİ", "İstanbul"})
    texts = [
        rng.choice(["", " ", "\xa0"]).join(rng.choices(pieces, k=rng.randint(1, 6)))
        for _ in range(20_000)
    ]
    # Java and Python disagree on when a Greek capital sigma is final; the lexer has no part in it.
    assert differences([text for text in texts if "Σ" not in text]) == []


@pytest.mark.java
@pytest.mark.coco
def test_a_sample_of_real_captions_agrees(coco_root: Path) -> None:
    rng = random.Random(0)
    sample = rng.sample(coco(coco_root / "coco/annotations/captions_val2017.json"), 2000)
    assert differences([*sample, *shuffled(sample[:1000], rng)]) == []


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.coco
def test_all_real_and_shuffled_captions_agree(coco_root: Path) -> None:
    rng = random.Random(0)
    annotations = coco_root / "coco/annotations"
    human = [
        *coco(annotations / "captions_val2017.json"),
        *coco(annotations / "captions_karpathy_test.json"),
        *flickr8k(coco_root),
    ]
    assert len(human) == 90_484
    everything = human + captioners(coco_root)
    assert differences(everything) == []
    assert differences(shuffled(everything, rng)) == []


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.coco
def test_pycocoevalcap_gives_the_same_on_all_captions_in_one_call(coco_root: Path) -> None:
    """As it is used: all captions in one text, where a caption's end can depend on the next one."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    annotations = coco_root / "coco/annotations"
    for texts, allowed in (
        (coco(annotations / "captions_val2017.json"), []),
        (coco(annotations / "captions_karpathy_test.json"), []),
        (flickr8k(coco_root), []),
        (captioners(coco_root), ["Pizza P.", "Nokia family photo with a small white t."]),
    ):
        answer = PTBTokenizer().tokenize({n: [{"caption": t}] for n, t in enumerate(texts)})
        theirs = [answer[n][0] for n in range(len(texts))]
        ours = [" ".join(tokens) for tokens in PtbTokenizer().tokenize(texts)]
        differ = [t for t, a, b in zip(texts, ours, theirs, strict=True) if a != b]
        assert differ == allowed


@pytest.mark.java
def test_hostile_captions_cannot_shift_the_others() -> None:
    hostile = [
        "<a b='",
        '<a b="',
        "two\nlines",
        "x\u2028y\x0bz",
        "",
        "\ud800",
        "^.[^x=",
        "U.S.",
        "K.",
    ]
    plain = ["dogs run", "The '> end", '"> end', "<>]", "5 dogs", "A man"]
    tokens = JavaPtbTokenizer().tokenize([*hostile, *plain, *hostile])
    assert tokens[len(hostile) : -len(hostile)] == [
        *(["dogs", "run"], ["the", ">", "end"], [">", "end"], ["<", ">", "-rsb-"], ["5", "dogs"]),
        ["a", "man"],
    ]
    assert tokens[: len(hostile)] == tokens[-len(hostile) :]
    assert tokens[2:5] == [["two", "lines"], ["x", "y", "z"], []]


@pytest.mark.java
def test_it_works_from_any_folder_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder with späces"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert JavaPtbTokenizer().tokenize(["A dog's bowl."]) == [["a", "dog", "'s", "bowl"]]
    assert list(folder.iterdir()) == []


@pytest.mark.java
def test_too_slow_an_answer_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tokenizer = JavaPtbTokenizer()
    tokenizer.seconds = 0.01
    with pytest.raises(JavaError, match="not done after"):
        tokenizer.tokenize(["a dog"])
    assert list(tmp_path.iterdir()) == []


def test_lines_out_of_step_are_an_error() -> None:
    with pytest.raises(JavaError, match="2 captions came back as 1"):
        jar_module._tokens("a dog\n' '' <\n", ["a dog", "a cat"])
    with pytest.raises(JavaError, match="out of step after the caption 'a dog'"):
        jar_module._tokens("a dog\na cat\n", ["a dog"])


def test_missing_java_or_jar_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    no_java = Absent("java", "no Java runtime")
    monkeypatch.setattr(jar_module, "find_java", lambda: no_java)
    missing = JavaPtbTokenizer().missing()
    assert isinstance(missing, Absent)
    assert missing.part == "java"
    with pytest.raises(JavaError, match="no Java runtime"):
        JavaPtbTokenizer().tokenize(["a dog"])

    no_jar = Absent("java tokenizer", "no jar", "pip install it")
    monkeypatch.setattr(jar_module, "find_jar", lambda: no_jar)
    java = JavaRuntime(Path("java"), "17", "openjdk 17")
    monkeypatch.setattr(jar_module, "find_java", lambda: java)
    assert JavaPtbTokenizer().missing() is no_jar
    with pytest.raises(JavaError, match="no jar"):
        JavaPtbTokenizer().tokenize(["a dog"])
