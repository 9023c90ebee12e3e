"""Training a small CLIP on the embedded scenes: `python -m research.train experiment=train_clip`.

Writes weights, a card and the digests of the training images into the run's folder; copied to
`metaeval/weights/scenes_clip/`, they make CLIPScore and RefCLIPScore real on the scenes without
any download. Pictures and captions of the split "train" are learned from, some of them held out to
choose the best epoch by; those of the split "dev" are only looked at once, at the end, for the
card. A run that was interrupted goes on when it is started again with the same `hydra.run.dir`.

The weights that are shipped were trained before the trainings had one loop in common; a new
training does not end with their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig
from pydantic import with_config
from typing_extensions import TypedDict

from metaeval.config import plain
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.clipscore.network import (
    WORD,
    WordTokenizer,
    normalise_pixels,
    squared,
    text_features,
)
from metaeval.options import STRICT, PositiveInt
from metaeval.progress import progress_bar
from metaeval.readers.images import open_image
from metaeval.weights.pretrained import trained_on
from research.train.dataset import recall, rsum
from research.train.grounded import CHECKPOINT, HERE, OTHERS, NetworkTraining
from research.train.loop import fit
from research.weights import command, half, write_card

if TYPE_CHECKING:
    import torch


PREFIX = "A photo depicts "  # as in the metric


class Batch(NamedTuple):
    """The rows of some images, and what chance decides about them."""

    rows: npt.NDArray[np.intp]
    rng: np.random.Generator


class ClipTask:
    """What `research.train.loop.fit` needs for training a small CLIP.

    The open_clip model is on its device; it learns from `train`, and `dev` chooses the best epoch.
    Pictures have sides of `image_size` pixels. A step takes `batch` images, and so many `captions`
    of each are contrasted with all of them.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: WordTokenizer,
        train: CaptionDataset,
        dev: CaptionDataset,
        image_size: int,
        batch: int,
        captions: int,
    ) -> None:
        self._model, self._device = model, next(model.parameters()).device
        self._tokenizer, self._dev, self._image_size = tokenizer, dev, image_size
        self._batch, self._captions = min(batch, len(train)), captions
        self._pixels = pixels_of(train, image_size)
        self._tokens = [
            tokenizer([PREFIX + text for text in texts]).numpy().astype(np.int32)
            for texts in captions_of(train)
        ]

    def batches(self, epoch: int, rng: np.random.Generator) -> Sequence[Batch]:
        """The images in a new order; what is left of the last batch waits for the next epoch."""
        order = rng.permutation(len(self._pixels))
        n = len(order) // self._batch
        rows = np.split(order[: n * self._batch], n)
        return [Batch(*each) for each in zip(rows, rng.spawn(n), strict=True)]

    def loss(self, batch: Batch, epoch: int) -> torch.Tensor:
        """Cross-entropy of the right caption for an image and of the right image for a caption."""
        import torch

        functional = torch.nn.functional
        pixels = augmented(self._pixels[batch.rows], batch.rng).to(self._device)
        # a third less time for convolutions of few channels on a CPU
        pixels = pixels.to(memory_format=torch.channels_last)
        image = functional.normalize(self._model.encode_image(pixels), dim=-1)
        scale = self._model.logit_scale.exp().clamp(max=100)
        target = torch.arange(len(image), device=self._device)
        loss = torch.zeros((), device=self._device)
        for ids in self._pick(batch):
            features = text_features(self._model, torch.from_numpy(ids).to(self._device))
            logits = scale * image @ functional.normalize(features, dim=-1).T
            loss = loss + functional.cross_entropy(logits, target)
            loss = loss + functional.cross_entropy(logits.T, target)
        return loss / (2 * self._captions)

    def _pick(self, batch: Batch) -> list[npt.NDArray[np.int64]]:
        """Tokens [n, length] of one caption of each image, as many times as there are captions."""
        texts = [self._tokens[row] for row in batch.rows.tolist()]
        orders = [batch.rng.permutation(len(tokens)) for tokens in texts]
        picked = []
        for k in range(self._captions):
            pairs = zip(texts, orders, strict=True)
            ids = np.stack([tokens[order[k % len(order)]] for tokens, order in pairs])
            picked.append(ids[:, : int((ids > 0).sum(axis=1).max())].astype(np.int64))
        return picked

    def validate(self, model: Any) -> Mapping[str, object]:
        """Recall among the dev images and their captions, and its sum."""
        recalls = retrieval(model, self._dev, self._tokenizer, self._image_size, self._device)
        return {**recalls, "rsum": rsum(recalls)}


def vocabulary_of(texts: Sequence[str]) -> list[str]:
    """The vocabulary of some texts, in alphabetical order."""
    return sorted({word for text in texts for word in WORD.findall(text.lower())})


def captions_of(dataset: CaptionDataset) -> list[tuple[str, ...]]:
    """All captions of each image: the human one, then the references."""
    return [(h, *r) for h, r in zip(dataset.human, dataset.references, strict=True)]


def augmented(pixels: npt.NDArray[np.uint8], rng: np.random.Generator) -> torch.Tensor:
    """Pictures [n, h, w, 3] as float32 [n, 3, h, w] of CLIP's range, each moved by a few pixels.

    Never mirrored: captions speak of left and right.
    """
    side, most = pixels.shape[1], pixels.shape[1] // 16
    padded = np.pad(pixels, ((0, 0), (most, most), (most, most), (0, 0)), mode="edge")
    moved = np.empty_like(pixels)
    for row, (y, x) in enumerate(rng.integers(0, 2 * most + 1, size=(len(pixels), 2))):
        moved[row] = padded[row, y : y + side, x : x + side]
    return normalise_pixels(moved)


def retrieval(
    model: Any,
    dataset: CaptionDataset,
    tokenizer: WordTokenizer,
    image_size: int,
    device: torch.device,
) -> dict[str, dict[str, float]]:
    """R@1, R@5 and R@10 among the dataset's images and captions, both ways."""
    import torch

    pixels, texts = pixels_of(dataset, image_size), captions_of(dataset)
    owner = np.repeat(np.arange(len(texts)), [len(t) for t in texts])
    flat = [PREFIX + t for each in texts for t in each]
    with torch.inference_mode():
        image = torch.cat(
            [
                model.encode_image(normalise_pixels(pixels[i : i + 100]).to(device), normalize=True)
                for i in range(0, len(pixels), 100)
            ]
        )
        text = torch.cat(
            [
                torch.nn.functional.normalize(
                    text_features(model, tokenizer(flat[i : i + 500]).to(device)), dim=-1
                )
                for i in range(0, len(flat), 500)
            ]
        )
    return recall((image @ text.T).cpu().numpy(), owner)


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


class TrainClip(
    NetworkTraining,
    name="train_clip",
    title="Training a small CLIP",
    question="Which weights distinguish captions of a scene from those of others?",
):
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
        options = {"size": int(config.dataset.size), "cache": config.paths.cache}
        images = load_scenes(split="train", n=self.n_train, **options)
        train = images.subset(range(len(images) - self.dev))
        dev = images.subset(range(len(train), len(images)))
        tokenizer = WordTokenizer(
            vocabulary_of([PREFIX, *(t for texts in captions_of(train) for t in texts)]),
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
        checkpoint = out / CHECKPOINT
        trained = fit(
            model, task.batches, task.loss, task.validate, settings, checkpoint, identity, "clip"
        )
        half(model)  # the numbers below are those of the weights in the file
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
            "drawn": [asdict(OTHERS)],
            "seed": settings.seed,
            "data": {
                "dataset": "scenes",
                "split": "train",
                "seed": 0,
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
        checkpoint.unlink(missing_ok=True)
        print(
            f"{card['parameters']:,} parameters, {trained.steps:,} steps in "
            f"{trained.seconds:,.0f} s, the best epoch number {trained.best_epoch}; {recalls}",
            flush=True,
        )
        return card


def pixels_of(dataset: CaptionDataset, side: int) -> npt.NDArray[np.uint8]:
    """All images of a dataset as uint8 [n, side, side, 3]; InputError where one is not there."""
    images = dataset.part("images")
    if isinstance(images, Absent):
        raise InputError(images.reason)
    out = np.empty((len(dataset), side, side, 3), np.uint8)

    def fill(index: int) -> None:
        path = images.path(dataset.image_ids[index])
        if path is None:
            raise InputError("image file not found", record=f"image {dataset.image_ids[index]}")
        with open_image(path) as image:
            out[index] = squared(image, side)

    with ThreadPoolExecutor() as pool:
        jobs = pool.map(fill, range(len(dataset)))
        for _ in progress_bar(jobs, total=len(dataset), desc="pictures", unit=""):
            pass
    return out
