"""Streets, beaches, fields, snow …: ground and buildings under the sky."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import Pen, darker, lighter
from metaeval.data.scenes.art.scenery import (
    HORIZON,
    dim,
    fence,
    flowers,
    mountains,
    pines,
    rocks,
    sky,
    trees,
)
from metaeval.data.scenes.art.venues import grounds

GRASS, SAND, SNOW, WATER = (128, 186, 92), (238, 216, 164), (242, 246, 250), (64, 146, 200)


def outdoors(
    p: Pen, setting: str, light: str, decor: tuple[str, ...], options: Mapping[str, str]
) -> None:
    has = set(decor)
    sky(p, light, 56)
    h = HORIZON
    if setting == "street":
        city(p, light, decor, options)
        return
    if setting in ("beach", "ocean", "lake"):
        water = dim(WATER, light)
        if "mountains" in has:
            mountains(p, light)
        p.rect(water, 0, h, 100, 100)
        for i, v in enumerate(range(h + 4, 100, 7)):
            for u in range((i * 17) % 30 - 10, 100, 34):
                p.line(lighter(water, 30), 0.7, u, v, u + 6, v - 1, u + 12, v)
        if "island" in has:
            p.chord(dim((110, 160, 96), light), 8, h - 9, 40, h + 9, 180, 360)
        if setting == "ocean" and options.get("wave") == "yes":
            p.poly(lighter(water, 18), 0, 76, 14, 64, 40, 58, 70, 60, 100, 54, 100, 100, 0, 100)
            crest = (246, 250, 252)
            for i, left in enumerate(range(-4, 104, 6)):
                height = 74.0 - left * 0.2 + (i * 7) % 4
                p.oval(crest, left - 5, height - 3, left + 5, height + 2)
            p.poly(darker(water, 90), 0, 90, 30, 84, 60, 90, 100, 82, 100, 100, 0, 100)
        if setting == "lake":
            p.rect(dim((108, 160, 96), light), 0, h - 2, 100, h + 2)
            if "trees" in has:
                trees(p, light, (6, 20, 36, 70, 84, 96), h + 1, 0.7)
            if "dock" in has:
                p.poly(dim((162, 120, 80), light), 0, 58, 24, 56, 24, 60, 0, 63)
                for u in (4, 13, 21):
                    p.rect(dim((110, 80, 56), light), u, 59, u + 1.6, 68)
        if setting == "beach":
            sand = dim(SAND, light)
            p.rect((240, 246, 248), 0, 57, 100, 60)
            p.rect(darker(sand, 92), 0, 59, 100, 63)
            p.rect(sand, 0, 62, 100, 100)
            for i in range(14):
                p.disc(darker(sand, 88), (i * 37) % 98 + 1, 66 + (i * 23) % 32, 0.5)
            if "palm tree" in has:
                p.line(dim((146, 104, 66), light), 2.4, 8, 72, 10, 50, 15, 30)
                g = dim((64, 144, 82), light)
                for u, v in ((0, 34), (2, 24), (14, 19), (28, 24), (31, 35)):
                    p.poly(g, 15, 28, (u + 15) / 2, (v + 28) / 2 - 4, u, v, (u + 15) / 2,
                           (v + 28) / 2 + 2, 16, 32)  # fmt: skip
            if "rocks" in has:
                rocks(p, light)
            if "seashells" in has:
                for u, v in ((12, 92), (44, 95), (78, 90), (90, 96)):
                    p.slice((250, 206, 190), u - 2, v - 1, u + 2, v + 4, 180, 360)
        return
    ground = {
        "snow": SNOW, "savanna": (214, 196, 120), "forest": (104, 150, 84),
        "baseball field": (110, 172, 84), "tennis court": (72, 140, 116),
        "skate park": (190, 192, 194), "station": (180, 176, 170), "airport": (132, 136, 142),
    }.get(setting, GRASS)  # fmt: skip
    ground = dim(ground, light)
    if "mountains" in has:
        mountains(p, light)
    if "hills" in has:
        for u, w, t in ((20, 36, 12), (70, 44, 16)):
            p.oval(dim((122, 168, 104), light), u - w, h - t, u + w, h + t)
    if setting == "forest":
        p.rect(dim((60, 116, 74), light), 0, 26, 100, h + 4)
        trees(p, light, (4, 17, 31, 46, 60, 75, 88, 99), h + 6, 1.5)
    p.rect(ground, 0, h, 100, 100)
    p.rect(lighter(ground, 16), 0, h, 100, h + 5)
    if setting in ("park", "field", "savanna", "forest"):
        for i in range(22):
            u, v = (i * 43) % 97 + 1, h + 8 + (i * 31) % 44
            p.line(darker(ground, 84), 0.6, u, v, u + 0.8, v - 2, u + 1.6, v)
    if "barn" in has:
        c = dim((178, 52, 46), light)
        p.poly(c, 66, h + 1, 66, 34, 76, 26, 86, 34, 86, h + 1)
        p.poly(dim((84, 78, 80), light), 63, 35, 76, 24, 89, 35, 87, 37, 76, 28, 65, 37)
        p.rect(dim((246, 240, 230), light), 73, 38, 79, h + 1)
    if "trees" in has:
        trees(p, light, (7, 22, 90) if setting != "park" else (6, 22, 74, 93), h + 5,
               1.2 if setting != "tennis court" else 0.9)  # fmt: skip
    if "pine trees" in has:
        pines(p, light, (5, 16, 80, 92), h + 6)
    if "cabin" in has:
        p.rect(dim((140, 96, 62), light), 36, 36, 52, h + 2)
        p.poly((236, 242, 248), 33, 37, 44, 28, 55, 37)
        p.rect((250, 222, 130), 40, 39, 44, 43)
    if "path" in has:
        p.poly(dim((214, 196, 160), light), 46, h + 3, 52, h + 3, 78, 100, 28, 100)
    if "stream" in has:
        p.poly(dim((110, 176, 216), light), 0, 62, 100, 57, 100, 64, 0, 70)
    if "rocks" in has:
        rocks(p, light)
    if "fence" in has:
        fence(p, light, h + 4)
    if "flowers" in has:
        flowers(p, light)
    grounds(p, setting, light, has)


def city(p: Pen, light: str, decor: tuple[str, ...], options: Mapping[str, str]) -> None:
    tint = {"brick": (176, 98, 80), "gray": (158, 164, 172), "tan": (214, 188, 150)}
    wall = dim(tint[options["walls"]], light)
    pane = (250, 226, 140) if light == "night" else (190, 214, 228)
    heights = ((0, 24, 14), (25, 47, 4), (48, 72, 19), (73, 100, 9))
    for i, (a, b, top) in enumerate(heights):
        c = wall if i % 2 else darker(wall, 86)
        p.rect(c, a, top, b, 56)
        for v in range(top + 4, 46, 8):
            for u in range(a + 3, b - 4, 6):
                p.rect(pane if light != "night" or (u * 7 + v * 3) % 4 else darker(c, 70), u, v,
                       u + 3, v + 4)  # fmt: skip
    if "shop" in decor:
        p.rect(dim((70, 84, 96), light), 26, 42, 46, 56)
        p.rect((220, 236, 242) if light != "night" else pane, 28, 46, 38, 56)
        for i, u in enumerate(range(25, 47, 4)):
            p.rect(dim((210, 60, 60) if i % 2 else (246, 244, 238), light), u, 40, u + 4, 45)
    p.rect(dim((196, 194, 188), light), 0, 56, 100, 66)
    p.rect(dim((160, 158, 154), light), 0, 65, 100, 67)
    p.rect(dim((98, 102, 110), light), 0, 67, 100, 100)
    for u in range(2, 100, 18):
        p.rect(dim((240, 226, 150), light), u, 92.4, u + 10, 93.8)
    if "crosswalk" in decor:
        for u in range(58, 98, 8):
            p.poly(dim((236, 236, 232), light), u, 68, u + 4, 68, u + 7, 90, u + 2, 90)
    if "trees" in decor:
        trees(p, light, (8, 62, 92), 58)
    if "street lamp" in decor:
        p.rect((60, 64, 70), 22, 18, 23, 58)
        p.rect((60, 64, 70), 22, 18, 28, 19)
        p.oval((255, 240, 170), 26, 18, 31, 22)
