"""The generator of the scenes: the rules of their content, checked on thousands of them."""

import hashlib
import json
import lzma
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from metaeval.data.scenes import SPLITS, SceneGraph, read_scenes
from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.load import captions_json, graph_of, to_json_bytes
from metaeval.errors import ConfigError
from research.scenes.compose import generate
from research.scenes.files import freeze, graph_to_json, graphs_json, instances_json

ROOT = Path(__file__).parents[3]
# SHA-256 of captions and instances of the first 100 val scenes, seed 0. Another scene changes
# everyone's numbers: raise `version` of INFO in metaeval/data/scenes/load.py.
SCORED = "2ada1d87d31d8577611a6cc8936c0aec365d4a83ae9ff7cd8aeca098c253e3f1"
# The same with the scene graphs, whose marks say more than they did; no score depends on them.
GOLDEN = "5beedc85311c33393294e9f6ca6ef44d346256320913b4d2b01a0a2088c0acbf"


@pytest.fixture(scope="module")
def scenes() -> list[SceneGraph]:
    return list(generate("val", 1500))


def digest(graphs: list[SceneGraph], split: str = "val") -> str:
    parts = (
        captions_json(graphs, split),
        instances_json(graphs, split),
        graphs_json(graphs, split),
    )
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_bytes_are_the_published_ones() -> None:
    scenes = list(generate("val", 100))
    written = captions_json(scenes, "val") + instances_json(scenes, "val")
    assert (hashlib.sha256(written).hexdigest(), digest(scenes)) == (SCORED, GOLDEN)


@pytest.mark.parametrize("hashseed", ["0", "4242"])
def test_bytes_do_not_depend_on_the_process(hashseed: str) -> None:
    code = (
        "import hashlib; from research.scenes.compose import generate; "
        "from research.scenes.files import *; g = list(generate('val', 100)); "
        "print(hashlib.sha256(captions_json(g, 'val') + instances_json(g, 'val') + "
        "graphs_json(g, 'val')).hexdigest())"
    )
    env = {**os.environ, "PYTHONHASHSEED": hashseed}
    run = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == GOLDEN


def test_a_scene_depends_on_seed_split_and_index_alone() -> None:
    few, many = list(generate("val", 5)), list(generate("val", 40))
    assert few == many[:5]
    more = list(generate("val", 5, n_captions=9))
    assert [g.captions for g in few] == [g.captions[:5] for g in more]
    objects = [g.objects for g in few]
    assert objects == [g.objects for g in more]
    assert list(generate("val", 5, seed=1)) != few
    assert [g.objects for g in generate("dev", 5)] != objects


@pytest.mark.parametrize(
    ("split", "n"),
    [
        *((split, 100) for split in SPLITS),
        *(pytest.param(*all_of, marks=pytest.mark.slow) for all_of in SPLITS.items()),
    ],
)
def test_the_package_ships_what_is_generated(split: str, n: int) -> None:
    assert list(generate(split, n)) == read_scenes(split, n)


def test_freezing_and_reading_change_nothing(tmp_path: Path) -> None:
    graphs = list(generate("dev", 20))
    freeze(graphs, tmp_path / "dev.jsonl.xz")
    lines = lzma.decompress((tmp_path / "dev.jsonl.xz").read_bytes()).splitlines()
    assert [graph_of(json.loads(line)) for line in lines] == graphs


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"n": 0}, "n must be"), ({"n": 100_000}, "n must be"), ({"seed": "x"}, "seed must be")],
)
def test_bad_numbers_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        generate("val", **options)  # type: ignore[arg-type]


def overlap(counts: dict[str, int]) -> None:
    """No scene and no set of captions of one split is in another; ids never meet."""
    seen: dict[bytes, str] = {}
    ids: set[int] = set()
    for split, n in counts.items():
        for g in generate(split, n):
            record = graph_to_json(g)
            captions = to_json_bytes(sorted(c.text for c in g.captions))
            scene = to_json_bytes([record["setting"], record["objects"], record["relations"]])
            for key in (captions, scene):
                assert seen.setdefault(key, split) == split
            assert g.image_id not in ids
            ids.add(g.image_id)


def test_splits_are_disjoint() -> None:
    overlap({"val": 1000, "dev": 500, "train": 1500})


@pytest.mark.slow
def test_whole_splits_are_disjoint() -> None:
    overlap(SPLITS)


def test_objects(scenes: list[SceneGraph]) -> None:
    categories: Counter[str] = Counter()
    for g in scenes:
        assert 1 <= len(g.objects) <= 6, g.image_id
        groups: dict[str, set[int]] = {}
        for o in g.objects:
            assert o.category in THINGS
            x, y, w, h = o.box
            assert min(x, y) >= 0 < min(w, h)
            assert x + w <= g.width
            assert y + h <= g.height
            groups.setdefault(o.category, set()).add(o.group)
            categories[o.category] += 1
        # what is said of "a dog" could otherwise be true of another dog
        assert all(len(numbers) == 1 for numbers in groups.values()), (g.image_id, groups)
        assert {o.group for o in g.objects} == set(range(len(g.groups())))
    assert len(categories) >= 78


MOUNTS = {"horse", "elephant", "bicycle", "motorcycle", "surfboard", "skateboard", "snowboard"}
HELD_BY_DOGS = {"frisbee"}
PEOPLE_ALONE = {
    "riding": MOUNTS,
    "on skis": {"skis"},
    "wearing": {"tie", "backpack"},
    "pulling": {"suitcase"},
    "walking": {"dog"},
    "flying": {"kite"},
    "sitting at": {"dining table"},
}


def test_relations_have_sensible_arguments(scenes: list[SceneGraph]) -> None:
    """A table of who may do what, written down independently of the plots."""
    seen: Counter[str] = Counter()
    for g in scenes:
        for s, predicate, o in g.relations:
            a, b = g.objects[s], g.objects[o]
            seen[predicate] += 1
            person, animal = a.category == "person", THINGS[a.category].family == "animal"
            size = THINGS[b.category].size
            if predicate in PEOPLE_ALONE:
                assert person
                assert b.category in PEOPLE_ALONE[predicate]
            elif predicate in ("holding", "carrying", "swinging"):
                assert person or (a.category == "dog" and b.category in HELD_BY_DOGS)
                assert max(size) <= 140
                assert THINGS[b.category].family not in ("vehicle", "furniture")
            elif predicate in ("sitting on", "lying on", "standing on"):
                assert person or animal or a.category == "teddy bear"
                assert size[0] >= 50
            elif predicate == "looking at":
                assert person or animal
            else:
                assert predicate in ("on", "in", "under", "next to", "in front of", "behind")
    assert len(seen) >= 18


def _box(g: SceneGraph, i: int) -> tuple[int, int, int, int]:
    x, y, w, h = g.objects[i].box
    return x, y, x + w, y + h


def test_layout_shows_what_the_relations_say(scenes: list[SceneGraph]) -> None:
    for g in scenes:
        for s, predicate, o in g.relations:
            ax1, ay1, ax2, ay2 = _box(g, s)
            bx1, by1, bx2, by2 = _box(g, o)
            middle = (ax1 + ax2) / 2
            meets = min(ax2, bx2) - max(ax1, bx1) > 0 and min(ay2, by2) - max(ay1, by1) > -4
            where = (g.image_id, predicate, g.objects[s], g.objects[o])
            if predicate in ("riding", "on skis", "sitting on", "lying on", "standing on", "on"):
                assert bx1 - 6 <= middle <= bx2 + 6, where
                assert ay1 < by1 + 0.5 * (by2 - by1), where  # it rises above the upper half
                assert ay2 <= by2 + 2, where  # and does not hang below
                assert meets, where
                assert g.objects[s].layer > g.objects[o].layer, where
            elif predicate in ("holding", "carrying", "wearing", "swinging", "pulling"):
                assert meets, where
            elif predicate == "in":
                assert bx1 <= middle <= bx2, where
                assert meets, where
            elif predicate == "under":
                assert bx1 <= middle <= bx2, where
                assert ay1 >= by1 + 0.2 * (by2 - by1), where
            elif predicate == "in front of":
                assert g.objects[s].layer > g.objects[o].layer, where
                assert meets, where
            elif predicate == "behind":
                assert g.objects[s].layer < g.objects[o].layer, where
                assert meets, where
            elif predicate == "next to":
                assert ax2 <= bx1 + 14 or bx2 <= ax1 + 14, where
            elif predicate == "flying":
                assert by2 < ay1 + 0.5 * (ay2 - ay1), where
