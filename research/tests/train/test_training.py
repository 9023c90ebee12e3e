"""Captions and regions as training sees them, recall at k by hand, similarity of captions; the
loop: an interrupted training ends as an uninterrupted one, its steps are torch's optimisers'."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError, InputError
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.text.word_vectors.base import Vectors, WordVectors
from metaeval.vision.regions.gold import GoldRegions
from research.train.caption_similarity import CaptionSimilarity, start_embedding
from research.train.dataset import CaptionedImages, EncodedCaptions, forget_words, recall, rsum
from research.train.loop import TrainingOutcome, TrainingSettings, fit
from research.train.scan_loss import draw_negatives, hardest_negatives, triplet_loss
from research.vocabulary import build_vocabulary
from tests.vision.regions.region_cases import dataset, objects


@pytest.fixture(scope="module")
def scenes() -> CaptionedImages:
    return CaptionedImages.of(load_scenes(n=60), GoldRegions())


@pytest.fixture(scope="module")
def vocabulary(scenes: CaptionedImages) -> Vocabulary:
    return build_vocabulary([text for texts in scenes.captions for text in texts], 1)


@pytest.fixture(scope="module")
def encoded(scenes: CaptionedImages, vocabulary: Vocabulary) -> EncodedCaptions:
    return scenes.encoded(vocabulary)


def test_all_captions_of_an_image_are_there() -> None:
    found = {i: objects(("dog", (0, 0, 1 / i, 1))) for i in (1, 2, 3)}
    images = CaptionedImages.of(
        dataset(captions=[["a", "b"], ["c"], ["d", "e", "f"]], found=found), GoldRegions()
    )
    assert (images.captions, len(images)) == ((("a", "b"), ("c",), ("d", "e", "f")), 3)
    encoded = images.encoded(build_vocabulary(["a b c d e"], min_count=1))
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
    batches = images.encoded(build_vocabulary(["a"], 1)).batches(2, np.random.default_rng(0))
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


VARIANTS = {
    "step": {},
    "cosine, averaged": {
        "average": 0.9,
        "weight_decay": 0.1,
        "schedule": "cosine",
        "warmup": 0.5,
        "seed": 7,
    },
}


class Toy:
    """A small regression with dropout, whose validation returns given values."""

    def __init__(self, says: Callable[[int], float] | None = None, stop_at: int = 0) -> None:
        torch.manual_seed(3)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(5, 7), torch.nn.Dropout(0.3), torch.nn.Linear(7, 1)
        )
        own = torch.Generator().manual_seed(0)
        self.x = torch.randn(200, 5, generator=own)
        self.y = (self.x**2).sum(dim=1, keepdim=True)
        self.says, self.stop_at, self.calls = says, stop_at, 0

    def batches(self, epoch: int, rng: np.random.Generator) -> Sequence[Any]:
        return [torch.from_numpy(rng.permutation(200)[:50]) for _ in range(6)]

    def loss(self, rows: Any, epoch: int) -> Any:
        return ((self.model(self.x[rows]) - self.y[rows]) ** 2).mean()

    def validate(self, model: torch.nn.Module) -> Mapping[str, float]:
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        with torch.no_grad():
            error = float(((model(self.x) - self.y) ** 2).mean())
        return {"rsum": self.says(self.calls) if self.says else -error, "error": error}

    def fit(self, checkpoint: Path | None = None, **options: Any) -> TrainingOutcome:
        settings = TrainingSettings(**{"epochs": 6, **options})
        return fit(self.model, self.batches, self.loss, self.validate, settings, checkpoint)


def weights(toy: Toy) -> bytes:
    return b"".join(v.numpy().tobytes() for v in toy.model.state_dict().values())


def without_time(trained: TrainingOutcome) -> list[dict[str, Any]]:
    return [{k: v for k, v in each.items() if k != "seconds"} for each in trained.history]


@pytest.mark.parametrize("name", list(VARIANTS))
@pytest.mark.parametrize("stop_at", [1, 3])
def test_interrupted_and_resumed_is_uninterrupted(tmp_path: Path, name: str, stop_at: int) -> None:
    whole = Toy()
    expected = whole.fit(**VARIANTS[name])
    file = tmp_path / "run" / "training.safetensors"
    with pytest.raises(KeyboardInterrupt):
        Toy(stop_at=stop_at).fit(file, **VARIANTS[name])
    assert file.is_file() == (stop_at > 1)
    resumed = Toy()
    for p in resumed.model.parameters():
        torch.nn.init.ones_(p) if stop_at > 1 else None  # the file's weights count, not these
    found = resumed.fit(file, **VARIANTS[name])
    assert resumed.calls == whole.calls - stop_at + 1
    assert weights(resumed) == weights(whole)
    assert without_time(found) == without_time(expected)
    assert (found.best, found.best_epoch, found.steps) == (
        expected.best,
        expected.best_epoch,
        expected.steps,
    )
    assert [p.name for p in file.parent.iterdir()] == [file.name]  # nothing half-written
    # once more: nothing is left to do, and the result is the same
    done = Toy()
    again = done.fit(file, **VARIANTS[name])
    assert done.calls == 0
    assert weights(done) == weights(whole)
    assert again.seconds == found.seconds


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_those_of_torch_by_hand(decay: float) -> None:
    toy = Toy()
    toy.model[1].p = 0.0
    toy.fit(epochs=3, decay_every=2, learning_rate=1e-2, clip=0.5, weight_decay=decay)

    hand = Toy()
    hand.model[1].p = 0.0
    matrices = [p for p in hand.model.parameters() if p.ndim == 2]
    vectors = [p for p in hand.model.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    )
    errors, kept = [], []
    for epoch, rate in enumerate((1e-2, 1e-2, 1e-3)):
        for rows in hand.batches(epoch, np.random.default_rng([0, epoch])):
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad()
            hand.loss(rows, epoch).backward()
            norm = math.sqrt(sum(float((p.grad**2).sum()) for p in hand.model.parameters()))
            for p in hand.model.parameters():
                p.grad *= min(1.0, 0.5 / (norm + 1e-6))
            optimizer.step()
        errors.append(hand.validate(hand.model)["error"])
        kept.append([p.detach().clone() for p in hand.model.parameters()])
    best = kept[int(np.argmin(errors))]
    for own, other in zip(toy.model.parameters(), best, strict=True):
        # float32, the norm added up in another order
        torch.testing.assert_close(own.detach(), other, rtol=1e-4, atol=1e-6)


def test_the_average_follows_the_weights() -> None:
    toy = Toy()
    toy.fit(epochs=1, average=0.5)
    hand = Toy()
    average = [p.detach().clone() for p in hand.model.parameters()]
    torch.manual_seed(int(np.random.SeedSequence([0, 0]).generate_state(1)[0]))
    optimizer = torch.optim.Adam(hand.model.parameters(), lr=5e-4)
    for step, rows in enumerate(hand.batches(0, np.random.default_rng([0, 0]))):
        optimizer.zero_grad()
        hand.loss(rows, 0).backward()
        torch.nn.utils.clip_grad_norm_(hand.model.parameters(), 2.0)
        optimizer.step()
        keep = min(0.5, (1 + step) / (10 + step))
        average = [
            keep * a + (1 - keep) * p.detach()
            for a, p in zip(average, hand.model.parameters(), strict=True)
        ]
    for own, other in zip(toy.model.parameters(), average, strict=True):
        torch.testing.assert_close(own.detach(), other, rtol=1e-5, atol=1e-7)


def test_the_best_epoch_is_stored() -> None:
    says = {1: 1.0, 2: 5.0, 3: 2.0, 4: 5.0, 5: 3.0, 6: 4.0}
    toy, until = Toy(says.__getitem__), Toy(says.__getitem__)
    trained = toy.fit()
    until.fit(epochs=2)
    assert (trained.best_epoch, trained.best) == (2, 5.0)  # the first of equals
    assert weights(toy) == weights(until)
    assert not toy.model.training
    card = trained.card()
    assert [each["epoch"] for each in card["history"]] == [1, 2, 3, 4, 5, 6]
    assert card["steps"] == 36


def test_rates() -> None:
    step = TrainingSettings(epochs=30, learning_rate=1.0, decay_every=10, decay=0.1)
    assert [step.rate(e, 0.9) for e in (0, 9, 10, 29)] == pytest.approx([1, 1, 0.1, 0.01])
    cosine = TrainingSettings(epochs=10, learning_rate=2.0, schedule="cosine", warmup=2)
    assert cosine.rate(0, 0.0) == 0
    assert cosine.rate(1, 0.0) == pytest.approx(0.5 * (1 + math.cos(math.pi / 10)))
    assert cosine.rate(5, 0.0) == pytest.approx(1.0)
    assert cosine.rate(9, 1.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("option", "value"),
    [("epochs", 0), ("learning_rate", 0.0), ("schedule", "linear"), ("clip", -1), ("average", 1.0)],
)
def test_settings_that_make_no_sense_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"TrainingSettings\.{option}: "):
        TrainingSettings(**{option: value})


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "training.safetensors"
    Toy().fit(file, epochs=1)
    with pytest.raises(ConfigError, match="other settings"):
        Toy().fit(file, epochs=2)
    toy = Toy()
    settings = TrainingSettings(epochs=1)
    with pytest.raises(ConfigError, match="other settings"):
        fit(toy.model, toy.batches, toy.loss, toy.validate, settings, file, identity="other data")


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "strange", "bare"])
def test_a_broken_checkpoint_is_one_line(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "training.safetensors"
    Toy().fit(file, epochs=1)
    raw = file.read_bytes()
    if damage in ("strange", "bare"):
        from safetensors.torch import save_file

        named = {"strange": {"x/y": torch.ones(1)}, "bare": {"model/0.weight": torch.ones(1)}}
        save_file(named[damage], file)
    else:
        file.write_bytes({"cut": raw[: len(raw) // 2], "empty": b"", "text": b"hello " * 9}[damage])
    with pytest.raises(InputError, match="not a checkpoint of a training") as error:
        Toy().fit(file, epochs=1)
    assert "\n" not in str(error.value)


def test_an_exploding_loss_is_reported() -> None:
    toy = Toy()
    settings = TrainingSettings(epochs=2)

    def broken(rows: Any, epoch: int) -> Any:
        return toy.loss(rows, epoch) * float("nan")

    with pytest.raises(ConfigError, match="loss is nan in epoch 1"):
        fit(toy.model, toy.batches, broken, toy.validate, settings)
    with pytest.raises(ConfigError, match="does not measure 'recall'"):
        Toy().fit(select="recall")
    with pytest.raises(ConfigError, match="'rsum' of the validation is nan"):
        Toy(lambda call: float("nan")).fit()
