"""Which photograph an image is, and what is annotated of it, by every path into the program."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.annotated_images import annotated_images
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.data.identity import coco_number, source_of_file, sources_of
from metaeval.data.judgments.benchmarks import load_thumb
from metaeval.data.judgments.table import load_table
from metaeval.weights import pretrained
from metaeval.weights.pretrained import PretrainedWeights, image_keys
from tests.data.judgments.test_judgments import thumb
from tests.data.table_files import write
from tests.shared import write_json, write_lines
from tests.vision.regions.region_cases import dataset


def test_the_number_is_read_from_file_names() -> None:
    names = ("COCO_val2014_000000391895.jpg", "val2017/000000391895.jpg", "000000391895.png")
    assert [*map(source_of_file, (*names, "img7.jpg", None))] == ["coco:391895"] * 3 + [None] * 2
    flickr = source_of_file("1000268201_693b08cb0e.jpg", "flickr8k")
    assert flickr == "flickr8k:1000268201_693b08cb0e"
    assert [*map(coco_number, ("coco:391895", flickr, None))] == [391895, None, None]


def test_what_the_user_declares() -> None:
    named = ["COCO_val2014_000000000042.jpg", "000000391895.jpg", "7"]
    for ids, declared, found in (
        ([1, 2], None, ["coco:42", None]),
        ([1, 2], "coco", ["coco:1", "coco:2"]),
        ([1], "other", ["other:mine/1"]),
        (named, "coco", ["coco:42", "coco:391895", "coco:7"]),
    ):
        sources = sources_of(ids, {1: named[0]}, declared=declared, collection="mine")
        assert list(sources.values()) == found


def instances(path: Path, *numbers: int) -> Path:
    """One dog on each image; the box's width is the image's place in the list."""
    content = {
        "images": [{"id": n, "width": 100, "height": 100} for n in numbers],
        "categories": [{"id": 18, "name": "dog"}],
        "annotations": [
            {"id": k, "image_id": n, "category_id": 18, "bbox": [0, 0, 10 * (k + 1), 50]}
            for k, n in enumerate(numbers)
        ],
    }
    return write(path, content)


def test_objects_and_images_by_coco_id(tmp_path: Path) -> None:
    """Two files of objects, of which the one with more of the images is asked first."""
    instances(tmp_path / "annotations" / "instances_val2017.json", 7, 42)
    instances(tmp_path / "annotations" / "instances_karpathy_test.json", 42, 974, 975)
    file = write(tmp_path / "val2017/000000000042.jpg", b"")
    sources = {"a": "coco:42", "b": "coco:7", "c": "coco:974", "d": "flickr8k:x", "e": None}
    checksums: dict[str, str] = {}
    parts = annotated_images(sources, data=tmp_path, checksums=checksums)
    objects, images = parts["objects"](), parts["images"]()
    # val2017 has two of the images too
    assert {key: (of.labels, *of.boxes[0, 2:].tolist()) for key, of in objects.items()} == {
        key: (("dog",), width, 0.5) for key, width in (("a", 0.2), ("b", 0.1), ("c", 0.2))
    }
    assert checksums.keys() == {"instances_val2017.json", "instances_karpathy_test.json"}
    assert (images.path("a"), images.path("b")) == (file, None)
    val2017 = tmp_path / "annotations" / "instances_val2017.json"
    assert sorted(annotated_images(sources, val2017, data=tmp_path)["objects"]()) == ["a", "b"]
    flickr = {f"{k} x": "flickr8k:x" for k in range(3)}  # three documents of one photograph
    one = annotated_images(flickr, data=tmp_path)["objects"]()
    stated = ("none of the 1 images is known" in one.reason, "image_source=coco" in one.remedy)
    assert stated == (True, False)  # these are known not to be COCO's
    nobody = annotated_images({"d": "flickr8k:x", "e": None}, data=tmp_path)["objects"]()
    assert "none of the 2 images is known to be one of COCO's" in nobody.reason


def weights_that_know(*numbers: int) -> PretrainedWeights:
    seen = np.sort(image_keys(dataset(sorted(numbers))))
    return PretrainedWeights(Path("w"), {"family": "coco", "kind": "faier"}, seen)


@pytest.mark.parametrize("documents", ["image", "pair", "rating"])
def test_the_guard_sees_the_image_behind_any_document(tmp_path: Path, documents: str) -> None:
    thumb(tmp_path)  # six captions of COCO's 974 and 2453
    judged = load_thumb(root=tmp_path, documents=documents)
    n_documents = {"image": 2, "pair": 6, "rating": 6}[documents]
    seen = weights_that_know(974).overlap(judged.dataset)[judged.image_index].tolist()
    found = len(judged.dataset), len(judged.dataset.corpus()), seen
    assert found == (2, n_documents, [True] * 3 + [False] * 3)
    # the choice of weights looks at the pool, by the same identity
    keys = image_keys(judged.dataset, pool=True)
    assert np.isin(keys, weights_that_know(2453).seen).sum() == 1


def load_renumbered(path: Path, names: bool, **options: str) -> CaptionDataset:
    """Images whose ids are 0, 1, …, with or without the files' own names."""
    numbers = (391895, 522418)
    images = [
        {"id": k, **({"file_name": f"COCO_val2014_{n:012d}.jpg"} if names else {})}
        for k, n in enumerate(numbers)
    ]
    annotations = [{"id": k, "image_id": k // 2, "caption": f"caption {k}"} for k in range(4)]
    write_json(path, {"images": images, "annotations": annotations})
    return load_coco(captions=path, n_references=1, **options)


def test_renumbered_images_are_seen_through_or_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "captions.json"
    weights = weights_that_know(391895)
    named, nameless = (load_renumbered(path, names) for names in (True, False))
    overlaps = [weights.overlap(each).tolist() for each in (named, named.subset([1]), nameless)]
    assert overlaps == [[True, False], [False], [True, True]]
    assert nameless.image_source == (None, None)
    for source in ("other", "coco"):
        assert not weights.overlap(load_renumbered(path, False, image_source=source)).any()
    # and the choice says why, and what helps
    absent = pretrained.choose_pretrained("faier", nameless, variant="r")
    assert "which photographs these 2 images are is not known" in absent.reason
    assert "dataset.image_source=coco" in absent.remedy
    sources = ("coco:391895", None)
    half = replace(nameless, image_source=sources, pool_source=sources)
    chosen = pretrained.choose_pretrained("faier", half, variant="r")
    assert chosen.overlap(half).tolist() == [False, True]
    assert "the source of 1 of 2 images is unknown" in caplog.text


@pytest.mark.parametrize(
    ("ids", "more", "sources"),
    [
        ((974, 975), {}, ("coco:974", "coco:975")),  # all of them are annotated images of COCO
        ((0, 1), {}, (None, None)),
        ((0, 1), {"image_path": "COCO_val2014_000000000974.jpg"}, ("coco:974", "coco:974")),
        ((0, 1), {"image_path": "photo.jpg"}, (None, None)),
    ],
)
def test_users_tables(
    tmp_path: Path, ids: tuple[int, int], more: dict[str, str], sources: tuple[str | None, ...]
) -> None:
    instances(tmp_path / "annotations" / "instances_karpathy_test.json", 974, 975, 976)
    rows = [{"image_id": i, "candidate": "x", "references": ["y"], "human": 1, **more} for i in ids]
    path = write_lines(tmp_path / "judged.jsonl", rows)
    judged = load_table(file=path, data=tmp_path)
    assert judged.dataset.image_source == sources
    assert any("is not known" in note for note in judged.dataset.notes) == (None in sources)
    loaded = load_table(file=path, data=tmp_path, image_source="other")
    assert loaded.dataset.image_source == tuple(f"other:table/{i}" for i in ids)
