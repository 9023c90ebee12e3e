"""Vehicles, seen from the side and heading to the right."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import COLOURS, SHADE, Pen, darker, lighter

GLASS = (176, 214, 232)
TYRE = (38, 38, 42)
RIM = (190, 194, 200)


def _colour(a: Mapping[str, str], default: str) -> tuple[int, int, int]:
    return COLOURS[a.get("colour", default)]


def _wheel(p: Pen, u: float, v: float, r: float) -> None:
    p.disc(TYRE, u, v, r)
    p.disc(RIM, u, v, r * 0.5)


def bicycle(p: Pen, a: Mapping[str, str]) -> None:
    """Two thin wheels and a frame."""
    c = _colour(a, "red")
    for u in (19, 81):
        p.ring(TYRE, u, 70, 29, 5)
        p.line(RIM, 1, u - 16, 70, u + 16, 70)
        p.line(RIM, 1, u, 43, u, 97)
    p.line(c, 7, 19, 70, 36, 32, 70, 30, 46, 70, 19, 70)
    p.line(c, 7, 36, 32, 46, 70)
    p.line(c, 6, 81, 70, 68, 12)
    p.line(SHADE, 5, 64, 12, 76, 8)
    p.line(c, 5, 36, 32, 34, 20)
    p.round(SHADE, 26, 14, 43, 22, 6)
    p.disc(RIM, 46, 70, 8)


def motorcycle(p: Pen, a: Mapping[str, str]) -> None:
    """Fat wheels, tank, seat, exhaust."""
    c = _colour(a, "black")
    _wheel(p, 18, 72, 27)
    _wheel(p, 82, 72, 27)
    p.line((150, 154, 160), 8, 82, 72, 68, 14)
    p.poly(SHADE, 26, 56, 62, 50, 66, 82, 34, 86)
    p.disc((166, 170, 176), 48, 68, 14)
    p.line((180, 184, 190), 8, 48, 84, 8, 82)
    p.poly(c, 42, 32, 62, 24, 72, 36, 66, 54, 42, 54)
    p.poly((50, 46, 46), 10, 36, 44, 36, 46, 52, 22, 52)
    p.poly(c, 4, 44, 22, 40, 34, 58, 16, 52)
    p.line(SHADE, 6, 58, 12, 70, 10)
    p.disc((250, 236, 160), 76, 28, 9)


def car(p: Pen, a: Mapping[str, str]) -> None:
    """A saloon."""
    c = _colour(a, "red")
    p.poly(c, 20, 44, 32, 10, 68, 10, 84, 44)
    p.poly(GLASS, 26, 42, 35, 16, 49, 16, 49, 42)
    p.poly(GLASS, 53, 42, 53, 16, 66, 16, 77, 42)
    p.round(c, 1, 40, 99, 80, 20)
    p.rect(darker(c, 82), 3, 66, 97, 76)
    p.round((250, 232, 150), 92, 48, 99, 58, 6)
    p.round((210, 50, 50), 1, 48, 6, 58, 6)
    p.rect(darker(c, 70), 50, 44, 51, 72)
    p.rect(darker(c, 60), 40, 48, 46, 51)
    _wheel(p, 22, 79, 20)
    _wheel(p, 78, 79, 20)


def bus(p: Pen, a: Mapping[str, str]) -> None:
    """A long box with a row of windows."""
    c = _colour(a, "yellow")
    deck = a.get("double") == "yes"
    p.round(c, 1, 2, 99, 90, 10)
    rows = ((8, 32), (46, 66)) if deck else ((14, 46),)
    for top, bottom in rows:
        for u in (5, 18, 31, 44, 57, 70):
            p.round(GLASS, u, top, u + 11, bottom, 3)
        p.round(GLASS, 84, top, 98, bottom + 4, 3)
    p.rect(darker(c, 70), 1, 70, 99, 75)
    p.rect(lighter(c, 55), 71, 50 if not deck else 69, 81, 88)
    p.round((250, 236, 170), 93, 76, 99, 84, 4)
    _wheel(p, 20, 88, 12)
    _wheel(p, 64, 88, 12)


def truck(p: Pen, a: Mapping[str, str]) -> None:
    """A cab before a box."""
    c = _colour(a, "white")
    p.rect(SHADE, 4, 74, 96, 82)
    p.round(lighter(c, 60) if a.get("colour") != "white" else (222, 224, 226), 1, 6, 66, 76, 4)
    p.rect(c, 1, 34, 66, 48)
    p.poly(c, 69, 80, 69, 22, 86, 22, 97, 48, 99, 80)
    p.poly(GLASS, 74, 46, 74, 28, 84, 28, 92, 46)
    p.round((250, 236, 160), 94, 60, 99, 68, 4)
    for u in (17, 33, 83):
        _wheel(p, u, 84, 15)


def train(p: Pen, a: Mapping[str, str]) -> None:
    """An engine with a sloping nose and a carriage, on rails."""
    c = _colour(a, "blue")
    p.rect((120, 110, 104), 0, 94, 100, 97)
    p.round(c, 0, 12, 46, 84, 4)
    p.poly(c, 48, 12, 84, 12, 94, 36, 100, 66, 100, 84, 48, 84)
    p.rect(lighter(c, 65), 0, 54, 46, 62)
    p.rect(lighter(c, 65), 48, 54, 98, 62)
    for u in (3, 14, 25, 36, 51, 61, 71):
        p.round(GLASS, u, 22, u + 8, 46, 3)
    p.poly(GLASS, 82, 22, 87, 22, 93, 42, 82, 42)
    p.disc((252, 238, 160), 96, 72, 5)
    p.rect(SHADE, 0, 82, 100, 87)
    for u in (8, 18, 30, 40, 56, 66, 80, 90):
        p.disc(TYRE, u, 88, 7)
    p.rect(SHADE, 46, 60, 48, 76)


def boat(p: Pen, a: Mapping[str, str]) -> None:
    """A sailing boat, or an open rowing boat where someone sits in it."""
    c = _colour(a, "white")
    if a.get("pose") == "row":
        p.poly(c, 0, 30, 100, 24, 86, 92, 14, 92)
        p.poly(darker(c, 76), 6, 54, 95, 50, 86, 92, 14, 92)
        p.line((120, 84, 50), 9, 0, 30, 100, 24)
        return
    p.line((120, 84, 50), 2.4, 46, 2, 46, 78)
    p.poly((248, 246, 238), 49, 4, 49, 68, 90, 68)
    p.poly((232, 228, 216), 43, 12, 43, 68, 14, 68)
    p.poly(c, 2, 74, 98, 74, 84, 98, 16, 98)
    p.poly(darker(c, 78), 9, 86, 91, 86, 84, 98, 16, 98)


def airplane(p: Pen, a: Mapping[str, str]) -> None:
    """A jet with a coloured tail."""
    c = _colour(a, "blue")
    body = (236, 238, 242) if a.get("colour") != "white" else COLOURS["white"]
    low = a.get("pose") != "fly"
    if low:
        for u in (42, 52, 84):
            p.line(SHADE, 4, u, 66, u, 92)
            p.disc(TYRE, u, 93, 7)
    p.poly(darker(body, 80), 50, 40, 36, 12, 44, 12, 66, 40)
    p.poly(c, 3, 6, 14, 6, 28, 40, 8, 44)
    p.poly(body, 4, 40, 84, 34, 96, 46, 100, 56, 92, 66, 30, 68)
    p.poly(c, 8, 52, 99, 52, 97, 60, 22, 60)
    for u in range(26, 82, 7):
        p.oval((90, 130, 170), u, 42, u + 3, 49)
    p.poly(GLASS, 88, 40, 94, 45, 88, 48)
    p.poly(darker(body, 70), 42, 58, 66, 58, 34, 90, 24, 90)
    p.round((110, 116, 126), 40, 70, 54, 80, 8)
    p.poly(darker(body, 74), 6, 46, 20, 46, 8, 60, 1, 60)
