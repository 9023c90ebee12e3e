"""The COCO loader on the official files, against counts and pycocotools."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.coco.load import load_coco
from tests.shared import write_json

pytestmark = pytest.mark.coco


def pycoco(path: Path):
    from pycocotools.coco import COCO

    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(path))


def test_val2017_counts(val2017, coco_root):
    raw = json.loads((coco_root / "coco/annotations/captions_val2017.json").read_text())
    counts = len(raw["annotations"]), len(val2017), len(val2017.pool)
    assert counts == (25014, 5000, 5000)
    assert {len(references) for references in val2017.references} == {4}
    assert load_coco("x", root=coco_root).notes == val2017.notes
    # 12 images with six captions and one with seven: 12 + 2
    stated = ("14 captions after an image's first 5 left out", "White space in 3,803 c", "official")
    assert [any(part in n for n in val2017.notes) for part in stated] == [True, True, False]


@pytest.mark.parametrize("split", ["val2017", "karpathy_test"])
def test_captions_are_pycocotools_captions(coco_root, split):
    path = coco_root / f"coco/annotations/captions_{split}.json"
    ours = load_coco(captions=path)
    theirs = pycoco(path)
    assert ours.image_ids == tuple(sorted(theirs.getImgIds()))
    for k, image_id in enumerate(ours.image_ids):
        annotations = theirs.loadAnns(theirs.getAnnIds(imgIds=image_id))
        annotations.sort(key=lambda a: a["id"])
        expected = [" ".join(a["caption"].split()) for a in annotations]
        assert [ours.human[k], *ours.references[k]] == expected[:5]


@pytest.mark.parametrize("split", ["val2017", "karpathy_test"])
def test_objects_are_pycocotools_boxes(coco_root, split):
    captions = coco_root / f"coco/annotations/captions_{split}.json"
    dataset = load_coco(captions=captions)
    assert f"instances_{split}.json" not in dataset.sources  # not read before it is needed
    objects = dataset.part("objects")
    assert f"instances_{split}.json" in dataset.sources
    theirs = pycoco(captions.with_name(f"instances_{split}.json"))
    assert set(objects) == set(theirs.getImgIds())
    n = 0
    for image_id in dataset.image_ids:
        size = theirs.imgs[image_id]
        w, h = size["width"], size["height"]
        annotations = theirs.loadAnns(theirs.getAnnIds(imgIds=image_id, iscrowd=False))
        annotations.sort(key=lambda a: a["id"])
        found = objects[image_id]
        assert list(found.labels) == [theirs.cats[a["category_id"]]["name"] for a in annotations]
        boxes = np.array([a["bbox"] for a in annotations]).reshape(-1, 4)
        # the box back in pixels; files round to 0.01 pixel (1e-5 of the side where normalised),
        # so that a box may leave its image by as much and be clipped
        back = np.column_stack([found.boxes[:, :2], found.boxes[:, 2:] - found.boxes[:, :2]])
        tolerance = 0.011 if w > 1 else 1.1e-5
        np.testing.assert_allclose(back * [w, h, w, h], boxes, rtol=0, atol=tolerance)
        assert ((found.boxes >= 0) & (found.boxes <= 1)).all()
        n += len(annotations)
    assert n == {"val2017": 36335, "karpathy_test": 35416}[split]
    assert sum(not objects[i].labels for i in dataset.image_ids) == 48


def test_captions_that_are_not_the_official_ones_are_noted(coco_root, tmp_path):
    value = json.loads((coco_root / "coco/annotations/captions_val2017.json").read_text())
    value["annotations"][17]["caption"] = "something else"
    path = write_json(tmp_path / "captions_val2017.json", value)
    notes = load_coco("coco_val2017", captions=path).notes
    assert notes[0] == "These are not the captions of the official COCO val2017 file."


def test_limit_keeps_the_pool_and_the_parts(val2017, coco_root):
    few = load_coco("coco_val2017", root=coco_root, limit=10)
    whole = val2017.image_ids[:10], val2017.references[:10], val2017.pool
    assert (few.image_ids, few.references, few.pool) == whole
    assert few.part("objects")[few.image_ids[3]].labels


def test_missing_parts_say_what_would_help(coco_root):
    path = coco_root / "coco/annotations/captions_karpathy_test.json"
    images = load_coco(captions=path).part("images")
    assert "karpathy_test" in images.reason
    assert "dataset.images=FOLDER" in images.remedy
    # its files are named as in 2014, the folder holds the same images under their names of 2017
    folder = coco_root / "coco/val2017"
    data = load_coco(captions=path, images=folder)
    expected = sum((folder / f"{i:012d}.jpg").is_file() for i in data.image_ids)
    assert len(data.part("images")) == expected > 0
