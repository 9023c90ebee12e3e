"""Animals, seen from the side and looking to the right."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import COLOURS, RGB, Pen, darker, lighter

EYE = (28, 24, 24)
PINK = (232, 160, 160)


def _coat(a: Mapping[str, str]) -> RGB:
    return COLOURS[a.get("colour", "brown")]


def _legs(p: Pen, c: RGB, thick: float, top: float, *at: float, hoof: RGB | None = None) -> None:
    """Four legs: the outer two of each pair further away, so darker."""
    for i, u in enumerate(at):
        colour = darker(c, 80) if i % 2 else c
        p.limb(colour, thick, u, top, u, 96)
        if hoof is not None:
            p.limb(hoof, thick, u, 95, u, 97)


def horse(p: Pen, a: Mapping[str, str]) -> None:
    """Long head, mane and tail."""
    c = _coat(a)
    mane = darker(c, 55) if a.get("colour") != "black" else (84, 78, 76)
    p.limb(mane, 6, 10, 42, 4, 56, 5, 76)
    _legs(p, c, 7, 58, 18, 28, 62, 72, hoof=(50, 42, 40))
    p.oval(c, 8, 34, 78, 70)
    p.poly(c, 58, 44, 76, 8, 88, 14, 78, 58)
    p.limb(mane, 5, 60, 36, 72, 10)
    p.poly(c, 74, 8, 84, 6, 100, 26, 97, 33, 90, 33, 78, 24)
    p.poly(darker(c, 80), 74, 10, 75, 0, 80, 8)
    p.disc(EYE, 83, 15, 1.8)
    p.disc(darker(c, 60), 96, 28, 1.4)


def zebra(p: Pen, a: Mapping[str, str]) -> None:
    """A horse's build, striped."""
    c, s = (244, 244, 240), (40, 38, 42)
    p.limb(s, 3, 10, 42, 4, 56, 5, 70)
    _legs(p, c, 7, 58, 18, 28, 62, 72, hoof=s)
    for u in (18, 28, 62, 72):
        for v in (68, 76, 84):
            p.line(s, 3, u - 3, v, u + 3, v)
    p.oval(c, 8, 34, 78, 70)
    for u in (18, 26, 34, 42, 50, 58, 66):
        lean = (u - 42) * 0.12
        p.line(s, 4, u, 38, u + lean, 66)
    p.poly(c, 58, 44, 76, 8, 88, 14, 78, 58)
    p.limb(s, 4, 60, 36, 73, 8)
    for v in (16, 25, 34, 43):
        p.line(s, 3, 72 - (v - 8) * 0.35, v, 84 - (v - 8) * 0.12, v + 5)
    p.poly(c, 74, 8, 84, 6, 100, 26, 97, 33, 90, 33, 78, 24)
    p.poly(s, 92, 33, 100, 26, 97, 34)
    p.line(s, 2.5, 80, 8, 84, 20)
    p.line(s, 2.5, 86, 10, 88, 24)
    p.poly(s, 74, 10, 75, 0, 80, 8)
    p.disc(EYE, 82, 15, 1.8)


def dog(p: Pen, a: Mapping[str, str]) -> None:
    """Floppy ears, tail up; sitting, lying or standing."""
    c = _coat(a)
    d = darker(c, 66) if a.get("colour") != "black" else (90, 84, 82)
    if a.get("colour") == "white":
        d = (176, 150, 120)
    pose = a.get("pose", "stand")
    if pose == "lie":
        p.limb(c, 9, 8, 78, 0, 60)
        p.oval(c, 4, 42, 76, 98)
        p.limb(c, 13, 60, 90, 94, 91)
        p.limb(darker(c, 84), 12, 16, 91, 38, 92)
        hx, hy = 66, 10
    elif pose == "sit":
        p.limb(c, 7, 18, 88, 4, 74)
        p.oval(c, 8, 48, 62, 100)
        p.poly(c, 18, 70, 40, 24, 74, 32, 68, 80)
        p.limb(darker(c, 84), 9, 54, 60, 56, 95)
        p.limb(c, 9, 64, 60, 66, 95)
        hx, hy = 46, 0
    else:
        p.limb(c, 7, 12, 46, 2, 22)
        _legs(p, c, 10, 62, 16, 26, 58, 68)
        p.oval(c, 8, 36, 78, 72)
        hx, hy = 58, 8
    if pose == "stand":
        p.poly(c, 56, 42, 66, 16, 84, 36, 76, 62)
    p.oval(c, hx, hy, hx + 28, hy + 36)
    p.round(lighter(c, 22), hx + 18, hy + 16, hx + 40, hy + 32, 8)
    p.disc(EYE, hx + 38, hy + 19, 4)
    p.disc(EYE, hx + 18, hy + 13, 2.6)
    p.poly(d, hx + 2, hy + 4, hx + 12, hy + 2, hx + 12, hy + 30, hx + 4, hy + 36)
    p.line((200, 50, 50), 4, hx + 2, hy + 36, hx + 20, hy + 38)


def cat(p: Pen, a: Mapping[str, str]) -> None:
    """Pointed ears, whiskers, a long tail; sitting, lying or standing."""
    c = _coat(a)
    d = darker(c, 74) if a.get("colour") != "black" else (86, 82, 88)
    pose = a.get("pose", "stand")
    if pose == "lie":
        p.limb(d, 8, 6, 84, 20, 96, 44, 96)
        p.oval(c, 2, 40, 82, 100)
        for u in (22, 32, 42):
            p.line(d, 4, u, 43, u + 3, 60)
        p.limb(c, 10, 62, 92, 88, 93)
        hx, hy = 60, 22
    elif pose == "sit":
        p.limb(d, 7, 22, 92, 2, 90, 2, 66)
        p.oval(c, 12, 44, 74, 100)
        p.poly(c, 28, 70, 40, 24, 66, 24, 72, 70)
        p.limb(c, 8, 48, 70, 48, 96)
        p.limb(c, 8, 60, 70, 60, 96)
        hx, hy = 34, 6
    else:
        p.limb(d, 7, 12, 50, 4, 30, 10, 8)
        _legs(p, c, 9, 64, 18, 27, 60, 69)
        p.oval(c, 8, 42, 78, 76)
        for u in (26, 36, 46):
            p.line(d, 4, u, 43, u + 2, 58)
        hx, hy = 62, 14
    p.poly(c, hx + 2, hy + 14, hx + 3, hy - 8, hx + 16, hy + 6)
    p.poly(c, hx + 36, hy + 14, hx + 35, hy - 8, hx + 22, hy + 6)
    p.poly(PINK, hx + 5, hy + 8, hx + 5.5, hy - 2, hx + 12, hy + 6)
    p.poly(PINK, hx + 33, hy + 8, hx + 32.5, hy - 2, hx + 26, hy + 6)
    p.oval(c, hx, hy, hx + 38, hy + 34)
    for u in (12, 27):
        p.oval((220, 214, 90), hx + u - 4, hy + 11, hx + u + 4, hy + 19)
        p.oval(EYE, hx + u - 1.4, hy + 11, hx + u + 1.4, hy + 19)
    p.poly(PINK, hx + 17, hy + 21, hx + 22, hy + 21, hx + 19.5, hy + 25)
    for v in (23, 27):
        p.line(d, 1.2, hx - 5, hy + v - 1, hx + 12, hy + v)
        p.line(d, 1.2, hx + 43, hy + v - 1, hx + 27, hy + v)


def sheep(p: Pen, a: Mapping[str, str]) -> None:
    """A woolly cloud on thin dark legs."""
    c = COLOURS["white"] if a.get("colour", "white") == "white" else _coat(a)
    face = (62, 56, 56) if a.get("colour", "white") != "black" else (150, 140, 134)
    _legs(p, face, 7, 66, 22, 32, 60, 70)
    shade = darker(c, 90)
    for u, v, r in (
        (20, 48, 22),
        (38, 38, 24),
        (58, 38, 24),
        (72, 50, 21),
        (30, 58, 20),
        (52, 60, 22),
    ):
        p.disc(shade if v > 55 else c, u, v, r)
    p.oval(c, 12, 30, 76, 72)
    p.oval(face, 76, 24, 97, 62)
    p.poly(face, 78, 34, 66, 38, 78, 44)
    p.disc(c, 83, 25, 11)
    p.disc((240, 240, 240), 89, 40, 3.4)
    p.disc(EYE, 90, 40, 2)


def cow(p: Pen, a: Mapping[str, str]) -> None:
    """Heavy body, horns, udder; patches if black and white."""
    mixed = a.get("colour") == "black and white"
    c = COLOURS["white"] if mixed else _coat(a)
    patch = (46, 44, 48) if mixed else darker(c, 82)
    p.limb(patch, 3, 6, 34, 3, 66)
    _legs(p, c, 9, 62, 15, 25, 62, 72, hoof=(58, 50, 48))
    p.disc(PINK, 30, 70, 7)
    p.round(c, 6, 26, 80, 72, 16)
    p.oval(patch, 12, 28, 34, 52)
    p.oval(patch, 44, 40, 66, 66)
    p.poly(c, 68, 32, 80, 14, 94, 22, 84, 56)
    p.oval(c, 76, 12, 98, 46)
    p.oval(PINK, 82, 34, 99, 50)
    p.line((232, 224, 200), 4, 79, 14, 75, 2)
    p.line((232, 224, 200), 4, 90, 13, 95, 2)
    p.poly(patch, 76, 20, 66, 22, 76, 29)
    p.disc(EYE, 90, 25, 2.4)
    p.disc(EYE, 94, 42, 1.6)


def elephant(p: Pen, a: Mapping[str, str]) -> None:
    """Trunk, tusk and a big ear."""
    c = (142, 144, 152)
    d = darker(c, 84)
    p.limb(d, 3, 5, 42, 2, 64)
    for u, colour in ((24, d), (64, d), (14, c), (54, c)):
        p.round(colour, u - 6, 56, u + 8, 99, 4)
        p.line((214, 212, 206), 2, u - 3, 97, u + 5, 97)
    p.oval(c, 3, 18, 72, 80)
    p.oval(c, 54, 8, 88, 56)
    p.limb(c, 11, 82, 34, 92, 56, 91, 78)
    p.limb(c, 8, 91, 78, 96, 84)
    p.poly((246, 242, 228), 80, 50, 84, 47, 96, 62, 94, 64)
    p.oval(d, 50, 10, 72, 58)
    p.disc(EYE, 79, 28, 2.2)


def bear(p: Pen, a: Mapping[str, str]) -> None:
    """Round ears, a hump, heavy paws."""
    c = _coat(a)
    muzzle = lighter(c, 40) if a.get("colour") != "white" else (222, 216, 204)
    for u, colour in ((26, darker(c, 84)), (66, darker(c, 84)), (14, c), (54, c)):
        p.round(colour, u - 7, 58, u + 9, 99, 8)
    p.oval(c, 3, 20, 78, 84)
    p.oval(c, 44, 16, 80, 60)
    p.disc(c, 72, 16, 8)
    p.disc(darker(c, 84), 86, 16, 8)
    p.oval(c, 64, 14, 96, 58)
    p.oval(muzzle, 82, 34, 100, 56)
    p.disc(EYE, 97, 41, 4)
    p.disc(EYE, 84, 30, 2.6)


def giraffe(p: Pen, a: Mapping[str, str]) -> None:
    """A very long neck and brown patches."""
    c, s = (236, 196, 112), (160, 98, 46)
    p.limb(s, 2, 8, 52, 4, 66)
    _legs(p, c, 4.5, 60, 16, 26, 54, 64, hoof=(80, 58, 40))
    p.poly(c, 6, 50, 24, 44, 60, 40, 70, 50, 66, 66, 12, 66)
    p.poly(c, 50, 46, 72, 8, 82, 12, 70, 58)
    for u, v in (
        (16, 52),
        (28, 50),
        (40, 48),
        (22, 60),
        (35, 59),
        (48, 56),
        (58, 52),
        (60, 60),
        (60, 44),
        (64, 36),
        (68, 28),
        (72, 20),
        (68, 46),
        (73, 32),
    ):
        p.oval(s, u - 4, v - 2.2, u + 4, v + 2.2)
    p.limb(s, 2, 54, 40, 72, 9)
    p.poly(c, 70, 7, 82, 4, 100, 14, 98, 18, 84, 18, 74, 14)
    p.line(s, 1.6, 75, 6, 73, 0)
    p.line(s, 1.6, 79, 5, 79, 0)
    p.poly(c, 70, 8, 60, 7, 70, 12)
    p.disc(EYE, 83, 9, 1.2)


def bird(p: Pen, a: Mapping[str, str]) -> None:
    """Perched or, with the pose "fly", wings spread."""
    c = COLOURS[a.get("colour", "blue")]
    d = darker(c, 70) if a.get("colour") != "black" else (92, 92, 100)
    if a.get("pose") == "fly":
        p.poly(c, 0, 58, 22, 50, 20, 72)
        p.oval(c, 14, 44, 80, 74)
        p.poly(d, 34, 56, 18, 2, 62, 48)
        p.poly(darker(d, 86), 48, 56, 66, 4, 70, 54)
        p.disc(c, 80, 52, 14)
        p.poly((240, 160, 40), 90, 48, 100, 53, 90, 58)
        p.disc(EYE, 84, 49, 3)
        return
    p.line((214, 140, 50), 5, 46, 76, 46, 99)
    p.line((214, 140, 50), 5, 56, 76, 56, 99)
    p.poly(d, 0, 60, 28, 44, 30, 66)
    p.oval(c, 14, 32, 80, 84)
    p.oval(lighter(c, 50), 50, 46, 80, 80)
    p.disc(c, 74, 26, 22)
    p.poly((240, 160, 40), 88, 20, 100, 28, 88, 36)
    p.disc((250, 250, 250), 78, 22, 6)
    p.disc(EYE, 79, 22, 3.6)
    p.poly(d, 20, 44, 56, 42, 44, 72, 26, 66)


def teddy(p: Pen, a: Mapping[str, str]) -> None:
    """A sitting toy bear, front view, with a bow."""
    c = _coat(a)
    m = lighter(c, 45)
    for u in (22, 78):
        p.disc(c, u, 14, 12)
        p.disc(m, u, 14, 6)
        p.oval(c, u - 20, 44, u + 16 if u < 50 else u + 20, 72)
        p.oval(c, u - 20, 74, u + 20, 100)
        p.oval(m, u - 12, 79, u + 12, 96)
    p.oval(c, 20, 42, 80, 98)
    p.oval(m, 32, 54, 68, 90)
    p.oval(c, 14, 6, 86, 54)
    p.oval(m, 34, 28, 66, 50)
    p.oval(EYE, 43, 30, 57, 38)
    for u in (34, 66):
        p.disc(EYE, u, 24, 4)
    p.poly((206, 44, 60), 50, 56, 32, 49, 32, 63)
    p.poly((206, 44, 60), 50, 56, 68, 49, 68, 63)
