"""Regions of images: what a grounded metric looks at instead of pixels.

Three sources, one interface: the dataset's annotated objects (`gold.py`), the field's 36 bottom-up
features from files (`bottomup.py`), and a detector on the image files (`detector.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import to_device
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.runs.files import digest
from metaeval.runs.store import Store

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float32]

MOST = 36  # regions of an image, as in the field's bottom-up features


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The regions of n images, padded to the same number r.

    Attributes
    ----------
    features
        float32 [n, r, d]; zeros for missing regions.
    boxes
        float32 [n, r, 4], x1 y1 x2 y2 in [0, 1]; zeros for missing regions.
    mask
        bool [n, r], true where a region is there. An image's regions come first, without gaps.
    labels
        Per image, the names of its regions for drawings, "" where unknown; as many as the row of
        `mask` has true entries.
    """

    features: Floats
    boxes: Floats
    mask: npt.NDArray[np.bool_]
    labels: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.mask)

    @property
    def dim(self) -> int:
        """The width d of the features."""
        return int(self.features.shape[2])

    def subset(self, indices: Sequence[int] | npt.NDArray[np.intp]) -> Regions:
        """The images at these positions, in this order, with no more padding than they need."""
        rows = np.asarray(indices, dtype=np.intp)
        mask = self.mask[rows]
        r = max(1, int(mask.sum(axis=1).max(initial=0)))
        return Regions(
            self.features[rows, :r],
            self.boxes[rows, :r],
            mask[:, :r],
            tuple(self.labels[i] for i in rows),
        )

    def tensors(
        self, device: torch.device | str = "cpu"
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features, boxes and mask as tensors on a device; on the CPU they share memory."""
        return to_device(device, self.features, self.boxes, self.mask)  # type: ignore[return-value]


class RegionSource(ABC):
    """Where regions come from: options, which nothing changes and which can be pickled.

    Class attributes
    ----------------
    name
        "gold", "bottomup" or "detector", as in `conf/regions/`.
    title
        What is seen, as columns say in brackets: "gold objects".
    dim
        The width of the features.
    """

    name: ClassVar[str]
    title: str
    dim: int

    @abstractmethod
    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """What keeps the regions of this dataset from being loaded; cheap, no network."""

    @abstractmethod
    def identity(self, store: Store | None = None) -> str:
        """What would change a feature, for signatures and cards: "gold-v1", "bottomup-2048-36-v1".

        `store` spares reading a file of weights again that has not changed.
        """

    def suits(self, trained_on: str, store: Store | None = None) -> bool:
        """Whether a model that was trained on regions of that identity can look at these."""
        return trained_on == self.identity(store)

    @abstractmethod
    def load(self, dataset: CaptionDataset, store: Store | None = None) -> Regions:
        """The regions of every image of the dataset; row i is `dataset.image_ids[i]`.

        An image that the source has nothing for is a row whose mask is all false.
        """

    def load_once(self, dataset: CaptionDataset, store: Store | None = None) -> Regions:
        """As `load`; metrics that look at the same regions of a dataset share them."""
        what = f"regions {self.identity(store)}"
        return dataset.derive(what, lambda: self.load(dataset, store))

    def digests(self, dataset: CaptionDataset, store: Store | None = None) -> list[bytes]:
        """`digest` of each image of a dataset, computed once."""
        regions = self.load_once(dataset, store)
        return dataset.derive(
            f"digests of regions {self.identity(store)}",
            lambda: [self.digest(regions, i) for i in range(len(regions))],
        )

    def digest(self, regions: Regions, index: int) -> bytes:
        """16 bytes that identify an image's regions, whatever the padding, for `Scorer.context`."""
        n = int(regions.mask[index].sum())
        head = f"{self.name}\0{n}\0{regions.dim}\0".encode()
        features = np.ascontiguousarray(regions.features[index, :n]).tobytes()
        boxes = np.ascontiguousarray(regions.boxes[index, :n]).tobytes()
        return digest(head + features + boxes)


ImageRegions = tuple[Floats, Floats, Sequence[str]]  # features, boxes and labels of one image


def stack_regions(images: Sequence[ImageRegions | None], dim: int) -> Regions:
    """The regions of images one by one, padded to the largest number; `None`: an image without
    any."""
    nothing: ImageRegions = np.zeros((0, dim), np.float32), np.zeros((0, 4), np.float32), ()
    there = [each or nothing for each in images]
    n, r = len(there), max((len(labels) for *_, labels in there), default=1) or 1
    features = np.zeros((n, r, dim), np.float32)
    boxes = np.zeros((n, r, 4), np.float32)
    mask = np.zeros((n, r), np.bool_)
    for i, (rows, box, labels) in enumerate(there):
        r_i = len(labels)
        features[i, :r_i], boxes[i, :r_i], mask[i, :r_i] = rows, box, True
    return Regions(features, boxes, mask, tuple(tuple(labels) for *_, labels in there))
