"""The place behind the objects: sky and ground, or wall and floor, with what belongs there."""

from __future__ import annotations

from collections.abc import Mapping

from PIL import ImageDraw

from metaeval.data.scenes.art.drawings import draw_shapes
from metaeval.data.scenes.art.pen import RGB, Pen, darker, lighter

SKIES: dict[str, tuple[RGB, RGB]] = {
    "sunny": ((112, 184, 240), (196, 228, 250)),
    "cloudy": ((142, 190, 226), (214, 230, 240)),
    "overcast": ((164, 172, 182), (210, 214, 218)),
    "sunset": ((240, 138, 92), (252, 214, 140)),
    "night": ((22, 28, 58), (50, 60, 104)),
}
HORIZON = 46  # the ground begins here, in hundredths of the image
GRASS, SAND, SNOW, WATER = (128, 186, 92), (238, 216, 164), (242, 246, 250), (64, 146, 200)
WALLS: dict[str, RGB] = {
    "white": (236, 234, 228),
    "yellow": (246, 228, 168),
    "blue": (184, 212, 232),
    "green": (196, 220, 190),
    "pink": (244, 210, 212),
    "gray": (206, 208, 212),
    "tan": (230, 212, 182),
}
FLOORS: dict[str, RGB] = {
    "wood": (190, 144, 96),
    "tile": (216, 216, 212),
    "carpet": (172, 156, 150),
}
# What hangs or stands in rooms
ROOM = """
    window:
      rect #fafaf8 8 8 36 36
      rect #9ed0f0 10 10 34 34
      rect #82ba6e 10 28 34 34
      rect #fafaf8 21.4 10 22.6 34 / 10 21.4 34 22.6
    curtains:
      rect #c4565c 4 6 13 42 / 31 6 40 42
      rect #a8424a 8 6 9.4 42 / 35 6 36.4 42
      rect #6e5038 3 5 41 6.6
    picture:
      rect #785436 62 10 84 28
      rect #eee8d6 63.4 11.4 82.6 26.6
      poly #6ea078 63.4 26.6 70 17 76 26.6
      poly #5a82aa 70 26.6 77 15 82.6 26.6
    mirror:
      round #bec4ca 58 8 86 38 3
      round #d6e8f0 59.6 9.6 84.4 36.4 2
      poly #ecf6fa 62 34 76 12 80 12 66 34
    towel:
      rect #969ca2 40 40 54 41
      rect #e06e60 42 40.4 52 58
      rect #fae6dc 42 52 52 54
    shelf:
      rect #8c623e 60 16 94 17.8 / 60 28 94 29.8
      rect #be4642 62 9 64.2 16 / 74 7 76.2 16 / 86 8 88.2 16 / 62 21 64.2 28
      rect #be4642 74 19 76.2 28 / 86 20 88.2 28
      rect #466eaa 65 7 67.2 16 / 77 8 79.2 16 / 89 9 91.2 16 / 65 19 67.2 28
      rect #466eaa 77 20 79.2 28 / 89 21 91.2 28
      rect #deb450 68 8 70.2 16 / 80 9 82.2 16 / 68 20 70.2 28 / 80 21 82.2 28
      rect #5c9268 71 9 73.2 16 / 83 7 85.2 16 / 71 21 73.2 28 / 83 19 85.2 28
    cabinets:
      rect #b08054 42 2 100 24
      rect #be9672 43 3.4 55.6 22.4 / 57.4 3.4 70 22.4 / 71.8 3.4 84.4 22.4 / 86 3.4 98.6 22.4
      rect #46403c 53 17 54.2 21 / 67.4 17 68.6 21 / 81.8 17 83 21 / 96 17 97.2 21
    counter:
      rect #b08054 0 62 100 92
      rect #be9672 2 66 23 89 / 27 66 48 89 / 52 66 73 89 / 77 66 98 89
      rect #46403c 11 68 14 69.2 / 36 68 39 69.2 / 61 68 64 69.2 / 86 68 89 69.2
      rect #e2e2de 0 56 100 62
      rect #bebebc 0 61 100 62.6
    lamp:
      rect #5a5450 95 34 96 70
      poly #fadc8c 91 34 93.4 22 97.6 22 100 34
      rect #5a5450 92 69 99 70.4
    rug:
      oval #aa5454 8 78 92 99
      oval #e2c4a0 15 81 85 96
      oval #be6a64 24 84 76 93
"""


def backdrop(
    canvas: ImageDraw.ImageDraw,
    side: int,
    setting: str,
    light: str,
    decor: tuple[str, ...],
    options: Mapping[str, str],
) -> None:
    """Fill the whole canvas."""
    p = Pen(canvas, 0, 0, side, side)
    if light == "indoors":
        room(p, setting, decor, options)
    else:
        outdoors(p, setting, light, decor, options)


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
                    p.poly(
                        g,
                        15,
                        28,
                        (u + 15) / 2,
                        (v + 28) / 2 - 4,
                        u,
                        v,
                        (u + 15) / 2,
                        (v + 28) / 2 + 2,
                        16,
                        32,
                    )
            if "rocks" in has:
                rocks(p, light)
            if "seashells" in has:
                for u, v in ((12, 92), (44, 95), (78, 90), (90, 96)):
                    p.slice((250, 206, 190), u - 2, v - 1, u + 2, v + 4, 180, 360)
        return
    ground = {
        "snow": SNOW,
        "savanna": (214, 196, 120),
        "forest": (104, 150, 84),
        "baseball field": (110, 172, 84),
        "tennis court": (72, 140, 116),
        "skate park": (190, 192, 194),
        "station": (180, 176, 170),
        "airport": (132, 136, 142),
    }.get(setting, GRASS)
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
        trees(
            p,
            light,
            (7, 22, 90) if setting != "park" else (6, 22, 74, 93),
            h + 5,
            1.2 if setting != "tennis court" else 0.9,
        )
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
                p.rect(
                    pane if light != "night" or (u * 7 + v * 3) % 4 else darker(c, 70),
                    u,
                    v,
                    u + 3,
                    v + 4,
                )
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


def room(p: Pen, setting: str, decor: tuple[str, ...], options: Mapping[str, str]) -> None:
    has = set(decor)
    wall, floor = WALLS[options["walls"]], FLOORS[options["floor"]]
    p.rect(wall, 0, 0, 100, 66)
    if "tiles" in has:
        top = 34 if setting == "bathroom" else 30
        for v in range(top, 66, 6):
            p.rect(darker(wall, 90), 0, v, 100, v + 0.5)
        for u in range(0, 100, 7):
            p.rect(darker(wall, 90), u, top, u + 0.5, 66)
    p.rect(floor, 0, 66, 100, 100)
    if options["floor"] == "wood":
        for v in (72, 79, 87, 95):
            p.rect(darker(floor, 90), 0, v, 100, v + 0.5)
    elif options["floor"] == "tile":
        for v in (71, 78, 88):
            p.rect(darker(floor, 88), 0, v, 100, v + 0.5)
        for u in range(-60, 160, 16):
            p.line(darker(floor, 88), 0.5, 50 + (u - 50) * 0.6, 66, 50 + (u - 50) * 1.5, 100)
    p.rect(lighter(wall, 60), 0, 64, 100, 66.4)
    draw_shapes(p, ROOM, has)


def grounds(p: Pen, setting: str, light: str, has: set[str]) -> None:
    """The lines and buildings of sports grounds, stations and airports."""
    h = HORIZON
    white = dim((244, 244, 240), light)
    if setting == "baseball field":
        p.oval(dim((204, 150, 100), light), -10, 70, 110, 112)
        p.line(white, 0.8, 50, 94, -4, 62)
        p.line(white, 0.8, 50, 94, 104, 62)
        p.poly(white, 46, 92, 54, 92, 54, 95, 50, 97, 46, 95)
        p.rect(dim((40, 92, 70), light), 0, h - 8, 100, h + 2)
        if "crowd fence" in has:
            tints = ((214, 70, 64), (250, 214, 90), (86, 130, 206), (240, 240, 236), (60, 64, 72))
            p.rect(dim((120, 124, 132), light), 0, 24, 100, h - 8)
            for row, v in enumerate((27, 31, 35)):
                for i, u in enumerate(range(2 + row, 100, 4)):
                    p.disc(dim((226, 184, 150), light), u, v - 1, 1)
                    p.rect(dim(tints[(i * 3 + row) % 5], light), u - 1.2, v, u + 1.2, v + 3)
    elif setting == "tennis court":
        if "bleachers" in has:
            for v in (30, 35, 40):
                p.rect(dim((150, 156, 164), light), 0, v, 100, v + 3)
        p.rect(dim((46, 110, 90), light), 0, h, 100, h + 8)
        p.line(white, 0.8, 0, 72, 100, 72)
        p.line(white, 0.8, 14, 58, 2, 100)
        p.line(white, 0.8, 86, 58, 98, 100)
        p.rect(dim((60, 66, 72), light), 0, 50, 100, 58)
        for u in range(0, 100, 4):
            p.line(dim((200, 204, 206), light), 0.25, u, 50, u, 58)
        p.rect(white, 0, 49, 100, 50.4)
    elif setting == "skate park":
        p.rect(dim((160, 162, 166), light), 0, h - 6, 100, h + 3)
        if "graffiti" in has:
            for i, c in enumerate(((226, 84, 96), (80, 160, 214), (246, 202, 78), (126, 190, 98))):
                u = 6 + i * 24
                p.line(dim(c, light), 1.6, u, h, u + 4, h - 4, u + 8, h + 1, u + 13, h - 4)
        if "ramp" in has:
            p.poly(dim((150, 152, 158), light), 58, 66, 100, 48, 100, 70, 58, 70)
            p.poly(dim((128, 130, 136), light), 100, 48, 100, 70, 92, 70)
    elif setting == "station":
        p.rect(dim((118, 108, 100), light), 0, 76, 100, 88)
        for u in range(0, 100, 6):
            p.rect(dim((96, 76, 60), light), u, 79, u + 3, 87)
        for v in (80, 85):
            p.rect(dim((196, 198, 202), light), 0, v, 100, v + 1)
        p.rect(dim((250, 214, 90), light), 0, 88, 100, 89.6)
        p.rect(dim((196, 194, 190), light), 0, 89.6, 100, 100)
        if "platform roof" in has:
            p.rect(dim((92, 104, 116), light), 0, 12, 100, 18)
            for u in (6, 50, 92):
                p.rect(dim((112, 122, 132), light), u, 18, u + 2, 76)
    elif setting == "airport":
        p.rect(dim((128, 178, 100), light), 0, h, 100, h + 10)
        for u in range(2, 100, 20):
            p.rect(white, u, 95, u + 11, 96.6)
        if "control tower" in has:
            p.rect(dim((200, 204, 208), light), 8, 22, 13, h + 2)
            p.poly(dim((86, 120, 150), light), 4, 16, 17, 16, 15, 23, 6, 23)
            p.rect(dim((180, 184, 190), light), 13, 38, 40, h + 2)


def mix(a: RGB, b: RGB, t: int) -> RGB:
    return (
        a[0] + (b[0] - a[0]) * t // 100,
        a[1] + (b[1] - a[1]) * t // 100,
        a[2] + (b[2] - a[2]) * t // 100,
    )


def dim(c: RGB, light: str) -> RGB:
    """The colour of the ground in this light."""
    if light == "night":
        return mix(c, (26, 32, 62), 55)
    if light == "sunset":
        return mix(c, (236, 142, 84), 22)
    return mix(c, (120, 126, 134), 14) if light == "overcast" else c


def sky(p: Pen, light: str, horizon: int) -> None:
    top, low = SKIES[light]
    bands = 8
    for i in range(bands):
        p.rect(
            mix(top, low, 100 * i // (bands - 1)),
            0,
            horizon * i / bands,
            100,
            horizon * (i + 1) / bands,
        )
    if light == "sunny":
        p.disc((255, 226, 92), 86, 12, 6)
    elif light == "sunset":
        p.disc((255, 236, 170), 66, horizon - 8, 7)
    elif light == "night":
        p.disc((246, 240, 206), 84, 11, 5)
        p.disc(top, 82, 9.6, 4.4)
        for u, v in ((8, 9), (22, 17), (33, 6), (47, 13), (58, 5), (68, 19), (94, 24), (14, 26)):
            p.disc((244, 244, 230), u, v, 0.5)
    if light in ("cloudy", "overcast"):
        c = (250, 252, 254) if light == "cloudy" else (184, 190, 198)
        for u, v, k in ((16, 11, 1.0), (52, 8, 1.3), (84, 17, 0.9), (34, 21, 0.8)):
            p.oval(c, u - 12 * k, v, u + 12 * k, v + 6 * k)
            p.oval(c, u - 6 * k, v - 3.4 * k, u + 5 * k, v + 5 * k)


def trees(p: Pen, light: str, at: tuple[int, ...], base: float, size: float = 1.0) -> None:
    leaf, trunk = dim((72, 148, 78), light), dim((120, 82, 52), light)
    for i, u in enumerate(at):
        k = size * (1.0 if i % 2 else 0.84)
        c = leaf if i % 2 else darker(leaf, 90)
        p.rect(trunk, u - 1.2 * k, base - 14 * k, u + 1.2 * k, base)
        p.disc(c, u, base - 20 * k, 9 * k)
        p.disc(c, u - 6 * k, base - 14 * k, 6.5 * k)
        p.disc(c, u + 6 * k, base - 14 * k, 6.5 * k)


def pines(p: Pen, light: str, at: tuple[int, ...], base: float) -> None:
    leaf = dim((44, 104, 78), light)
    for i, u in enumerate(at):
        k = 1.0 if i % 2 else 0.78
        p.rect(dim((104, 74, 50), light), u - 1, base - 4 * k, u + 1, base)
        for v, w in ((3, 8), (10, 6.4), (17, 4.6)):
            p.poly(leaf, u - w * k, base - v * k, u + w * k, base - v * k, u, base - (v + 12) * k)
            p.poly(
                (240, 246, 250),
                u - w * k * 0.34,
                base - (v + 8) * k,
                u + w * k * 0.34,
                base - (v + 8) * k,
                u,
                base - (v + 12) * k,
            )


def mountains(p: Pen, light: str) -> None:
    c = dim((132, 142, 164), light)
    for u, w, h in ((18, 26, 24), (50, 30, 31), (84, 26, 26)):
        p.poly(
            c if u != 50 else darker(c, 92), u - w, HORIZON + 1, u, HORIZON - h, u + w, HORIZON + 1
        )
        p.poly(
            (246, 248, 252),
            u - w * 0.26,
            HORIZON - h * 0.74,
            u,
            HORIZON - h,
            u + w * 0.26,
            HORIZON - h * 0.74,
            u,
            HORIZON - h * 0.66,
        )


def fence(p: Pen, light: str, v: float) -> None:
    c = dim((176, 132, 88), light)
    for rail in (v, v + 4):
        p.rect(c, 0, rail, 100, rail + 1.3)
    for u in range(4, 100, 13):
        p.rect(darker(c, 86), u, v - 3, u + 1.8, v + 8)


def flowers(p: Pen, light: str) -> None:
    tints = ((232, 84, 96), (250, 216, 84), (250, 250, 250), (186, 110, 206))
    for i, u in enumerate(range(4, 100, 8)):
        v = 88 + (i * 37) % 10 if i % 3 else 52 + (i * 29) % 5
        p.disc(dim(tints[i % 4], light), u + (i * 13) % 5, v, 1.1)


def rocks(p: Pen, light: str) -> None:
    c = dim((142, 140, 138), light)
    for u, v, k in ((84, 58, 1.0), (92, 60, 0.7), (76, 60, 0.6)):
        p.poly(
            c if k != 0.7 else darker(c, 86),
            u - 7 * k,
            v + 4 * k,
            u - 4 * k,
            v - 4 * k,
            u + 3 * k,
            v - 5 * k,
            u + 7 * k,
            v + 4 * k,
        )
