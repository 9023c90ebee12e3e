"""The scenes in COCO's files: read back by our loader and by pycocotools, with the same result."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter

from metaeval.data.coco.load import load_coco
from metaeval.data.scenes import SceneGraph, load_scenes, read_scenes
from metaeval.data.scenes.render import render
from research.scenes.__main__ import main, write_samples

ROOT = Path(__file__).parents[3]
N = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scenes")
    assert main(["export", str(out), "split=dev", f"n={N}", "size=224"]) == 0
    return out


@pytest.fixture(scope="module")
def graphs() -> list[SceneGraph]:
    return read_scenes("dev", N)


def test_our_loader_reads_what_it_would_have_generated(folder: Path, tmp_path: Path) -> None:
    ours = load_scenes(split="dev", n=N, size=224, cache=tmp_path)
    read = load_coco(root=folder, split="dev")
    for part in ("image_ids", "human", "references"):
        assert getattr(read, part) == getattr(ours, part)
    # nothing had to be tidied; the same checksum
    assert (read.notes, dict(read.sources)) == ((), dict(ours.sources))
    a, b = read.part("objects"), ours.part("objects")
    files, drawn = read.part("images"), ours.part("images")
    assert len(files) == N == len(drawn)
    for i in ours.image_ids:
        assert a[i].labels == b[i].labels
        np.testing.assert_array_equal(a[i].boxes, b[i].boxes)
        assert files.path(i).read_bytes() == drawn.path(i).read_bytes()
        assert files.path(i).name == drawn.path(i).name


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_pycocotools_reads_the_same(folder: Path, graphs: list[SceneGraph]) -> None:
    coco = pytest.importorskip("pycocotools.coco").COCO
    captions = coco(str(folder / "annotations/captions_dev.json"))
    instances = coco(str(folder / "annotations/instances_dev.json"))
    names = {c["id"]: c["name"] for c in instances.loadCats(instances.getCatIds())}
    assert len(names) == 80
    assert captions.getImgIds() == [g.image_id for g in graphs] == instances.getImgIds()
    for g in graphs:
        found = captions.loadAnns(captions.getAnnIds(imgIds=[g.image_id]))
        assert [a["caption"] for a in found] == [c.text for c in g.captions]
        objects = instances.loadAnns(instances.getAnnIds(imgIds=[g.image_id]))
        assert [names[a["category_id"]] for a in objects] == [o.category for o in g.objects]
        for a, o in zip(objects, g.objects, strict=True):
            assert a["bbox"] == pytest.approx([v * 224 / 336 for v in o.box], abs=1e-9)
            # the outline is the box: its mask has the box's area, except for rounding at the edges
            w, h = a["bbox"][2:]
            assert abs(int(instances.annToMask(a).sum()) - w * h) <= w + h + 1


def test_scene_graphs_in_the_file_have_every_field(folder: Path, graphs: list[SceneGraph]) -> None:
    """As pydantic writes the dataclasses, which knows nothing of `to_json`."""
    content = json.loads((folder / "annotations/scene_graphs_dev.json").read_text())
    expected = TypeAdapter(list[SceneGraph]).dump_python(graphs, mode="json")
    pairs = "attributes", "looks", "backdrop"  # pairs of a name and a value: an object of the file
    for graph in expected:
        for part in (graph, *graph["objects"]):
            part.update({key: dict(part[key]) for key in pairs if key in part})
    assert content["scene_graphs"] == expected


def test_images_are_the_renderer_s_pixels(folder: Path, graphs: list[SceneGraph]) -> None:
    """Pillow decodes our PNG files to what was drawn."""
    for g in graphs[:10]:
        with Image.open(folder / "dev" / f"{g.image_id:012d}.png") as image:
            image.load()
            assert (image.mode, image.size) == ("RGB", (224, 224))
            np.testing.assert_array_equal(np.asarray(image), np.asarray(render(g, 224)))


def test_json_is_plain_ascii_without_floats(folder: Path) -> None:
    for name in ("captions", "scene_graphs"):
        raw = (folder / f"annotations/{name}_dev.json").read_bytes()
        assert raw.isascii()

        def refuse(text: str) -> float:
            raise AssertionError(f"a float: {text}")

        json.loads(raw, parse_float=refuse)


def test_images_are_drawn_once_and_on_demand(tmp_path: Path) -> None:
    data = load_scenes(n=4, cache=tmp_path)
    images = data.part("images")
    assert not list(tmp_path.rglob("*.png"))
    first = images.path(data.image_ids[0])
    assert [p for p in tmp_path.rglob("*.*") if p.is_file()] == [first]
    first.write_bytes(b"kept")  # a second call does not draw again
    assert images.path(data.image_ids[0]).read_bytes() == b"kept"
    assert (images.path(7), 7 in images, images.count([7, *data.image_ids])) == (None, False, 4)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path), "split=val", "n=3", "images=false"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "val: 3 scenes, 15 captions"
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} == {
        "captions_val.json",
        "instances_val.json",
        "scene_graphs_val.json",
    }


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["split=test"], "error: dataset.split must be one of val, dev, train, not 'test'"),
        (["n=many"], "error: n must be a whole number, not 'many'"),
        (["colour=red"], "error: unknown option 'colour=red'"),
        (["images=maybe"], "error: images must be true or false, not 'maybe'"),
        (["size=1"], "error: size must be in 32"),
    ],
)
def test_the_command_s_errors_are_one_line(
    options: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(tmp_path), *options]) == 2
    error = capsys.readouterr().err
    assert (error[: len(problem)], error.count("\n")) == (problem, 1)


def test_the_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code, stream in ((["--help"], 0, "out"), ([], 2, "err")):
        assert main(arguments) == code
        assert "export DIR" in getattr(capsys.readouterr(), stream)


def test_the_documentation_s_samples_are_up_to_date(tmp_path: Path) -> None:
    """docs/scenes holds what the command writes (pages exactly, images where they are drawn)."""
    written = write_samples(tmp_path)
    kept = ROOT / "docs/scenes"
    assert {p.name for p in kept.iterdir()} == {p.name for p in written}
    assert (kept / "README.md").read_text("utf-8") == (tmp_path / "README.md").read_text("utf-8")
    assert sum(p.stat().st_size for p in kept.iterdir()) < 300_000
    for path in written:
        if path.suffix == ".png":  # Pillow's versions may differ in single pixels
            with Image.open(path) as a, Image.open(kept / path.name) as b:
                one, two = (np.asarray(i.convert("RGB")).astype(int) for i in (a, b))
            assert one.shape == two.shape
            assert np.abs(one - two).mean() < 4
