"""The vocabulary: what is in it, its files, and the two ways of splitting a caption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metaeval.errors import InputError
from metaeval.text.vocabulary import SPECIAL, Vocabulary, tokenise

CAPTIONS = ["A dog runs.", "the dog's ball", "A dog, a CAT", "a cat"]


def test_words_that_are_frequent_enough_are_known() -> None:
    vocabulary = Vocabulary.build(CAPTIONS, min_count=2)
    # a 4, dog 3 ("dog's" is dog and 's), cat 2; the others once
    assert vocabulary.words == (*SPECIAL, "a", "cat", "dog")
    assert vocabulary.encode("The dog chased a cat!") == [1, 3, 6, 3, 4, 5, 2]
    assert vocabulary.encode("") == [1, 2]
    assert "dog" in vocabulary
    assert "runs" not in vocabulary
    assert Vocabulary.build(CAPTIONS, min_count=1).digest() != vocabulary.digest()
    assert Vocabulary.build(CAPTIONS[::-1], min_count=2).digest() == vocabulary.digest()


def test_a_caption_may_hold_the_special_words() -> None:
    vocabulary = Vocabulary.build(["<unk> <pad> dog"] * 4)
    assert vocabulary.words.count("<unk>") == 1
    assert len(set(vocabulary.words)) == len(vocabulary)


def test_file_and_back(tmp_path: Path) -> None:
    vocabulary = Vocabulary.build(CAPTIONS, min_count=1)
    vocabulary.save(tmp_path / "vocab.json")
    again = Vocabulary.load(tmp_path / "vocab.json")
    assert again.words == vocabulary.words
    assert again.tokenizer == "ptb"
    assert again.digest() == vocabulary.digest()


def test_scans_own_file(tmp_path: Path) -> None:
    pytest.importorskip("nltk")
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
    nltk = pytest.importorskip("nltk")
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
        ({"word2idx": {w: i for i, w in enumerate(SPECIAL)}, "tokenizer": 3}, "a number"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line(tmp_path: Path, value: Any, message: str) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=message) as error:
        Vocabulary.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Vocabulary.load(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('{"word2idx": {"<pad>": 0')
    with pytest.raises(InputError, match="invalid JSON"):
        Vocabulary.load(tmp_path / "cut.json")


def test_a_vocabulary_that_makes_no_sense_is_refused() -> None:
    for words in (["dog"], [*SPECIAL, "dog", "dog"]):
        with pytest.raises(ValueError, match="vocabulary"):
            Vocabulary(words)
    with pytest.raises(ValueError, match="tokenizer"):
        Vocabulary(SPECIAL, "moses")


def test_padding() -> None:
    torch = pytest.importorskip("torch")
    from metaeval.text.vocabulary import batch

    tokens, lengths = batch([[1, 7, 2], [1, 2], [1, 5, 6, 2]])
    assert tokens.tolist() == [[1, 7, 2, 0], [1, 2, 0, 0], [1, 5, 6, 2]]
    assert lengths.tolist() == [3, 2, 4]
    assert tokens.dtype == lengths.dtype == torch.int64
    assert batch([])[0].shape == (0, 0)
