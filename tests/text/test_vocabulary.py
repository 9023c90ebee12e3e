"""The vocabulary: what is in it, its files, and the two ways of splitting a caption."""

import json
from pathlib import Path
from typing import Any

import nltk
import numpy as np
import pytest
from hypothesis import given, strategies as st

from metaeval.data.language import split_sentences
from metaeval.errors import InputError
from metaeval.metrics.ngram.ngrams import runs_of_cost
from metaeval.text.vocabulary import SPECIAL, Vocabulary, tokenise
from research.vocabulary import build_vocabulary

CAPTIONS = ["A dog runs.", "the dog's ball", "A dog, a CAT", "a cat"]


def test_words_that_are_frequent_enough_are_known() -> None:
    vocabulary = build_vocabulary(CAPTIONS, min_count=2)
    # a 4, dog 3 ("dog's" is dog and 's), cat 2; the others once
    assert vocabulary.words == (*SPECIAL, "a", "cat", "dog")
    assert vocabulary.encode_all(["The dog chased a cat!", ""]) == [[1, 3, 6, 3, 4, 5, 2], [1, 2]]
    assert ("dog" in vocabulary, "runs" in vocabulary) == (True, False)
    assert build_vocabulary(CAPTIONS, min_count=1).digest() != vocabulary.digest()
    # a caption may hold the special words
    assert build_vocabulary(["<unk> <pad> dog"] * 4).words == (*SPECIAL, "dog")
    assert build_vocabulary(CAPTIONS[::-1], min_count=2).digest() == vocabulary.digest()


def test_scans_own_file(tmp_path: Path) -> None:
    words = [*SPECIAL, "a", "dog", ".", "'s"]
    official = {
        "word2idx": {w: i for i, w in enumerate(words)},
        "idx2word": {str(i): w for i, w in enumerate(words)},
        "idx": len(words),
    }
    (tmp_path / "coco_precomp_vocab.json").write_text(json.dumps(official))
    vocabulary = Vocabulary.load(tmp_path / "coco_precomp_vocab.json")
    assert vocabulary.tokenizer == "nltk"
    # its captions keep their full stops
    assert vocabulary.encode("A dog's dog.") == [1, 4, 5, 7, 5, 6, 2]


def test_splitting_like_scan_agrees_with_nltk_where_its_data_is_not_needed() -> None:
    captions = [
        "A man's dog isn't here.",
        'A sign that says "STOP" (in red), by the U.S. flag',
        "Two dogs, three cats; and it's $5.00!",
        "A street named after mr. brown vs. st. john",
        "gonna cannot",
    ]
    # one sentence each, so that nltk's sentence splitter, which needs trained data, has no part
    expected = [nltk.word_tokenize(c.lower(), preserve_line=True) for c in captions]
    assert tokenise(captions, "nltk") == expected
    # several sentences: as if each were alone
    assert tokenise(["A dog. A cat? Yes... no"], "nltk") == [
        ["a", "dog", ".", "a", "cat", "?", "yes", "...", "no"]
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "word2idx"),
        ({"word2idx": {"<pad>": 0, "<start>": 1, "<end>": 2}}, "first four"),
        ({"word2idx": {"<pad>": 0, "<start>": 1, "<end>": 2, "<unk>": 9}}, "in 0…3, not 9"),
        ({"word2idx": {"<pad>": 0, "<start>": 1, "<end>": 1, "<unk>": 3}}, "has the number 1"),
        ({"word2idx": {"<pad>": 0, "<start>": 1, "<end>": True, "<unk>": 3}}, "not True"),
        ({"word2idx": {"a": 0, "<start>": 1, "<end>": 2, "<unk>": 3}}, "first four"),
        ({"word2idx": {w: i for i, w in enumerate(SPECIAL)}, "tokenizer": "moses"}, "moses"),
        (
            {"word2idx": {w: i for i, w in enumerate(SPECIAL)}, "tokenizer": 3},
            "must be 'ptb' or 'nltk', not 3",
        ),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, value: Any, message: str) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=rf"^.*vocab\.json.*{message}.*$"):
        Vocabulary.load(path)


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(1, 25))
def test_runs_contain_every_text_once_within_the_stated_cost(costs: list[int], most: int) -> None:
    runs = list(runs_of_cost(np.array(costs, dtype=np.int64), most))
    assert [k for begin, end in runs for k in range(begin, end)] == list(range(len(costs)))
    for begin, end in runs:
        assert sum(costs[begin:end]) < most + max(costs[begin:end])


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A dog runs.", ["A dog runs."]),
        ("A dog runs. It is brown", ["A dog runs.", "It is brown"]),
        ("a dog runs. it is brown.", ["a dog runs.", "it is brown."]),
        ("A sign of St. Mary near the U.S. flag.", ["A sign of St. Mary near the U.S. flag."]),
        ("A bus at 5 p.m. in town. Nice!", ["A bus at 5 p.m. in town.", "Nice!"]),
        ("A sign (“Stop!”) hangs.  A man waits?", ["A sign (“Stop!”) hangs.", "A man waits?"]),
        ("A clock . It is noon .", ["A clock .", "It is noon ."]),
        ("A man waits ... then leaves.", ["A man waits ... then leaves."]),
        ("两只狗在跑。天气很好！", ["两只狗在跑。", "天气很好！"]),
        ("", [""]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences
