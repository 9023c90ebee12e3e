"""Small datasets with objects, for the tests of regions and of what is built on them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, ImagePaths, Objects, Part


def objects(*found: tuple[str, tuple[float, float, float, float]]) -> Objects:
    """Objects of one image from (name, box)."""
    boxes = np.array([box for _, box in found], dtype=np.float64).reshape(-1, 4)
    return Objects(tuple(name for name, _ in found), boxes)


def dataset(
    ids: Sequence[ImageId] = (1, 2, 3),
    captions: Sequence[Sequence[str]] | None = None,
    found: dict[ImageId, Objects] | None = None,
    images: dict[ImageId, Path] | None = None,
    name: str = "tiny",
) -> CaptionDataset:
    """A dataset of a few images; the first caption of each is the human one."""
    texts = captions or [[f"a dog runs past house {i}", f"one brown dog {i}"] for i in ids]
    human = tuple(t[0] for t in texts)
    no_objects, no_images = Absent("objects", "no objects here"), Absent("images", "no images here")
    parts: dict[str, Part] = {
        "objects": no_objects if found is None else lambda: found,
        "images": no_images if images is None else lambda: ImagePaths(images, "the test's files"),
    }
    references = tuple(tuple(t[1:]) for t in texts)
    return CaptionDataset(name, tuple(ids), human, references, tuple(ids), human, parts=parts)
