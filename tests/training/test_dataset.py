"""Captions and regions as training sees them, recall at k by hand, similarity of captions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.scan.training import draw_negatives, hardest_negatives, triplet_loss
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.text.word_vectors.base import Vectors, WordVectors
from metaeval.training.caption_similarity import CaptionSimilarity, start_embedding
from metaeval.training.dataset import CaptionedImages, EncodedCaptions, forget_words, recall, rsum
from metaeval.vision.regions.gold import GoldRegions
from tests.vision.regions.region_cases import dataset, objects


@pytest.fixture(scope="module")
def scenes() -> CaptionedImages:
    return CaptionedImages.of(load_scenes(n=60), GoldRegions())


@pytest.fixture(scope="module")
def vocabulary(scenes: CaptionedImages) -> Vocabulary:
    return Vocabulary.build([text for texts in scenes.captions for text in texts], 1)


@pytest.fixture(scope="module")
def encoded(scenes: CaptionedImages, vocabulary: Vocabulary) -> EncodedCaptions:
    return scenes.encoded(vocabulary)


def test_all_captions_of_an_image_are_there() -> None:
    found = {i: objects(("dog", (0, 0, 1 / i, 1))) for i in (1, 2, 3)}
    images = CaptionedImages.of(
        dataset(captions=[["a", "b"], ["c"], ["d", "e", "f"]], found=found), GoldRegions()
    )
    assert (images.captions, len(images)) == ((("a", "b"), ("c",), ("d", "e", "f")), 3)
    encoded = images.encoded(Vocabulary.build(["a b c d e"], min_count=1))
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
    encoded: EncodedCaptions, bucket: int
) -> None:
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


def test_buckets_save_padding(encoded: EncodedCaptions) -> None:
    def width(bucket: int) -> int:
        found = encoded.batches(6, np.random.default_rng(0), bucket)
        return sum(encoded.pick(rows)[0].numel() for rows in found)

    assert int(encoded.lengths.sum()) <= width(10) < width(1)


def test_a_batch_is_no_wider_than_its_longest_caption(
    scenes: CaptionedImages, vocabulary: Vocabulary, encoded: EncodedCaptions
) -> None:
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
    batches = images.encoded(Vocabulary.build(["a"], 1)).batches(2, np.random.default_rng(0))
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


WORDS = {"cat": [1.0, 0.0], "kitten": [0.8, 0.6], "bus": [-1.0, 0.0]}


class Plane(WordVectors):
    def identity(self) -> str:
        return "plane"

    def embed(self, words: Any, store: Any = None) -> Vectors:
        known = np.array([word in WORDS for word in words])
        return Vectors(np.array([WORDS.get(word, [0.0, 0.0]) for word in words]), known)


def likeness(captions: list[list[str]]) -> CaptionSimilarity:
    words = Vocabulary((*SPECIAL, "a", "bus", "cat", "kitten"))
    return CaptionSimilarity(EncodedCaptions.of(captions, words), Plane(), words)


def test_likeness_by_hand() -> None:
    found = likeness([["a cat", "the kitten"], ["bus bus", "a bus"], ["a", "cat"]]).of(np.arange(6))
    # each of the three vectors less their mean: (.267, .2) of them; "a" and "the" have no vector
    centre = np.mean(list(WORDS.values()), axis=0)
    n_with = {"cat": 2, "kitten": 1, "bus": 2}  # of six captions
    own = {w: (np.array(v) - centre) * np.log(7 / (n_with[w] + 1)) for w, v in WORDS.items()}
    sums = np.array([own["cat"], own["kitten"], 2 * own["bus"], own["bus"], [0, 0], own["cat"]])
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
    rows = unit - unit.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    images = rows.reshape(3, 2, 2).sum(axis=1).repeat(2, axis=0)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    np.testing.assert_allclose(found, images @ rows.T, rtol=0, atol=1e-6)  # float32
    assert found[0, 5] > 0.5 > 0 > found[0, 2]  # a cat is like cat and kitten, a bus is not


def test_captions_without_a_known_word_are_like_nothing() -> None:
    words = Vocabulary((*SPECIAL, "a"))
    found = CaptionSimilarity(EncodedCaptions.of([["a"], ["a a"]], words), Plane(), words)
    assert (found.of(np.arange(2)) == 0).all()


def test_each_pair_has_its_own_margin() -> None:
    similarity = torch.tensor([[0.9, 0.8, 0.7], [0.1, 0.6, 0.2], [0.5, 0.3, 0.4]])
    margin = torch.tensor([[0.0, 0.05, 0.3], [0.2, 0.0, 0.05], [0.2, 0.3, 0.0]])
    worst = hardest_negatives(similarity + margin)
    assert (worst.caption.tolist(), worst.image.tolist()) == ([2, 0, 0], [2, 0, 0])

    def similar(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        return similarity[images, captions]

    costs = [
        max(0, margin[i, c] + similarity[i, c] - similarity[own, own])
        for own, (i, c) in [
            *((k, (k, worst.caption[k])) for k in range(3)),
            *((k, (worst.image[k], k)) for k in range(3)),
        ]
    ]
    done = triplet_loss(similar, 3, worst, margin)
    assert float(done.loss) == pytest.approx(float(sum(costs)), abs=1e-6)
    # only one wrong partner of the first image violates its margin, so it is always drawn
    torch.manual_seed(0)
    assert {int(draw_negatives(similarity, margin).caption[0]) for _ in range(20)} == {2}


WORDS_start = Vocabulary((*SPECIAL, "ant", "bee", "cat", "dog", "emu", "fox", "gnu", "zzz"))


class Some(WordVectors):
    """Seven words with a vector of six numbers; "zzz" has none."""

    def identity(self) -> str:
        return "some"

    def embed(self, words: Sequence[str], store: object = None) -> Vectors:
        known = np.array([word != "zzz" for word in words])
        rows = np.random.default_rng(3).normal(size=(len(words), 6)) * [5, 3, 2, 1, 0.5, 0.2]
        return Vectors(rows * known[:, None], known)


@pytest.mark.parametrize("width", [2, 4, 6])
def test_the_distances_are_those_of_the_first_components(width: int) -> None:
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(len(WORDS_start), width).double()
    before = embedding.weight.detach().clone()
    assert start_embedding(embedding, Some(), WORDS_start, spread=2.0) == 7
    after = embedding.weight.detach()
    kept = [0, 1, 2, 3, len(WORDS_start) - 1]
    assert torch.equal(after[kept], before[kept])
    found = after[4:-1].numpy()
    rows = Some().embed(WORDS_start.words[4:]).rows[:7]
    # the inner products of the projections: eigenvectors of the Gram matrix, no SVD of the rows
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    gram = (vectors[:, -width:] * values[-width:]) @ vectors[:, -width:].T
    # exact in float64, up to the scale that gives the standard deviation 2
    scale = np.trace(found @ found.T) / np.trace(gram)
    assert found @ found.T == pytest.approx(scale * gram, abs=1e-9)
    assert found.std() == pytest.approx(2.0)


def test_a_wide_embedding_is_filled_up_and_the_sign_is_settled() -> None:
    embedding = torch.nn.Embedding(len(WORDS_start), 9)
    start_embedding(embedding, Some(), WORDS_start, spread=1.0)
    assert not embedding.weight[4:-1, 6:].any()
    again = torch.nn.Embedding(len(WORDS_start), 9)
    start_embedding(again, Some(), WORDS_start, spread=1.0)
    assert torch.equal(again.weight[4:-1], embedding.weight[4:-1])


def test_without_any_vector_nothing_changes() -> None:
    embedding = torch.nn.Embedding(5, 3)
    before = embedding.weight.detach().clone()
    assert start_embedding(embedding, Some(), Vocabulary((*SPECIAL, "zzz")), spread=1.0) == 0
    assert torch.equal(embedding.weight, before)
