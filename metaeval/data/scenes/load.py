"""The scenes as COCO's files and as a `CaptionDataset` whose images are drawn on demand.

The JSON bytes depend on seed, split and number alone; the pixels also on Pillow's version.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache as once, lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import PIL
from annotated_types import Interval

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, Objects, Part
from metaeval.data.scenes.captions import Teller
from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.graph import Draw, SceneGraph, SceneObject
from metaeval.data.scenes.plots import bystander, wall
from metaeval.data.scenes.render import is_whole_png, save
from metaeval.data.scenes.settings import SETTINGS
from metaeval.data.scenes.stage import FRAME, Stage
from metaeval.errors import ConfigError
from metaeval.options import Limit, PositiveInt, Seed, checked
from metaeval.progress import progress_bar
from metaeval.readers.files import user_path

# Split → how many scenes it has by default, and the id before its first image.
SPLITS: dict[str, tuple[int, int]] = {
    "val": (5_000, 100_000),
    "dev": (1_000, 200_000),
    "train": (20_000, 300_000),
}


def generate(
    split: str = "val", n: int | None = None, seed: int = 0, n_captions: int = 5
) -> Iterator[SceneGraph]:
    """The first `n` scenes of a split (default: all), with `n_captions` captions each.

    A scene depends on seed, split and its own index, on nothing else: neither `n` nor
    `n_captions` changes what the first scenes and the first captions are.

    Raises ConfigError for an unknown split or numbers that make no sense.
    """
    count = _checked_count(split, n, seed, n_captions)
    return (_scene(seed, split, i, n_captions) for i in range(count))


def _checked_count(split: str, n: int | None, seed: int, n_captions: int) -> int:
    """How many scenes are meant."""
    if split not in SPLITS:
        raise ConfigError(f"dataset.split must be one of {', '.join(SPLITS)}, not {split!r}")
    count = SPLITS[split][0] if n is None else n
    for name, value, most in (("n", count, 99_999), ("captions per scene", n_captions, 20)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ConfigError(f"scenes: {name} must be a whole number in 1…{most:,}: {value!r}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"dataset.seed must be a whole number: {seed!r}")
    return count


def _scene(seed: int, split: str, index: int, n_captions: int) -> SceneGraph:
    draw, image_id = Draw("scenes", seed, split, index), SPLITS[split][1] + 1 + index
    graph = compose(draw, image_id, list(SPLITS).index(split), len(SPLITS))
    return replace(graph, captions=Teller(graph, draw).captions(n_captions))


MOST = 6  # objects in a scene
_PLACES = [name for name, setting in SETTINGS.items() for _ in range(setting.weight)]
_ROOM_WALLS = ("white", "yellow", "blue", "green", "pink", "gray", "tan")


def compose(draw: Draw, image_id: int, part: int = 0, parts: int = 1) -> SceneGraph:
    """Set one scene: a place, a plot, perhaps something more, and what stands behind it.

    Scenes of different `part`s never have the same objects: the left edge of the first one leaves
    the remainder `part` when divided by `parts` (which moves it by less than `parts` units).
    """
    place = draw.pick(_PLACES)
    setting = SETTINGS[place]
    light = draw.pick(setting.lights)
    stage = Stage(draw, place, light)
    plot, *arguments = draw.pick(setting.plots)
    plot(stage, *arguments)
    if draw.chance(46):
        bystander(stage, setting.extras)
        if draw.chance(28):
            bystander(stage, setting.extras)
    on_counter = any(shared.get("place") == "counter" for shared in stage.shared)
    decor = [name for name, percent in setting.decor if draw.chance(percent)]
    if on_counter:
        decor = [name for name in decor if name == "cabinets"] + ["counter"]
    if "curtains" in decor and "window" not in decor:
        decor.remove("curtains")
    if light == "indoors" and place in ("kitchen", "dining room", "office", "living room"):
        blocked = {"cabinets", "picture", "window", "shelf"} & set(decor)
        if not blocked and len(stage.objects) < MOST and draw.chance(50):
            wall(stage)
    options: list[tuple[str, str]] = []
    if light == "indoors":
        options.append(("walls", draw.pick(_ROOM_WALLS)))
        floors = ("tile", "wood") if place in ("kitchen", "bathroom") else ("wood", "carpet")
        options.append(("floor", draw.pick(floors)))
    elif place == "street":
        options.append(("walls", draw.pick(("brick", "gray", "tan"))))
    elif place == "ocean" and "surfboard" in stage.kinds:
        options.append(("wave", "yes"))
    return SceneGraph(
        image_id=image_id,
        width=FRAME,
        height=FRAME,
        setting=place,
        light=light,
        decor=tuple(decor),
        objects=(_moved(stage.objects[0], part, parts), *stage.objects[1:]),
        relations=tuple(stage.relations),
        group_relations=tuple(stage.group_relations),
        backdrop=tuple(options),
    )


def _moved(item: SceneObject, part: int, parts: int) -> SceneObject:
    x, y, w, h = item.box
    x += (part - x) % parts
    return replace(item, box=(x if x + w <= FRAME else x - parts, y, w, h))


_INFO = {"description": "metaeval scenes: generated images, captions and objects", "version": "1"}


def file_name(image_id: int) -> str:
    """COCO's twelve digits."""
    return f"{image_id:012d}.png"


def dump(value: Any) -> bytes:
    """Compact ASCII JSON; it contains no floats, so the same value has the same bytes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()


def _images(graphs: Sequence[SceneGraph], side: int) -> list[dict[str, object]]:
    return [
        {"id": g.image_id, "width": side, "height": side, "file_name": file_name(g.image_id)}
        for g in graphs
    ]


def captions_json(graphs: Sequence[SceneGraph], split: str, side: int = 336) -> bytes:
    """COCO's captions file. Annotation ids rise with the image, then the caption."""
    annotations: list[dict[str, object]] = []
    for g in graphs:
        for caption in g.captions:
            annotations.append(
                {"id": len(annotations) + 1, "image_id": g.image_id, "caption": caption.text}
            )
    return dump(
        {
            "info": {**_INFO, "split": split},
            "licenses": [],
            "images": _images(graphs, side),
            "annotations": annotations,
        }
    )


def instances_json(graphs: Sequence[SceneGraph], split: str, side: int = 336) -> bytes:
    """COCO's instances file; an object's outline is its box. All 80 categories are listed."""
    annotations: list[dict[str, object]] = []
    for g in graphs:
        for item in g.objects:
            x, y, w, h = (scaled(v, side, g.width) for v in item.box)
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": g.image_id,
                    "category_id": THINGS[item.category].id,
                    "bbox": [x, y, w, h],
                    "area": w * h,
                    "iscrowd": 0,
                    "segmentation": [[x, y, x + w, y, x + w, y + h, x, y + h]],
                }
            )
    return dump(
        {
            "info": {**_INFO, "split": split},
            "licenses": [],
            "images": _images(graphs, side),
            "annotations": annotations,
            "categories": [
                {"supercategory": thing.family, "id": thing.id, "name": name}
                for name, thing in THINGS.items()
            ],
        }
    )


def scaled(value: int, side: int, frame: int) -> int | float:
    """A length of the scene in pixels of an image `side` wide; whole where it can be."""
    whole, rest = divmod(value * side, frame)
    return whole if not rest else value * side / frame


def graphs_json(graphs: Sequence[SceneGraph], split: str) -> bytes:
    """The scene graphs with their captions' alignment."""
    return dump({"info": {**_INFO, "split": split}, "scene_graphs": [g.to_json() for g in graphs]})


def export(
    folder: Path, graphs: Sequence[SceneGraph], split: str, side: int = 336, images: bool = True
) -> list[Path]:
    """Write `annotations/*.json` and, with `images`, `SPLIT/*.png` into a folder.

    Returns the annotation files. An existing file is replaced.
    """
    annotations = folder / "annotations"
    annotations.mkdir(parents=True, exist_ok=True)
    out: list[Path] = []
    for name, content in (
        ("captions", captions_json(graphs, split, side)),
        ("instances", instances_json(graphs, split, side)),
        ("scene_graphs", graphs_json(graphs, split)),
    ):
        path = annotations / f"{name}_{split}.json"
        path.write_bytes(content)
        out.append(path)
    if images:
        (folder / split).mkdir(exist_ok=True)
        for g in progress_bar(graphs, desc=f"drawing {split}", unit="image"):
            save(g, folder / split / file_name(g.image_id), side)
    return out


class SceneImages:
    """Image files that are drawn when their path is first needed.

    Serves wherever `metaeval.data.annotated_images.ImageFiles` does. Files are written whole or
    not at all, so several processes may share the folder.
    """

    on_demand = True  # getting a path draws the image

    def __init__(self, graphs: Mapping[ImageId, SceneGraph], folder: Path, side: int) -> None:
        self.folder, self.total = folder, len(graphs)
        self._graphs, self._side = graphs, side
        self._whole: set[ImageId] = set()  # whose files have been looked at

    def path(self, image_id: ImageId) -> Path | None:
        """The image's file, drawn now if it is not there yet; `None` for an unknown id."""
        if image_id not in self._graphs:
            return None
        graph = self._graphs[image_id]
        file = self.folder / file_name(graph.image_id)
        if image_id not in self._whole:  # a damaged file is drawn anew
            if not is_whole_png(file):
                save(graph, file, self._side)
            self._whole.add(image_id)
        return file

    def __contains__(self, image_id: object) -> bool:
        return image_id in self._graphs

    def __len__(self) -> int:
        return self.total

    def count(self, image_ids: Iterable[ImageId]) -> int:
        """How many of these images there are."""
        return sum(i in self._graphs for i in image_ids)

    def __str__(self) -> str:
        return f"{self.total:,} images, drawn on demand into {self.folder}"


class SceneObjects(Mapping[ImageId, Objects]):
    """Image id → the scene's objects, boxes normalised as the COCO loader does."""

    def __init__(self, graphs: Mapping[ImageId, SceneGraph], side: int) -> None:
        self._graphs, self._side = graphs, side
        self._made: dict[ImageId, Objects] = {}

    def __getitem__(self, image_id: ImageId) -> Objects:
        if image_id not in self._made:
            self._made[image_id] = self._make(self._graphs[image_id])
        return self._made[image_id]

    def _make(self, graph: SceneGraph) -> Objects:
        boxes = []
        for item in graph.objects:
            x, y, w, h = (scaled(v, self._side, graph.width) for v in item.box)
            boxes.append((x, y, x + w, y + h))
        labels = tuple(item.category for item in graph.objects)
        return Objects(labels, np.array(boxes, dtype=np.float64).reshape(-1, 4) / self._side)

    def __iter__(self) -> Iterator[ImageId]:
        return iter(self._graphs)

    def __len__(self) -> int:
        return len(self._graphs)

    def __str__(self) -> str:
        return f"{sum(len(g.objects) for g in self._graphs.values()):,} objects of scene graphs"


@checked
def load_scenes(
    name: str = "scenes",
    split: str = "val",
    n: PositiveInt | None = None,
    seed: Seed = 0,
    n_references: PositiveInt = 4,
    images: bool = True,
    size: Annotated[int, Interval(ge=32, le=4096)] = 336,
    limit: Limit = None,
    cache: str | Path | None = None,
) -> CaptionDataset:
    """Generate a split of the embedded dataset.

    Per scene, the first caption is the *Human* caption, the next `n_references` the references, as
    the COCO loader would read them from the exported files; `sources` holds the checksum that the
    exported captions file would have.

    Parameters
    ----------
    name
        The dataset's name in tables.
    split
        "val" (5,000 scenes), "dev" (1,000) or "train" (20,000).
    n
        How many scenes the split has; default: the numbers above.
    seed
        Which scenes: another seed, other scenes.
    n_references
        References per image, after the human caption.
    images
        Whether the part "images" is there; files are drawn into `cache` on demand.
    size
        Width and height of the images in pixels.
    limit
        Only the first `limit` scenes. The pool of human captions stays whole.
    cache
        The folder for the images; without one they go into a temporary folder.

    Parts: "images" (SceneImages), "objects" (SceneObjects), "scene_graphs" (image id → SceneGraph).
    Raises ConfigError for values that make no sense.
    """
    graphs: dict[ImageId, SceneGraph] = {
        g.image_id: g for g in _generated(split, n, seed, 1 + n_references)
    }
    texts = [[c.text for c in g.captions] for g in graphs.values()]
    ids, human = tuple(graphs), tuple(t[0] for t in texts)
    checksum = hashlib.sha256(captions_json(list(graphs.values()), split, size)).hexdigest()
    absent = Absent("images", "the scenes' images are switched off", "set dataset.images=true")
    parts: dict[str, Part] = {
        "images": (lambda: SceneImages(graphs, _folder(cache, seed, split, size), size))
        if images
        else absent,
        "objects": lambda: SceneObjects(graphs, size),
        "scene_graphs": lambda: graphs,
    }
    usual = SPLITS[split][0]
    notes = [
        f"Generated scenes, split {split}, seed {seed}: images, captions and objects are made by "
        "code, no photograph was taken."
    ]
    if len(ids) != usual:
        notes.append(f"{len(ids):,} scenes instead of the split's usual {usual:,}.")
    return CaptionDataset(
        name,
        ids,
        human,
        tuple(tuple(t[1:]) for t in texts),
        ids,
        human,
        {f"captions_{split}.json": checksum},
        tuple(notes),
        parts=parts,
    ).limited(limit)


def _generated(split: str, n: int | None, seed: int, n_captions: int) -> list[SceneGraph]:
    """The next run of a program often has the same scenes, or fewer of them."""
    count, made = _checked_count(split, n, seed, n_captions), _made(split, seed, n_captions)
    made += [_scene(seed, split, i, n_captions) for i in range(len(made), count)]
    return made[:count]


@lru_cache(maxsize=2)
def _made(split: str, seed: int, n_captions: int) -> list[SceneGraph]:
    """The first scenes of a split, as many as were needed so far."""
    return []


def _folder(cache: str | Path | None, seed: int, split: str, size: int) -> Path:
    """Where the images of this very generator go: another version of it draws elsewhere."""
    base = user_path(cache) if cache else Path(tempfile.mkdtemp(prefix="metaeval-scenes-"))
    return base / "scenes" / f"{fingerprint()[:12]}-{split}-{seed}-{size}"


@once
def fingerprint() -> str:
    """SHA-256 of the generator's source and of Pillow's version."""
    here = Path(__file__).parent
    digest = hashlib.sha256(PIL.__version__.encode())
    for path in sorted(here.rglob("*.py")):
        digest.update(path.relative_to(here).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
