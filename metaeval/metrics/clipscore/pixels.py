"""Pictures as a small CLIP of our own takes them: squares of bytes, normalised as CLIP's are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import InputError
from metaeval.progress import progress_bar
from metaeval.readers.images import open_image

if TYPE_CHECKING:
    import torch
    from PIL import Image

# The channels' means and standard deviations over OpenAI's training images.
_MEAN = np.array((0.48145466, 0.4578275, 0.40821073), np.float32)
_STD = np.array((0.26862954, 0.26130258, 0.27577711), np.float32)


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


def squared(image: Image.Image, side: int) -> npt.NDArray[np.uint8]:
    """An image as uint8 [side, side, 3]: shorter side to `side` (bicubic), then the middle."""
    from PIL import Image

    rgb = image.convert("RGB")
    width, height = rgb.size
    scale = side / min(width, height)
    size = (max(side, round(width * scale)), max(side, round(height * scale)))
    rgb = rgb.resize(size, Image.Resampling.BICUBIC)
    left, top = (size[0] - side) // 2, (size[1] - side) // 2
    return np.asarray(rgb.crop((left, top, left + side, top + side)), dtype=np.uint8)


def normalised(pixels: npt.NDArray[np.uint8]) -> torch.Tensor:
    """uint8 [n, h, w, 3] as float32 [n, 3, h, w] around zero."""
    import torch

    scaled = (pixels.astype(np.float32) / 255 - _MEAN) / _STD
    out: torch.Tensor = torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))
    return out
