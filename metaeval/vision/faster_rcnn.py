"""torchvision's Faster R-CNN (ResNet-50 FPN, trained on COCO): finding its weights, running it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.compute import device as devices
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent
from metaeval.errors import InputError
from metaeval.readers.checkpoints import check_numbers, load_torch_checkpoint
from metaeval.readers.files import user_path
from metaeval.readers.images import open_image

FILE = "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth"  # as torchvision keeps it
RANDOM = "random"
FEATURES = 1024  # the width of its box head


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """What the network sees in one image: k boxes, best score first.

    `features` is float32 [k, 1024], the box head's output for each box; `boxes` float32 [k, 4],
    x1 y1 x2 y2 in [0, 1]; `labels` COCO's category names; `scores` float32 [k] in [0, 1].
    """

    features: npt.NDArray[np.float32]
    boxes: npt.NDArray[np.float32]
    labels: tuple[str, ...]
    scores: npt.NDArray[np.float32]


class FasterRcnn:
    """The network, loaded when the first image is looked at; each image by itself.

    Parameters
    ----------
    weights
        The file; `None`: where torchvision puts it when it downloads it; "random": no weights,
        drawn from a fixed seed, for trying things out.
    threshold
        The least score of a box that counts, in [0, 1].
    device
        "auto", "cpu", "cuda", "cuda:1".
    """

    def __init__(
        self, weights: str | Path | None = None, threshold: float = 0.5, device: str = "auto"
    ) -> None:
        self.random = weights == RANDOM
        self.weights = user_path(weights) if weights else home() / FILE
        self.threshold, self._device = threshold, device
        self._network: Any = None

    def missing(self, part: str, option: str) -> Absent | None:
        """Why it cannot run, if so; `part` is what it provides, `option` names the weights."""
        if (absent := missing_packages(part, "torch", "torchvision")) is not None:
            return absent
        if self.random or self.weights.is_file():
            return None
        remedy = f"give torchvision's {FILE} ({option}=FILE)"
        return Absent(part, f"detector weights {self.weights} not found", remedy)

    def labels(self, path: Path) -> list[str]:
        """The categories of the boxes in an image file, best score first."""
        network = self._loaded()
        with devices.inference(devices.resolve(self._device)):
            numbers = network([self._pixels(path)])[0]["labels"].tolist()
        return [categories()[number] for number in numbers]

    def look(self, path: Path, most: int) -> Detections:
        """The `most` best boxes of an image file, and the box head's features of just these boxes.

        Raises OSError or ValueError for a file that is not an image.
        """
        network = self._loaded()
        with devices.inference(devices.resolve(self._device)):
            images, _ = network.transform([self._pixels(path)])
            maps = network.backbone(images.tensors)
            proposals, _ = network.rpn(images, maps)
            detected = network.roi_heads(maps, proposals, images.image_sizes)[0][0]
            boxes = detected["boxes"][:most]
            features = self._features(network, maps, boxes, images.image_sizes)
            height, width = images.image_sizes[0]
            size = boxes.new_tensor([width, height, width, height])
            return Detections(
                features.float().cpu().numpy(),
                (boxes / size).clamp(0, 1).float().cpu().numpy(),
                tuple(categories()[number] for number in detected["labels"][:most].tolist()),
                detected["scores"][:most].float().cpu().numpy(),
            )

    def whole(self, path: Path) -> npt.NDArray[np.float32]:
        """The box head's features [1, 1024] of a box around the whole image."""
        network = self._loaded()
        with devices.inference(devices.resolve(self._device)):
            images, _ = network.transform([self._pixels(path)])
            height, width = images.image_sizes[0]
            box = images.tensors.new_tensor([[0, 0, width, height]])
            maps = network.backbone(images.tensors)
            features = self._features(network, maps, box, images.image_sizes)
        return np.asarray(features.float().cpu().numpy())

    @staticmethod
    def _features(network: Any, maps: Any, boxes: Any, sizes: Sequence[tuple[int, int]]) -> Any:
        heads = network.roi_heads
        return heads.box_head(heads.box_roi_pool(maps, [boxes], sizes))

    def _pixels(self, path: Path) -> Any:
        """The image as a float32 tensor [3, h, w] in [0, 1] on the device."""
        torch = import_module("torch")
        with open_image(path) as image:
            pixels = np.asarray(image, dtype=np.float32) / 255
        return torch.from_numpy(pixels).permute(2, 0, 1).to(devices.resolve(self._device))

    def _loaded(self) -> Any:
        if self._network is None:
            torch = import_module("torch")
            detection = import_module("torchvision.models.detection")
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)  # seen only where the weights are random
                network = detection.fasterrcnn_resnet50_fpn(
                    weights=None, weights_backbone=None, box_score_thresh=self.threshold
                )
            if not self.random:
                state = load_torch_checkpoint(self.weights)
                if not isinstance(state, dict):
                    raise InputError("holds no weights by name", file=self.weights)
                for name, value in state.items():
                    check_numbers(str(name), value, self.weights)
                try:  # strict, but torchvision itself knows the names in its older files
                    network.load_state_dict(state)
                except (RuntimeError, TypeError, AttributeError) as error:
                    words = " ".join(str(error).split())[:120]
                    problem = f"are not weights of this detector ({words})"
                    raise InputError(problem, file=self.weights) from None
            self._network = network.eval().to(devices.resolve(self._device))
        return self._network


def categories() -> list[str]:
    """The names of the network's classes; number 0 is the background."""
    detection = import_module("torchvision.models.detection")
    return detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1.meta["categories"]


def home() -> Path:
    """Where torch keeps the weights that it downloads."""
    cache = user_path(os.environ.get("XDG_CACHE_HOME", "~/.cache"))
    torch_home = user_path(os.environ.get("TORCH_HOME", cache / "torch"))
    return torch_home / "hub" / "checkpoints"
