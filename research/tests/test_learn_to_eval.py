"""Training LearnToEval: what it draws, and a small one end to end."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from metaeval.corruptions.graded.replace import Replace
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.metrics.learn_to_eval.metric import LearnToEval, LearnToEvalScorer
from metaeval.runs.records import WRONG_PLACES, WRONG_WORDS
from metaeval.text.vocabulary import END, SPECIAL, START, Vocabulary
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights.pretrained import read_weights
from research.learn_to_eval import DRAWN, OwnedCaptions, bag_numbers, main, replaced, shuffled
from research.train.dataset import CaptionData
from research.vocabulary import build_vocabulary
from tests.metrics import metric_cases


def ready(dataset: CaptionDataset, **options: str) -> LearnToEvalScorer:
    return metric_cases.ready(LearnToEval(GoldRegions(), **options), dataset)


def test_a_small_training_end_to_end(tmp_path: Path) -> None:
    scenes = load_scenes(split="train", n=60, images=False)
    results = [{"image_id": i, "caption": "a thing on a thing"} for i in scenes.image_ids]
    (tmp_path / "machine.json").write_text(json.dumps(results))
    folder = tmp_path / "small"
    options = ["--split", "scenes", "--scenes", "60", "--dev", "10", "--epochs", "1"]
    main([str(folder), *options, "--machine", str(tmp_path / "machine.json")])
    card = read_weights(folder).card
    assert card["command"].endswith(
        "small --split scenes --scenes 60 --dev 10 --epochs 1 --machine machine.json"
    )
    assert card["shape"]["dim"] == GoldRegions().dim
    assert [each["corruption"] for each in card["drawn"]] == ["random", "shuffle", "replace"]
    val = load_scenes(split="val", n=5, images=False)
    scores = ready(val, weights=str(folder)).score(val.human, np.arange(5))
    assert ((scores > 0) & (scores < 1)).all()
    assert isinstance(LearnToEval(GoldRegions(), weights=str(folder)).bind(scenes), Absent)


def test_a_pair_is_never_its_own_image_and_never_true() -> None:
    """What a training draws: the reference is another caption of the image, the false candidate
    no human caption of it."""
    scenes = load_scenes(split="train", n=30, images=False)
    captions = tuple((h, *r) for h, r in zip(scenes.human, scenes.references, strict=True))
    words = build_vocabulary([c for group in captions for c in group], 1)
    data = CaptionData(scenes, captions, tuple(range(30)), (), words)
    pairs = OwnedCaptions.of(data, data.train, [])
    drawn = pairs.draw(np.random.default_rng(0), bag_numbers(words))
    assert sum(len(each.candidate) for each in drawn) == sum(map(len, captions))
    for each in drawn:
        assert (pairs.owner[each.reference] == pairs.owner[each.candidate]).all()
        assert (each.reference != each.candidate).all()
        rows = zip(each.false_tokens, each.false_lengths, each.image, strict=True)
        for tokens, length, image in rows:
            own = [words.encode(c) for c in captions[image]]
            assert tokens[:length].tolist() not in own


captions = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9), min_size=1, max_size=12)


def encoded(texts: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array([len(t) + 2 for t in texts])
    tokens = np.zeros((len(texts), lengths.max() + 1), dtype=np.int64)  # one more for padding
    for row, text in zip(tokens, texts, strict=True):
        row[: len(text) + 2] = [1, *(ord(c) - 90 for c in text), 2]
    return tokens, lengths


@settings(max_examples=60)
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


@settings(max_examples=60)
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
    assert bag_numbers(Vocabulary([*SPECIAL, "a", "dog"])).tolist() == [4, 5]
    with pytest.raises(ValueError, match="at least two"):
        replaced(*encoded([["a"]]), np.random.default_rng(0), np.array([5]))


@pytest.mark.parametrize(
    ("spoil", "flaw", "one_word"), [(shuffled, WRONG_PLACES, 0), (replaced, WRONG_WORDS, 0.05)]
)
def test_rates_on_cards_are_those_that_are_drawn(spoil, flaw: str, one_word: float) -> None:
    """10,000 captions of twenty different words: the least and the greatest share that changed.

    A few words permuted may partly stay, so of the shuffled only the greatest share is bound.
    """
    rng = np.random.default_rng(0)
    n = 20
    tokens = np.tile(np.array([START, *range(10, 10 + n), END]), (10_000, 1))
    bag = [] if spoil is shuffled else [np.arange(100, 200)]
    changed = (spoil(tokens, np.full(len(tokens), n + 2), rng, *bag) != tokens).sum(axis=1) / n
    drawn = next(d for d in DRAWN if d.flaw == flaw)
    low, high = drawn.rates
    assert changed.max() == pytest.approx(high, abs=1e-9)
    if one_word:
        assert changed.min() == pytest.approx(low, abs=1e-9)
    makes = {"shuffle": Shuffle, "replace": Replace}[drawn.corruption]
    assert (makes.name, makes.flaw) == (drawn.corruption, flaw)
