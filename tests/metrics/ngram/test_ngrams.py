"""N-grams as arrays against n-grams as Python's tuples and counters."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.metrics.ngram.ngrams import (
    Edges,
    Ngrams,
    Trie,
    distinct_ngrams,
    split_tokens_containing_spaces,
)
from metaeval.text.numbered import WordIndex, flatten_references

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
        mine = list(zip(order.text.tolist(), grams, order.tf.tolist(), strict=True))
        assert mine == expected


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
    asked = edges.find(np.array([-1, 0, 2]), np.array([0, 0, 2**31 - 1]))
    assert asked.tolist() == [-1, -1, -1]


def test_a_vocabulary_keeps_what_it_learnt_and_nothing_else() -> None:
    vocabulary = WordIndex()
    assert vocabulary.learn([["a", "dog"], ["a"]]).words.tolist() == [0, 1, 0]
    assert vocabulary.encode([["cat", "a", "cat", "cow"]]).words.tolist() == [2, 0, 2, 3]
    assert vocabulary.encode([["cow", "dog"]]).words.tolist() == [2, 1]
    texts = vocabulary.encode([[], ["dog"], []])
    assert texts.words.tolist() == [1]
    assert texts.lengths.tolist() == [0, 1, 0]


def test_references_of_all_images_in_one_list() -> None:
    references = flatten_references([("a", "b"), (), ("c",)])
    assert references.texts == ["a", "b", "c"]
    assert references.image.tolist() == [0, 0, 2]
    assert references.slot.tolist() == [0, 1, 0]
    assert references.sizes.tolist() == [2, 0, 1]


def test_tokens_that_hold_spaces_are_taken_apart() -> None:
    assert split_tokens_containing_spaces([["2\xa01/2", "dogs"], [], ["a"]]) == [
        ["2", "1/2", "dogs"],
        [],
        ["a"],
    ]
    same = [["a", "dog"], []]
    assert split_tokens_containing_spaces(same) is same
