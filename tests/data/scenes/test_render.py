"""The drawings: every category shows, in its box, in its colour."""

import numpy as np
import pytest

from metaeval.data.scenes import SceneGraph, SceneObject, read_scenes
from metaeval.data.scenes.art.pen import COLOURS
from metaeval.data.scenes.render import png, render

SETTINGS = sorted({g.setting for g in read_scenes("train", 2000)})


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
