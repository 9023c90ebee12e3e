"""Regions that torchvision's Faster R-CNN sees in the image files."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import numpy as np

from metaeval.data import image_files
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import InputError
from metaeval.options import Device, PositiveInt, Share, checked
from metaeval.progress import progress_bar
from metaeval.readers.files import user_path
from metaeval.readers.images import READING
from metaeval.runs.digests import file_sha256
from metaeval.runs.records import DETECTED_OBJECTS
from metaeval.runs.store import MemoryStore, SqliteStore, Store
from metaeval.vision.faster_rcnn import FEATURES, FasterRcnn
from metaeval.vision.regions.base import MOST, Floats, Regions, RegionSource, padded
from metaeval.vision.regions.gold import WHOLE

log = logging.getLogger(__name__)

_One = tuple[Floats, Floats, tuple[str, ...]]  # features, boxes and labels of one image


class DetectorRegions(RegionSource):
    """The best boxes of a detector and, as features, its box head's output for them.

    An image in which nothing is found has one region, the whole image; one without a readable file
    has none. What was found is kept by the content of the image file, features as float16.

    Parameters
    ----------
    weights, device
        See `FasterRcnn`; with "random" the identity says so.
    most
        Boxes of an image, those with the best scores.
    threshold
        The least score of a box, in [0, 1].
    cache
        The cache folder, for `load` without a store; `None`: nothing is kept then.
    """

    name: ClassVar[str] = "detector"
    title: str = DETECTED_OBJECTS
    dim: int = FEATURES

    @checked
    def __init__(
        self,
        weights: str | None = None,
        most: PositiveInt = MOST,
        threshold: Share = 0.05,
        device: Device = "auto",
        cache: str | Path | None = None,
    ) -> None:
        self._weights, self._device = weights, device
        self.most, self.threshold = most, threshold
        self._cache = user_path(cache) if cache is not None else None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        images = dataset.part("images")
        if isinstance(images, Absent):
            return images
        if not images.count(dataset.image_ids):
            reason = f"none of the {dataset.n_images:,} images is there ({images})"
            return Absent("images", reason, "set dataset.images=FOLDER")
        return self._network().missing("regions", "regions.weights")

    def identity(self, store: Store | None = None) -> str:
        return f"{self._weights_identity(store)}{self.most}-{self.threshold:g}-{READING}"

    def suits(self, trained_on: str, store: Store | None = None) -> bool:
        """The same detector's boxes and features, for any number of boxes."""
        return trained_on.startswith(self._weights_identity(store))

    def _weights_identity(self, store: Store | None) -> str:
        network = self._network()
        sha256 = "random" if network.random else file_sha256(network.weights, store)[:12]
        return f"detector-fasterrcnn-{sha256}-"

    def _network(self) -> FasterRcnn:
        return FasterRcnn(self._weights, self.threshold, self._device)

    def load(self, dataset: CaptionDataset, store: Store | None = None) -> Regions:
        if store is not None or self._cache is None:
            return self._load(dataset, MemoryStore() if store is None else store)
        with closing(SqliteStore(self._cache / "content.sqlite")) as cache:
            return self._load(dataset, cache)

    def _load(self, dataset: CaptionDataset, store: Store) -> Regions:
        network = self._network()
        namespace = f"regions of {self.identity(store)}"
        paths = image_files.paths_of(dataset)
        keys = image_files.digests(paths, store)
        known = store.get_many(namespace, [key for key in keys if key is not None])
        regions: list[_One] = []
        nothing = (np.zeros((0, self.dim), np.float32), np.zeros((0, 4), np.float32), ())
        lost: list[int] = []
        bar = progress_bar(paths, desc="detecting regions", unit=" images")
        for i, (path, key) in enumerate(zip(bar, keys, strict=True)):
            if path is not None and key is not None and key not in known:
                one = self._detect(network, path)
                if one is not None:
                    known[key] = _packed(one)
                    store.put_many(namespace, {key: known[key]})
            if key is None or key not in known:
                lost.append(i)
                regions.append(nothing)
            else:
                regions.append(_unpacked(known[key], self.dim))
        if lost:
            n, of = dataset.count_images(lost), dataset.n_images
            log.warning("%s of %s images have no regions", f"{n:,}", f"{of:,}")
        features, boxes, labels = zip(*regions, strict=True)
        return padded(features, boxes, labels, self.dim)

    def _detect(self, network: FasterRcnn, path: Path) -> _One | None:
        """What is in an image; `None`, with a warning, for a file that is not an image."""
        try:
            seen = network.look(path, self.most)
            if seen.labels:
                return seen.features, seen.boxes, seen.labels
            whole = np.array([[0, 0, 1, 1]], dtype=np.float32)
            return network.whole(path), whole, (WHOLE,)
        except InputError as error:
            log.warning("%s", error)
            return None


def _packed(one: _One) -> bytes:
    """Regions of one image as bytes: how many, their labels, boxes, and features as float16."""
    labels = json.dumps(one[2]).encode()
    head = len(one[2]).to_bytes(4, "little") + len(labels).to_bytes(4, "little")
    return head + labels + one[1].astype("<f4").tobytes() + one[0].astype("<f2").tobytes()


def _unpacked(raw: bytes, dim: int) -> _One:
    n, size = (int.from_bytes(raw[i : i + 4], "little") for i in (0, 4))
    labels = tuple(json.loads(raw[8 : 8 + size]))
    boxes = np.frombuffer(raw, "<f4", 4 * n, 8 + size).reshape(n, 4)
    features = np.frombuffer(raw, "<f2", dim * n, 8 + size + 16 * n).reshape(n, dim)
    return features.astype(np.float32), boxes.astype(np.float32), labels
