"""Replace and its bag of words, against the paper's numbers and the definition by hand."""

from __future__ import annotations

import re
from collections import Counter
from string import punctuation

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.corruptions.base import Caption
from metaeval.corruptions.graded.replace import Replace, bag_of_words
from metaeval.corruptions.tokens import words
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError


def dataset(*captions: str) -> CaptionDataset:
    ids = tuple(range(len(captions)))
    return CaptionDataset("test", ids, captions, tuple(("a",) for _ in ids), ids, captions)


ANIMALS = dataset("dog cat cow", "cat cow hen", "dog cat hen cow", "Dog. (cat) hen! cow?")


@pytest.fixture(scope="module")
def coco(coco_root) -> CaptionDataset:
    return load_coco("coco_val2017", root=coco_root)


@pytest.mark.coco
def test_bag_has_the_papers_1039_words(coco):
    bag = bag_of_words(coco.pool)
    assert len(bag) == 1039  # the paper's number
    # the rule written out a second time, token by token
    counts: Counter[str] = Counter()
    for caption in coco.pool:
        for token in re.split(r"\s+", caption.lower()):
            while token and token[0] in punctuation:
                token = token[1:]
            while token and token[-1] in punctuation:
                token = token[:-1]
            counts[token] += 1
    del counts[""]
    assert bag == tuple(sorted(w for w, n in counts.items() if n >= 4))


@pytest.mark.coco
def test_bag_comes_from_the_whole_file_whatever_the_limit(coco, coco_root):
    few = Replace(0.25)
    few.fit(load_coco("coco_val2017", root=coco_root, limit=3))
    assert few.facts() == {"bag_words": 1039, "bag_min_count": 4}


def test_bag_by_hand():
    captions = ["A dog, a cat.", "a DOG - 'dog'!", "don't"]
    assert bag_of_words(captions, 1) == ("a", "cat", "dog", "don't")
    assert bag_of_words(captions, 3) == ("a", "dog")


def test_empty_bag_and_bad_options_are_refused():
    with pytest.raises(ConfigError, match="none of the 3 words in the 1 human captions"):
        bag_of_words(["one two three"])
    for bad in (0, -1, 2.5, True):
        with pytest.raises(ConfigError, match="min_count"):
            Replace(0.5, min_count=bad)
    for rate in (0, -0.1, 1.01, True, "0.5", float("nan")):
        with pytest.raises(ConfigError, match=r"Replace\.rate: .* is not .*in \(0, 1\]"):
            Replace(rate)


@pytest.mark.coco
@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 1.0])
def test_number_of_replaced_words_on_coco(coco, rate):
    corruption = Replace(rate, distinct=True)
    for source, result in zip(coco.human, corruption.apply(coco, 0), strict=True):
        n = len(words(source.split()))
        assert len(result.edits) == round(rate * n)
        assert result.requested == rate
        assert result.realised == len(result.edits) / n
        replay = source.split()
        for position, before, after in result.edits:
            assert replay[position] == before
            replay[position] = after
        assert " ".join(replay) == result.text


@pytest.mark.coco
def test_without_distinct_a_word_may_draw_itself(coco):
    """1 in 1,039 draws on average: 12,900 words at rate 0.25 (seeds fixed, so no chance here)."""
    corruption = Replace(0.25)
    results = corruption.apply(coco, 0)
    wanted = sum(round(0.25 * len(words(c.split()))) for c in coco.human)
    same = wanted - sum(len(r.edits) for r in results)
    expected = wanted / 1039
    assert 0 < same < expected + 4 * expected**0.5
    assert sum(not r.applied for r in results) <= 2


@given(st.text(alphabet="ab .,'-AB", max_size=30), st.floats(0.01, 1), st.integers(0, 9))
def test_replaced_words_any_text(text, rate, seed):
    corruption = Replace(rate, distinct=True, min_count=1)
    corruption.fit(ANIMALS)
    tokens = text.split()
    result = corruption.corrupt(Caption(1, text), np.random.default_rng(seed))
    old = words(tokens)
    changed = round(rate * len(old))
    assert len(result.edits) == changed
    assert result.applied is (changed > 0) is (result.text != text)
    if result.applied:
        new = result.text.split()
        assert len(new) == len(tokens)
        edited = {e.position for e in result.edits}
        for i, (before, after) in enumerate(zip(tokens, new, strict=True)):
            if i not in edited:
                assert after == before
            else:
                assert after.strip(punctuation) in corruption.bag
                assert after.replace(after.strip(punctuation), old[i]) == before


@given(st.integers(0, 50))
def test_distinct_draws_every_other_word_and_never_the_same(seed):
    corruption = Replace(1.0, distinct=True, min_count=1)
    corruption.fit(ANIMALS)
    assert corruption.bag == ("cat", "cow", "dog", "hen")
    rng = np.random.default_rng(seed)
    drawn = Counter(corruption._draw("Dog", rng) for _ in range(600))
    assert set(drawn) == {"cat", "cow", "hen"}
    # 200 expected of each; 5 standard deviations of a binomial(600, 1/3) are 58
    assert all(abs(n - 200) < 58 for n in drawn.values())


def test_distinct_with_a_bag_of_the_word_itself_changes_nothing():
    corruption = Replace(1.0, distinct=True, min_count=1)
    result = corruption.apply(dataset("dog"), 0)[0]
    assert (result.text, result.applied, result.edits) == ("dog", False, ())


def test_punctuation_stays_and_a_lone_dash_is_no_word():
    corruption = Replace(1.0, distinct=True, min_count=1)
    corruption.fit(dataset("cow"))
    result = corruption.corrupt(Caption(0, '"A man - (smiling)."'), np.random.default_rng(0))
    assert result.text == '"cow cow - (cow)."'
    assert result.edits == ((0, '"A', '"cow'), (1, "man", "cow"), (3, '(smiling)."', '(cow)."'))
    assert result.realised == 1.0


def test_a_caption_too_short_for_the_rate_is_unapplied():
    corruption = Replace(0.25, min_count=1)
    corruption.fit(ANIMALS)
    for text in ("dog", "dog cat", "...", ""):  # round(0.25), round(0.5), no word at all
        result = corruption.corrupt(Caption(0, text), np.random.default_rng(0))
        assert (result.text, result.applied, result.realised) == (text, False, 0.0)


def test_half_words_go_to_the_even_number():
    corruption = Replace(0.25, distinct=True, min_count=1)
    corruption.fit(ANIMALS)
    for n, replaced in ((6, 2), (10, 2), (14, 4)):  # 1.5, 2.5, 3.5
        caption = Caption(0, " ".join("x" * (i + 1) for i in range(n)))
        assert len(corruption.corrupt(caption, np.random.default_rng(0)).edits) == replaced


def test_label():
    labels = [Replace(rate).label for rate in (0.25, 0.5, 1, 0.125, 0.07)]
    assert labels == ["Replace 25%", "Replace 50%", "Replace 100%", "Replace 12.5%", "Replace 7%"]
