"""Shuffle: no word is lost, and the derangement is as good as any permutation can be."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from math import factorial, prod
from string import punctuation as PUNCTUATION

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.corruptions.base import Caption
from metaeval.corruptions.graded.shuffle import Shuffle, deranged
from metaeval.corruptions.tokens import words
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError


@pytest.fixture(scope="module")
def coco(coco_root) -> CaptionDataset:
    return load_coco("coco_val2017", root=coco_root)


@pytest.mark.coco
@pytest.mark.parametrize("derange", [False, True])
@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0])
def test_words_are_kept_and_edits_record_the_change(coco, rate, derange):
    for source, result in zip(coco.human, Shuffle(rate, derange).apply(coco, 0), strict=True):
        old, new = source.split(), result.text.split()
        assert Counter(new) == Counter(old)
        replay = list(old)
        for position, before, after in result.edits:
            assert replay[position] == before
            replay[position] = after
        assert replay == new
        assert result.applied is (result.text != source)
        assert len(result.edits) <= round(rate * len(words(old)))


@pytest.mark.coco
@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0])
def test_share_of_unapplied_captions_is_what_probability_says(coco, rate):
    """A uniform permutation of words keeps the text with probability Π (multiplicity!) / k!.

    The expectation over the choice of words is estimated by drawing the words alone, three times;
    the observed share must lie within 4 standard deviations of a binomial of 5,000.
    """
    rng = np.random.default_rng(1)
    expected = []
    for caption in coco.human:
        tokens = [word.lower() for word in words(caption.split()).values()]
        k = round(rate * len(tokens))
        for _ in range(3):
            chosen = [tokens[i] for i in rng.choice(len(tokens), k, replace=False)]
            expected.append(prod(map(factorial, Counter(chosen).values())) / factorial(k))
    share = float(np.mean(expected))
    results = Shuffle(rate).apply(coco, 0)
    unapplied = np.mean([not r.applied for r in results])
    assert abs(unapplied - share) < 4 * (share * (1 - share) / 5000) ** 0.5 + 1e-3
    low, high = {0.25: (0.34, 0.40), 0.5: (0.012, 0.03), 1.0: (0, 0.0005)}[rate]
    assert low <= unapplied <= high


@pytest.mark.coco
@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0])
def test_deranged_coco_has_no_unapplied_caption(coco, rate):
    for source, result in zip(coco.human, Shuffle(rate, derange=True).apply(coco, 0), strict=True):
        n = len(words(source.split()))
        assert result.applied
        assert result.realised == round(rate * n) / n


@given(st.lists(st.sampled_from(["a", "A", "b", "c", "d"]), max_size=6), st.integers(0, 20))
def test_derangement_changes_as_many_places_as_any_permutation_can(drawn, seed):
    order = deranged(drawn, np.random.default_rng(seed))
    assert sorted(order) == list(range(len(drawn)))
    lower = [word.lower() for word in drawn]

    def changed(p):
        return sum(lower[i] != lower[j] for i, j in enumerate(p))

    assert changed(order) == max(changed(p) for p in permutations(range(len(drawn))))


@given(st.lists(st.sampled_from("abcdefghijkl"), min_size=2, max_size=40, unique=False))
def test_derangement_of_many_words_moves_all_that_can_move(drawn):
    order = deranged(drawn, np.random.default_rng(0))
    most = max(Counter(drawn).values())
    stay = sum(drawn[i] == drawn[j] for i, j in enumerate(order))
    assert stay == max(0, 2 * most - len(drawn))


def test_derangements_of_distinct_words_are_uniform():
    """Four words have nine derangements; 1,800 draws expect 200 of each, 5 sd are 67."""
    rng = np.random.default_rng(0)
    counts = Counter(tuple(deranged(["a", "b", "c", "d"], rng)) for _ in range(1800))
    assert len(counts) == 9
    assert all(abs(n - 200) < 67 for n in counts.values())


def test_permutations_are_uniform_and_include_the_identity():
    """Three words, rate 1: six orders of 300 expected in 1,800 draws, 5 sd are 79."""
    corruption, rng = Shuffle(1.0), np.random.default_rng(0)
    counts = Counter(corruption.corrupt(Caption(0, "a b c"), rng).text for _ in range(1800))
    assert len(counts) == 6
    assert all(abs(n - 300) < 79 for n in counts.values())


def test_derange_chooses_distinguishable_words():
    """Half of "a dog a cat" is two words; both "a" would come out unchanged."""
    corruption = Shuffle(0.5, derange=True)
    for seed in range(50):
        result = corruption.corrupt(Caption(0, "a dog A cat"), np.random.default_rng(seed))
        assert result.applied
        assert result.realised == 0.5


def test_nothing_to_move():
    for derange in (False, True):
        for text in ("", "...", "dog", "dog Dog dog, (dog)."):
            result = Shuffle(1.0, derange).corrupt(Caption(0, text), np.random.default_rng(0))
            assert (result.text, result.applied, result.edits) == (text, False, ())
            assert result.realised == 0.0


def test_punctuation_goes_with_its_word_and_a_lone_dash_stays():
    caption = Caption(0, "one, - two.")
    result = Shuffle(1.0, derange=True).corrupt(caption, np.random.default_rng(0))
    assert result.text == "two. - one,"
    assert result.edits == ((0, "one,", "two."), (2, "two.", "one,"))


@pytest.mark.coco
@pytest.mark.java
@pytest.mark.parametrize("rate", [0.25, 1.0])
def test_the_ptb_tokeniser_finds_the_same_words(coco, rate):
    """Word order is all that changes for a metric: the reference tokeniser's tokens are kept.

    One caption of val2017 ends in an initial ("reads K."), which the tokeniser reads as "k." where
    it is not the end: the only exception allowed.
    """
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    def tokens(captions):
        found = PTBTokenizer().tokenize({i: [{"caption": c}] for i, c in enumerate(captions)})
        return [sorted(found[i][0].split()) for i in range(len(captions))]

    shuffled = [result.text for result in Shuffle(rate).apply(coco, 0)]
    pairs = zip(coco.human, tokens(coco.human), tokens(shuffled), strict=True)
    assert {human for human, before, after in pairs if before != after} <= {
        "A traffic light over a street with a sign that reads K."
    }


def test_labels_and_rates():
    assert [Shuffle(rate).label for rate in (0.25, 1)] == ["Shuffle 25%", "Shuffle 100%"]
    with pytest.raises(ConfigError, match=r"Shuffle\.rate: "):
        Shuffle(0)


@pytest.mark.parametrize("derange", [False, True])
def test_punctuation_that_stays_keeps_its_place(derange):
    source = 'A (red) dog, a cat - and two "birds" sit on a mat.'
    shuffle = Shuffle(1.0, derange, punctuation="stays")
    results = {shuffle.corrupt(Caption(1, source), np.random.default_rng(s)).text for s in range(9)}
    assert len(results) == 9
    for text in results:
        tokens, old = text.split(), source.split()
        assert Counter(words(tokens).values()) == Counter(words(old).values())
        for token, before in zip(tokens, old, strict=True):
            core, core_before = token.strip(PUNCTUATION), before.strip(PUNCTUATION)
            assert token.replace(core, "w", 1) == before.replace(core_before, "w", 1)


def test_where_punctuation_goes_is_in_the_seed_only_if_it_is_not_the_default():
    """Versions made before there was a choice keep their bytes."""
    assert dict(Shuffle(0.5).parameters) == {"rate": 0.5, "derange": False}
    assert Shuffle(0.5, punctuation="stays").parameters["punctuation"] == "stays"
    with pytest.raises(ConfigError, match=r"corruption\.punctuation 'goes'"):
        Shuffle(0.5, punctuation="goes")
