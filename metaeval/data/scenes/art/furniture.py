"""Furniture, appliances and small things of the house."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import COLOURS, RGB, SHADE, Pen, darker, lighter


def _c(a: Mapping[str, str], default: str) -> RGB:
    if a.get("material") == "metal":
        return (166, 172, 180)
    return COLOURS[a.get("colour", default)]


def chair(p: Pen, a: Mapping[str, str]) -> None:
    """A chair half turned to the right."""
    c = _c(a, "brown")
    d = darker(c, 76)
    p.rect(d, 14, 58, 22, 99)
    p.rect(d, 78, 60, 86, 99)
    p.rect(darker(d, 80), 30, 58, 36, 90)
    p.rect(darker(d, 80), 64, 58, 70, 90)
    p.round(c, 12, 0, 34, 56, 8)
    p.rect(lighter(c, 20), 17, 8, 29, 44)
    p.poly(lighter(c, 14), 14, 50, 84, 50, 90, 60, 14, 60)
    p.rect(d, 14, 60, 90, 65)


def couch(p: Pen, a: Mapping[str, str]) -> None:
    """Two cushions between round arms."""
    c = _c(a, "red")
    d = darker(c, 80)
    for u in (12, 88):
        p.rect((72, 52, 40), u - 2, 90, u + 2, 100)
    p.round(d, 6, 4, 94, 80, 16)
    p.round(c, 12, 12, 49, 56, 10)
    p.round(c, 51, 12, 88, 56, 10)
    p.round(lighter(c, 16), 10, 52, 50, 72, 8)
    p.round(lighter(c, 16), 50, 52, 90, 72, 8)
    p.rect(d, 10, 70, 90, 93)
    p.round(darker(c, 90), 0, 34, 14, 94, 14)
    p.round(darker(c, 90), 86, 34, 100, 94, 14)


def potted_plant(p: Pen, a: Mapping[str, str]) -> None:
    """Leaves above a clay pot."""
    g = (66, 146, 74)
    for u, v in ((8, 34), (24, 12), (50, 2), (76, 12), (92, 34)):
        p.poly(
            darker(g, 84) if u in (24, 76) else g,
            46,
            66,
            (u + 42) / 2 - 6,
            (v + 60) / 2 - 8,
            u,
            v,
            (u + 58) / 2 + 6,
            (v + 60) / 2 + 2,
            54,
            66,
        )
    c = (190, 100, 62)
    p.poly(c, 24, 66, 76, 66, 68, 99, 32, 99)
    p.rect(darker(c, 84), 20, 62, 80, 71)


def bed(p: Pen, a: Mapping[str, str]) -> None:
    """Seen from the side: headboard left, pillow, blanket."""
    c = _c(a, "blue")
    wood = (140, 92, 56)
    p.round(wood, 0, 4, 6, 100, 10)
    p.round(wood, 95, 44, 100, 100, 10)
    p.rect(darker(wood, 80), 3, 76, 98, 88)
    p.round((244, 244, 246), 4, 46, 97, 78, 8)
    p.round((255, 255, 255), 6, 34, 26, 54, 14)
    p.round((226, 228, 234), 8, 48, 26, 54, 6)
    p.poly(c, 30, 46, 96, 46, 97, 86, 30, 86)
    p.rect(lighter(c, 45), 30, 46, 37, 86)


def table(p: Pen, a: Mapping[str, str]) -> None:
    """A table top seen a little from above; things stand on its upper surface."""
    glass = a.get("material") == "glass"
    c = (186, 216, 224) if glass else _c(a, "brown")
    leg = (120, 128, 134) if glass else darker(c, 66)
    p.rect(leg, 6, 40, 10, 100)
    p.rect(leg, 90, 40, 94, 100)
    if a.get("kind") == "desk":
        p.rect(darker(c, 80), 66, 44, 92, 88)
        for v in (48, 62, 76):
            p.rect(c, 68, v, 90, v + 10)
            p.rect(SHADE, 77, v + 4, 81, v + 6)
    p.poly(c, 9, 0, 91, 0, 100, 38, 0, 38)
    p.rect(darker(c, 80), 0, 38, 100, 45)
    if a.get("material") == "wooden":
        for v in (9, 19, 29):
            p.line(darker(c, 86), 1.4, 9 - v * 0.2, v, 91 + v * 0.2, v)
    if glass:
        p.poly((222, 240, 244), 22, 4, 34, 4, 22, 34, 8, 34)


def toilet(p: Pen, a: Mapping[str, str]) -> None:
    """Tank and bowl, half turned to the right."""
    c = (248, 248, 250)
    d = (206, 210, 218)
    p.round(c, 4, 6, 42, 56, 8)
    p.round(d, 0, 0, 46, 10, 6)
    p.rect((160, 166, 174), 32, 16, 40, 20)
    p.poly(c, 16, 54, 94, 54, 84, 78, 66, 86, 66, 99, 24, 99, 24, 60)
    p.poly(d, 24, 84, 66, 86, 66, 99, 24, 99)
    p.oval(d, 28, 44, 98, 64)
    p.oval((120, 170, 196), 38, 49, 88, 60)


def tv(p: Pen, a: Mapping[str, str]) -> None:
    """A flat screen on a foot, showing a picture."""
    p.rect((70, 74, 80), 44, 84, 56, 96)
    p.round((60, 64, 70), 26, 93, 74, 100, 8)
    p.round((30, 32, 38), 0, 0, 100, 86, 5)
    if a.get("pose") == "off":
        p.rect((22, 26, 34), 4, 5, 96, 80)
        p.poly((48, 56, 68), 60, 5, 80, 5, 50, 80, 30, 80)
        return
    p.rect((104, 176, 226), 4, 5, 96, 80)
    p.poly((88, 164, 92), 4, 58, 34, 40, 60, 56, 96, 42, 96, 80, 4, 80)
    p.disc((252, 226, 110), 76, 22, 10)


def laptop(p: Pen, a: Mapping[str, str]) -> None:
    """Open, the screen upright."""
    c = _c(a, "gray")
    p.round(darker(c, 60), 14, 0, 86, 66, 6)
    p.rect((122, 178, 224), 18, 5, 82, 60)
    p.rect((238, 242, 246), 26, 14, 60, 46)
    p.line((150, 160, 170), 3, 30, 24, 54, 24)
    p.line((150, 160, 170), 3, 30, 34, 50, 34)
    p.poly(c, 12, 66, 88, 66, 100, 96, 0, 96)
    p.poly(darker(c, 62), 16, 70, 84, 70, 88, 82, 12, 82)
    p.rect(darker(c, 80), 40, 86, 60, 92)


def mouse(p: Pen, a: Mapping[str, str]) -> None:
    """A computer mouse from above, its cable running off."""
    c = COLOURS[a.get("colour", "black")]
    p.line((90, 94, 100), 8, 86, 46, 98, 20)
    p.oval(c, 4, 14, 88, 96)
    p.line(lighter(c, 40), 7, 46, 16, 46, 48)
    p.line(lighter(c, 40), 5, 8, 50, 84, 50)


def remote(p: Pen, a: Mapping[str, str]) -> None:
    """A slim box with buttons."""
    c = COLOURS[a.get("colour", "black")]
    p.round(c, 0, 0, 100, 100, 30)
    dots = (230, 230, 236) if a.get("colour", "black") != "white" else (90, 94, 104)
    p.disc((230, 60, 60), 12, 50, 22)
    for u in (34, 50, 66, 82):
        p.disc(dots, u, 30, 13)
        p.disc(dots, u, 72, 13)


def keyboard(p: Pen, a: Mapping[str, str]) -> None:
    """Rows of keys."""
    c = COLOURS[a.get("colour", "black")]
    key = (196, 200, 208) if a.get("colour", "black") != "white" else (130, 136, 146)
    p.poly(c, 5, 0, 95, 0, 100, 100, 0, 100)
    for v in (12, 40):
        for u in range(9, 88, 9):
            p.rect(key, u, v, u + 6, v + 18)
    p.rect(key, 12, 68, 20, 86)
    p.rect(key, 26, 68, 74, 86)
    p.rect(key, 80, 68, 90, 86)


def cell_phone(p: Pen, a: Mapping[str, str]) -> None:
    """A smartphone with a lit screen."""
    c = COLOURS[a.get("colour", "black")]
    p.round(c, 0, 0, 100, 100, 20)
    p.rect((140, 206, 240), 10, 10, 90, 84)
    for u, v in ((20, 18), (56, 18), (20, 42), (56, 42)):
        p.rect((250, 250, 250), u, v, u + 24, v + 14)
    p.disc((230, 230, 230), 50, 92, 4)


def microwave(p: Pen, a: Mapping[str, str]) -> None:
    """A box with a dark window and a keypad."""
    c = _c(a, "white")
    p.round(c, 0, 2, 100, 96, 6)
    p.rect(darker(c, 76), 3, 94, 97, 100)
    p.round((52, 58, 66), 6, 14, 68, 84, 6)
    p.rect((96, 106, 116), 14, 26, 60, 72)
    p.rect((90, 220, 140), 75, 14, 95, 28)
    for v in (38, 54, 70):
        for u in (76, 83, 90):
            p.rect((120, 126, 134), u, v, u + 4, v + 8)


def oven(p: Pen, a: Mapping[str, str]) -> None:
    """A stove with four rings, knobs and an oven door."""
    c = _c(a, "white")
    p.round(c, 0, 8, 100, 100, 4)
    p.poly((60, 64, 70), 4, 0, 96, 0, 100, 12, 0, 12)
    for u in (16, 38, 60, 82):
        p.oval((206, 80, 50), u - 7, 2, u + 7, 10)
    for u in (14, 32, 50, 68, 86):
        p.disc((50, 54, 60), u, 22, 4.5)
    p.rect((120, 126, 134), 10, 33, 90, 37)
    p.round((46, 50, 58), 10, 42, 90, 84, 4)
    p.rect((236, 150, 66), 18, 52, 82, 76)
    p.rect(darker(c, 80), 0, 90, 100, 92)


def toaster(p: Pen, a: Mapping[str, str]) -> None:
    """Two slices of toast sticking out of a rounded box."""
    c = _c(a, "gray")
    for u in (18, 54):
        p.round((206, 146, 76), u, 0, u + 28, 50, 10)
        p.round((238, 190, 120), u + 4, 6, u + 24, 50, 8)
    p.round(c, 2, 30, 98, 96, 20)
    p.rect(darker(c, 60), 10, 30, 90, 38)
    p.rect(SHADE, 92, 46, 100, 58)
    p.rect(darker(c, 84), 8, 76, 92, 82)


def sink(p: Pen, a: Mapping[str, str]) -> None:
    """A basin on a pedestal with a tap."""
    c = (246, 248, 250)
    d = (204, 210, 218)
    p.line((150, 158, 168), 6, 50, 30, 50, 6, 66, 6, 66, 16)
    p.disc((150, 158, 168), 38, 28, 5)
    p.poly(d, 40, 56, 60, 56, 66, 99, 34, 99)
    p.chord(c, 4, -2, 96, 70, 0, 180)
    p.oval(c, 0, 24, 100, 44)
    p.oval(d, 8, 27, 92, 41)
    p.oval((150, 200, 222), 16, 30, 84, 40)


def refrigerator(p: Pen, a: Mapping[str, str]) -> None:
    """Two doors with long handles."""
    c = _c(a, "white")
    p.round(c, 2, 0, 98, 98, 8)
    p.rect(darker(c, 70), 2, 33, 98, 35)
    p.rect(darker(c, 84), 88, 2, 97, 96)
    p.round((96, 102, 110), 10, 12, 17, 29, 4)
    p.round((96, 102, 110), 10, 40, 17, 66, 4)
    p.rect(SHADE, 10, 97, 24, 100)
    p.rect(SHADE, 76, 97, 90, 100)


def book(p: Pen, a: Mapping[str, str]) -> None:
    """Closed and lying, or open in someone's hands."""
    c = COLOURS[a.get("colour", "red")]
    if a.get("pose") == "open":
        p.poly(darker(c, 80), 0, 12, 50, 22, 100, 12, 100, 94, 50, 100, 0, 94)
        p.poly((252, 250, 240), 4, 6, 49, 18, 49, 92, 4, 84)
        p.poly((240, 236, 224), 96, 6, 51, 18, 51, 92, 96, 84)
        for v in (30, 46, 62):
            p.line((150, 150, 150), 3, 12, v - 4, 42, v + 3)
            p.line((150, 150, 150), 3, 58, v + 3, 88, v - 4)
        return
    p.round(c, 0, 0, 100, 100, 10)
    p.rect((250, 246, 232), 4, 66, 98, 88)
    p.rect(darker(c, 76), 0, 86, 100, 100)
    p.rect(lighter(c, 60), 24, 18, 76, 40)


def clock(p: Pen, a: Mapping[str, str]) -> None:
    """A round face with two hands; pole clocks stand on a post."""
    c = COLOURS[a.get("colour", "black")]
    v, r = 50.0, 48.0
    if a.get("pose") == "pole":
        p.rect((66, 70, 76), 44, 24, 56, 100)
        v, r = 16.0, 15.0
    p.disc(c, 50, v, r)
    p.disc((252, 250, 242), 50, v, r * 0.82)
    k = r / abs(p.w) * p.h if p.w else r
    for du, dv in ((0, -1), (1, 0), (0, 1), (-1, 0)):
        p.disc(SHADE, 50 + du * k * 0.66, v + dv * r * 0.66, r * 0.08)
    p.line(SHADE, r * 0.11, 50, v, 50, v - r * 0.56)
    p.line(SHADE, r * 0.11, 50, v, 50 + k * 0.4, v + r * 0.2)


def vase(p: Pen, a: Mapping[str, str]) -> None:
    """A vase with three flowers."""
    c = COLOURS[a.get("colour", "blue")]
    for u, v, f in ((22, 14, "pink"), (50, 8, "yellow"), (78, 16, "red")):
        p.line((70, 146, 74), 3, 50, 52, u, v)
        p.disc(COLOURS[f], u, v, 9)
        p.disc((250, 236, 150), u, v, 3.6)
    p.oval(c, 16, 54, 84, 100)
    p.poly(c, 32, 46, 68, 46, 62, 66, 38, 66)
    p.rect(darker(c, 76), 26, 44, 74, 49)
    p.oval(lighter(c, 45), 28, 64, 40, 84)


def scissors(p: Pen, a: Mapping[str, str]) -> None:
    """Open blades, coloured handles."""
    c = COLOURS[a.get("colour", "red")]
    p.line((176, 182, 192), 14, 34, 62, 98, 10)
    p.line((176, 182, 192), 14, 34, 38, 98, 90)
    p.ring(c, 18, 76, 22, 11)
    p.ring(c, 18, 24, 22, 11)
    p.disc(SHADE, 50, 50, 7)


def toothbrush(p: Pen, a: Mapping[str, str]) -> None:
    """Standing, bristles up."""
    c = COLOURS[a.get("colour", "blue")]
    p.limb(c, 5, 40, 6, 40, 97)
    p.rect((250, 252, 255), 52, 2, 96, 22)
    p.rect(lighter(c, 50), 52, 8, 96, 12)


def hair_drier(p: Pen, a: Mapping[str, str]) -> None:
    """A barrel with a nozzle and a handle."""
    c = COLOURS[a.get("colour", "pink")]
    p.poly(darker(c, 80), 20, 44, 46, 44, 42, 100, 26, 100)
    p.oval(c, 4, 2, 60, 60)
    p.poly(c, 32, 6, 84, 16, 84, 46, 32, 58)
    p.rect(SHADE, 84, 12, 99, 50)
    p.disc(darker(c, 66), 32, 31, 15)
