"""From a scene graph to pixels."""

import io
import os
from pathlib import Path

from PIL import Image, ImageDraw

from metaeval.data.scenes.art.backdrop import backdrop
from metaeval.data.scenes.art.drawings import draw_thing
from metaeval.data.scenes.art.pen import Pen
from metaeval.data.scenes.art.people import draw_person
from metaeval.data.scenes.graph import SceneGraph
from metaeval.errors import InputError
from metaeval.readers.files import read_bytes

OVERSAMPLE = 2  # drawn at twice the size and averaged down: smooth edges
WORN = frozenset({"tie"})  # drawn with the person who wears it


def render(graph: SceneGraph, side: int = 336) -> Image.Image:
    """Draw the scene, `side` × `side` pixels, RGB."""
    big = side * OVERSAMPLE
    image = Image.new("RGB", (big, big))
    canvas = ImageDraw.Draw(image)
    backdrop(canvas, big, graph.setting, graph.light, graph.decor, dict(graph.backdrop))
    k = big / graph.width
    _strings(canvas, graph, k)
    for item in sorted(graph.objects, key=lambda o: o.layer):
        if item.category in WORN:
            continue
        looks = {**dict(item.attributes), **dict(item.looks), "kind": item.kind}
        x, y, w, h = item.box
        pen = Pen(canvas, x * k, y * k, w * k, h * k, looks.get("flip") == "yes")
        if item.category == "person":
            draw_person(pen, looks)
        else:
            draw_thing(pen, item.category, looks)
    return image.reduce(OVERSAMPLE)


def _strings(canvas: ImageDraw.ImageDraw, graph: SceneGraph, k: float) -> None:
    """Kite strings and dog leads, from hand to kite or collar."""
    for subject, predicate, object_ in graph.relations:
        if predicate not in ("flying", "walking"):
            continue
        person, thing = graph.objects[subject], graph.objects[object_]
        flip = dict(person.looks).get("flip") == "yes"
        px, py, pw, ph = person.box
        tx, ty, tw, th = thing.box
        if predicate == "flying":
            start = (px + pw * (14 if flip else 86) / 100, py + ph * 0.04)
            end = (tx + tw * 0.5, ty + th * 0.76)
        else:
            start = (px + pw * (8 if flip else 92) / 100, py + ph * 0.39)
            end = (tx + tw * (38 if flip else 62) / 100, ty + th * 0.48)
        canvas.line([(start[0] * k, start[1] * k), (end[0] * k, end[1] * k)], (70, 64, 64), 2)


def png(image: Image.Image) -> bytes:
    """The image as PNG."""
    image.save(out := io.BytesIO(), "PNG", compress_level=1)
    return out.getvalue()


_MOST_PNG = 1 << 27  # bytes of a picture of 4,096 pixels a side
_END = b"\0\0\0\0IEND\xaeB`\x82"  # of every PNG


def is_whole_png(path: Path) -> bool:
    """Whether a file is a PNG whose parts have the right checksums."""
    try:
        raw = read_bytes(path, _MOST_PNG)
        Image.open(io.BytesIO(raw), formats=["PNG"]).verify()
        return raw.endswith(_END)
    except (InputError, OSError, SyntaxError):
        return False


def save_image(graph: SceneGraph, path: Path, side: int = 336) -> None:
    """Render into a PNG file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(png(render(graph, side)))
    part.replace(path)
