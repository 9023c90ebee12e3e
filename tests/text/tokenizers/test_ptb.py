"""The Python PTB tokeniser without Java: a table checked with Java when written, and invariants.

`nasty.json` pairs odd strings with the tokens of the original jar, joined by spaces (a token can
hold a no-break space). The last tests compare the same table with the jar itself.
"""

import json
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, strategies as st

from metaeval.data.dataset import Absent
from metaeval.java.services import find_java
from metaeval.text.tokenizers import ptb
from metaeval.text.tokenizers.base import forget_texts, get
from metaeval.text.tokenizers.ptb import RULES, PtbTokenizer

NASTY = json.loads((Path(__file__).parent / "nasty.json").read_text(encoding="utf-8"))
# Text in which rules meet: hypothesis' own characters seldom form abbreviations or contractions.
FRAGMENTS = st.sampled_from(
    [
        *"aAbBnsStTkK.,:;!?'’`\"-/&<>()[]{}@#$%*_=~^|\\ 0159½²é\xad\xa0\ud800",
        *("n't", "'s", "U.S.", "St.", "etc.", "cannot", "1/2", "&amp;", "&quot;", "<a b='"),
        *("http://", "foo.com", "no. ", " The "),
    ]
)
TEXTS = st.text() | st.lists(FRAGMENTS, max_size=12).map("".join)


BY_HAND = [
    # a line break inside a caption is a space
    *((f"two{mark}dogs", "two dogs") for mark in "\n\r\x0b\x0c\u2028\u2029"),
    # the full stop of a final letter depends on the capital at the beginning alone
    *(("A sign reads K.", "a sign reads k"), ("a sign reads K.", "a sign reads k.")),
]


@pytest.mark.parametrize(
    ("text", "expected"), [*NASTY, *BY_HAND], ids=range(len(NASTY) + len(BY_HAND))
)
def test_tokens_are_those_of_the_jar(text: str, expected: str) -> None:
    assert get("ptb")([text]) == [expected.split(" ") if expected else []]


@given(st.lists(TEXTS, max_size=5), TEXTS)
def test_any_text_gives_tokens_that_do_not_depend_on_others(others: list[str], text: str) -> None:
    (tokens,) = ptb.PtbTokenizer().tokenize([text])
    assert ptb.PtbTokenizer().tokenize([*others, text, *others])[len(others)] == tokens
    assert not ptb.DROPPED.intersection(tokens)
    assert all(token and " " not in token and "\n" not in token for token in tokens)


def split_by_rules(text: str) -> list[str]:
    """The tokens without the short cut for easy words."""
    with mock.patch.object(ptb, "_EASY_WORD", re.compile("(?!)")):
        return ptb.PtbTokenizer().tokenize([text])[0]


@given(st.from_regex(re.compile(r"[A-Za-z]{0,8}(?:[,.]? [A-Za-z]{0,6}){0,6}[,.]?"), fullmatch=True))
def test_the_easy_way_agrees_with_the_complete_one(text: str) -> None:
    assert ptb.PtbTokenizer().tokenize([text])[0] == split_by_rules(text)


@pytest.mark.parametrize("word", [*sorted(ptb.ABBREVIATIONS), "cannot", "x", "Gonna", "dog"])
def test_the_fast_path_excludes_the_words_it_cannot_split(word: str) -> None:
    for text in (word, f"{word}.", f"a {word}. dog", f"{word.upper()}. Dog", f"{word}, {word} dog"):
        assert ptb.PtbTokenizer().tokenize([text])[0] == split_by_rules(text)


@given(TEXTS)
def test_no_rule_begins_with_a_character_that_it_does_not_name(text: str) -> None:
    """Rules are tried by first character; one that left a character out would silently not run."""
    for rule in RULES:
        for char in {c for c in text if c.isascii() and c.isprintable()}:
            kind = "a" if char.isalpha() else "0" if char.isdigit() else char
            if kind not in rule.starts:
                at = text.index(char)
                assert re.compile(rule.pattern).match(text + "\n'\"<\n", at) is None, rule


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


@pytest.fixture(autouse=True)
def java_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """pycocoevalcap calls `java`, wherever metaeval has found one."""
    if not isinstance(java := find_java(), Absent):
        monkeypatch.setenv("PATH", str(java.executable.parent), prepend=os.pathsep)


def jar_tokens(texts: Sequence[str]) -> list[list[str]]:
    """pycocoevalcap's tokens. The jar reads all captions as one text, so between two of them stands
    a line that no token, tag or abbreviation reaches across."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    clean = [ptb.sanitise(text) for text in texts]
    lines = [line for text in clean for line in (text, ptb.following_text(text).strip())]
    answer = PTBTokenizer().tokenize({n: [{"caption": line}] for n, line in enumerate(lines)})
    tokens = [answer[n][0].split(" ") if answer[n][0] else [] for n in range(len(lines))]
    assert {each[-1] for each in tokens[1::2]} == {"<"}  # the lines are in step
    return tokens[::2]


def differences(texts: Sequence[str]) -> list[tuple[str, list[str], list[str]]]:
    ours, theirs = PtbTokenizer().tokenize(texts), jar_tokens(texts)
    return [row for row in zip(texts, ours, theirs, strict=True) if row[1] != row[2]]


@pytest.mark.java
def test_the_table_is_what_the_jar_says() -> None:
    texts = [text for text, _ in NASTY]
    assert [" ".join(tokens) for tokens in jar_tokens(texts)] == [tokens for _, tokens in NASTY]


@pytest.mark.java
def test_glued_pieces_of_the_table_agree() -> None:
    """8,000 random strings: pieces of the difficult ones, glued with and without spaces."""
    rng = random.Random(0)
    pieces = sorted({piece for text, _ in NASTY for piece in text.split()} - {"ALİ", "İstanbul"})
    texts = [
        rng.choice(["", " ", "\xa0"]).join(rng.choices(pieces, k=rng.randint(1, 6)))
        for _ in range(8_000)
    ]
    # Java and Python disagree on when a Greek capital sigma is final; the lexer has no part in it.
    assert differences([text for text in texts if "Σ" not in text]) == []


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.coco
def test_all_real_and_shuffled_captions_agree(coco_root: Path) -> None:
    rng, coco = random.Random(0), coco_root / "coco"
    names = ("captions_val2017.json", "captions_karpathy_test.json")
    records = [r for name in names for r in read_json(coco / "annotations" / name)["annotations"]]
    flickr8k = (coco_root / "flickr8k/Flickr8k.token.txt").read_text(encoding="utf-8").splitlines()
    assert len(records) + len(flickr8k) == 90_484
    records += [r for file in sorted((coco / "captioners").glob("*.json")) for r in read_json(file)]
    texts = [r["caption"] for r in records] + [line.split("\t", 1)[1] for line in flickr8k]
    words = [text.split() for text in texts]
    shuffled = [" ".join(rng.sample(each, len(each))) for each in words]
    assert (differences(texts), differences(shuffled)) == ([], [])


def test_a_text_is_tokenised_once_unless_so_many_are_forgotten() -> None:
    tokenizer = get("whitespace")
    forget_texts()
    first, _ = tokenizer(["a dog", "a cat"])
    forget_texts(more_than=2)
    assert tokenizer(["a dog"])[0] is first
    forget_texts(more_than=1)
    assert tokenizer(["a dog"]) == [first]
    assert tokenizer(["a dog"])[0] is not first
