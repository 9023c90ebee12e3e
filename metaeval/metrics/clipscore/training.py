"""What the training of a small CLIP needs beside its loop: pictures moved about, and retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.clipscore.pixels import normalised, pixels_of
from metaeval.metrics.clipscore.text import WordTokenizer, text_features
from metaeval.training.retrieval import recall

if TYPE_CHECKING:
    import torch

PREFIX = "A photo depicts "  # as the metric will ask it


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


def evaluate(
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
