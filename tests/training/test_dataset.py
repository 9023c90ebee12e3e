"""Captions and regions as training sees them: nothing lost, nothing twice, nothing mixed up."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.text.vocabulary import Vocabulary
from metaeval.training.dataset import CaptionedImages, forget_words
from metaeval.vision.regions.gold import GoldRegions
from tests.vision.regions.region_cases import dataset, objects

torch = pytest.importorskip("torch")


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
