"""Document frequencies that grow, against sets and counters of Python's."""

from __future__ import annotations

import math
from collections import Counter
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.errors import InputError
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.document_frequencies import (
    ORDERS,
    CountedCorpus,
    DocumentFrequencies,
    read_corpus,
)
from metaeval.metrics.ngram.ngrams import distinct_ngrams
from tests.metrics.ngram.ngram_cases import BASEBALL

WORDS = st.lists(st.sampled_from("abcd"), max_size=7)
DOCUMENT = st.lists(WORDS, max_size=3)
Gram = tuple[str, ...]


def counted(documents: list[list[list[str]]], n: int) -> Counter[Gram]:
    """In how many documents each n-gram is."""
    every: Counter[Gram] = Counter()
    for texts in documents:
        every.update({tuple(t[i : i + n]) for t in texts for i in range(len(t) - n + 1)})
    return every


def idf_of(frequencies: DocumentFrequencies, text: list[str], n: int) -> dict[Gram, float]:
    """The idf of each n-gram of a text."""
    ngrams = distinct_ngrams(copy(frequencies.words).encode([text]), ORDERS)
    numbers = frequencies.find(ngrams)[n - 1]
    grams = dict.fromkeys(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
    return dict(zip(grams, frequencies.idf()[n - 1][numbers].tolist(), strict=True))


@given(st.lists(st.lists(DOCUMENT, max_size=4), min_size=1, max_size=6), WORDS)
@settings(deadline=None)
def test_whatever_the_batches(batches: list[list[list[list[str]]]], asked: list[str]) -> None:
    frequencies = DocumentFrequencies()
    for batch in batches:
        frequencies.add(batch)
    documents = [document for batch in batches for document in batch]
    assert frequencies.n == len(documents)
    if not documents:
        return
    for n in range(1, ORDERS + 1):
        df = counted(documents, n)
        mine = idf_of(frequencies, [*asked, "e"], n)
        for gram, idf in mine.items():
            assert idf == math.log(len(documents)) - math.log(max(1, df[gram]))


@pytest.fixture
def frequencies() -> DocumentFrequencies:
    return DocumentFrequencies.of([[["a", "b", "c"], ["a", "b"]], [["b", "c", "d"]], [[]]])


def test_a_file_gives_them_back_and_is_the_same_bytes(
    tmp_path: Path, frequencies: DocumentFrequencies
) -> None:
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    corpus = CountedCorpus(3, "12345678", "ptb")
    frequencies.save(one, corpus)
    again = DocumentFrequencies.load(one)
    again.save(two, read_corpus(one))
    assert one.read_bytes() == two.read_bytes()
    assert read_corpus(one) == corpus
    for n in range(1, ORDERS + 1):
        text = ["a", "b", "c", "d", "e"]
        assert idf_of(again, text, n) == idf_of(frequencies, text, n)
    nothing = tmp_path / "nothing.npz"
    DocumentFrequencies().save(nothing, CountedCorpus(0, "", "ptb"))
    assert DocumentFrequencies.load(nothing).n == 0


def test_a_damaged_file_is_refused_with_its_name(
    tmp_path: Path, frequencies: DocumentFrequencies
) -> None:
    file = tmp_path / "idf.npz"
    frequencies.save(file, CountedCorpus(3, "12345678", "ptb"))
    whole = dict(np.load(file))

    def refusal(**changes: object) -> str:
        np.savez(file, **{**whole, **changes})  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"idf\.npz") as error:
            DocumentFrequencies.load(file)
        return str(error.value)

    assert "do not fit together" in refusal(df1=whole["df1"][:-1])
    assert "counts or their order are wrong" in refusal(df1=whole["df1"] + 3)
    assert "counts or their order are wrong" in refusal(keys2=whole["keys2"][::-1])
    assert "holds no document frequencies" in refusal(told=np.array(["another"]))
    assert "a word occurs twice" in refusal(words=np.frombuffer(b"a\na", dtype=np.uint8))
    assert "not UTF-8" in refusal(words=np.frombuffer(b"\xff\xfe", dtype=np.uint8))
    file.write_bytes(b"PK nothing")
    with pytest.raises(InputError, match=r"idf\.npz"):
        read_corpus(file)


def test_another_tokenizers_words_are_not_taken(
    tmp_path: Path, frequencies: DocumentFrequencies
) -> None:
    file = tmp_path / "idf.npz"
    frequencies.save(
        file, CountedCorpus(3, "12345678", Cider(tokenizer="whitespace").tokenizer.signature)
    )
    same = Cider(tokenizer="whitespace", idf=file).bind(BASEBALL.dataset)
    assert "|df:3-images-12345678|" in same.signatures[0]
    absent = Cider(idf=file).bind(BASEBALL.dataset)
    assert "another tokenizer" in absent.reason
