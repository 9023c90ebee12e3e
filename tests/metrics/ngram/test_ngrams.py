"""N-grams as arrays, and document frequencies that grow, against Python's tuples and counters."""

import math
from collections import Counter
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from metaeval.errors import InputError
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.ngrams import (
    ORDERS,
    CountedCorpus,
    DocumentFrequencies,
    Edges,
    Ngrams,
    Trie,
    WordIndex,
    distinct_ngrams,
    flatten_references,
    read_corpus,
    split_tokens_containing_spaces,
)
from tests.metrics.ngram.ngram_cases import BASEBALL

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)
TEXTS = st.lists(WORDS, max_size=6)
Gram = tuple[str, ...]


def _counted(texts: list[list[str]], n: int) -> list[Counter[Gram]]:
    return [Counter(tuple(t[i : i + n]) for i in range(len(t) - n + 1)) for t in texts]


def _spelt(found: list[Ngrams], words: dict[int, str]) -> list[list[Gram]]:
    """The n-grams of each order as tuples of words, following the prefixes down."""
    spelt: list[list[Gram]] = []
    for n, order in enumerate(found):
        pairs = zip(order.prefix.tolist(), order.last.tolist(), strict=True)
        spelt.append([((*spelt[n - 1][p],) if n else ()) + (words[w],) for p, w in pairs])
    return spelt


@given(TEXTS)
@settings(deadline=None)
def test_distinct_ngrams_are_those_of_a_counter(texts: list[list[str]]) -> None:
    encoded = WordIndex().learn(texts)
    found = distinct_ngrams(encoded, 4)
    flat = [word for text in texts for word in text]
    spelt = _spelt(found, dict(zip(encoded.words.tolist(), flat, strict=True)))
    for n, (order, grams) in enumerate(zip(found, spelt, strict=True), start=1):
        # in the order of appearance, which is that of Python's counters
        expected = [
            (i, gram, tf)
            for i, counter in enumerate(_counted(texts, n))
            for gram, tf in counter.items()
        ]
        assert list(zip(order.text.tolist(), grams, order.tf.tolist(), strict=True)) == expected


@given(TEXTS, TEXTS, st.integers(1, 3))
@settings(deadline=None)
def test_a_trie_finds_what_was_put_under_a_root_and_nothing_else(
    kept: list[list[str]], asked: list[list[str]], n_roots: int
) -> None:
    vocabulary, trie = WordIndex(), Trie()
    texts = vocabulary.learn(kept)
    of_kept = np.arange(len(kept)) % n_roots
    of_asked = np.arange(len(asked)) % n_roots
    grams = distinct_ngrams(texts, 3)
    numbers = trie.grow(grams, of_kept)
    found = trie.find(distinct_ngrams(vocabulary.encode(asked), 3), of_asked)
    for n in (1, 2, 3):
        keys = [(int(of_kept[i]), gram) for i, c in enumerate(_counted(kept, n)) for gram in c]
        number = dict(zip(keys, numbers[n - 1].tolist(), strict=True))
        assert sorted(number.values()) == list(range(trie.sizes()[n - 1]))
        wanted = [
            number.get((int(of_asked[i]), gram), -1)
            for i, c in enumerate(_counted(asked, n))
            for gram in c
        ]
        assert found[n - 1].tolist() == wanted
    again = trie.find(grams, of_kept)
    assert all(np.array_equal(a, b) for a, b in zip(again, numbers, strict=True))


def test_edges_keep_large_numbers_apart() -> None:
    """Neither a node nor a word runs into the other's half of the key."""
    above = np.array([0, 1, 2**31 - 1, 2**31 - 1, 1])
    words = np.array([2**31 - 1, 0, 2**31 - 1, 0, 0])
    edges, nodes = Edges.of(above, words)
    assert len(edges) == 4
    assert nodes.tolist() == [0, 1, 3, 2, 1]
    assert edges.find(above, words).tolist() == nodes.tolist()
    assert edges.find(np.array([-1, 0, 2]), np.array([0, 0, 2**31 - 1])).tolist() == [-1, -1, -1]


def test_a_vocabulary_keeps_what_it_learnt_and_nothing_else() -> None:
    vocabulary = WordIndex()
    assert vocabulary.learn([["a", "dog"], ["a"]]).words.tolist() == [0, 1, 0]
    assert vocabulary.encode([["cat", "a", "cat", "cow"]]).words.tolist() == [2, 0, 2, 3]
    assert vocabulary.encode([["cow", "dog"]]).words.tolist() == [2, 1]
    texts = vocabulary.encode([[], ["dog"], []])
    assert (texts.words.tolist(), texts.lengths.tolist()) == ([1], [0, 1, 0])


def test_references_of_all_images_in_one_list() -> None:
    references = flatten_references([("a", "b"), (), ("c",)])
    assert (references.texts, references.image.tolist()) == (["a", "b", "c"], [0, 0, 2])
    assert (references.slot.tolist(), references.sizes.tolist()) == ([0, 1, 0], [2, 0, 1])


def test_tokens_that_hold_spaces_are_taken_apart() -> None:
    assert split_tokens_containing_spaces([["2\xa01/2", "dogs"], [], ["a"]]) == [
        ["2", "1/2", "dogs"],
        [],
        ["a"],
    ]
    same = [["a", "dog"], []]
    assert split_tokens_containing_spaces(same) is same


WORDS_df = st.lists(st.sampled_from("abcd"), max_size=7)
DOCUMENT = st.lists(WORDS_df, max_size=3)


def counted(documents: list[list[list[str]]], n: int) -> Counter[Gram]:
    every: Counter[Gram] = Counter()
    for texts in documents:
        every.update({tuple(t[i : i + n]) for t in texts for i in range(len(t) - n + 1)})
    return every


def idf_of(frequencies: DocumentFrequencies, text: list[str], n: int) -> dict[Gram, float]:
    ngrams = distinct_ngrams(copy(frequencies.words).encode([text]), ORDERS)
    numbers = frequencies.find(ngrams)[n - 1]
    grams = dict.fromkeys(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
    return dict(zip(grams, frequencies.idf()[n - 1][numbers].tolist(), strict=True))


@given(st.lists(st.lists(DOCUMENT, max_size=4), min_size=1, max_size=6), WORDS_df)
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
        for gram, idf in idf_of(frequencies, [*asked, "e"], n).items():
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
    assert "another tokenizer" in Cider(idf=file).bind(BASEBALL.dataset).reason
