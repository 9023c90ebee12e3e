"""Scenes as files: COCO's, and those that the package ships."""

import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.graph import SceneGraph
from metaeval.data.scenes.load import (
    INFO,
    captions_json,
    file_name,
    image_records,
    to_json_bytes,
    to_pixels,
)
from metaeval.data.scenes.render import save_image
from metaeval.progress import progress_bar


def instances_json(graphs: Sequence[SceneGraph], split: str, side: int = 336) -> bytes:
    """COCO's instances file; an object's outline is its box. All 80 categories are listed."""
    annotations: list[dict[str, object]] = []
    for g in graphs:
        for item in g.objects:
            x, y, w, h = (to_pixels(v, side, g.width) for v in item.box)
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
    return to_json_bytes(
        {
            "info": {**INFO, "split": split},
            "licenses": [],
            "images": image_records(graphs, side),
            "annotations": annotations,
            "categories": [
                {"supercategory": thing.family, "id": thing.id, "name": name}
                for name, thing in THINGS.items()
            ],
        }
    )


def graph_to_json(g: SceneGraph) -> dict[str, Any]:
    """What `load.graph_of` reads: plain lists, numbers, strings; keys in a fixed order."""
    return {
        "image_id": g.image_id,
        "width": g.width,
        "height": g.height,
        "setting": g.setting,
        "light": g.light,
        "decor": list(g.decor),
        "objects": [
            {
                "category": o.category,
                "kind": o.kind,
                "attributes": dict(o.attributes),
                "box": list(o.box),
                "group": o.group,
                "looks": dict(o.looks),
                "layer": o.layer,
            }
            for o in g.objects
        ],
        "relations": [list(r) for r in g.relations],
        "group_relations": [list(r) for r in g.group_relations],
        "captions": [{"text": c.text, "marks": [list(m) for m in c.marks]} for c in g.captions],
        "backdrop": dict(g.backdrop),
    }


def graphs_json(graphs: Sequence[SceneGraph], split: str) -> bytes:
    """The scene graphs with their captions' alignment."""
    return to_json_bytes(
        {"info": {**INFO, "split": split}, "scene_graphs": [graph_to_json(g) for g in graphs]}
    )


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
            save_image(g, folder / split / file_name(g.image_id), side)
    return out


def freeze(graphs: Sequence[SceneGraph], path: Path) -> None:
    """Write the file that the package ships: one scene a line, compressed."""
    lines = b"".join(to_json_bytes(graph_to_json(g)) + b"\n" for g in graphs)
    path.write_bytes(lzma.compress(lines, preset=9 | lzma.PRESET_EXTREME))
