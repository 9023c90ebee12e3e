"""Bad input is refused by name, odd captions are tidied by the stated rule."""

import json
import re
from typing import Any

import numpy as np
import pytest

from metaeval.data.coco.load import load_coco
from metaeval.errors import InputError
from tests.data.table_files import write


def captions_file(n: int = 3, k: int = 5) -> dict[str, Any]:
    """n images with k captions each, in scrambled order of ids, as the captions schema has it."""
    images = [{"id": 10 * i + 7, "file_name": f"{10 * i + 7:012d}.jpg"} for i in range(n)][::-1]
    annotations = [
        {"id": 100 * j + i, "image_id": 10 * i + 7, "caption": f"caption {j} of image {i}"}
        for i in range(n)
        for j in range(k)
    ]
    return {"images": images, "annotations": annotations[::2] + annotations[1::2]}


def instances_file() -> dict[str, Any]:
    """Three images, four boxes (one a crowd, one flat), two categories."""
    return {
        "images": [{"id": i, "width": 200, "height": 100} for i in (27, 7, 17)],
        "categories": [{"id": 1, "name": "dog"}, {"id": 5, "name": "dining  table"}],
        "annotations": [
            {"id": 3, "image_id": 7, "category_id": 5, "bbox": [100, 50, 120, 50], "iscrowd": 0},
            {"id": 1, "image_id": 7, "category_id": 1, "bbox": [20, 10, 40, 20]},
            {"id": 4, "image_id": 7, "category_id": 1, "bbox": [0, 0, 200, 100], "iscrowd": 1},
            {"id": 2, "image_id": 17, "category_id": 1, "bbox": [5, 5, 0, 9], "iscrowd": 0},
        ],
    }


def changed(value, *path, to=None, delete=False):
    """The value with another entry at a place, or without it."""
    part = value
    for key in path[:-1]:
        part = part[key]
    if delete:
        del part[path[-1]]
    else:
        part[path[-1]] = to
    return value


def setting(*path, to):
    return json.dumps(changed(captions_file(), *path, to=to)).encode()


def deleting(*path):
    return json.dumps(changed(captions_file(), *path, delete=True)).encode()


# in captions_file(): images[0] is image 27; annotations[0] is id 0 of image 7, [1] is 200
BROKEN = {
    "not JSON": (b'{"images": [', "invalid JSON (Expecting value: line 1 column 13"),
    "empty file": (b"", "invalid JSON (Expecting value: line 1 column 1"),
    "endless nesting": (b"[" * 200_000, "invalid JSON (nested too deep"),
    "latin-1": (b'{"images": "caf\xe9"}', "not UTF-8: byte 0xe9 at offset 15"),
    "UTF-16 that is cut": ("{}".encode("utf-16")[:-1], "not UTF-16: byte 0x7d at offset 4"),
    "a results file": (b"[]", "is this a results file"),
    "a number": (b"3", "holds a number where an object is expected"),
    "no images": (deleting("images"), "field 'images': is missing"),
    "no annotations": (deleting("annotations"), "field 'annotations': is missing"),
    "images empty": (b'{"images": [], "annotations": []}', "field 'images': holds no image"),
    "images an object": (setting("images", to={}), "field 'images': is an object, not a"),
    "image a number": (setting("images", 1, to=3), "images[1]: is a number, not an object"),
    "image without id": (deleting("images", 2, "id"), "images[2], field 'id': is missing"),
    "image id null": (setting("images", 0, "id", to=None), "images[0], field 'id': must"),
    "image id true": (setting("images", 0, "id", to=True), "images[0], field 'id': must"),
    "image id 1.5": (setting("images", 0, "id", to=1.5), "images[0], field 'id': must"),
    "image id too big": (setting("images", 0, "id", to=2**63), "64 bits"),
    "image id a newline": (setting("images", 0, "id", to="a\nb"), "printable string"),
    "mixed ids": (setting("images", 1, "id", to="17"), "is a string where images[0] has a"),
    "image twice": (
        setting("images", 2, "id", to=27),
        "images[2], field 'id': 27 occurs twice: images[0] has it too",
    ),
    "annotation twice": (
        setting("annotations", 5, "id", to=0),
        "annotations[5], field 'id': 0 occurs twice: annotations[0] has it too",
    ),
    "annotation without id": (
        deleting("annotations", 4, "id"),
        "annotations[4], field 'id': is missing",
    ),
    "Karpathy's layout": (
        b'{"images": [{"cocoid": 1, "filename": "1.jpg", "sentences": []}], "dataset": "coco"}',
        "field 'sentences': is in Karpathy's layout; use dataset=coco_karpathy_test, or ",
    ),
    "no caption": (
        deleting("annotations", 1, "caption"),
        "annotation id 200, field 'caption': is missing",
    ),
    "no image_id": (
        deleting("annotations", 1, "image_id"),
        "annotation id 200, field 'image_id': is missing",
    ),
    "caption null": (
        setting("annotations", 1, "caption", to=None),
        "annotation id 200, field 'caption': is null, not a string",
    ),
    "caption empty": (
        setting("annotations", 1, "caption", to=""),
        "annotation id 200, field 'caption': is empty",
    ),
    "caption of white space": (
        setting("annotations", 1, "caption", to=" \n\t\u2028\x00"),
        "annotation id 200, field 'caption': is empty",
    ),
    "lone surrogate": (
        setting("annotations", 1, "caption", to="a \ud83d dog"),
        "annotation id 200, field 'caption': contains an unpaired surrogate (U+D83D)",
    ),
    "unknown image": (
        setting("annotations", 1, "image_id", to=8),
        "annotation id 200, field 'image_id': no image of the file has the id 8",
    ),
    "image id of another type": (
        setting("annotations", 1, "image_id", to=7.0),
        "annotation id 200, field 'image_id': no image of the file has the id 7.0",
    ),
    "image id a list": (
        setting("annotations", 1, "image_id", to=[7]),
        "annotation id 200, field 'image_id': no image of the file has the id [7]",
    ),
    "file name a number": (
        setting("images", 0, "file_name", to=3),
        "image id 27, field 'file_name': must be a string",
    ),
    "too few references": (
        deleting("annotations", 1),
        "image id 7: has 4 captions, 5 are needed (one human and 4 references); "
        "dataset.n_references=3 is possible for it",
    ),
    "an image without captions": (
        setting("images", to=[*captions_file()["images"], {"id": 1}]),
        "image id 1: has 0 captions, 5 are needed",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_captions_are_refused(name, tmp_path):
    content, message = BROKEN[name]
    path = write(tmp_path / "captions_x.json", content)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        load_coco(captions=path)
    assert error.value.file == path
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_protocol_by_hand(tmp_path):
    path = write(tmp_path / "captions_x.json", captions_file(n=3, k=7))
    dataset = load_coco("mine", captions=path)
    assert dataset.image_ids == (7, 17, 27)
    assert dataset.human == tuple(f"caption 0 of image {i}" for i in range(3))
    assert dataset.references[1] == tuple(f"caption {j} of image 1" for j in (1, 2, 3, 4))
    assert dataset.notes == ("6 captions after an image's first 5 left out.",)


@pytest.mark.parametrize(
    ("raw", "tidy", "note"),
    [
        ("a dog\n", "a dog", "White space in 1 caption was"),
        ("  a\tdog\r\nruns ", "a dog runs", "White space in 1 caption was"),
        ("a\u2028dog\u00a0\u3000runs\x85", "a dog runs", "White space in 1 caption was"),
        ("a\x1cdog\x0bruns", "a dog runs", "White space in 1 caption was"),
        ("a\x00dog\x7fruns", "a dog runs", "Control characters in 1 caption became spaces."),
        ("\ufeffa dog", "a dog", "Control characters in 1 caption became spaces."),
        ("a caf\u00e9 \U0001f355 \u201cdog\u201d", "a caf\u00e9 \U0001f355 \u201cdog\u201d", None),
        # in Unicode's normal form C; joiners stay
        ("e\u0301 \u200d", "\u00e9 \u200d", "Letters and marks of 1 caption were composed"),
    ],
)
def test_captions_are_tidied_by_the_rule(raw, tidy, note, tmp_path):
    value = captions_file()
    value["annotations"][0]["caption"] = raw  # the human caption of image 7
    dataset = load_coco(captions=write(tmp_path / "captions_x.json", value))
    assert (dataset.human[0], dataset.pool[0]) == (tidy, tidy)
    assert any(n.startswith(note) for n in dataset.notes) if note else dataset.notes == ()


NAN, DELETED = float("nan"), {"delete": True}


def dataset_with(tmp_path, instances):
    path = write(tmp_path / "annotations/captions_x.json", captions_file())
    write(tmp_path / "annotations/instances_x.json", instances)
    return load_coco(captions=path)


def test_objects_by_hand(tmp_path):
    objects = dataset_with(tmp_path, instances_file()).part("objects")
    assert objects[7].labels == ("dog", "dining table")  # by annotation id, the crowd left out
    # 20/200, 10/100, 60/200, 30/100; the second reaches 20 pixels over the right edge
    np.testing.assert_allclose(objects[7].boxes, [[0.1, 0.1, 0.3, 0.3], [0.5, 0.5, 1.0, 1.0]])
    assert objects[17].labels == objects[27].labels == ()
    assert objects[27].boxes.shape == (0, 4)
    assert objects.notes == (
        "1 crowd regions were left out of the objects.",
        "1 boxes without an area were left out of the objects.",
    )


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        (("categories",), DELETED, "field 'categories': is missing"),
        (("categories", 0, "name"), {"to": ""}, "category id 1, field 'name': must be"),
        (("categories", 1, "id"), {"to": 1}, "categories[1], field 'id': 1 occurs twice"),
        (("images", 1, "width"), DELETED, "image id 7, field 'width': must be a number above 0"),
        (("images", 1, "height"), {"to": 0}, "image id 7, field 'height': must be a number"),
        (("annotations", 0, "image_id"), {"to": 9}, "annotation id 3, field 'image_id': the fil"),
        (("annotations", 0, "category_id"), DELETED, "annotation id 3, field 'category_id': is mi"),
        (("annotations", 0, "category_id"), {"to": None}, "field 'category_id': is null, not an"),
        (("annotations", 0, "bbox"), {"to": [1, 2, 3]}, "annotation id 3, field 'bbox': must be"),
        (("annotations", 0, "bbox"), {"to": [1, 2, 3, None]}, "field 'bbox': must be four num"),
        (("annotations", 0, "bbox"), {"to": [1, 2, 3, NAN]}, "field 'bbox': must be"),
        (("annotations", 0, "bbox"), {"to": [1, 2, -3, 4]}, "field 'bbox': has a negative"),
        (("annotations", 1, "bbox"), {"to": [0, 0, 10**400, 5]}, "'bbox': must be four numbers"),
        *(
            (("annotations", 1, "iscrowd"), {"to": value}, "id 1, field 'iscrowd': must be 0 or 1")
            for value in ("no", 2, 0.5)
        ),
    ],
)
def test_broken_instances_are_refused(path, change, message, tmp_path):
    dataset = dataset_with(tmp_path, changed(instances_file(), *path, **change))
    with pytest.raises(InputError, match=re.escape(message)):
        dataset.part("objects")


def test_instances_without_some_images_are_absent(tmp_path):
    # image 27, which has no annotation
    absent = dataset_with(tmp_path, changed(instances_file(), "images", 0, delete=True))
    assert "1 of the dataset's 3 images are missing" in absent.part("objects").reason


def test_no_instances_are_absent(tmp_path):
    path = write(tmp_path / "captions_x.json", captions_file())
    absent = load_coco(captions=path).part("objects")
    assert str(tmp_path / "instances_x.json") in absent.reason
    assert "dataset.instances=FILE" in absent.remedy
