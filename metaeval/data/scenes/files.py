"""Scenes in COCO's files: captions, instances, scene graphs and images.

The JSON bytes depend on seed, split and number alone; the pixels also on Pillow's version.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.data.scenes.graph import SceneGraph
from metaeval.data.scenes.render import save
from metaeval.data.scenes.things import THINGS
from metaeval.progress import progress_bar

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
