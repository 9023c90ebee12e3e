"""Contrastive training of a small CLIP: its batches, its loss, and retrieval to judge it by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.clipscore.pixels import normalised, pixels_of
from metaeval.metrics.clipscore.text import WordTokenizer, text_features
from metaeval.training.retrieval import recall, rsum

if TYPE_CHECKING:
    import torch

PREFIX = "A photo depicts "  # as in the metric


class Batch(NamedTuple):
    """The rows of some images, and what chance decides about them."""

    rows: npt.NDArray[np.intp]
    rng: np.random.Generator


class ClipTask:
    """What `metaeval.training.loop.fit` needs for training a small CLIP.

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
    return normalised(moved)


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
        image = torch.cat([
            model.encode_image(normalised(pixels[i : i + 100]).to(device), normalize=True)
            for i in range(0, len(pixels), 100)
        ])  # fmt: skip
        text = torch.cat([
            torch.nn.functional.normalize(
                text_features(model, tokenizer(flat[i : i + 500]).to(device)), dim=-1
            )
            for i in range(0, len(flat), 500)
        ])  # fmt: skip
    return recall((image @ text.T).cpu().numpy(), owner)
