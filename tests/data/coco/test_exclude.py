"""dataset.exclude: the images of another file are left out, and that is said."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from metaeval.data.coco.load import load_coco
from metaeval.errors import InputError
from tests.data.table_files import write as write_file
from tests.shared import write_json


def write(path: Path, ids: Iterable[int], captions: int = 5) -> Path:
    """A captions file; caption j of image i is "image i caption j"."""
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in ids]
    annotations = [
        {"id": 10 * i["id"] + j, "image_id": i["id"], "caption": f"image {i['id']} caption {j}"}
        for i in images
        for j in range(captions)
    ]
    return write_file(path, {"images": images, "annotations": annotations})


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    write(tmp_path / "annotations/captions_other.json", [2, 4, 99], captions=1)
    write(tmp_path / "elsewhere/captions_third.json", [1])
    return write(tmp_path / "annotations/captions_mine.json", [1, 2, 3, 4, 5])


def test_as_if_the_file_had_never_had_them(mine: Path) -> None:
    data = load_coco(captions=mine, exclude="other")
    # systems' files may well have captions of those that are excluded
    ids, human = (1, 3, 5), tuple(f"image {i} caption 0" for i in (1, 3, 5))
    assert (data.image_ids, data.pool_ids, data.excluded_ids) == (ids, ids, {2, 4})
    assert data.human == data.pool == human
    assert data.references[1] == tuple(f"image 3 caption {j}" for j in range(1, 5))
    note = "2 images were left out because captions_other.json has them too (dataset.exclude)."
    assert note in data.notes
    assert set(data.sources) == {"captions_mine.json", "captions_other.json"}
    assert load_coco(captions=mine).image_ids == (1, 2, 3, 4, 5)
    assert load_coco(captions=mine, exclude=[]).notes == load_coco(captions=mine).notes


def test_by_name_by_file_or_several(mine: Path, tmp_path: Path) -> None:
    third = tmp_path / "elsewhere/captions_third.json"
    assert load_coco(captions=mine, exclude=third).image_ids == (2, 3, 4, 5)
    both = load_coco(captions=mine, exclude=["coco_other", str(third)], limit=1)
    assert both.image_ids == (3,)
    assert "1 image was left out because captions_third.json" in " ".join(both.notes)
    assert load_coco(split="mine", root=tmp_path, exclude="other").image_ids == (1, 3, 5)


def test_an_excluded_image_need_not_have_all_its_captions(mine: Path) -> None:
    raw = json.loads(mine.read_text())
    raw["annotations"] = [a for a in raw["annotations"] if a["id"] != 20]
    write_json(mine, raw)
    with pytest.raises(InputError, match="image id 2"):
        load_coco(captions=mine)
    assert load_coco(captions=mine, exclude="other").image_ids == (1, 3, 5)


def test_all_images_are_not_left_out(mine: Path) -> None:
    with pytest.raises(InputError, match="no image is left"):
        load_coco(captions=mine, exclude=mine)
