"""Boxes and objects of any detector, as COCO has them: read, counted, made by a script."""

import json
import logging
import re
import runpy
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from metaeval.config import build, compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.errors import InputError
from metaeval.metrics.base import StatisticsAdapter, SummableMetric
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions, system_scores
from metaeval.vision.regions.boxes import COCO_NAMES, FileRegions
from tests.shared import write_json, write_texts
from tests.vision.regions.region_cases import dataset

GUIDE = Path(__file__).parents[3] / "docs/regions.md"
DOG, TRAFFIC_LIGHT = 18, 10


def photograph(path: Path, size: tuple[int, int], orientation: int = 1) -> Path:
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", size).save(path, exif=exif)
    return path


def box(image: ImageId, category: int = DOG, score: float = 0.9, **other: Any) -> dict[str, Any]:
    record = {"image_id": image, "category_id": category, "bbox": [10, 10, 20, 30], "score": score}
    return {**record, **other}


def seen(folder: Path, boxes: Sequence[Any], **options: Any) -> tuple[CaptionDataset, FileRegions]:
    """Five images, of which the second lies on its side and the fifth has no photograph."""
    photographs: dict[ImageId, Path] = {
        i: photograph(folder / f"{i}.jpg", (100, 50), 6 if i == 2 else 1) for i in (1, 2, 3, 4)
    }
    source = FileRegions(write_json(folder / "boxes.json", boxes), **options)
    return dataset((1, 2, 3, 4, 5), images=photographs), source


def test_boxes_are_shares_of_the_upright_photograph(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By hand: 20 of 100 pixels are .2; upright, the second is 50 wide and 100 high."""
    boxes = [
        box(1),
        box("000000000002.jpg", TRAFFIC_LIGHT, bbox=[25, 50, 100, 10]),  # leaves the image
        box(2, bbox=[50, 0, 5, 5]),  # next to the image
        *(box(2, score=0.4), box(3, score=0.49), box(5), box(77)),
    ]
    boxes[2]["image_id"] = boxes[3]["image_id"] = "000000000002.jpg"
    data, source = seen(tmp_path, boxes)
    with caplog.at_level(logging.WARNING):
        found = source.objects_of(data).part("objects")
    assert {i: objects.labels for i, objects in found.items()} == {
        **{1: ("dog",), 2: ("traffic light",), 3: (), 4: ()}
    }
    np.testing.assert_allclose(found[1].boxes, [[0.1, 0.2, 0.3, 0.8]])
    np.testing.assert_allclose(found[2].boxes, [[0.5, 0.5, 1.0, 0.6]])
    assert caplog.messages[-1] == (
        "boxes.json: objects of 2 of 5 images; boxes of other images: 1; boxes without an area in "
        "their image: 1; images all of whose boxes are below the threshold: 1; images without a "
        "box in the file: 1; images without a photograph, whose objects are unknown: 1"
    )
    # one without objects is the whole image, one without photograph is nothing
    regions = source.load(data)
    assert regions.mask.sum(axis=1).tolist() == [2, 2, 1, 1, 0]
    # a smaller set shares what was read, and says nothing again
    n = len(caplog.messages)
    assert source.objects_of(data.subset([0, 2])).part("objects") is found
    assert len(caplog.messages) == n


def test_ids_of_other_categories_have_names_in_a_file(tmp_path: Path) -> None:
    names = write_json(tmp_path / "names.json", {"categories": [{"id": 0, "name": "rail  way"}]})
    data, source = seen(tmp_path, [box(1, 0)], names=names, threshold=0)
    assert source.objects_of(data).part("objects")[1].labels == ("rail way",)
    missing = source.missing(data)  # the networks know COCO's 80 alone
    assert isinstance(missing, Absent)
    assert "none of its 1 categories is one of COCO's 80" in missing.reason


def test_cocos_ids_are_those_of_its_file(coco_root: Path) -> None:
    file = coco_root / "coco/annotations/instances_val2017.json"
    categories = json.loads(file.read_text())["categories"]
    assert {each["id"]: each["name"] for each in categories} == COCO_NAMES


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"images": []}, ": holds an object where a list of boxes is expected; objects in COCO's "),
        ([box(1), 5], ", [1]: is a number, not an object"),
        ([{"image_id": 1}], ", [0], field 'category_id': is missing"),
        ([box(True)], ", [0], field 'image_id': must be a whole number of 64 bits or a"),
        ([box(1, 12)], ", [0], field 'category_id': unknown category 12; give regions.names=FILE"),
        ([box(1, score=1.5)], ", [0], field 'score': must be a number from 0 to 1, not 1.5"),
        ([box(1, bbox=[1, 2, 3])], ", [0], field 'bbox': must be four numbers (x, y, width, heigh"),
        ([box(1, bbox=[1, 2, -3, 4])], ", [0], field 'bbox': has a negative width or height"),
    ],
)
def test_a_wrong_record_is_refused_before_any_work(value: Any, line: str, tmp_path: Path) -> None:
    """Also with a metric that reads no objects, when it is made of the configuration."""
    file = write_json(tmp_path / "boxes.json", value)
    config = compose_config(["metric=[bleu]", "regions=file", f"regions.file={file}"])
    with pytest.raises(InputError) as refusal:
        build("bleu", config)
    assert str(refusal.value).startswith(f"{file}{line}")


def test_what_boxes_need_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not found; correct regions\.file"):
        FileRegions(tmp_path / "none.json")
    data, source = seen(tmp_path, [box(1, score=0.1)])
    missing = [source.missing(each) for each in (data, dataset())]
    assert all(isinstance(each, Absent) for each in missing)
    assert [str(each).rpartition("boxes.json ")[2] for each in missing] == [
        "has no box of any of the 5 images; correct regions.file or regions.threshold",
        "need photographs, for their size: no images here",
    ]


def test_the_guides_script_with_torchvision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network that finds a dog in the left half of any image, as torchvision's gives it."""
    import torch
    from torchvision.models import detection

    def network(images: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        (_, height, width) = images[0].shape
        corners = torch.tensor([[0.0, 0.0, width / 2, height]])
        return [{"boxes": corners, "labels": torch.tensor([DOG]), "scores": torch.tensor([0.75])}]

    evaluated = SimpleNamespace(requires_grad_=lambda _: network)
    made = SimpleNamespace(eval=lambda: evaluated)
    monkeypatch.setattr(detection, "fasterrcnn_resnet50_fpn", lambda weights: made)
    data, _ = seen(tmp_path, [])
    out = tmp_path / "made.json"
    monkeypatch.setattr(sys, "argv", ["boxes.py", str(tmp_path), str(out)])
    (text,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(text.splitlines()) <= 25
    runpy.run_path(str(write_texts(tmp_path, {"boxes.py": text}) / "boxes.py"))
    found = FileRegions(out).objects_of(data).part("objects")
    assert {i: objects.labels for i, objects in found.items()} == dict.fromkeys(
        range(1, 5), ("dog",)
    )
    for objects in found.values():
        np.testing.assert_allclose(objects.boxes, [[0, 0, 0.5, 1]])


NAMES = {
    "vifidel": ["VIFIDEL (detected objects)", "VIFIDEL-ref (detected objects)"],
    "chair": ["CHAIR-s (detected objects)", "CHAIR-i (detected objects)"],
    "tiger": [f"TIGEr{part} (detected objects)" for part in ("", "-RRS", "-WDS")],
    "faier": [f"FAIEr{part} (detected objects)" for part in ("", "-object", "-relation")],
    "gold_labels": [f"Gold label {name} (detected objects)" for name in ("F1", "recall")],
    "bleu": ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"],
}


def with_objects(folder: Path, *, scores: bool) -> CaptionDataset:
    """Two images of COCO's form, their objects with scores or without."""
    texts = {1: ("a dog and a man", "a man with a dog"), 2: ("a red bus", "a bus in a street")}
    captions = [
        {"id": 10 * i + k, "image_id": i, "caption": text}
        for i, group in texts.items()
        for k, text in enumerate(group)
    ]
    images = [{"id": i, "width": 100, "height": 50, "file_name": f"{i}.jpg"} for i in texts]
    folder.mkdir()
    for image in images:
        Image.new("RGB", (100, 50)).save(folder / str(image["file_name"]))
    found = ((1, 1, [0, 0, 50, 50]), (1, 18, [50, 10, 20, 20]), (2, 6, [10, 10, 80, 30]))
    annotations = [
        {
            "id": k,
            "image_id": i,
            "category_id": c,
            "bbox": box,
            **({"score": 0.9} if scores else {}),
        }
        for k, (i, c, box) in enumerate(found)
    ]
    categories = [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}, {"id": 6, "name": "bus"}]
    write_json(folder / "boxes.json", annotations)
    content = {"images": images, "annotations": annotations, "categories": categories}
    return load_coco(
        captions=write_json(folder / "captions.json", {"images": images, "annotations": captions}),
        instances=write_json(folder / "objects.json", content),
        images=folder,
        image_source="other",
        n_references=1,
    )


@pytest.mark.parametrize("name", NAMES)
def test_columns_say_that_objects_were_detected(name: str, tmp_path: Path) -> None:
    """The same objects give the same scores, under another name and another signature: annotated,
    with scores in a file of their schema, and as boxes of a file, of a dataset without objects."""
    options = [f"metric=[{name}]", "device=cpu"]
    boxes = ["regions=file", f"regions.file={tmp_path / 'True/boxes.json'}"]
    data = {scores: with_objects(tmp_path / str(scores), scores=scores) for scores in (False, True)}
    gold, detected, of_file = (
        score_captions(
            build(name, compose_config(each)),
            *(d, [*d.human, "a cat"], np.array([0, 1, 0]), MemoryStore()),
        )
        for d, each in (
            (data[False], options),
            (data[True], options),
            (replace(data[False], parts={"images": data[False].parts["images"]}), options + boxes),
        )
    )
    assert gold.status == detected.status == of_file.status == "ok", (gold.reason, of_file.reason)
    for made in (detected, of_file):
        assert [column.name for column in made.columns] == NAMES[name]
        np.testing.assert_array_equal(gold.scores, made.scores)
        assert {column.part_of for column in made.columns} <= {None, *NAMES[name]}
        assert (gold.signatures == made.signatures) == (name == "bleu")


def test_a_corpus_score_says_so_too(tmp_path: Path) -> None:
    """As experiment=captioners makes it, of statistics: 1 of 3 captions names a wrong object."""
    metric = build("chair", compose_config(["metric=[chair]"]))
    assert isinstance(metric, SummableMetric)
    data = with_objects(tmp_path / "d", scores=True)
    captions = ([*data.human, "a cat"], np.array([0, 1, 0]))
    made = system_scores(
        metric, score_captions(StatisticsAdapter(metric), data, *captions, MemoryStore())
    )
    assert [column.name for column in made.scored.columns] == NAMES["chair"]
    assert made.corpus_score()[0] == pytest.approx(1 / 3)
