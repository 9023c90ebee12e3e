"""Taking some images of a dataset; the default dataset; image files of a folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from metaeval.data.annotated_images import ImageFiles
from metaeval.data.coco.load import load_auto
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from tests.data.table_files import write
from tests.shared import write_captions


def _dataset() -> CaptionDataset:
    texts = ("a", "b", "c", "d")
    references = tuple((text * 2,) for text in texts)
    parts = {"objects": lambda: object()}
    pool_ids, pool = tuple(range(3, 11)), tuple("pqrstuvw")
    return CaptionDataset("four", (3, 5, 8, 9), texts, references, pool_ids, pool, parts=parts)


def test_a_subset_keeps_what_belongs_together_and_the_pool() -> None:
    whole = _dataset()
    objects = whole.part("objects")
    few = whole.subset([3, 1])
    assert (few.image_ids, few.human, few.references) == ((5, 9), ("b", "d"), (("bb",), ("dd",)))
    assert (few.name, few.pool) == (whole.name, whole.pool)
    assert few.part("objects") is objects  # loaded once, for parts go by image id
    assert whole.limited(2) == whole.subset([0, 1])


def test_a_position_twice_or_beyond_is_refused() -> None:
    for positions, kind, problem in (
        ([1, 1], ValueError, "twice"),
        ([4], IndexError, None),
        ([-1], IndexError, None),
        ([], ValueError, "at least one image"),
    ):
        with pytest.raises(kind, match=problem):
            _dataset().subset(positions)


def _two_sets() -> CaptionDataset:
    """Image 5 with two sets of references, of which one is in both, and image 8."""
    references = (("a", "b"), ("a", "c"), ("d",))
    return CaptionDataset("sets", (5, 5, 8), ("x",) * 3, references, (5, 5, 8), ("x",) * 3)


def test_a_document_is_an_image_with_all_its_references() -> None:
    data = _two_sets()
    assert data.corpus() == [("a", "b", "c"), ("d",)]
    assert (data.n_images, data.count_images([0, 1])) == (2, 1)
    assert data.subset([1, 2]).corpus() == [("a", "c"), ("d",)]
    counted = replace(data, documents=(2, 1, 1))
    assert counted.corpus() == [("a", "b"), ("a", "b"), ("a", "c"), ("d",)]
    assert counted.subset([0]).corpus() == [("a", "b"), ("a", "b")]


def test_an_id_that_is_there_several_times_is_not_a_position() -> None:
    assert _dataset().positions() == {3: 0, 5: 1, 8: 2, 9: 3}
    with pytest.raises(ValueError, match="several sets of references"):
        _two_sets().positions()
    wrong = {"image_ids": ((5, 8, 5), "ascending"), "documents": ((1, 1), "documents differ in le")}
    for field, (value, problem) in wrong.items():
        with pytest.raises(ValueError, match=problem):
            replace(_two_sets(), **{field: value})


def test_the_pool_is_the_images_unless_it_is_given() -> None:
    data = CaptionDataset("x", (1, 2), ("a", "b"), ((), ()), image_source=("coco:1", None))
    for each in (data, data.subset([0])):
        pool = each.pool_ids, each.pool, each.pool_source
        assert pool == ((1, 2), ("a", "b"), ("coco:1", None))


def test_a_thousand_scenes_are_the_default_and_the_note_explains_how_to_use_all(
    tmp_path: Path,
) -> None:
    data = load_auto(data=tmp_path, cache=tmp_path)
    scenes = load_scenes()
    assert (data.image_ids, data.human) == (scenes.image_ids[:1000], scenes.human[:1000])
    assert data.pool == scenes.pool  # Random and Insert draw from all, whatever the limit
    stated = ("COCO val2017 was not found", "1,000 of the 5,000 em", "them: dataset.limit=5000;")
    assert [text for text in stated if text not in data.fallback] == []


def test_a_limit_is_obeyed(tmp_path: Path) -> None:
    for limit, words in ((5000, "the embedded scenes"), (7, "7 of the 5,000")):
        data = load_auto(limit=limit, data=tmp_path, cache=tmp_path)
        assert len(data) == limit
        assert (words in data.fallback, "dataset.limit" in data.fallback) == (True, False)


def test_coco_is_taken_whole_where_it_is(tmp_path: Path) -> None:
    captions = {i: [f"A dog, {k}." for k in range(5)] for i in range(1, 1202)}
    write_captions(tmp_path / "coco/annotations/captions_val2017.json", captions)
    data = load_auto(data=tmp_path, cache=tmp_path / "cache")
    assert (data.name, len(data), data.fallback) == ("coco_val2017", 1201, None)


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
