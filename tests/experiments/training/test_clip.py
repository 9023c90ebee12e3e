"""Training the small CLIP: a tiny run that learns, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

pytest.importorskip("torch")
pytest.importorskip("open_clip")
pytest.importorskip("safetensors")

from experiments.training.clip import TrainClip
from metaeval.config import compose_config
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.clipscore.network import Clip
from metaeval.metrics.clipscore.weights import OWN, ClipWeights
from metaeval.weights import cards

TINY: dict[str, Any] = {
    "n_train": 48, "n_held_out": 40, "image_size": 32, "embed_dim": 32,
    "vision": {"layers": [1, 1, 1, 1], "width": 8, "head_width": 32, "patch_size": None},
    "text": {"context_length": 32, "width": 32, "heads": 2, "layers": 1},
    "epochs": 40, "minutes": None, "batch": 24, "learning_rate": 3e-3, "weight_decay": 0.05,
    "warmup": 0.05, "device": "cpu", "threads": 1,
}  # fmt: skip


def config(cache: Path) -> Any:
    return OmegaConf.create(
        {
            "seed": 0,
            "dataset": {"_target_": "metaeval.data.scenes.load_scenes", "seed": 0, "size": 64},
            "paths": {"cache": str(cache)},
        }
    )


def test_a_tiny_run_learns_and_can_be_loaded(tmp_path: Path) -> None:
    out = tmp_path / "out"
    facts = TrainClip(**TINY).run(config(tmp_path), out)
    assert facts["training"]["last_loss"] < np.log(24) * 0.8  # chance is log(batch)
    assert json.loads((out / cards.CARD).read_text())["words"] == facts["words"]
    train = load_scenes(split="train", n=48, size=64, cache=tmp_path)
    assert cards.overlap(out, train) == 48
    assert cards.overlap(out, load_scenes(split="dev", n=40, size=64, cache=tmp_path)) == 0
    clip = Clip(ClipWeights("scenes", "scenes", out / cards.WEIGHTS), "cpu")
    texts, _ = clip.texts([facts["prefix"] + text for text in train.human])
    np.testing.assert_allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-5)
    assert np.unique(texts.round(4), axis=0).shape[0] > 24


def test_only_scenes_can_be_learned_from(tmp_path: Path) -> None:
    photographs = config(tmp_path)
    photographs.dataset._target_ = "metaeval.data.coco.load.load_coco"
    with pytest.raises(ConfigError, match="dataset=scenes"):
        TrainClip(**TINY).run(photographs, tmp_path)


def test_the_configuration_is_at_most_6_million_parameters() -> None:
    from open_clip.model import CLIP

    node = compose_config(["experiment=train_clip", "dataset=scenes"]).task
    task: Any = OmegaConf.to_container(node)
    text = {**task["text"], "vocab_size": 2000}
    vision = {**task["vision"], "image_size": task["image_size"]}
    model = CLIP(task["embed_dim"], vision, text)
    assert sum(p.numel() for p in model.parameters()) <= 6_000_000


@pytest.mark.skipif(not (OWN / cards.CARD).is_file(), reason="no trained weights in this checkout")
def test_the_weights_are_what_their_card_says(tmp_path: Path) -> None:
    """Held-out scenes drawn by this version of the code are still told apart."""
    import hashlib

    from metaeval.compute.device import resolve
    from metaeval.metrics.clipscore.network import _own
    from metaeval.metrics.clipscore.training import evaluate

    facts = cards.read_card(OWN)
    found = hashlib.sha256((OWN / cards.WEIGHTS).read_bytes()).hexdigest()
    assert found == facts["weights_sha256"]
    assert len(np.load(OWN / cards.TRAINED_ON)) == facts["data"]["n"]
    model, words, _ = _own(ClipWeights("scenes", "scenes", OWN / cards.WEIGHTS))
    held_out = load_scenes(split="dev", n=200, cache=tmp_path)
    side = facts["model_cfg"]["vision_cfg"]["image_size"]
    recall = evaluate(model.eval(), held_out, words, side, resolve("cpu"))
    # among 200 instead of 1,000 scenes it is easier: never worse than the card
    for way in ("image_to_text", "text_to_image"):
        assert recall[way]["R@1"] >= facts["held_out"][way]["R@1"]
