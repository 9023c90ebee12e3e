"""The scenes that the package ships, as a `CaptionDataset` whose images are drawn on demand.

`research/scenes` made the files, one scene a line; the pixels also depend on Pillow's version.
"""

import hashlib
import io
import json
import lzma
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache as once
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

import numpy as np
import PIL
from annotated_types import Interval

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, ImagePaths, Objects, Part
from metaeval.data.scenes.graph import AlignedCaption, Mark, Relation, SceneGraph, SceneObject
from metaeval.data.scenes.render import is_whole_png, save_image
from metaeval.errors import ConfigError
from metaeval.options import Limit, PositiveInt, checked
from metaeval.readers.files import user_path

SPLITS = {"val": 5_000, "dev": 1_000, "train": 20_000}  # split → how many scenes it has
MOST_REFERENCES = 4
INFO = {"description": "metaeval scenes: generated images, captions and objects", "version": "1"}
_HERE = Path(__file__).parent
_LOCK = Lock()


def read_scenes(split: str = "val", n: int | None = None) -> list[SceneGraph]:
    """The first `n` scenes of a split (default: all), with five captions each.

    Raises ConfigError for more scenes than the split has.
    """
    most = SPLITS[split]
    if n is not None and n > most:
        raise ConfigError(f"dataset.n: {n:,} is more than the {most:,} scenes of '{split}'")
    with _LOCK:
        known, others = _scenes(split)
        known += islice(others, max(0, (n or most) - len(known)))
        return known[:n]


@once
def _scenes(split: str) -> tuple[list[SceneGraph], Iterator[SceneGraph]]:
    """The scenes that have been read so far, and the others of the file."""
    path = _HERE / f"{split}.jsonl.xz"
    lines = lzma.LZMAFile(io.BytesIO(path.read_bytes()))  # noqa: SIM115 (bytes in memory)
    return [], (graph_of(json.loads(line)) for line in lines)


def graph_of(value: dict[str, Any]) -> SceneGraph:
    """The graph in a line of the files that the package ships."""
    lists = {
        "decor": tuple(value["decor"]),
        "objects": tuple(map(_object, value["objects"])),
        "relations": tuple(Relation(*r) for r in value["relations"]),
        "group_relations": tuple(Relation(*r) for r in value["group_relations"]),
        "captions": tuple(
            AlignedCaption(c["text"], tuple(Mark(*m) for m in c["marks"]))
            for c in value["captions"]
        ),
        "backdrop": tuple(value["backdrop"].items()),
    }
    return SceneGraph(**{**value, **lists})


def _object(value: dict[str, Any]) -> SceneObject:
    lists = {key: tuple(value[key].items()) for key in ("attributes", "looks")}
    return SceneObject(**{**value, **lists, "box": tuple(value["box"])})


def file_name(image_id: int) -> str:
    """COCO's twelve digits."""
    return f"{image_id:012d}.png"


def to_json_bytes(value: Any) -> bytes:
    """Compact ASCII JSON; it contains no floats, so the same value has the same bytes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()


def image_records(graphs: Sequence[SceneGraph], side: int) -> list[dict[str, object]]:
    """The images as COCO's files list them."""
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
    return to_json_bytes(
        {
            "info": {**INFO, "split": split},
            "licenses": [],
            "images": image_records(graphs, side),
            "annotations": annotations,
        }
    )


def to_pixels(value: int, side: int, frame: int) -> int | float:
    """A length of the scene in pixels of an image `side` wide; whole where it can be."""
    whole, rest = divmod(value * side, frame)
    return whole if not rest else value * side / frame


class SceneImages(ImagePaths):
    """Image files that are drawn when their path is first needed.

    Files are written whole or not at all, so several processes may share the folder.
    """

    on_demand = True  # getting a path draws the image

    def __init__(self, graphs: Mapping[ImageId, SceneGraph], folder: Path, side: int) -> None:
        files = {i: folder / file_name(graph.image_id) for i, graph in graphs.items()}
        super().__init__(files, f"{len(graphs):,} images, drawn on demand into {folder}")
        self._graphs, self._side = graphs, side
        self._whole: set[ImageId] = set()  # whose files have been looked at

    def path(self, image_id: ImageId) -> Path | None:
        """The image's file, drawn now if it is not there yet; `None` for an unknown id."""
        file = super().path(image_id)
        if file is not None and image_id not in self._whole:  # a damaged file is drawn anew
            if not is_whole_png(file):
                save_image(self._graphs[image_id], file, self._side)
            self._whole.add(image_id)
        return file


def scene_objects(graph: SceneGraph, side: int) -> Objects:
    """The scene's objects, their boxes normalised as the COCO loader does."""
    boxes = []
    for item in graph.objects:
        x, y, w, h = (to_pixels(v, side, graph.width) for v in item.box)
        boxes.append((x, y, x + w, y + h))
    labels = tuple(item.category for item in graph.objects)
    return Objects(labels, np.array(boxes, dtype=np.float64).reshape(-1, 4) / side)


@checked
def load_scenes(
    name: str = "scenes",
    split: Literal["val", "dev", "train"] = "val",
    n: PositiveInt | None = None,
    n_references: Annotated[int, Interval(ge=1, le=MOST_REFERENCES)] = 4,
    images: bool = True,
    size: Annotated[int, Interval(ge=32, le=4096)] = 336,
    limit: Limit = None,
    cache: str | Path | None = None,
) -> CaptionDataset:
    """Load a split of the embedded dataset; `conf/dataset/scenes.yaml` describes the options.

    Per scene, the first caption is the *Human* caption, the next `n_references` the references, as
    the COCO loader would read them from the exported files; `sources` holds the checksum that the
    exported captions file would have. Without `cache` the images go into a temporary folder.

    Parts: "images" (SceneImages), by image id "objects" (Objects) and "scene_graphs" (SceneGraph).
    Raises ConfigError for values that make no sense.
    """
    graphs: dict[ImageId, SceneGraph] = {
        g.image_id: replace(g, captions=g.captions[: 1 + n_references])
        for g in read_scenes(split, n)
    }
    texts = [[c.text for c in g.captions] for g in graphs.values()]
    ids, human = tuple(graphs), tuple(t[0] for t in texts)
    checksum = hashlib.sha256(captions_json(list(graphs.values()), split, size)).hexdigest()
    absent = Absent("images", "the scenes' images are switched off", "set dataset.images=true")
    parts: dict[str, Part] = {
        "images": (lambda: SceneImages(graphs, _folder(cache, split, size), size))
        if images
        else absent,
        "objects": lambda: {i: scene_objects(graph, size) for i, graph in graphs.items()},
        "scene_graphs": lambda: graphs,
    }
    usual = SPLITS[split]
    notes = [
        f"Generated scenes, split {split}, seed 0: images, captions and objects are made by "
        "code, no photograph was taken."
    ]
    if len(ids) != usual:
        notes.append(f"{len(ids):,} scenes instead of the split's usual {usual:,}.")
    return CaptionDataset(
        name,
        ids,
        human,
        tuple(tuple(t[1:]) for t in texts),
        sources={f"captions_{split}.json": checksum},
        notes=tuple(notes),
        parts=parts,
        language="en",
    ).limited(limit)


def _folder(cache: str | Path | None, split: str, size: int) -> Path:
    """Where the images of these very scenes and drawings go: another version draws elsewhere."""
    base = user_path(cache) if cache else Path(_temporary().name)
    return base / "scenes" / f"{fingerprint()[:12]}-{split}-{size}"


@once
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="metaeval-scenes-")


@once
def fingerprint() -> str:
    """SHA-256 of the scenes, of the source that draws them, and of Pillow's version."""
    digest = hashlib.sha256(PIL.__version__.encode())
    for path in sorted([*_HERE.rglob("*.py"), *_HERE.glob("*.xz")]):
        digest.update(path.relative_to(_HERE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
