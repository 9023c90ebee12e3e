"""Image files: a folder, whole or in part, that is never left."""

from pathlib import Path

from metaeval.data.annotated_images import ImageFiles
from tests.data.table_files import write


def test_names_folders_and_counts(tmp_path):
    there = ("images/a.jpg", "images/000000000042.jpg", "images/val2014/b.jpg", "images/c.jpg")
    for name in (*there, "secret.jpg"):
        write(tmp_path / name, b"")
    (tmp_path / "images" / "folder.jpg").mkdir()
    images = ImageFiles(
        tmp_path / "images",
        {
            1: "a.jpg",
            2: "COCO_val2014_000000000042.jpg",  # the name of 2014, the file of 2017
            3: "val2014/b.jpg",
            4: "val2014/c.jpg",  # without its folder
            5: "missing.jpg",
            6: "../secret.jpg",
            7: str(tmp_path / "secret.jpg"),
            8: "folder.jpg",
            9: "..",
        },
    )
    folder = tmp_path / "images"
    found = {1: "a.jpg", 2: "000000000042.jpg", 3: "val2014/b.jpg", 4: "c.jpg"}
    expected = {i: folder / found[i] if i in found else None for i in range(1, 11)}
    assert {i: images.path(i) for i in range(1, 11)} == expected
    counts = len(images), images.count([1, 5, 3, 77]), 4 in images, 5 in images, str(images)
    assert counts == (4, 2, True, False, f"4 of 9 files in {folder}")


def test_a_link_to_a_file_elsewhere_is_not_followed(tmp_path: Path) -> None:
    folder, secret = tmp_path / "images", write(tmp_path / "secret.jpg", b"x")
    write(folder / "2.jpg", b"y")
    (folder / "1.jpg").symlink_to(secret)
    (folder / "3.jpg").symlink_to(folder / "2.jpg")
    files = ImageFiles(folder, {1: "1.jpg", 2: "2.jpg", 3: "3.jpg"})
    assert [files.path(i) is None for i in (1, 2, 3)] == [True, False, False]
    assert len(ImageFiles(tmp_path / "none", {1: "1.jpg"})) == len(ImageFiles(secret, {})) == 0
    linked = tmp_path / "linked"
    linked.symlink_to(folder)  # the folder itself may be a link: the user named it
    assert ImageFiles(linked, {2: "2.jpg"}).path(2) == linked / "2.jpg"
