"""The Python PTB tokeniser without Java: a table checked with Java when written, and invariants.

`nasty.json` pairs odd strings with the tokens of the original jar, joined by spaces (a token can
hold a no-break space). `test_ptb_and_java.py` checks the same table against the jar itself.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.text.tokenizers import ptb
from metaeval.text.tokenizers.base import get
from metaeval.text.tokenizers.ptb import RULES

NASTY = json.loads((Path(__file__).parent / "nasty.json").read_text(encoding="utf-8"))
# Text in which rules meet: hypothesis' own characters seldom form abbreviations or contractions.
FRAGMENTS = st.sampled_from(
    [
        *"aAbBnsStTkK.,:;!?'’`\"-/&<>()[]{}@#$%*_=~^|\\ 0159½²é\xad\xa0\ud800",
        *("n't", "'s", "U.S.", "St.", "etc.", "cannot", "1/2", "&amp;", "&quot;", "<a b='"),
        *("http://", "foo.com", "no. ", " The "),
    ]
)
slowly = settings(deadline=None)  # the first text has the rules compiled
TEXTS = st.text() | st.lists(FRAGMENTS, max_size=12).map("".join)


@pytest.mark.parametrize(("text", "expected"), NASTY, ids=range(len(NASTY)))
def test_tokens_are_those_of_the_jar(text: str, expected: str) -> None:
    assert get("ptb")([text]) == [expected.split(" ") if expected else []]


@slowly
@given(TEXTS)
def test_any_text_gives_tokens_that_are_not_empty(text: str) -> None:
    (tokens,) = ptb.PtbTokenizer().tokenize([text])
    assert all(tokens)
    assert not ptb.DROPPED.intersection(tokens)
    assert not any(" " in token or "\n" in token for token in tokens)


@slowly
@given(st.lists(TEXTS, max_size=5), TEXTS)
def test_a_text_does_not_depend_on_the_others(others: list[str], text: str) -> None:
    alone = ptb.PtbTokenizer().tokenize([text])
    among = ptb.PtbTokenizer().tokenize([*others, text, *others])
    assert among[len(others)] == alone[0]


@slowly
@given(st.from_regex(re.compile(r"[A-Za-z]{0,8}(?:[,.]? [A-Za-z]{0,6}){0,6}[,.]?"), fullmatch=True))
def test_the_easy_way_agrees_with_the_complete_one(text: str) -> None:
    easy = ptb._split_plain_text(text)
    assert easy is None or easy == ptb._split_any_text(text)


@pytest.mark.parametrize("word", [*sorted(ptb.ABBREVIATIONS), "cannot", "x", "Gonna", "dog"])
def test_the_fast_path_excludes_the_words_it_cannot_split(word: str) -> None:
    for text in (word, f"{word}.", f"a {word}. dog", f"{word.upper()}. Dog", f"{word}, {word} dog"):
        easy = ptb._split_plain_text(text)
        assert easy is None or easy == ptb._split_any_text(text)


@slowly
@given(TEXTS)
def test_no_rule_begins_with_a_character_that_it_does_not_name(text: str) -> None:
    """Rules are tried by first character; one that left a character out would silently not run."""
    for rule in RULES:
        for char in {c for c in text if c.isascii() and c.isprintable()}:
            kind = "a" if char.isalpha() else "0" if char.isdigit() else char
            if kind not in rule.starts:
                at = text.index(char)
                assert re.compile(rule.pattern).match(text + "\n'\"<\n", at) is None, rule


def test_line_breaks_inside_a_caption_are_spaces() -> None:
    for mark in "\n\r\x0b\x0c\u2028\u2029":
        assert get("ptb")([f"two{mark}dogs"]) == [["two", "dogs"]]


def test_the_full_stop_of_a_final_letter_depends_on_the_capital_alone() -> None:
    assert get("ptb")(["A sign reads K.", "a sign reads K."]) == [
        ["a", "sign", "reads", "k"],
        ["a", "sign", "reads", "k."],
    ]


def test_what_is_forgotten_is_tokenised_again() -> None:
    tokenizer = ptb.PtbTokenizer()
    first = tokenizer(["A dog's bone."])
    tokenizer.forget()
    assert tokenizer._memory == {}
    assert tokenizer(["A dog's bone."]) == first
