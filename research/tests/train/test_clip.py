"""Training the small CLIP: a tiny run that learns, and what it leaves behind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

pytest.importorskip("torch")
pytest.importorskip("open_clip")
pytest.importorskip("safetensors")

from metaeval.config import compose_config
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.clipscore.network import Clip
from metaeval.metrics.clipscore.weights import SCENES_CLIP, ClipWeights
from metaeval.weights import pretrained
from research.train.clip import CHECKPOINT, ClipTask, TrainClip

TINY: dict[str, Any] = {
    "n_train": 56,
    "dev": 8,
    "n_held_out": 40,
    "image_size": 32,
    "embed_dim": 32,
    "vision": {"layers": [1, 1, 1, 1], "width": 8, "head_width": 32, "patch_size": None},
    "text": {"context_length": 32, "width": 32, "heads": 2, "layers": 1},
    "batch": 24,
    "captions": 2,
    "device": "cpu",
    "threads": 1,
    "training": {
        "epochs": 40,
        "learning_rate": 3e-3,
        "schedule": "cosine",
        "warmup": 2.0,
        "weight_decay": 0.05,
        "clip": 1.0,
    },
}


def config(cache: Path) -> Any:
    return OmegaConf.create(
        {
            "seed": 0,
            "dataset": {"_target_": "metaeval.data.scenes.load_scenes", "size": 64},
            "paths": {"cache": str(cache)},
        }
    )


@pytest.mark.slow
def test_a_tiny_run_learns_and_can_be_loaded(tmp_path: Path) -> None:
    out = tmp_path / "out"
    facts = TrainClip(**TINY).train(config(tmp_path), out)
    assert facts["training"]["history"][-1]["loss"] < np.log(24) * 0.8  # chance is log(batch)
    assert facts["training"]["steps"] == 80
    assert not (out / CHECKPOINT).exists()
    assert json.loads((out / pretrained.CARD).read_text())["words"] == facts["words"]
    train = load_scenes(split="train", n=56, size=64, cache=tmp_path)
    dev = load_scenes(split="dev", n=40, size=64, cache=tmp_path)
    assert (pretrained.overlap(out, train), pretrained.overlap(out, dev)) == (56, 0)
    clip = Clip(ClipWeights("scenes", "scenes", out / pretrained.WEIGHTS), "cpu")
    texts = clip.texts([facts["prefix"] + text for text in train.human])
    np.testing.assert_allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-5)
    assert np.unique(texts.round(4), axis=0).shape[0] > 24


def test_an_interrupted_training_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = {**TINY, "training": {**TINY["training"], "epochs": 3, "warmup": 1.0}}

    class Interrupted(ClipTask):
        def batches(self, epoch: int, rng: np.random.Generator) -> Any:
            if epoch == 2:
                raise KeyboardInterrupt
            return super().batches(epoch, rng)

    with monkeypatch.context() as patch:
        patch.setattr("research.train.clip.ClipTask", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            TrainClip(**short).train(config(tmp_path), tmp_path / "twice")
    assert (tmp_path / "twice" / CHECKPOINT).is_file()
    with pytest.raises(ConfigError, match="other settings"):
        TrainClip(**{**short, "batch": 12}).train(config(tmp_path), tmp_path / "twice")
    written = []
    for name in ("once", "twice"):
        TrainClip(**short).train(config(tmp_path), tmp_path / name)
        written.append((tmp_path / name / pretrained.WEIGHTS).read_bytes())
    assert written[0] == written[1]


def test_what_it_cannot_learn_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"task\.dev"):
        TrainClip(**{**TINY, "dev": 56})
    photographs = config(tmp_path)
    photographs.dataset._target_ = "metaeval.data.coco.load.load_coco"
    with pytest.raises(ConfigError, match="dataset=scenes"):
        TrainClip(**TINY).check(photographs)


def test_the_configuration_is_at_most_6_million_parameters() -> None:
    from open_clip.model import CLIP

    node = compose_config(["experiment=train_clip", "dataset=scenes"]).task
    task: Any = OmegaConf.to_container(node)
    text = {**task["text"], "vocab_size": 2000}
    vision = {**task["vision"], "image_size": task["image_size"]}
    model = CLIP(task["embed_dim"], vision, text)
    assert sum(p.numel() for p in model.parameters()) <= 6_000_000


@pytest.mark.skipif(
    not (SCENES_CLIP / pretrained.CARD).is_file(), reason="no trained weights in this checkout"
)
def test_the_weights_are_what_their_card_says(tmp_path: Path) -> None:
    """The weights still distinguish held-out scenes drawn by this version of the code."""
    import hashlib

    from metaeval.compute.device import resolve
    from metaeval.metrics.clipscore.network import load_shipped
    from research.train.clip import retrieval

    facts = pretrained.read_card(SCENES_CLIP)
    found = hashlib.sha256((SCENES_CLIP / pretrained.WEIGHTS).read_bytes()).hexdigest()
    assert found == facts["weights_sha256"]
    assert len(pretrained.read_seen(SCENES_CLIP, facts)) == facts["data"]["n"]
    model, words, _ = load_shipped(
        ClipWeights("scenes", "scenes", SCENES_CLIP / pretrained.WEIGHTS)
    )
    held_out = load_scenes(split="dev", n=200, cache=tmp_path)
    side = facts["model_cfg"]["vision_cfg"]["image_size"]
    recall = retrieval(model.eval(), held_out, words, side, resolve("cpu"))
    # among 200 instead of 1,000 scenes it is easier: never worse than the card
    for way in ("image_to_text", "text_to_image"):
        assert recall[way]["R@1"] >= facts["held_out"][way]["R@1"]
