"""Objects found in the image files by torchvision's Faster R-CNN (ResNet-50 FPN, trained on COCO).

A source of objects for VIFIDEL where an image has no annotations: the labels of all boxes that the
detector gives a score of at least `threshold`. Each image is looked at by itself and once: labels
are kept in the score cache, under the weights' checksum and the threshold, by the file's content.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tqdm import tqdm

from metaeval.cache import MemoryStore, Store
from metaeval.data.types import Absent, CaptionDataset
from metaeval.models import device as devices
from metaeval.models import weight_files
from metaeval.models.needs import lacking

FILE = "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth"  # as torchvision keeps it


class Detector:
    """Labels of what is in the images of a dataset.

    Parameters
    ----------
    weights
        The file of the weights; `None`: where torchvision puts them when it downloads them.
    threshold
        The least score of a box that counts, in [0, 1].
    device
        "auto", "cpu", "cuda".
    """

    def __init__(
        self, weights: str | None = None, threshold: float = 0.5, device: str = "auto"
    ) -> None:
        self.weights = Path(weights).expanduser() if weights else _torch_home() / FILE
        self.threshold, self._device = threshold, device
        self._network: Any = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """What keeps the detector from looking at these images."""
        if isinstance(images := dataset.part("images"), Absent):
            return images
        if (absent := lacking("objects", "torch", "torchvision")) is not None:
            return absent
        if self.weights.is_file():
            return None
        remedy = f"give torchvision's {FILE} (metric.vifidel.detector.weights=FILE)"
        return Absent("objects", f"there are no detector weights at {self.weights}", remedy)

    def labels(self, dataset: CaptionDataset, store: Store | None) -> tuple[list[Any], str]:
        """Per image its labels and how often each (none without a file), and who found them."""
        who = f"fasterrcnn-{weight_files.sha256(self.weights, store)[:12]}-{self.threshold:g}"
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
        torch, detection = (import_module(m) for m in ("torch", "torchvision.models.detection"))
        device = devices.resolve(self._device)
        if self._network is None:
            network = detection.fasterrcnn_resnet50_fpn(
                weights=None, weights_backbone=None, box_score_thresh=self.threshold
            )
            network.load_state_dict(torch.load(self.weights, map_location="cpu", weights_only=True))
            self._network = network.eval().to(device)
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"), dtype=np.float32) / 255
        with torch.inference_mode():
            boxes = self._network([torch.from_numpy(pixels).permute(2, 0, 1).to(device)])[0]
        names = detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1.meta["categories"]
        return [names[number] for number in boxes["labels"].tolist()]


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()[:16]


def _torch_home() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    home = Path(os.environ.get("TORCH_HOME", cache / "torch")).expanduser()
    return home / "hub" / "checkpoints"
