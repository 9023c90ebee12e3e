"""Training FAIEr: a tiny run that learns, the same twice, and what it leaves behind."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from metaeval.config import compose_config
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.faier.metric import Faier
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained
from research.tests.train.lettered import Lettered
from research.train.faier import TrainFaier, filled_in

TINY: dict[str, Any] = {
    "regions": GoldRegions(),
    "dev": 20,
    "min_count": 2,
    "network": {"width": 16, "d": 16, "dropout": 0.0},
    "model": {"batch": 20, "splits": 2},
    "training": {"epochs": 5, "learning_rate": 1e-2, "schedule": "cosine"},
    "device": "cpu",
    "threads": 1,
}


def config(cache: Path) -> Any:
    return OmegaConf.create(
        {
            "seed": 0,
            "dataset": {
                "_target_": "metaeval.data.scenes.load_scenes",
                "split": "train",
                "n": 80,
                "cache": str(cache),
            },
            "paths": {"cache": str(cache)},
            "cache": {"enabled": True},
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["r", "aier"])
def test_a_tiny_run_learns_and_can_score(tmp_path: Path, variant: str) -> None:
    out = tmp_path / "out"
    facts = TrainFaier(variant, **TINY).train(config(tmp_path), out)
    losses = [epoch["loss"] for epoch in facts["training"]["history"]]
    assert losses[-1] < 0.95 * losses[0]
    assert sorted(path.name for path in out.iterdir()) == [
        "card.json",
        "model.safetensors",
        "trained_on.npy",
        "vocab.json",
    ]
    train = load_scenes(split="train", n=80, cache=tmp_path)
    assert pretrained.read_weights(out).overlap(train).all()
    val = load_scenes(n=10, cache=tmp_path)
    metric = Faier(GoldRegions(), variant, weights=str(out), device="cpu")
    done = score_captions(metric, val, list(val.human), np.arange(10), MemoryStore())
    assert done.status == "ok", done.reason
    assert np.isfinite(done.scores).all()
    assert not done.columns[0].learned_from_corruptions


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    sums = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        own = config(tmp_path)
        own.seed = seed
        TrainFaier("r", **TINY).train(own, tmp_path / name)
        sums.append(hashlib.sha256((tmp_path / name / pretrained.WEIGHTS).read_bytes()).hexdigest())
    assert sums[0] == sums[1] != sums[2]


def test_vectors_make_margins_of_similarity(tmp_path: Path) -> None:
    def trained(margin: float | None, name: str, **more: Any) -> Any:
        model = {**TINY["model"], "similarity_margin": margin}
        tiny = {**TINY, "model": model, "training": {"epochs": 1}}
        return TrainFaier("r", **tiny, **more).train(config(tmp_path), tmp_path / name)

    default = trained(None, "default", vectors=Lettered())
    zero = trained(0.0, "zero", vectors=Lettered())
    margins = [
        card["settings"]["similarity_margin"] for card in (default, zero, trained(None, "none"))
    ]
    assert margins == [0.3, 0.0, 0]
    first, second = (card["training"]["history"][0]["loss"] for card in (default, zero))
    assert first != second
    filled = filled_in({"unreferenced": 0.0, "similarity_margin": None}, vectors=True)
    assert filled == {"similarity_margin": 0.3, "unreferenced": 0}
    with pytest.raises(ConfigError, match=r"task\.model\.similarity_margin needs word vectors"):
        trained(0.3, "refused")


def test_wrong_options_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown variant 'x'"):
        TrainFaier("x", **TINY).train(config(tmp_path), tmp_path)
    with pytest.raises(ConfigError, match="'corruptions' is shipped only"):
        TrainFaier("corruptions", **TINY).check(config(tmp_path))
    with pytest.raises(ConfigError, match="unknown parser 'x'"):
        TrainFaier("r", **TINY, parser="x").train(config(tmp_path), tmp_path)


def test_the_configuration_trains_a_few_megabytes() -> None:
    from metaeval.metrics.faier.network import FaierNetwork, FaierShape
    from research.train.faier_loss import FaierSettings
    from research.train.loop import TrainingSettings

    node = compose_config(["experiment=train_faier"]).task
    task: Any = OmegaConf.to_container(node, resolve=True)
    network = FaierNetwork(FaierShape(88, 2600, **task["network"]))
    assert sum(p.numel() for p in network.parameters()) * 2 <= 4_000_000  # bytes, in float16
    assert FaierSettings("r", **filled_in(task["model"], vectors=True)).variant == "r"
    assert TrainingSettings(**task["training"]).epochs >= 1


@pytest.mark.parametrize(
    "weights",
    [w for w in pretrained.shipped() if w.card["kind"] == "faier"],
    ids=lambda w: w.name,
)
def test_shipped_weights_are_what_their_card_says(weights: Any) -> None:
    path, card, name = weights.folder / pretrained.WEIGHTS, weights.card, weights.name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == card["weights_sha256"]
    assert path.stat().st_size <= 6_000_000
    assert len(weights.seen) == card["data"]["n_train"] + card["data"]["n_dev"] == card["images"]
    assert card["words"] == len(weights.vocabulary())
    negative = name.endswith("neg")
    of_card = (card["trained_on_corruptions"], card["variant"] == "corruptions")
    assert of_card == (negative, negative)
