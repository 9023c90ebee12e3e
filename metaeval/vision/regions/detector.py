"""Regions that torchvision's Faster R-CNN sees in the image files."""

import json
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from metaeval.compute import device as devices
from metaeval.compute.device import missing_packages
from metaeval.compute.stored import compute_missing
from metaeval.data import annotated_images
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import InputError
from metaeval.options import Device, PositiveInt, Share, checked
from metaeval.readers.checkpoints import check_numbers, load_torch_checkpoint
from metaeval.readers.files import user_path
from metaeval.readers.images import READING, open_image
from metaeval.runs.files import file_sha256
from metaeval.runs.records import DETECTED_OBJECTS
from metaeval.runs.store import SqliteStore, Store
from metaeval.vision.regions.base import MOST, ImageRegions, Regions, RegionSource, stack_regions
from metaeval.vision.regions.gold import WHOLE

FILE = "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth"  # as torchvision keeps it
RANDOM = "random"
FEATURES = 1024  # the width of its box head


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

    def look(self, path: Path, most: int) -> ImageRegions:
        """The `most` best boxes of an image file, or one around all of it where nothing is found.

        The box head's features of just these boxes, float32 [k, 1024]; the boxes, float32 [k, 4],
        x1 y1 x2 y2 in [0, 1]; COCO's names of their categories. Raises InputError for a file that
        is not an image.
        """
        network = self._loaded()
        with devices.inference(devices.resolve(self._device)):
            images, _ = network.transform([self._pixels(path)])
            maps = network.backbone(images.tensors)
            proposals, _ = network.rpn(images, maps)
            detected = network.roi_heads(maps, proposals, images.image_sizes)[0][0]
            boxes = detected["boxes"][:most]
            labels = tuple(categories()[number] for number in detected["labels"][:most].tolist())
            height, width = images.image_sizes[0]
            size = boxes.new_tensor([width, height, width, height])
            if not labels:
                boxes, labels = size.new_tensor([[0, 0, width, height]]), (WHOLE,)
            heads = network.roi_heads
            features = heads.box_head(heads.box_roi_pool(maps, [boxes], images.image_sizes))
            corners = (boxes / size).clamp(0, 1)
            return features.float().cpu().numpy(), corners.float().cpu().numpy(), labels

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


log = logging.getLogger(__name__)
NOTHING = "have no object: the detector gives no box a score of {:g}"


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
        if store is None and self._cache is not None:
            with closing(SqliteStore(self._cache / "content.sqlite")) as cache:
                return self.load(dataset, cache)
        network = self._network()

        def look(path: Path) -> bytes | None:
            try:
                return _packed(network.look(path, self.most))
            except InputError as error:  # not an image
                log.warning("%s", error)
                return None

        namespace = f"regions of {self.identity(store)}"
        packed = look_at_images(dataset, store, namespace, look, "detecting regions")
        images = [None if raw is None else _unpacked(raw, self.dim) for raw in packed]
        warn_of_images(dataset, [one is None for one in images], "have no regions")
        nothing = [one is not None and tuple(one[2]) == (WHOLE,) for one in images]
        warn_of_images(dataset, nothing, NOTHING.format(self.threshold))
        return stack_regions(images, self.dim)


def look_at_images(
    dataset: CaptionDataset,
    store: Store | None,
    namespace: str,
    look: Callable[[Path], bytes | None],
    desc: str,
) -> list[bytes | None]:
    """Per image what `look` gives for its file, kept by the file's content; `None` without a file
    or where `look` gives nothing. `desc` names the work in the progress bar."""
    paths = annotated_images.paths_of(dataset)
    keys = annotated_images.digests(paths, store)
    files = {k: p for p, k in zip(paths, keys, strict=True) if p is not None and k is not None}
    there = list(files)

    def compute(positions: list[int]) -> list[bytes | None]:
        return [look(files[there[position]]) for position in positions]

    known = compute_missing(store, namespace, there, compute, chunk=1, desc=desc, unit=" images")
    return [None if key is None else known.get(key) for key in keys]


def warn_of_images(dataset: CaptionDataset, these: Sequence[bool], problem: str) -> None:
    """Log how many of a dataset's images are `these`, and what is the matter with them."""
    if n := dataset.count_images(np.flatnonzero(these).tolist()):
        log.warning("%s of %s images %s", f"{n:,}", f"{dataset.n_images:,}", problem)


def _packed(one: ImageRegions) -> bytes:
    """Regions of one image as bytes: how many, their labels, boxes, and features as float16."""
    labels = json.dumps(one[2]).encode()
    head = len(one[2]).to_bytes(4, "little") + len(labels).to_bytes(4, "little")
    return head + labels + one[1].astype("<f4").tobytes() + one[0].astype("<f2").tobytes()


def _unpacked(raw: bytes, dim: int) -> ImageRegions:
    n, size = (int.from_bytes(raw[i : i + 4], "little") for i in (0, 4))
    labels = tuple(json.loads(raw[8 : 8 + size]))
    boxes = np.frombuffer(raw, "<f4", 4 * n, 8 + size).reshape(n, 4)
    features = np.frombuffer(raw, "<f2", dim * n, 8 + size + 16 * n).reshape(n, dim)
    return features.astype(np.float32), boxes.astype(np.float32), labels
