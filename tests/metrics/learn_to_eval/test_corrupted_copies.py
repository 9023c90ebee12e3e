"""Corrupted copies: what must change changes, what must stay stays, and slow loops agree."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.metrics.learn_to_eval.train import (
    bag_numbers,
    replaced,
    shuffled,
)
from metaeval.text.vocabulary import SPECIAL, Vocabulary

captions = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9), min_size=1, max_size=12)


def encoded(texts: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array([len(t) + 2 for t in texts])
    tokens = np.zeros((len(texts), lengths.max() + 1), dtype=np.int64)  # one more for padding
    for row, text in zip(tokens, texts, strict=True):
        row[: len(text) + 2] = [1, *(ord(c) - 90 for c in text), 2]
    return tokens, lengths


@settings(max_examples=200, deadline=None)
@given(captions, st.integers(0, 2**31))
def test_shuffling_keeps_the_words_and_changes_the_order(texts: list[list[str]], seed: int) -> None:
    tokens, lengths = encoded(texts)
    before = tokens.copy()
    out = shuffled(tokens, lengths, np.random.default_rng(seed))
    assert (tokens == before).all()  # the original is not touched
    for old, new, n, text in zip(tokens, out, lengths, texts, strict=True):
        assert Counter(old.tolist()) == Counter(new.tolist())
        assert (old[n - 1 :] == new[n - 1 :]).all()  # <end> and padding
        assert old[0] == new[0]
        assert (old != new).any() == (len(set(text)) > 1)


@settings(max_examples=200, deadline=None)
@given(captions, st.integers(0, 2**31), st.floats(0.05, 1.0))
def test_replacing_changes_the_requested_number_of_words(
    texts: list[list[str]], seed: int, rate: float
) -> None:
    tokens, lengths = encoded(texts)
    words = np.array([7, 8, 9, 50, 51])  # three of the captions' own among them
    out = replaced(tokens, lengths, np.random.default_rng(seed), words, (rate, rate))
    for old, new, n in zip(tokens, out, lengths, strict=True):
        changed = np.flatnonzero(old != new)
        assert len(changed) == min(max(1, round(rate * (n - 2))), n - 2)
        assert set(new[changed].tolist()) <= set(words.tolist())
        assert ((changed > 0) & (changed < n - 1)).all()


def test_every_place_and_every_word_has_the_same_chance() -> None:
    tokens, lengths = encoded([list("abcdef")] * 6000)
    out = replaced(tokens, lengths, np.random.default_rng(0), np.arange(20, 30), (1 / 3, 1 / 3))
    places = (out != tokens).sum(axis=0)[1:7]
    # 2 of 6 places: 2,000 each, standard deviation 36.5; five of them allowed
    assert np.abs(places - 2000).max() < 5 * 36.5
    drawn = np.bincount(out[out != tokens], minlength=30)[20:]
    assert np.abs(drawn - 1200).max() < 5 * 33
    # a full shuffle that must not give the caption back: 719 orders of 720, each alike
    moved = shuffled(tokens[:, :8], lengths, np.random.default_rng(0), (1.0, 1.0))
    first = np.bincount(moved[:, 1], minlength=13)[7:13]
    assert np.abs(first - 1000).max() < 5 * 30


def test_the_bag_is_the_vocabulary() -> None:
    vocabulary = Vocabulary([*SPECIAL, "a", "dog"])
    assert bag_numbers(vocabulary).tolist() == [4, 5]
    with pytest.raises(ValueError, match="at least two"):
        replaced(*encoded([["a"]]), np.random.default_rng(0), np.array([5]))
