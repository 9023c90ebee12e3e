"""Where COCO's files are looked for, how they get there, and images that are left out."""

import hashlib
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from metaeval.data.coco import files as coco_files
from metaeval.data.coco.files import find_coco_captions
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent
from metaeval.errors import InputError
from tests.data.table_files import write
from tests.shared import write_captions, write_json


def captions_at(folder: Path, word: str = "dog", split: str = "val2017") -> Path:
    """A captions file of one image under FOLDER/annotations."""
    path = folder / "annotations" / f"captions_{split}.json"
    return write_captions(path, {42: [f"{word} {i}" for i in range(5)]})


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("METAEVAL_DATA", raising=False)


def test_order_of_search(tmp_path, monkeypatch):
    root, environment, data, cache = (
        captions_at(tmp_path / place)
        for place in ("root/coco", "environment", "data/coco", "cache/coco")
    )
    explicit = captions_at(tmp_path / "explicit", split="mine")
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path / "environment"))
    for given, found in (
        ({"captions": explicit, "root": tmp_path / "root"}, explicit),
        ({"root": tmp_path / "root"}, root),
        ({"data": tmp_path / "data"}, data),
        ({}, environment),
    ):
        assert find_coco_captions(**given, cache=tmp_path / "cache") == found
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path / "nowhere"))
    assert find_coco_captions(cache=tmp_path / "cache") == cache
    # the layout without "coco" comes first
    above = captions_at(tmp_path / "root")
    assert find_coco_captions(root=tmp_path / "root") == above


def test_a_given_place_is_the_only_one(tmp_path, monkeypatch):
    captions_at(tmp_path / "data")
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path / "data"))
    for options in ({"root": tmp_path / "other"}, {"captions": tmp_path / "other.json"}):
        with pytest.raises(InputError) as error:
            load_coco(**options)
        there = [str(tmp_path / place) in str(error.value) for place in ("data", "other")]
        assert there == [False, True]


def test_not_found_names_all_places_and_both_remedies(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"METAEVAL_DATA \(which is not set\)"):
        load_coco(cache=tmp_path)
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path / "data"))
    with pytest.raises(InputError) as error:
        load_coco(cache=tmp_path / "cache")
    message = str(error.value)
    assert message == str(find_coco_captions(cache=tmp_path / "cache"))
    name = "annotations/captions_val2017.json"
    places = [str(tmp_path / place / name) for place in ("data", "data/coco", "cache/coco")]
    remedies = ["METAEVAL_DATA or dataset.root", "dataset.download=true"]
    assert [part for part in (*places, *remedies) if part not in message] == []
    assert "download" not in str(find_coco_captions("mine"))


def test_images_and_objects_are_found_in_all_layouts(tmp_path, monkeypatch):
    captions_at(tmp_path / "cache/coco")
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path / "data"))
    dataset = load_coco(cache=tmp_path / "cache")
    assert isinstance(dataset.part("images"), Absent)
    for place in ("cache/coco", "cache/coco/images", "data", "data/images", "data/coco"):
        file = write(tmp_path / place / "val2017/000000000042.jpg", b"")
        assert load_coco(cache=tmp_path / "cache").part("images").path(42) == file
        file.unlink()
    image = {"id": 42, "width": 1, "height": 1}
    content = {"images": [image], "annotations": [], "categories": []}
    write(tmp_path / "data/coco/annotations/instances_val2017.json", content)
    dataset = load_coco(cache=tmp_path / "cache")
    labels, read = dataset.part("objects")[42].labels, set(dataset.sources)
    assert (labels, read) == ((), {"captions_val2017.json", "instances_val2017.json"})


def archive_of(folder: Path, captions: bytes) -> Path:
    """A zip laid out as COCO's."""
    path = folder / "annotations_trainval2017.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("annotations/captions_val2017.json", captions)
        packed.writestr("annotations/instances_val2017.json", b"{}")
    return path


def test_a_local_archive_must_be_the_official_one(tmp_path):
    with pytest.raises(InputError, match="is not COCO's annotations_trainval2017"):
        coco_files.install(tmp_path / "cache", archive_of(tmp_path, b"{}"))
    with pytest.raises(InputError, match="cannot be read"):
        coco_files.install(tmp_path / "cache", tmp_path / "nothing.zip")


@pytest.mark.coco
def test_unpacking_and_loading_what_was_fetched(coco_root, tmp_path, monkeypatch):
    """All but the network: `download` finds the archive in the cache, as after a first fetch.

    The official archive (253 MB) stands here as one with the official captions file in it.
    """
    path = coco_root / "coco/annotations/captions_val2017.json"
    official = path.read_bytes().replace(b'"type": "captions",', b"").rstrip(b"\n")
    cache = tmp_path / "cache"
    (cache / "coco").mkdir(parents=True)
    content = archive_of(cache / "coco", official).read_bytes()
    monkeypatch.setattr(coco_files, "ARCHIVE_SHA256", hashlib.sha256(content).hexdigest())
    dataset = load_coco("coco_val2017", cache=cache, download=True)
    assert dataset.sources == {"captions_val2017.json": hashlib.sha256(official).hexdigest()}
    assert (cache / "coco/annotations/instances_val2017.json").read_bytes() == b"{}"
    # found from now on without asking for a download
    assert load_coco("coco_val2017", cache=cache).human == dataset.human


def captions_of(path: Path, ids: Iterable[int], captions: int = 5) -> Path:
    """A captions file; caption j of image i is "image i caption j"."""
    return write_captions(
        path, {i: [f"image {i} caption {j}" for j in range(captions)] for i in ids}
    )


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    captions_of(tmp_path / "annotations/captions_other.json", [2, 4, 99], captions=1)
    captions_of(tmp_path / "elsewhere/captions_third.json", [1])
    return captions_of(tmp_path / "annotations/captions_mine.json", [1, 2, 3, 4, 5])


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
    raw["annotations"] = [a for a in raw["annotations"] if a["caption"] != "image 2 caption 0"]
    write_json(mine, raw)
    with pytest.raises(InputError, match="image id 2"):
        load_coco(captions=mine)
    assert load_coco(captions=mine, exclude="other").image_ids == (1, 3, 5)


def test_all_images_are_not_left_out(mine: Path) -> None:
    with pytest.raises(InputError, match="no image is left"):
        load_coco(captions=mine, exclude=mine)
