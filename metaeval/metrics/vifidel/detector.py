"""Objects found in the image files by torchvision's Faster R-CNN (ResNet-50 FPN, trained on COCO).

A source of objects for VIFIDEL where an image has no annotations: the labels of all boxes that the
detector gives a score of at least `threshold`. Each image is looked at by itself and once: labels
are kept in the score cache, under the weights' checksum and the threshold, by the file's content.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.options import Device, Share
from metaeval.progress import progress_bar
from metaeval.readers.files import read_bytes
from metaeval.readers.images import READING
from metaeval.runs.digests import digest, file_sha256
from metaeval.runs.store import MemoryStore, Store
from metaeval.vision.faster_rcnn import FasterRcnn


@dataclass(frozen=True, slots=True)
class Detector:
    """Labels of what is in the images of a dataset.

    Parameters
    ----------
    weights
        The file of the weights; `None`: where torchvision puts them when it downloads them;
        "random": none, for trying things out.
    threshold
        The least score of a box that counts, in [0, 1].
    """

    weights: str | None = None
    threshold: Share = 0.5
    device: Device = "auto"

    def network(self) -> FasterRcnn:
        """The network, not loaded yet."""
        return FasterRcnn(self.weights, self.threshold, self.device)

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """What keeps the detector from looking at these images."""
        if isinstance(images := dataset.part("images"), Absent):
            return images
        return self.network().missing("objects", "metric.vifidel.detector.weights")

    def identity(self, store: Store | None = None) -> str:
        """The weights' checksum and the threshold: what labels depend on besides the image."""
        network = self.network()
        sha256 = "random" if network.random else file_sha256(network.weights, store)[:12]
        return f"fasterrcnn-{sha256}-{self.threshold:g}-{READING}"

    def labels(self, dataset: CaptionDataset, store: Store | None) -> list[Counter[str]]:
        """Per image its labels and how often each; empty without an image file."""
        store = MemoryStore() if store is None else store
        namespace = f"labels of {self.identity(store)}|v:1"
        images: Any = dataset.part("images")
        paths: list[Path | None] = [images.path(image_id) for image_id in dataset.image_ids]
        keys = {path: digest(read_bytes(path)) for path in paths if path is not None}
        known = store.get_many(namespace, list(keys.values()))
        network = self.network()
        labels: list[Counter[str]] = []
        for path in progress_bar(paths, desc="detecting objects", unit=" images"):
            if path is None:
                labels.append(Counter())
                continue
            key = keys[path]
            if key not in known:
                known[key] = json.dumps(network.labels(path)).encode()
                store.put_many(namespace, {key: known[key]})
            labels.append(Counter(json.loads(known[key])))
        return labels
