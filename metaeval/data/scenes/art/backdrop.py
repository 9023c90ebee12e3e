"""The place behind the objects: sky and ground, or wall and floor, with what belongs there."""

from __future__ import annotations

from collections.abc import Mapping

from PIL import ImageDraw

from metaeval.data.scenes.art.outdoors import outdoors
from metaeval.data.scenes.art.pen import Pen
from metaeval.data.scenes.art.rooms import room


def backdrop(
    canvas: ImageDraw.ImageDraw, side: int, setting: str, light: str, decor: tuple[str, ...],
    options: Mapping[str, str],
) -> None:  # fmt: skip
    """Fill the whole canvas."""
    p = Pen(canvas, 0, 0, side, side)
    if light == "indoors":
        room(p, setting, decor, options)
    else:
        outdoors(p, setting, light, decor, options)
