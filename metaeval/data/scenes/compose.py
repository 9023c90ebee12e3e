"""From (seed, split, index) to a scene graph without captions."""

from __future__ import annotations

from dataclasses import replace

from metaeval.data.scenes.draw import Draw
from metaeval.data.scenes.graph import SceneGraph, SceneObject
from metaeval.data.scenes.plots import bystander, wall
from metaeval.data.scenes.settings import SETTINGS, weighted
from metaeval.data.scenes.stage import FRAME, Stage

MOST = 6  # objects in a scene
_PLACES = weighted()
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
    draw.pick(setting.plots)(stage)
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
