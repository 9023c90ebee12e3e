"""Training a small CLIP on the embedded scenes: `python -m metaeval experiment=train_clip`.

Writes weights, a card and the digests of the training images into the run's folder; copied to
`metaeval/weights/scenes_clip/`, they make CLIPScore and RefCLIPScore real on the scenes without
any download. Pictures and captions of the split "train" are learned from, some of them held out to
choose the best epoch by; those of the split "dev" are only looked at once, at the end, for the
card. A run that was interrupted goes on when it is started again with the same `hydra.run.dir`.

The weights that are shipped were trained before the trainings had one loop in common; a new
training does not end with their bytes.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import DictConfig
from pydantic import with_config
from typing_extensions import TypedDict

from metaeval.config import plain
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.experiments.training.grounded import CHECKPOINT, HERE, NetworkTraining
from metaeval.metrics.clipscore.text import WordTokenizer, words_of
from metaeval.metrics.clipscore.training import PREFIX, ClipTask, captions_of, retrieval
from metaeval.options import STRICT, PositiveInt
from metaeval.provenance import command
from metaeval.training.loop import fit
from metaeval.training.spoiling import drawn_corruptions
from metaeval.weights import pretrained
from metaeval.weights.cards import trained_on, write_card


@with_config(STRICT)
class VisionTower(TypedDict, total=False):
    """open_clip's `vision_cfg`: a ResNet where `layers` are four numbers, else a ViT."""

    layers: PositiveInt | list[PositiveInt]
    width: PositiveInt
    head_width: PositiveInt
    patch_size: PositiveInt | None


@with_config(STRICT)
class TextTower(TypedDict, total=False):
    """open_clip's `text_cfg`."""

    context_length: PositiveInt
    width: PositiveInt
    heads: PositiveInt
    layers: PositiveInt


class TrainClip(NetworkTraining):
    """Contrastive training of an open_clip model with a vocabulary of its own.

    Parameters
    ----------
    n_train, n_held_out
        Scenes of the split "train", and scenes of the split "dev" for the card.
    image_size, vision, text, embed_dim
        open_clip's model configuration (`vision_cfg`, `text_cfg` without the vocabulary).
    batch, captions
        Images of a step, and captions of each that are contrasted with all of them.
    options
        Those of `NetworkTraining`; `dev` of the scenes of "train" are held out to choose by.
    """

    name: ClassVar[str] = "train_clip"
    title: ClassVar[str] = "Training a small CLIP"
    question: ClassVar[str] = "Which weights distinguish captions of a scene from those of others?"

    packages: ClassVar[tuple[str, ...]] = ("torch", "open_clip", "safetensors")

    def __init__(
        self,
        n_train: PositiveInt,
        n_held_out: PositiveInt,
        image_size: PositiveInt,
        embed_dim: PositiveInt,
        vision: VisionTower,
        text: TextTower,
        batch: PositiveInt,
        captions: PositiveInt,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not 0 < self.dev < n_train:
            raise ConfigError(f"task.dev must be in 1…{n_train - 1:,}, not {self.dev!r}")
        self.n_train, self.n_held_out = n_train, n_held_out
        self.image_size, self.embed_dim = image_size, embed_dim
        self.vision, self.text = {"image_size": image_size, **plain(vision)}, plain(text)
        self.batch, self.captions = batch, captions

    def check(self, config: DictConfig) -> None:
        super().check(config)
        if not str(config.dataset.get("_target_", "")).endswith("load_scenes"):
            raise ConfigError("train_clip learns from the scenes: add dataset=scenes")

    def train(self, config: DictConfig, out: Path) -> dict[str, object]:
        """Train, evaluate on held-out scenes, and write model.safetensors and card.json."""
        import torch

        settings, device = self.settings(config), self.begin(config)
        seed = int(config.dataset.seed)
        options = {"seed": seed, "size": int(config.dataset.size), "cache": config.paths.cache}
        images = load_scenes(split="train", n=self.n_train, **options)
        train = images.subset(range(len(images) - self.dev))
        dev = images.subset(range(len(train), len(images)))
        tokenizer = WordTokenizer(
            words_of([PREFIX, *(t for texts in captions_of(train) for t in texts)]),
            int(self.text["context_length"]),
        )
        shape = {
            "embed_dim": self.embed_dim,
            "vision_cfg": self.vision,
            "text_cfg": {**self.text, "vocab_size": tokenizer.vocab_size},
        }
        model = import_module("open_clip.model").CLIP(**shape).to(device)
        model.visual.to(memory_format=torch.channels_last)  # as the pictures of a batch
        task = ClipTask(model, tokenizer, train, dev, self.image_size, self.batch, self.captions)
        identity = f"{shape}|{self.batch}|{self.captions}|{len(dev)}|{images.sources}"
        trained = fit(
            model, task.batches, task.loss, task.validate, settings, out / CHECKPOINT, identity,
            title="clip",
        )  # fmt: skip
        pretrained.half(model)  # the numbers below are those of the weights in the file
        chosen = dict(task.validate(model))
        held_out = load_scenes(split="dev", n=self.n_held_out, **options)
        recalls = retrieval(model, held_out, tokenizer, self.image_size, device)
        card = {
            "name": "scenes",
            "what": "a small CLIP for the drawn scenes only, never for photographs",
            "model_cfg": shape,
            "words": list(tokenizer.words),
            "parameters": sum(p.numel() for p in model.parameters()),
            "prefix": PREFIX,
            "command": command(without=HERE),
            "drawn": [asdict(drawn) for drawn in drawn_corruptions(spoiled=False)],
            "seed": settings.seed,
            "data": {
                "dataset": "scenes",
                "split": "train",
                "seed": seed,
                "n": len(images),
                "n_dev": len(dev),
                "captions_sha256": dict(images.sources),
            },
            "training": {
                **asdict(settings),
                "batch": self.batch,
                "captions_per_image": self.captions,
                **trained.card(),
                "device": str(device),
            },
            "dev": {"n_images": len(dev), **chosen},
            "held_out": {"split": "dev", "n_images": len(held_out), **recalls},
        }
        write_card(out, model, card, trained_on(images))
        (out / CHECKPOINT).unlink(missing_ok=True)
        print(
            f"{card['parameters']:,} parameters, {trained.steps:,} steps in "
            f"{trained.seconds:,.0f} s, the best epoch number {trained.best_epoch}; {recalls}",
            flush=True,
        )
        return card
