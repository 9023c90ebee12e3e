"""The scenes that the package ships, as a dataset."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from metaeval.data.scenes import SPLITS, load_scenes, read_scenes
from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.load import captions_json, to_json_bytes
from research.scenes.files import graph_to_json

# SHA-256 of the captions and the graphs of the first 100 scenes, as the generator writes them
# (research/scenes). A change of the files changes everyone's numbers.
FIRST = {
    "val": "54204a7152f6e39a25cf3485630035689eec909ee2ce40e2e932039221b0f668",
    "dev": "f8b4d6fa3919eec17116219b1267fc2ddb7104c424339b8fb6f52f1ce8e91405",
    "train": "ee5d6be635de54fb01f6a1f7cb9a015e339ce05b63fb4c08cf6779a1689a9c46",
}


@pytest.mark.parametrize("split", SPLITS)
def test_scenes_are_the_published_ones(split: str) -> None:
    scenes = read_scenes(split, 100)
    content = captions_json(scenes, split) + to_json_bytes([graph_to_json(g) for g in scenes])
    assert hashlib.sha256(content).hexdigest() == FIRST[split]


def test_fewer_scenes_are_the_first_ones() -> None:
    every = read_scenes("dev")
    assert (read_scenes("dev", 5), read_scenes("dev", 40)) == (every[:5], every[:40])
    assert (len(every), len({g.image_id for g in every})) == (SPLITS["dev"],) * 2


def test_several_threads_read_the_same_scenes() -> None:
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(lambda _: read_scenes("train", 300), range(4)))
    assert [[g.image_id for g in scenes] for scenes in read] == [[*range(300_001, 300_301)]] * 4


def test_categories_are_cocos() -> None:
    # COCO's 80 ids leave out these numbers up to 90
    missing = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
    assert [t.id for t in THINGS.values()] == sorted(set(range(1, 91)) - missing)


def test_dataset_has_the_contract_s_parts() -> None:
    off = load_scenes(n=1, images=False).part("images")
    assert str(off) == "the scenes' images are switched off; set dataset.images=true"
    data = load_scenes(n=12, limit=5, n_references=3)
    assert (len(data), len(data.pool), len(data.pool_ids)) == (5, 12, 12)
    assert (data.pool[:5], data.pool_ids[:5]) == (data.human, data.image_ids)
    graphs, objects = data.part("scene_graphs"), data.part("objects")
    for i, human, references in zip(data.image_ids, data.human, data.references, strict=True):
        texts, labels = graphs[i].captions, tuple(o.category for o in graphs[i].objects)
        assert [c.text for c in texts] == [human, *references]
        assert (objects[i].labels, len(references)) == (labels, 3)
        assert 0 <= objects[i].boxes.min() < objects[i].boxes.max() <= 1
