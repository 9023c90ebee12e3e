"""The detector as a source of objects: the network is torchvision's, its weights are not trained.

What a trained detector finds is torchvision's business; ours is that what it finds arrives, is
counted once per box above the threshold, is kept, and that nothing is fetched.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import detection

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.vifidel.metric import Detector, ObjectSources
from metaeval.runs.store import MemoryStore
from metaeval.vision.faster_rcnn import FasterRcnn
from tests.metrics.vifidel.vifidel_cases import dataset


class Files:
    """Image files as a dataset's part "images" gives them."""

    def __init__(self, paths: dict[int, Path]) -> None:
        self._paths = paths

    def path(self, image_id: int) -> Path | None:
        return self._paths.get(image_id)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "random.pth"
    network = detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    torch.save(network.state_dict(), path)
    return path


@pytest.fixture
def data(tmp_path: Path) -> CaptionDataset:
    """An image of noise and one without a file."""
    path = tmp_path / "0.png"
    noise = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    without = dataset([["dog"], ["dog"]], [["a dog"]] * 2)
    return replace(without, parts={**without.parts, "images": lambda: Files({0: path})})


@pytest.mark.slow
def test_detections_are_counted_and_cached(
    data: CaptionDataset, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = detection.fasterrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, box_score_thresh=0.0115
    )
    network.load_state_dict(torch.load(weights, weights_only=True))
    names = detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1.meta["categories"]
    pixels = np.asarray(Image.open(data.part("images").path(0)), dtype=np.float32) / 255
    with torch.inference_mode():
        boxes = network.eval()([torch.from_numpy(pixels).permute(2, 0, 1)])[0]
    expected = Counter(names[number] for number in boxes["labels"].tolist())
    assert expected  # 1 of 91 classes by chance: even an untrained network sees something

    detector = Detector(str(weights), threshold=0.0115, device="cpu")
    store = MemoryStore()
    sources = ObjectSources(["gold", "detector"], detector)
    labels = sources.labels(data, store)
    assert labels[0] == expected | Counter(["dog"])
    assert labels[1] == Counter(["dog"])  # no file, nothing detected
    assert sources.identity().split("+")[1].startswith("fasterrcnn-")

    strict = Detector(str(weights), threshold=1.0, device="cpu")
    assert strict.labels(data, store)[0] == Counter()  # another threshold is computed again
    again = Detector(str(weights), threshold=0.0115, device="cpu")
    monkeypatch.setattr(FasterRcnn, "labels", None)
    assert again.labels(data, store)[0] == expected


def test_missing_parts_are_reported(data: CaptionDataset, tmp_path: Path) -> None:
    detector = Detector(str(tmp_path / "no.pth"))
    absent = ObjectSources(["detector"], detector).missing(data)
    assert "detector weights" in absent.reason
    assert "metric.vifidel.detector.weights" in absent.remedy
    blind = replace(data, parts={"images": Absent("images", "no images here")}, _loaded={})
    assert "no images here" in str(detector.missing(blind))


def test_weights_are_looked_for_where_torchvision_keeps_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    url = detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1.url
    assert (
        Detector().network().weights
        == Path(torch.hub.get_dir()) / "checkpoints" / url.split("/")[-1]
    )
