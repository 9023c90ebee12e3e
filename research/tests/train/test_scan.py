"""Training SCAN: a tiny run that learns, goes on after an interruption, and leaves what it says."""

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from metaeval.config import compose_config
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.scan.metric import ScanSimilarity, Tiger
from metaeval.metrics.scan.network import Scan, ScanShape
from metaeval.runs.store import MemoryStore
from metaeval.stats.correlation.rank_order import rank_order
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.text.word_vectors.base import Vectors, WordVectors
from metaeval.vision.regions.bottomup import BottomUpRegions
from metaeval.vision.regions.gold import GoldRegions, add_grid
from metaeval.weights import pretrained
from research.tests.train.lettered import Lettered
from research.train.augment import flipped
from research.train.caption_similarity import start_embedding
from research.train.dataset import CaptionedImages
from research.train.dev import LEVELS, captions_in_turns, measure
from research.train.loop import TrainingSettings, fit
from research.train.networks import see_regions
from research.train.scan import TrainScan, filled_in
from research.train.scan_loss import ScanLosses, ScanTask
from research.vocabulary import build_vocabulary
from tests.metrics.metric_cases import ready
from tests.metrics.scan.scan_cases import dataset, weights

NETWORK = {"embed": 24, "word": 12, "hidden": 16}
LOSSES = {
    "batch": 16,
    "dropout": 0.1,
    "unknown": 0.05,
    "lost_regions": 0.1,
    "lost_whole": 0.1,
    "mirrored": 0.5,
}


def settings(**changes: Any) -> dict[str, Any]:
    return {"epochs": 4, "learning_rate": 5e-3, "schedule": "cosine", "warmup": 0.5, **changes}


def run_config(tmp_path: Path, seed: int, n: int) -> Any:
    """A run's configuration besides its task: the first n scenes to learn from."""
    return OmegaConf.create(
        {
            "seed": seed,
            "dataset": {
                "_target_": "metaeval.data.scenes.load_scenes",
                "split": "train",
                "n": n,
                "images": False,
                "cache": str(tmp_path),
            },
            "paths": {"cache": str(tmp_path)},
            "cache": {"enabled": False},
        }
    )


def images(tmp_path: Path, n: int = 60) -> CaptionedImages:
    scenes = load_scenes(split="train", n=n, images=False, cache=tmp_path)
    return CaptionedImages.of(scenes, GoldRegions())


def task_of(tmp_path: Path, device: str = "cpu", **losses: Any) -> tuple[Scan, ScanTask]:
    train, dev = images(tmp_path).split(20)
    words = build_vocabulary((t for own in train.captions for t in own), 2)
    torch.manual_seed(0)
    model = Scan(ScanShape(GoldRegions().dim, len(words), **NETWORK)).to(device)
    return model, ScanTask(model, words, train, dev, ScanLosses(**{**LOSSES, **losses}))


def trained(tmp_path: Path, name: str, seed: int = 0, **options: Any) -> dict[str, Any]:
    """The card of weights for gold regions that a small training leaves in a folder."""
    given = {"losses": LOSSES, "training": settings(epochs=1), **options}
    task = TrainScan(
        regions=GoldRegions(), dev=20, network=NETWORK, device="cpu", min_count=2, **given
    )
    return task.train(run_config(tmp_path, seed=seed, n=60), tmp_path / name)


def test_the_command_trains_and_its_weights_score(tmp_path: Path) -> None:
    out = tmp_path / "out"
    card = trained(tmp_path, "out", seed=3, training=settings(epochs=8))
    losses = [epoch["loss"] for epoch in card["training"]["history"]]
    assert losses[-1] < 0.8 * losses[0]
    # chance among 20 images of 5 captions each is an rsum of about 150
    assert card["dev"]["rsum"] > 190
    assert card["human_cosine"] > 0
    assert (card["seed"], card["variant"], card["trained_on_corruptions"]) == (3, "", False)
    assert json.loads((out / pretrained.CARD).read_text())["dev"] == card["dev"]
    assert not (out / "checkpoint.safetensors").exists()

    learned = load_scenes(split="train", n=60, images=False, cache=tmp_path)
    fresh = load_scenes(split="dev", n=40, images=False, cache=tmp_path)
    weights = pretrained.read_weights(out)
    assert weights.overlap(learned).all()  # dev images of the split included
    assert not weights.overlap(fresh).any()
    scorer = Tiger(GoldRegions(), weights=str(out), device="cpu").bind(fresh, MemoryStore())
    scorer.prepare()
    scores = scorer.score(fresh.human, np.arange(40))
    assert np.isfinite(scores).all()
    assert np.unique(scores[:, 0].round(9)).size > 30
    assert scorer.columns[0].name == "TIGEr (gold objects)"
    assert not scorer.columns[0].learned_from_corruptions


def test_an_interrupted_training_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    plan = TrainingSettings(**settings(epochs=3, average=0.9))
    states = []
    for stops in ([3], [1, 3]):
        file = tmp_path / f"{len(stops)}.safetensors"
        for last in stops:
            model, task = task_of(tmp_path)
            calls = iter(range(last))

            def batches(epoch: int, rng: Any, task: Any = task, calls: Any = calls) -> Any:
                if next(calls, None) is None:
                    raise KeyboardInterrupt
                return task.batches(epoch, rng)

            if len(stops) == 2 and last == 1:
                with pytest.raises(KeyboardInterrupt):
                    fit(model, batches, task.loss, task.validate, plan, file)
            else:
                fit(model, task.batches, task.loss, task.validate, plan, file)
        states.append(model.state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


class Corners(WordVectors):
    """Vectors of three words, none for the others."""

    def identity(self) -> str:
        return "corners"

    def embed(self, words: Any, store: Any = None) -> Vectors:
        rows = {"a": [1.0, 0, 0], "b": [0, 1.0, 0], "c": [0, 0, 1.0]}
        known = np.array([word in rows for word in words])
        return Vectors(np.array([rows.get(word, [0.0, 0, 0]) for word in words]), known)


def test_vectors_make_margins_of_similarity(tmp_path: Path) -> None:
    losses = {}
    for shrinking in (None, False):
        given = {**LOSSES, "similarity_margin": shrinking, "margin": 0.3}
        card = trained(tmp_path, str(shrinking), losses=given, vectors=Lettered())
        assert card["losses"]["similarity_margin"] == (shrinking is None)
        assert set(card["dev"]["rho"]["TIGEr"]) == {"replace", "shuffle"}
        losses[shrinking] = card["training"]["history"][0]["loss"]
    assert losses[None] != losses[False]
    with pytest.raises(ConfigError, match=r"task\.losses\.similarity_margin needs word vectors"):
        task_of(tmp_path, similarity_margin=True)


def test_words_start_from_vectors() -> None:
    words = Vocabulary((*SPECIAL, "a", "b", "c", "unheard"))
    model = Scan(ScanShape(dim=3, words=8, embed=4, word=2))
    before = model.text.embed.weight.detach().clone()
    assert start_embedding(model.text.embed, Corners(), words, 0.1) == 3
    after = model.text.embed.weight.detach()
    assert torch.equal(before[[0, 1, 2, 3, 7]], after[[0, 1, 2, 3, 7]])
    own = after[4:7].numpy()
    assert own.std() == pytest.approx(0.1, rel=1e-5)
    # three corners are in a plane: two components keep their equal distances
    gaps = [np.linalg.norm(own[i] - own[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert gaps == pytest.approx([gaps[0]] * 3, rel=1e-5)


def test_regions_that_are_left_out_leave_no_gap(tmp_path: Path) -> None:
    _, task = task_of(tmp_path, lost_regions=0.5, lost_whole=0.0, mirrored=0.0)
    torch.manual_seed(0)
    all_of_them = np.arange(40)
    features, mask, first = task._regions(all_of_them)
    count = mask.sum(dim=1)
    assert first[:, 0].all()
    assert not first[:, 1:].any()
    assert torch.equal(mask, torch.arange(mask.shape[1])[None, :] < count[:, None])
    before, there = task._features[all_of_them], task._mask[all_of_them].sum(dim=1)
    assert 0.3 < float((count - 1).sum() / (there - 1).sum()) < 0.7
    for own, whole, n in zip(features, before, count.tolist(), strict=True):
        assert torch.equal(own[0], whole[0])  # the whole image is never lost
        place = [int((whole == row).all(dim=1).nonzero()[0]) for row in own[:n]]
        assert place == sorted(set(place))  # those that stay keep their order
        assert (own[n:] == 0).all()


def test_a_whole_image_that_is_left_out_is_not_taken_for_another_region(tmp_path: Path) -> None:
    """The network next to the linear layer applies to the whole image, in any position."""
    _, task = task_of(tmp_path, lost_regions=0.2, lost_whole=0.5, mirrored=0.0)
    torch.manual_seed(0)
    all_of_them = np.arange(40)
    features, mask, first = task._regions(all_of_them)
    whole = features[..., 80] == 1  # gold regions say so themselves
    assert torch.equal(first & mask, whole & mask)
    assert mask.any(dim=1).all()
    several = task._mask[all_of_them].sum(dim=1) > 1
    assert 0.3 < float(whole[several].any(dim=1).float().mean()) < 0.8
    vectors = see_regions(task._model.image, features, mask, first)
    alone = torch.stack(
        [
            see_regions(
                task._model.image, row[None, None], mask.new_ones(1, 1), is_whole.view(1, 1)
            )[0, 0]
            for row, is_whole in zip(features[mask], whole[mask], strict=True)
        ]
    )
    torch.testing.assert_close(vectors[mask], alone)


def test_mirroring_moves_boxes_only(tmp_path: Path) -> None:
    features = torch.from_numpy(images(tmp_path, 5).regions.features)
    turned = flipped(features)
    assert torch.equal(turned[..., :81], features[..., :81])
    x1, x2 = features[..., 81], features[..., 83]
    torch.testing.assert_close(turned[..., 81], 1 - x2)
    torch.testing.assert_close(turned[..., 83] - turned[..., 81], x2 - x1)
    torch.testing.assert_close(flipped(turned), features)


def test_wrong_losses_are_refused() -> None:
    for wrong in ({"margin": 0}, {"smooth": 50}, {"batch": 1}, {"unknown": 1}):
        with pytest.raises(ConfigError, match=f"ScanLosses.{next(iter(wrong))}: "):
            ScanLosses(**wrong)  # type: ignore[arg-type]


def test_the_configuration_fits_the_code() -> None:
    node: Any = compose_config(["experiment=train_scan", "dataset=scenes"]).task
    plain = OmegaConf.to_container(node, resolve=False)
    for key, kind in (("losses", ScanLosses), ("training", TrainingSettings)):
        known = {field.name for field in dataclasses.fields(kind)} - {"seed"}
        assert set(plain[key]) == known
        assert kind is TrainingSettings or plain[key]["lost_whole"] is None
        kind(**filled_in(plain[key], gold=True))
    gold, other = (filled_in({**plain["network"], **plain["losses"]}, x) for x in (True, False))
    for name, value in (("hidden", 256), ("whole_only", True), ("grid", 3), ("mirrored", 0.5)):
        assert (gold[name], other[name]) == (value, type(value)())
    for vectors, margin in ((True, 0.3), (False, 0.2)):
        filled = filled_in(plain["losses"], gold=True, vectors=vectors)
        assert (filled["similarity_margin"], filled["margin"]) == (vectors, margin)
    fixed = filled_in({"similarity_margin": False, "margin": None}, True, vectors=True)
    assert fixed["margin"] == 0.2
    assert filled_in({"hidden": 7, "embed": None}, gold=True) == {"hidden": 7, "embed": None}


def test_features_from_a_file_train_as_configured(tmp_path: Path) -> None:
    """What is made for gold regions is left out: region 0 is one like any other there."""
    scenes = load_scenes(split="train", n=40, images=False, cache=tmp_path)
    rng = np.random.default_rng(0)
    np.save(tmp_path / "regions.npy", rng.normal(size=(40, 5, 6)).astype(np.float32))
    (tmp_path / "regions_ids.txt").write_text("\n".join(map(str, scenes.image_ids)))
    node = compose_config(["experiment=train_scan", "dataset=scenes"]).task
    plain: Any = OmegaConf.to_container(node, resolve=False)
    card = TrainScan(
        plain["losses"],
        dev=10,
        network=plain["network"],
        training=settings(epochs=1),
        regions=BottomUpRegions(tmp_path / "regions.npy", tmp_path / "regions_ids.txt", dim=6),
        device="cpu",
    ).train(run_config(tmp_path, seed=0, n=40), tmp_path / "out")
    assert card["shape"]["dim"] == 6
    left_out = (card["shape"]["hidden"], card["losses"]["mirrored"], card["losses"]["lost_whole"])
    assert not any(left_out), left_out


SHIPPED = [w for w in pretrained.shipped() if w.card["kind"] == "scan"]


@pytest.mark.parametrize("weights", SHIPPED, ids=lambda w: w.name)
def test_shipped_weights_are_what_their_cards_say(weights: Any) -> None:
    card = weights.card
    assert card["human_cosine"] > 0
    assert card["trained_on_corruptions"] == (card["variant"] == "corruptions")
    model = Scan(ScanShape(**card["shape"]))
    model.load_state_dict(weights.state())  # whose checksum is the card's
    assert len(weights.vocabulary()) == model.shape.words
    assert len(weights.seen) == card["data"]["n_train"] + card["data"]["n_dev"]
    measured = card["training"]["history"][card["training"]["best_epoch"] - 1]["rsum"]
    assert card["dev"]["rsum"] == pytest.approx(measured, abs=3)  # float16 since then


GRID = 2


def test_cards_report_what_the_metrics_give(tmp_path: Path) -> None:
    data, folder = dataset(), weights(tmp_path, grid=GRID)
    stored = pretrained.read_weights(folder)
    model = Scan(ScanShape(**stored.card["shape"]))
    model.load_state_dict(stored.state())
    images = CaptionedImages.of(data, GoldRegions())
    seen = replace(images, regions=add_grid(images.regions, GRID))
    measured = measure(model, stored.vocabulary(), seen, data, 9.0, "cpu")
    texts = captions_in_turns(images, data, turns=3)
    found: dict[str, list[np.ndarray]] = {name: [] for name in texts}
    for turn in range(3):
        human = tuple(own[turn] for own in images.captions)
        others = tuple(own[:turn] + own[turn + 1 :] for own in images.captions)
        mine = replace(data, human=human, references=others, _loaded={})
        assert texts["Human"][turn::3] == list(human)
        scorers = [
            ready(kind(GoldRegions(), weights=str(folder)), mine)
            for kind in (Tiger, ScanSimilarity)
        ]
        for name, own in texts.items():
            scores = [scorer.score(own[turn::3], np.arange(len(data))) for scorer in scorers]
            found[name].append(np.hstack(scores))
    columns = (*Tiger.plain_columns, *ScanSimilarity.plain_columns)
    assert list(measured) == [column.name for column in columns]
    for which, levels in LEVELS.items():
        for k, column in enumerate(measured):
            scores = np.stack([np.concatenate(found[name])[:, k] for name in levels], axis=1)
            expected = rank_order(scores, np.arange(4)).rho
            assert measured[column][which] == pytest.approx(expected, abs=1e-4)  # four digits
