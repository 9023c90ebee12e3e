"""Things that stand on pavements, and things people carry."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import COLOURS, SHADE, Pen, darker, lighter

POLE = (112, 118, 126)


def traffic_light(p: Pen, a: Mapping[str, str]) -> None:
    """Three lamps on a pole; `colour` is the lamp that shines."""
    lit = a.get("colour", "red")
    p.rect(POLE, 44, 44, 56, 100)
    p.round((40, 44, 46), 16, 0, 84, 50, 14)
    lamps = {"red": (255, 56, 48), "yellow": (255, 208, 60), "green": (70, 226, 100)}
    for v, name in ((9, "red"), (25, "yellow"), (41, "green")):
        p.disc(lamps[name] if name == lit else darker(lamps[name], 30), 50, v, 6.4)


def fire_hydrant(p: Pen, a: Mapping[str, str]) -> None:
    """A stout post with a dome and two caps."""
    c = COLOURS[a.get("colour", "red")]
    d = darker(c, 74)
    p.round(d, 12, 90, 88, 100, 6)
    p.rect(c, 26, 28, 74, 92)
    p.rect(lighter(c, 25), 34, 30, 42, 90)
    p.slice(c, 24, 8, 76, 52, 180, 360)
    p.round(d, 18, 28, 82, 35, 5)
    p.round(d, 43, 0, 57, 12, 5)
    p.round(d, 2, 46, 30, 64, 10)
    p.round(d, 70, 46, 98, 64, 10)
    p.disc(d, 50, 56, 11)
    p.disc(lighter(c, 40), 50, 56, 5)


def stop_sign(p: Pen, a: Mapping[str, str]) -> None:
    """A red octagon with white letters on a pole."""
    p.rect(POLE, 46, 36, 54, 100)
    c, white = (206, 32, 38), (250, 250, 250)
    p.poly(white, 30, 0, 70, 0, 100, 12, 100, 28, 70, 40, 30, 40, 0, 28, 0, 12)
    p.poly(c, 32, 2, 68, 2, 95, 13, 95, 27, 68, 38, 32, 38, 5, 27, 5, 13)
    t = 1.9
    p.line(white, t, 24, 15, 13, 15, 13, 20, 24, 20, 24, 25, 12, 25)
    p.line(white, t, 28, 15, 46, 15)
    p.line(white, t, 37, 15, 37, 26)
    p.line(white, t, 51, 15, 64, 15, 64, 25, 51, 25, 51, 14)
    p.line(white, t, 70, 26, 70, 15, 84, 15, 84, 20, 70, 20)


def parking_meter(p: Pen, a: Mapping[str, str]) -> None:
    """A rounded head with a display on a pole."""
    c = COLOURS[a.get("colour", "gray")]
    p.rect(POLE, 40, 40, 60, 100)
    p.rect(darker(POLE), 30, 97, 70, 100)
    p.round(c, 6, 12, 94, 48, 20)
    p.chord(c, 6, 0, 94, 32, 180, 360)
    p.round((214, 232, 210), 22, 8, 78, 20, 8)
    p.line((200, 40, 40), 1.6, 50, 19, 66, 11)
    p.rect(SHADE, 44, 26, 56, 30)
    p.disc(lighter(c, 50), 50, 38, 4)


def bench(p: Pen, a: Mapping[str, str]) -> None:
    """Slats on two iron legs."""
    metal = a.get("material") == "metal"
    c = COLOURS[a.get("colour", "brown")] if not metal else (150, 156, 164)
    for u in (10, 90):
        p.rect(SHADE, u - 2, 8, u + 2, 98)
        p.rect(SHADE, u - 6, 95, u + 6, 99)
    for v in (6, 22, 38):
        p.round(c, 1, v, 99, v + 11, 4)
        if not metal:
            p.line(darker(c, 80), 1.6, 8, v + 5, 56, v + 5)
    p.round(lighter(c, 12), 0, 56, 100, 68, 4)
    p.rect(darker(c, 70), 1, 67, 99, 73)


def backpack(p: Pen, a: Mapping[str, str]) -> None:
    """A rounded bag with a pocket and straps."""
    c = COLOURS[a.get("colour", "blue")]
    p.ring(SHADE, 50, 10, 10, 4)
    p.round(c, 8, 8, 92, 98, 30)
    p.round(darker(c, 80), 18, 52, 82, 92, 14)
    p.line(lighter(c, 60), 3, 24, 62, 76, 62)
    p.line(darker(c, 60), 4, 14, 36, 86, 36)
    p.rect((230, 220, 150), 46, 32, 54, 44)


def umbrella(p: Pen, a: Mapping[str, str]) -> None:
    """An open canopy on a stick; the hand is at the bottom centre."""
    c = COLOURS[a.get("colour", "red")]
    stripe = lighter(c, 62) if a.get("colour") != "white" else (206, 210, 220)
    p.line(SHADE, 2.4, 50, 4, 50, 100)
    p.slice(c, 0, 4, 100, 88, 180, 360)
    p.slice(stripe, 30, 4, 70, 88, 180, 360)
    p.slice(c, 43, 4, 57, 88, 180, 360)
    p.line(SHADE, 3, 50, 0, 50, 6)


def handbag(p: Pen, a: Mapping[str, str]) -> None:
    """A bag with one big handle."""
    c = COLOURS[a.get("colour", "brown")]
    p.ring(darker(c, 66), 50, 34, 28, 7)
    p.poly(c, 12, 36, 88, 36, 100, 98, 0, 98)
    p.poly(darker(c, 82), 12, 36, 88, 36, 92, 58, 8, 58)
    p.rect((236, 206, 96), 44, 52, 56, 64)


def tie(p: Pen, a: Mapping[str, str]) -> None:
    """Lying or hanging on its own; a worn tie is drawn with its wearer."""
    c = COLOURS[a.get("colour", "red")]
    p.poly(c, 30, 0, 70, 0, 62, 16, 38, 16)
    p.poly(c, 40, 16, 60, 16, 84, 82, 50, 100, 16, 82)
    for v in (34, 52, 70):
        p.line(lighter(c, 50), 4, 32, v + 8, 66, v)


def suitcase(p: Pen, a: Mapping[str, str]) -> None:
    """Upright on wheels, or lying open."""
    c = COLOURS[a.get("colour", "blue")]
    if a.get("pose") == "open":
        p.poly(darker(c, 80), 6, 2, 94, 2, 100, 56, 0, 56)
        p.poly((226, 206, 176), 12, 8, 88, 8, 93, 54, 7, 54)
        p.round(c, 0, 52, 100, 100, 10)
        p.rect(darker(c, 70), 0, 54, 100, 62)
        p.round((210, 206, 196), 40, 70, 60, 78, 4)
        return
    p.line(POLE, 4, 30, 26, 30, 2, 70, 2, 70, 26)
    p.round(c, 4, 24, 96, 94, 14)
    for u in (24, 50, 76):
        p.rect(darker(c, 78), u - 3, 30, u + 3, 88)
    p.round(SHADE, 38, 20, 62, 27, 4)
    for u in (18, 82):
        p.disc(SHADE, u, 96, 4)
