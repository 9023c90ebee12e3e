"""Sports gear."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import COLOURS, SHADE, Pen, darker, lighter


def frisbee(p: Pen, a: Mapping[str, str]) -> None:
    """A disc seen at an angle."""
    c = COLOURS[a.get("colour", "red")]
    p.oval(darker(c, 70), 0, 12, 100, 100)
    p.oval(c, 0, 0, 100, 88)
    p.oval(lighter(c, 50), 20, 14, 80, 66)
    p.oval(c, 28, 22, 72, 58)


def skis(p: Pen, a: Mapping[str, str]) -> None:
    """A pair of long boards with turned-up tips."""
    c = COLOURS[a.get("colour", "red")]
    if a.get("pose") == "upright":
        for u in (24, 76):
            p.limb(c, 4, u, 4, u, 98)
            p.line(lighter(c, 60), 1.5, u, 10, u, 40)
        return
    p.limb(darker(c, 74), 16, 2, 58, 86, 58, 98, 20)
    p.limb(c, 16, 6, 86, 88, 86, 99, 44)


def snowboard(p: Pen, a: Mapping[str, str]) -> None:
    """A short wide board."""
    c = COLOURS[a.get("colour", "purple")]
    if a.get("pose") == "upright":
        p.round(c, 8, 0, 92, 100, 48)
        p.rect(lighter(c, 55), 30, 24, 70, 32)
        p.rect(lighter(c, 55), 30, 66, 70, 74)
        return
    p.poly(c, 0, 20, 8, 50, 92, 50, 100, 20, 96, 96, 4, 96)
    p.round(c, 2, 40, 98, 100, 48)
    p.rect(lighter(c, 55), 24, 44, 32, 94)
    p.rect(lighter(c, 55), 68, 44, 76, 94)


def ball(p: Pen, a: Mapping[str, str]) -> None:
    """A soccer ball, a tennis ball or a baseball by `kind`."""
    kind = a.get("kind", "sports ball")
    if kind == "tennis ball":
        p.disc((206, 230, 60), 50, 50, 50)
        p.ring((248, 252, 230), 6, 50, 34, 8)
        return
    p.disc((250, 250, 248), 50, 50, 50)
    if kind == "baseball":
        p.line((206, 60, 60), 7, 26, 16, 36, 50, 26, 84)
        p.line((206, 60, 60), 7, 74, 16, 64, 50, 74, 84)
        return
    p.ring((120, 124, 130), 50, 50, 50, 4)
    p.poly(SHADE, 50, 30, 70, 45, 62, 68, 38, 68, 30, 45)
    for u, v in ((50, 4), (93, 38), (78, 88), (22, 88), (7, 38)):
        p.disc(SHADE, u, v, 9)


def kite(p: Pen, a: Mapping[str, str]) -> None:
    """A diamond with a tail."""
    c = COLOURS[a.get("colour", "red")]
    p.poly(c, 50, 0, 100, 34, 50, 76, 0, 34)
    p.poly(lighter(c, 58), 50, 0, 50, 34, 0, 34)
    p.poly(lighter(c, 58), 50, 76, 50, 34, 100, 34)
    p.line(SHADE, 2, 50, 76, 40, 84, 52, 91, 42, 100)
    for u, v in ((41, 83), (51, 91)):
        p.poly(darker(c, 84), u - 10, v - 4, u, v, u - 10, v + 4)
        p.poly(darker(c, 84), u + 10, v - 4, u, v, u + 10, v + 4)


def bat(p: Pen, a: Mapping[str, str]) -> None:
    """A baseball bat, held at the lower left."""
    c = (206, 158, 98) if a.get("colour", "brown") == "brown" else COLOURS[a["colour"]]
    p.limb(darker(c, 80), 7, 6, 96, 40, 58)
    p.limb(c, 13, 46, 52, 88, 12)
    p.disc(SHADE, 6, 96, 5)


def glove(p: Pen, a: Mapping[str, str]) -> None:
    """A baseball glove, palm to the viewer."""
    c = (150, 92, 48)
    for u, v in ((22, 22), (38, 12), (54, 12), (70, 20)):
        p.limb(c, 18, u, v, 48, 60)
    p.limb(darker(c, 84), 18, 88, 50, 60, 78)
    p.oval(c, 14, 36, 84, 100)
    p.oval(darker(c, 74), 32, 50, 70, 86)


def skateboard(p: Pen, a: Mapping[str, str]) -> None:
    """A deck with turned-up ends on four wheels."""
    c = COLOURS[a.get("colour", "red")]
    p.limb(c, 24, 2, 22, 14, 40, 86, 40, 98, 22)
    for u in (24, 76):
        p.rect(SHADE, u - 3, 48, u + 3, 66)
        p.disc((240, 236, 220), u, 78, 21)
        p.disc(SHADE, u, 78, 9)


def surfboard(p: Pen, a: Mapping[str, str]) -> None:
    """A pointed board, flat on the water or upright."""
    c = COLOURS[a.get("colour", "yellow")]
    stripe = lighter(c, 65) if a.get("colour") != "white" else (80, 140, 200)
    if a.get("pose") == "upright":
        p.oval(c, 4, 0, 96, 90)
        p.poly(c, 6, 38, 94, 38, 80, 100, 20, 100)
        p.rect(stripe, 43, 6, 57, 98)
        return
    p.poly(c, 0, 46, 22, 22, 74, 22, 100, 40, 76, 80, 22, 84)
    p.line(stripe, 14, 4, 50, 94, 46)
    p.poly(darker(c, 60), 8, 62, 16, 100, 22, 70)


def racket(p: Pen, a: Mapping[str, str]) -> None:
    """A tennis racket, held at the lower left."""
    c = COLOURS[a.get("colour", "red")]
    p.limb(SHADE, 9, 6, 94, 26, 74)
    p.line(c, 6, 26, 74, 42, 58)
    p.ring(c, 64, 34, 33, 6)
    for t in (-16, 0, 16):
        p.line((236, 236, 226), 1.5, 64 + t, 8, 64 + t, 60)
        p.line((236, 236, 226), 1.5, 40, 34 + t, 88, 34 + t)
