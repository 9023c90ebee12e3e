"""Objects found in the image files by torchvision's Faster R-CNN (ResNet-50 FPN, trained on COCO).

A source of objects for VIFIDEL where an image has no annotations: the labels of all boxes that the
detector gives a score of at least `threshold`. Each image is looked at by itself and once: labels
are kept in the score cache, under the weights' checksum and the threshold, by the file's content.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tqdm import tqdm

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.runs.digests import file_sha256
from metaeval.runs.store import MemoryStore, Store
from metaeval.vision.faster_rcnn import FasterRcnn


class Detector:
    """Labels of what is in the images of a dataset.

    Parameters
    ----------
    weights
        The file of the weights; `None`: where torchvision puts them when it downloads them;
        "random": none, for trying things out.
    threshold
        The least score of a box that counts, in [0, 1].
    device
        "auto", "cpu", "cuda".
    """

    def __init__(
        self, weights: str | None = None, threshold: float = 0.5, device: str = "auto"
    ) -> None:
        self._network = FasterRcnn(weights, threshold, device)
        self.weights, self.threshold = self._network.weights, threshold

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """What keeps the detector from looking at these images."""
        if isinstance(images := dataset.part("images"), Absent):
            return images
        return self._network.missing("objects", "metric.vifidel.detector.weights")

    def labels(self, dataset: CaptionDataset, store: Store | None) -> tuple[list[Any], str]:
        """Per image its labels and how often each (none without a file), and who found them."""
        random = self._network.random
        sha256 = "random" if random else file_sha256(self.weights, store)[:12]
        who = f"fasterrcnn-{sha256}-{self.threshold:g}"
        place = MemoryStore() if store is None else store
        images: Any = dataset.part("images")
        paths = [images.path(image_id) for image_id in dataset.image_ids]
        keys = [None if path is None else _digest(path) for path in paths]
        known = place.get_many(f"labels of {who}|v:1", [key for key in keys if key is not None])
        found: list[Counter[str]] = []
        bar = tqdm(paths, desc="detecting objects", unit=" images", leave=False, delay=2)
        for path, key in zip(bar, keys, strict=True):
            if path is None or key is None:
                found.append(Counter())
                continue
            if key not in known:
                known[key] = json.dumps(self._detect(path)).encode()
                place.put_many(f"labels of {who}|v:1", {key: known[key]})
            found.append(Counter(json.loads(known[key])))
        return found, who

    def _detect(self, path: Path) -> list[str]:
        return self._network.labels(path)


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()[:16]
