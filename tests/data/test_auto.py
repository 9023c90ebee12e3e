"""The default dataset, and its size."""

from pathlib import Path

from metaeval.data.coco.load import load_auto
from metaeval.data.scenes import load_scenes
from tests.data.table_files import write


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
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in range(1, 1202)]
    captions = [
        {"id": 5 * i + k, "image_id": i, "caption": f"A dog, {k}."}
        for i in range(1, 1202)
        for k in range(5)
    ]
    content = {"images": images, "annotations": captions}
    write(tmp_path / "coco/annotations/captions_val2017.json", content)
    data = load_auto(data=tmp_path, cache=tmp_path / "cache")
    assert (data.name, len(data), data.fallback) == ("coco_val2017", 1201, None)
