"""Walls, floors and what hangs or stands there."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import RGB, Pen, darker, lighter

WALLS: dict[str, RGB] = {
    "white": (236, 234, 228), "yellow": (246, 228, 168), "blue": (184, 212, 232),
    "green": (196, 220, 190), "pink": (244, 210, 212), "gray": (206, 208, 212),
    "tan": (230, 212, 182),
}  # fmt: skip
FLOORS: dict[str, RGB] = {
    "wood": (190, 144, 96), "tile": (216, 216, 212), "carpet": (172, 156, 150),
}  # fmt: skip


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
    if "window" in has:
        p.rect((250, 250, 248), 8, 8, 36, 36)
        p.rect((158, 208, 240), 10, 10, 34, 34)
        p.rect((130, 186, 110), 10, 28, 34, 34)
        p.rect((250, 250, 248), 21.4, 10, 22.6, 34)
        p.rect((250, 250, 248), 10, 21.4, 34, 22.6)
        if "curtains" in has:
            for a, b in ((4, 13), (31, 40)):
                p.rect((196, 86, 92), a, 6, b, 42)
                p.rect((168, 66, 74), a + 4, 6, a + 5.4, 42)
            p.rect((110, 80, 56), 3, 5, 41, 6.6)
    if "picture" in has:
        p.rect((120, 84, 54), 62, 10, 84, 28)
        p.rect((238, 232, 214), 63.4, 11.4, 82.6, 26.6)
        p.poly((110, 160, 120), 63.4, 26.6, 70, 17, 76, 26.6)
        p.poly((90, 130, 170), 70, 26.6, 77, 15, 82.6, 26.6)
    if "mirror" in has:
        p.round((190, 196, 202), 58, 8, 86, 38, 3)
        p.round((214, 232, 240), 59.6, 9.6, 84.4, 36.4, 2)
        p.poly((236, 246, 250), 62, 34, 76, 12, 80, 12, 66, 34)
    if "towel" in has:
        p.rect((150, 156, 162), 40, 40, 54, 41)
        p.rect((224, 110, 96), 42, 40.4, 52, 58)
        p.rect((250, 230, 220), 42, 52, 52, 54)
    if "shelf" in has:
        for v in (16, 28):
            p.rect((140, 98, 62), 60, v, 94, v + 1.8)
            for i, u in enumerate(range(62, 90, 3)):
                tint = ((190, 70, 66), (70, 110, 170), (222, 180, 80), (92, 146, 104))[i % 4]
                p.rect(tint, u, v - 7 - (i * 5) % 3, u + 2.2, v)
    if "cabinets" in has:
        c = (176, 128, 84)
        p.rect(c, 42, 2, 100, 24)
        for door in (43, 57.4, 71.8, 86):
            p.rect(lighter(c, 18), door, 3.4, door + 12.6, 22.4)
            p.rect((70, 64, 60), door + 10, 17, door + 11.2, 21)
    if "counter" in has:
        c = (176, 128, 84)
        p.rect(c, 0, 62, 100, 92)
        for u in (2, 27, 52, 77):
            p.rect(lighter(c, 18), u, 66, u + 21, 89)
            p.rect((70, 64, 60), u + 9, 68, u + 12, 69.2)
        p.rect((226, 226, 222), 0, 56, 100, 62)
        p.rect((190, 190, 188), 0, 61, 100, 62.6)
    if "lamp" in has:
        p.rect((90, 84, 80), 95, 34, 96, 70)
        p.poly((250, 220, 140), 91, 34, 93.4, 22, 97.6, 22, 100, 34)
        p.rect((90, 84, 80), 92, 69, 99, 70.4)
    if "rug" in has:
        p.oval((170, 84, 84), 8, 78, 92, 99)
        p.oval((226, 196, 160), 15, 81, 85, 96)
        p.oval((190, 106, 100), 24, 84, 76, 93)
