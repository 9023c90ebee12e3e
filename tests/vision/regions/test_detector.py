"""The detector as a source of regions, on real photographs; its weights here are random.

What a trained detector finds is torchvision's business; ours is that boxes, labels and features
belong together, that they are those of torchvision's own pass, and that each image is looked at
once; and the way from a photograph to TIGEr's score, with a file of the official checkpoint's
layout (the names of torchvision's first release).
"""

import logging
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import detection

from metaeval.data.dataset import ImageId
from metaeval.errors import InputError
from metaeval.metrics.vifidel import metric as vifidel
from metaeval.metrics.vifidel.metric import Detector
from metaeval.runs.store import MemoryStore
from metaeval.vision.regions import detector
from metaeval.vision.regions.detector import DetectorRegions, FasterRcnn
from metaeval.vision.regions.gold import WHOLE
from tests.shared import in_data
from tests.vision.regions.region_cases import dataset, objects

LOW = 0.0115  # an untrained network gives each of its 91 classes about 1/91


class SmallRcnn(FasterRcnn):
    """The same network on smaller copies of the images, with fewer proposals: for speed alone."""

    def _loaded(self) -> Any:
        network = super()._loaded()
        network.transform.min_size, network.transform.max_size = (128,), 200
        network.rpn._post_nms_top_n = {"training": 60, "testing": 60}
        return network


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (detector, vifidel):
        monkeypatch.setattr(module, "FasterRcnn", SmallRcnn)


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("images") / "noise.png"
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.mark.coco
def test_boxes_and_features_are_torchvisions_own(
    coco_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sorted((in_data(coco_root, "coco/val2017")).glob("*.jpg"))[:2]
    photographs: dict[ImageId, Path] = {int(file.stem): file for file in files}
    data = dataset(tuple(photographs), images=photographs)
    source = DetectorRegions(weights="random", threshold=LOW, device="cpu")
    assert source.missing(data) is None
    assert source.identity() == f"detector-fasterrcnn-random-36-{LOW}-upright-1"
    store = MemoryStore()
    regions = source.load(data, store)
    of_vifidel = Detector("random", LOW, "cpu")
    labels = of_vifidel.labels(data, store)
    assert regions.features.shape[2] == source.dim == 1024

    # torchvision's own pass of the same network, and a hook on its box head
    network = source._network()._loaded()
    names = detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1.meta["categories"]
    for row, path in enumerate(photographs.values()):
        pixels = np.asarray(Image.open(path).convert("RGB"), dtype=np.float32) / 255
        with torch.inference_mode():
            found = network([torch.from_numpy(pixels).permute(2, 0, 1)])[0]
        n = min(36, len(found["boxes"]))
        assert n == regions.mask[row].sum() > 0
        height, width = pixels.shape[:2]
        expected = found["boxes"][:n].numpy() / [width, height, width, height]
        # float32, scaled to the network's size and back
        np.testing.assert_allclose(regions.boxes[row, :n], expected, atol=1e-5)
        expected_labels = [names[i] for i in found["labels"].tolist()]
        assert list(regions.labels[row]) == expected_labels[:n]
        assert labels[row] == Counter(expected_labels)

    # each image is looked at once, by its content
    monkeypatch.setattr(SmallRcnn, "_loaded", None)
    again = DetectorRegions(weights="random", threshold=LOW, device="cpu")
    known = again.load(data, store)
    assert of_vifidel.labels(data, store) == labels
    with pytest.raises(TypeError, match="not callable"):  # another threshold
        Detector("random", 2 * LOW, "cpu").labels(data, store)
    assert again.digest(known, 0) == source.digest(regions, 0)
    assert known.labels == regions.labels


def test_features_are_those_of_their_box(noise: Path, tmp_path: Path) -> None:
    torch.save(FasterRcnn("random", device="cpu")._loaded().state_dict(), tmp_path / "random.pth")
    rcnn = SmallRcnn(tmp_path / "random.pth", LOW, "cpu")
    features, corners, labels = rcnn.look(noise, 5)
    assert features.shape == (len(labels), 1024)
    network = rcnn._loaded()
    pixels = np.asarray(Image.open(noise).convert("RGB"), dtype=np.float32) / 255
    kept: list[torch.Tensor] = []
    hook = network.roi_heads.box_head.register_forward_hook(lambda *args: kept.append(args[2]))
    with torch.inference_mode():
        # the head itself, fed with the boxes as proposals instead of the region proposals
        images, _ = network.transform([torch.from_numpy(pixels).permute(2, 0, 1)])
        height, width = images.image_sizes[0]
        boxes = torch.from_numpy(corners) * torch.tensor([width, height, width, height])
        network.roi_heads(network.backbone(images.tensors), [boxes], images.image_sizes)
    hook.remove()
    np.testing.assert_allclose(features, kept[0].numpy(), rtol=1e-3, atol=1e-5)


def test_where_nothing_is_found_the_whole_image_is_a_region(
    noise: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(noise.read_bytes()[:100])
    data = dataset((1, 2, 3), images={1: noise, 2: broken})
    source = DetectorRegions(weights="random", threshold=0.9, device="cpu", cache=tmp_path)
    before = pickle.dumps(source)
    regions = source.load(data)
    assert pickle.dumps(source) == before  # no network is kept
    assert regions.labels == ((WHOLE,), (), ())
    assert regions.boxes[0, 0].tolist() == [0, 0, 1, 1]
    assert regions.features[0].any()
    assert "broken.jpg: cannot be read as an image" in caplog.text
    assert "2 of 3 images have no regions" in caplog.text
    assert (tmp_path / "content.sqlite").is_file()  # kept without being asked
    again = DetectorRegions(weights="random", threshold=0.9, device="cpu", cache=tmp_path)
    monkeypatch.setattr(SmallRcnn, "_loaded", None)
    data = dataset((1,), images={1: noise})
    np.testing.assert_array_equal(again.load(data).features[0], regions.features[0])


@pytest.mark.parametrize(
    ("length", "message"), [(None, "are not weights of this detector"), (80, "is not a checkpoint")]
)
def test_wrong_weights_are_one_line(
    length: int | None, message: str, tmp_path: Path, noise: Path
) -> None:
    path = tmp_path / "other.pth"
    torch.save({"fc.weight": torch.ones(2)}, path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match=f"^.*{message}.*$"):
        FasterRcnn(path, device="cpu").labels(noise)


def test_missing_parts_are_reported(tmp_path: Path, noise: Path) -> None:
    source = DetectorRegions(str(tmp_path / "no.pth"))
    for data, message in (
        (dataset((1,), images={1: noise}), "no.pth not found"),
        (dataset((1,), images={1: noise}), "regions.weights=FILE"),
        (dataset(), "no images here"),
        (dataset((1,), found={1: objects()}, images={2: noise}), "none of the 1 images is there"),
    ):
        absent = source.missing(data)
        assert message in f"{absent.reason}; {absent.remedy}"
    assert Detector("random").missing(dataset((1,), images={1: noise})) is None


def test_models_of_the_same_detector_suit_each_other(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    one, other = (DetectorRegions(str(tmp_path / name)) for name in "ab")
    few, store = DetectorRegions(str(tmp_path / "a"), most=10, threshold=0.5), MemoryStore()
    assert (one.suits(few.identity(store), store), one.suits(other.identity())) == (True, False)
    assert one.identity(store) == one.identity()


def test_images_in_which_nothing_is_found_are_counted(
    noise: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One image without a box, one without a file: they were without objects, silently."""
    data = dataset((1, 2), images={1: noise})
    with caplog.at_level(logging.WARNING):
        DetectorRegions(weights="random", threshold=0.9).load(data, MemoryStore())
        Detector(weights="random", threshold=0.95).labels(data, MemoryStore())
    assert caplog.messages == [
        "1 of 2 images have no regions",
        "1 of 2 images have no object: the detector gives no box a score of 0.9",
        "1 of 2 images have no image file: no objects",
        "1 of 2 images have no object: the detector gives no box a score of 0.95",
    ]
