"""Scenes from random numbers: a place, a plot, a background, and captions that are true."""

from collections.abc import Iterator
from dataclasses import replace

from metaeval.data.scenes.graph import SceneGraph, SceneObject
from metaeval.data.scenes.load import SPLITS
from metaeval.errors import ConfigError
from research.scenes.captions import Teller
from research.scenes.draw import Draw
from research.scenes.plots import bystander, wall
from research.scenes.settings import SETTINGS
from research.scenes.stage import FRAME, Stage

FIRST_ID = {"val": 100_001, "dev": 200_001, "train": 300_001}


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
    count = SPLITS[split] if n is None else n
    for name, value, most in (("n", count, 99_999), ("captions per scene", n_captions, 20)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ConfigError(f"scenes: {name} must be a whole number in 1…{most:,}: {value!r}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"dataset.seed must be a whole number: {seed!r}")
    return count


def _scene(seed: int, split: str, index: int, n_captions: int) -> SceneGraph:
    draw, image_id = Draw("scenes", seed, split, index), FIRST_ID[split] + index
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
