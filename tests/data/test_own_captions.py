"""Captions of users and systems: how each form of file is read, and what is refused."""

import os
from pathlib import Path

import pytest

from metaeval.data.own.captions import load_own
from metaeval.data.system_captions import find_system_files
from metaeval.errors import InputError
from tests.data.table_files import write
from tests.shared import write_json

KARPATHY = {
    "images": [
        {
            "filename": "COCO_val2014_000000000042.jpg",
            "cocoid": 42,
            "split": "test",
            "sentences": [{"raw": "A dog. "}, {"raw": "Two  dogs."}, {"raw": "A cat."}],
        },
        {
            "filename": "COCO_val2014_000000000007.jpg",
            "cocoid": 7,
            "split": "train",
            "sentences": [{"raw": "A bus."}],
        },
    ]
}


def test_karpathys_file(tmp_path: Path) -> None:
    path = write_json(tmp_path / "dataset_coco.json", KARPATHY)
    data = load_own(path, split="all")
    texts = (data.name, data.image_ids, data.human, data.references)
    assert texts == ("dataset_coco", (7, 42), ("A bus.", "A dog."), ((), ("Two dogs.", "A cat.")))
    assert data.image_source == ("coco:7", "coco:42")
    assert "1 of 2 images have no reference." in data.notes
    test = load_own(path, split="test", n_references=1, name="mine")
    assert (test.name, test.references) == ("mine", (("Two dogs.",),))
    one = load_own(path, split="all", limit=1)
    used = [(d.records.read, d.records.used, d.records.left_out) for d in (data, test, one)]
    assert used == [(4, 4, 0), (4, 2, 2), (4, 1, 3)]


def test_flickrs_tokens(tmp_path: Path) -> None:
    image = write(tmp_path / "images/1_a.jpg", b"")
    text = "2_b.jpg#0\tA man .\n1_a.jpg#1\tDogs #1 run .\n1_a.jpg#0\tA dog .\n"
    path = write(tmp_path / "results.token", text)
    data = load_own(path, images=image.parent)
    texts = dict(zip(data.image_ids, zip(data.human, data.references, strict=True), strict=True))
    assert texts == {"1_a": ("A dog .", ("Dogs #1 run .",)), "2_b": ("A man .", ())}
    # of unknown source: weights do not score these
    assert (data.part("images").path("1_a"), data.image_source) == (image, (None, None))
    declared = load_own(path, image_source="other")
    assert declared.image_source == ("other:results/1_a", "other:results/2_b")


@pytest.mark.parametrize(
    ("image", "file"),
    [
        ("photo_00.jpg", "photo_00.jpg"),
        ("imgs/photo_00.jpg", "photo_00.jpg"),
        ("000007", "7.png"),
        ("7", "000000000007.jpg"),
        ("photo_00", "photo_00.jpg"),
    ],
)
def test_an_id_finds_its_image_file(image: str, file: str, tmp_path: Path) -> None:
    there = write(tmp_path / "images" / file, b"x")
    path = write(tmp_path / "t.csv", f"image_id,caption\n{image},A dog.\n")
    data = load_own(path, images=there.parent)
    assert data.part("images").path(data.image_ids[0]) == there


def test_images_that_are_not_there_show_an_id_and_a_file(tmp_path: Path) -> None:
    write(tmp_path / "b.jpg", b"x")
    path = write(tmp_path / "t.csv", "image_id,caption\na1,A dog.\n")
    part = load_own(path, images=tmp_path).part("images")
    assert "ids are like 'a1', its files are like 'b.jpg'" in str(part)


@pytest.mark.coco
def test_flickr8ks_own_file(coco_root: Path) -> None:
    data = load_own(coco_root / "flickr8k/Flickr8k.token.txt")
    assert sum(1 + len(group) for group in data.references) == 40_460  # as its authors count
    # 8,092 images, one of which has two names in the file: …52.jpg and …52.jpg.1
    assert len(data) == 8_093
    assert {"2258277193_586949ec62", "2258277193_586949ec62.jpg"} <= set(data.image_ids)


def test_a_folder_of_images_is_a_dataset_without_captions(tmp_path: Path) -> None:
    for name in ("000000000042.jpg", "7.PNG", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    data = load_own(images=tmp_path)
    assert (data.image_ids, data.human, data.references) == ((7, 42), ("", ""), ((), ()))
    # the name of 42 is one of COCO's
    found = data.part("images").path(42), data.image_source
    assert found == (tmp_path / "000000000042.jpg", (None, "coco:42"))
    assert load_own(images=tmp_path, limit=1).image_ids == (7,)
    (tmp_path / "a_dog.jpeg").write_bytes(b"")
    assert load_own(images=tmp_path).image_ids == ("000000000042", "7", "a_dog")


def test_files_by_folder_file_list_and_name(tmp_path: Path) -> None:
    a, b = write_json(tmp_path / "a.json", []), write_json(tmp_path / "b.json", [])
    for name in ("README.md", "._a.json", ".old.json", "_manifest.json"):
        (tmp_path / name).write_bytes(b"\xb0 not captions")
    assert find_system_files(str(tmp_path)) == {"a": a, "b": b}
    assert find_system_files(str(b)) == {"b": b}
    assert find_system_files([str(b), str(a)]) == {"b": b, "a": a}
    assert find_system_files({"Mine": str(a)}) == {"Mine": a}


def test_a_file_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Before anything is read: no table could hold the system's name."""
    path = tmp_path / os.fsdecode(b"caf\xe9.json")
    path.write_text("[]")
    with pytest.raises(InputError, match=r"caf\\udce9.json': .*contains an unpaired surrogate"):
        find_system_files(tmp_path)
    assert find_system_files({"cafe": str(path)}) == {"cafe": path}
