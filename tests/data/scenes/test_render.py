"""The drawings: every category shows, in its box, in its colour."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from metaeval.data.scenes import SceneGraph, SceneObject, read_scenes
from metaeval.data.scenes.art.drawings import draw_thing
from metaeval.data.scenes.art.pen import COLOURS, Pen
from metaeval.data.scenes.art.people import draw_person
from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.render import png, render

SETTINGS = sorted({g.setting for g in read_scenes("train", 2000)})
BLANK = (1, 2, 3)
PERSON = {
    "pose": "stand",
    "kind": "man",
    "skin": "light",
    "hair": "brown",
    "top": "red",
    "bottom": "blue",
}


def drawn(category: str, looks: dict[str, str], flip: bool = False) -> np.ndarray:
    """The category's own box in the middle third of a blank image, 300 × 300."""
    image = Image.new("RGB", (300, 300), BLANK)
    w, h = THINGS[category].size if category != "person" else (50, 132)
    k = 100 / max(w, h)
    box = (150 - w * k / 2, 150 - h * k / 2, w * k, h * k)
    pen = Pen(ImageDraw.Draw(image), *box, flip)
    if category == "person":
        draw_person(pen, {"kind": category, **looks})
    else:
        draw_thing(pen, category, {"kind": category, **looks})
    return np.asarray(image)


def extent(pixels: np.ndarray) -> tuple[int, int, int, int]:
    ys, xs = np.nonzero((pixels != BLANK).any(-1))
    return int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1


@pytest.mark.parametrize("category", list(THINGS))
def test_a_drawing_fills_its_box(category: str) -> None:
    """80 % of the box one way, half the other way, and at most 12 of 100 units beyond it."""
    w, h = THINGS[category].size if category != "person" else (50, 132)
    k = 100 / max(w, h)
    x1, y1, x2, y2 = extent(drawn(category, PERSON if category == "person" else {}))
    shares = sorted(((x2 - x1 + 1) / (w * k), (y2 - y1 + 1) / (h * k)))
    assert shares[0] >= 0.5
    assert shares[1] >= 0.8
    beyond = max(
        150 - w * k / 2 - x1, x2 - 150 - w * k / 2, 150 - h * k / 2 - y1, y2 - 150 - h * k / 2
    )
    assert beyond <= 12


@pytest.mark.parametrize("setting", list(SETTINGS))
def test_every_setting_fills_the_image(setting: str) -> None:
    g = next(g for g in read_scenes("train", 2000) if g.setting == setting)
    bare = SceneGraph(
        g.image_id, g.width, g.height, g.setting, g.light, g.decor, (), (), (), (), g.backdrop
    )
    pixels = np.asarray(render(bare))
    assert pixels.shape == (336, 336, 3)
    assert (pixels.reshape(-1, 3).max(-1) > 0).all()  # no pixel left black


def test_higher_layers_hide_lower_ones() -> None:
    def scene(front: int, back: int) -> SceneGraph:
        looks = (("pose", ""),)
        a = SceneObject("oven", "oven", (("colour", "red"),), (100, 100, 96, 112), 0, looks, front)
        b = SceneObject(
            "refrigerator",
            "refrigerator",
            (("colour", "blue"),),
            (90, 60, 110, 200),
            1,
            looks,
            back,
        )
        options = (("walls", "white"), ("floor", "tile"))
        return SceneGraph(1, 336, 336, "kitchen", "indoors", (), (a, b), (), (), (), options)

    middle = (130, 190)
    above, below = render(scene(2, 1)), render(scene(1, 2))
    assert above.getpixel(middle) != below.getpixel(middle)
    front, hidden = (np.asarray(image).reshape(-1, 3).tolist() for image in (above, below))
    red, blue = list(COLOURS["red"]), list(COLOURS["blue"])
    assert (red in front, red in hidden, blue in hidden) == (True, False, True)


def test_the_same_scene_has_the_same_bytes() -> None:
    g = read_scenes("val", 1)[0]
    assert png(render(g)) == png(render(g))
    assert png(render(g, 100)) != png(render(g, 101))
