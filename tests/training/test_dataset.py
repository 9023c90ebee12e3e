"""Captions and regions as training sees them, and recall at k by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.text.vocabulary import Vocabulary
from metaeval.training.dataset import CaptionedImages, forget_words, recall, rsum
from metaeval.vision.regions.gold import GoldRegions
from tests.vision.regions.region_cases import dataset, objects


@pytest.fixture(scope="module")
def scenes() -> CaptionedImages:
    return CaptionedImages.of(load_scenes(n=60), GoldRegions())


def test_all_captions_of_an_image_are_there() -> None:
    found = {i: objects(("dog", (0, 0, 1 / i, 1))) for i in (1, 2, 3)}
    images = CaptionedImages.of(
        dataset(captions=[["a", "b"], ["c"], ["d", "e", "f"]], found=found), GoldRegions()
    )
    assert images.captions == (("a", "b"), ("c",), ("d", "e", "f"))
    assert len(images) == 3
    vocabulary = Vocabulary.build(["a b c d e"], min_count=1)
    encoded = images.encoded(vocabulary)
    assert encoded.owner.tolist() == [0, 0, 1, 2, 2, 2]
    assert encoded.of_image.tolist() == [[0, 1, -1], [2, -1, -1], [3, 4, 5]]
    assert encoded.tokens.tolist() == [[1, i, 2] for i in (4, 5, 6, 7, 8, 3)]  # "f" is unknown
    with pytest.raises(ConfigError, match="no objects here"):
        CaptionedImages.of(dataset(), GoldRegions())


def test_a_split_is_by_image_and_by_seed(scenes: CaptionedImages) -> None:
    train, dev = scenes.split(10, seed=3)
    assert (len(train), len(dev)) == (50, 10)
    assert set(train.image_ids) | set(dev.image_ids) == set(scenes.image_ids)
    for part in (train, dev):
        assert list(part.image_ids) == sorted(part.image_ids)
        for row in (0, len(part) - 1):  # captions and regions stay with their image
            there = scenes.image_ids.index(part.image_ids[row])
            assert part.captions[row] == scenes.captions[there]
            assert part.regions.labels[row] == scenes.regions.labels[there]
    assert scenes.split(10, seed=3)[1].image_ids == dev.image_ids
    assert scenes.split(10, seed=4)[1].image_ids != dev.image_ids
    for dev_images in (0, 60):
        with pytest.raises(ConfigError, match="cannot be held out"):
            scenes.split(dev_images)


@pytest.mark.parametrize("bucket", [1, 3])
def test_batches_hold_every_caption_once_and_no_image_twice(
    scenes: CaptionedImages, bucket: int
) -> None:
    encoded = scenes.encoded(Vocabulary.build([t for c in scenes.captions for t in c], 1))
    batches = encoded.batches(8, np.random.default_rng(0), bucket)
    assert sorted(np.concatenate(batches).tolist()) == list(range(300))
    for rows in batches:
        assert len(set(encoded.owner[rows].tolist())) == len(rows) <= 8
    again = encoded.batches(8, np.random.default_rng(0), bucket)
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))
    other = encoded.batches(8, np.random.default_rng(1), bucket)
    assert any(len(a) != len(b) or (a != b).any() for a, b in zip(batches, other, strict=True))
    # other captions of an image come in other orders: pairs of images meet by chance only
    assert len({tuple(sorted(encoded.owner[rows].tolist())) for rows in batches}) == len(batches)


def test_buckets_save_padding(scenes: CaptionedImages) -> None:
    encoded = scenes.encoded(Vocabulary.build([t for c in scenes.captions for t in c], 1))

    def width(bucket: int) -> int:
        found = encoded.batches(6, np.random.default_rng(0), bucket)
        return sum(encoded.pick(rows)[0].numel() for rows in found)

    words = int(encoded.lengths.sum())
    assert words <= width(10) < width(1)


def test_a_batch_is_no_wider_than_its_longest_caption(scenes: CaptionedImages) -> None:
    vocabulary = Vocabulary.build([t for c in scenes.captions for t in c], 1)
    encoded = scenes.encoded(vocabulary)
    rows = np.array([5, 0, 7])
    tokens, lengths = encoded.pick(rows)
    flat = [text for texts in scenes.captions for text in texts]
    for row, line, n in zip(rows, tokens.tolist(), lengths.tolist(), strict=True):
        assert line[:n] == vocabulary.encode(flat[row])
        assert set(line[n:]) <= {0}
    assert tokens.shape[1] == lengths.max()


def test_images_with_fewer_captions_make_smaller_batches() -> None:
    found = {i: objects() for i in (1, 2, 3)}
    images = CaptionedImages.of(
        dataset(captions=[["a", "b"], ["c"], ["d", "e", "f"]], found=found), GoldRegions()
    )
    encoded = images.encoded(Vocabulary.build(["a"], 1))
    batches = encoded.batches(2, np.random.default_rng(0))
    # rounds of 3, 2 and 1 captions: a batch of one has no negatives and is left out
    assert sorted(map(len, batches)) == [2, 2]


def test_forgotten_words_are_a_share_of_those_that_are_words() -> None:
    words = torch.arange(8).repeat(500, 1)
    torch.manual_seed(0)
    read = forget_words(words, 0.25)
    assert torch.equal(read[:, :4], words[:, :4])  # the special ones
    lost = read[:, 4:] != words[:, 4:]
    assert (read[:, 4:][lost] == 3).all()
    assert float(lost.double().mean()) == pytest.approx(0.25, abs=0.03)
    assert forget_words(words, 0.0) is words


def test_by_hand() -> None:
    # two captions for image 0, one each for 1 and 2
    owner = np.array([0, 0, 1, 2])
    similarity = np.array(
        [
            [0.1, 0.9, 0.5, 0.2],  # own caption 1 is first: found
            [0.8, 0.1, 0.7, 0.0],  # own caption 2 is second
            [0.3, 0.2, 0.1, 0.3],  # own caption 3 ties with caption 0: not first
        ]
    )
    found = recall(similarity, owner)
    assert found["image_to_text"]["R@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["image_to_text"]["R@5"] == 1
    # caption 0: image 1 first, own image last; 1: found; 2: found; 3: found
    assert found["text_to_image"]["R@1"] == pytest.approx(0.75)
    assert rsum(found) == pytest.approx(33.33 + 75 + 400)


def test_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(40), 3)
    similarity = rng.normal(size=(40, 120))
    similarity[owner, np.arange(120)] += 1
    found = recall(similarity, owner)
    for k in (1, 5, 10):
        top = np.argsort(-similarity, axis=1)[:, :k]
        hits = [i in owner[row] for i, row in enumerate(top)]
        assert found["image_to_text"][f"R@{k}"] == pytest.approx(np.mean(hits), abs=1e-4)
        top = np.argsort(-similarity, axis=0)[:k]
        hits = [owner[j] in top[:, j] for j in range(120)]
        assert found["text_to_image"][f"R@{k}"] == pytest.approx(np.mean(hits), abs=1e-4)


def test_what_is_not_a_number_is_refused() -> None:
    similarity = np.array([[0.9, np.nan], [0.1, 0.8]])
    with pytest.raises(ValueError, match="not numbers"):
        recall(similarity, np.array([0, 1]))
