"""Food, and what it is served in."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.data.scenes.art.pen import COLOURS, Pen, darker, lighter

PLATE = (250, 250, 250)


def _plate(p: Pen) -> None:
    p.oval((196, 200, 208), 0, 62, 100, 100)
    p.oval(PLATE, 0, 58, 100, 96)


def bottle(p: Pen, a: Mapping[str, str]) -> None:
    """A tall bottle with a label."""
    c = COLOURS[a.get("colour", "green")]
    p.rect(c, 36, 6, 64, 34)
    p.round((220, 190, 110), 32, 0, 68, 9, 6)
    p.poly(c, 36, 26, 64, 26, 92, 46, 92, 98, 8, 98, 8, 46)
    p.rect((246, 240, 220), 8, 58, 92, 82)
    p.rect(lighter(c, 50), 16, 46, 28, 56)


def wine_glass(p: Pen, a: Mapping[str, str]) -> None:
    """A stemmed glass of red or white wine."""
    glass = (222, 234, 242)
    wine = (148, 24, 52) if a.get("colour", "red") == "red" else (240, 224, 130)
    p.line((190, 206, 220), 5, 50, 50, 50, 94)
    p.oval((190, 206, 220), 14, 91, 86, 100)
    p.chord(glass, 8, -46, 92, 60, 0, 180)
    p.chord(wine, 14, -30, 86, 57, 10, 170)
    p.line((250, 252, 255), 3, 22, 10, 26, 34)


def cup(p: Pen, a: Mapping[str, str]) -> None:
    """A mug with a handle."""
    c = COLOURS[a.get("colour", "white")]
    p.ring(darker(c, 84), 80, 52, 24, 10)
    p.poly(c, 4, 10, 78, 10, 72, 98, 10, 98)
    p.oval(darker(c, 80), 4, 0, 78, 22)
    p.oval((92, 56, 34), 10, 4, 72, 19)


def fork(p: Pen, a: Mapping[str, str]) -> None:
    """Lying flat, tines up."""
    c = (168, 174, 184)
    p.limb(c, 4, 50, 44, 50, 97)
    p.round(c, 14, 26, 86, 46, 40)
    for u in (20, 50, 80):
        p.line(c, 4.5, u, 2, u, 36)


def knife(p: Pen, a: Mapping[str, str]) -> None:
    """Blade up."""
    p.poly((190, 196, 206), 30, 56, 30, 10, 56, 0, 74, 16, 74, 56)
    p.round((70, 52, 42), 26, 54, 78, 100, 20)


def spoon(p: Pen, a: Mapping[str, str]) -> None:
    """Bowl up."""
    c = (168, 174, 184)
    p.limb(c, 4.5, 50, 26, 50, 97)
    p.oval(c, 8, 0, 92, 36)
    p.oval(lighter(c, 45), 24, 5, 70, 28)


def bowl(p: Pen, a: Mapping[str, str]) -> None:
    """A bowl of soup, salad or rice by its colour."""
    c = COLOURS[a.get("colour", "blue")]
    p.chord(c, 0, -58, 100, 96, 0, 180)
    p.rect(darker(c, 76), 32, 88, 68, 99)
    p.oval(darker(c, 80), 0, 4, 100, 38)
    p.oval((222, 150, 66), 7, 8, 93, 34)
    for u, v in ((26, 16), (48, 12), (68, 18), (40, 22), (58, 24)):
        p.disc((104, 156, 60), u, v, 5)


def banana(p: Pen, a: Mapping[str, str]) -> None:
    """A curved yellow banana, or a small bunch."""
    c = (250, 214, 62) if a.get("colour", "yellow") == "yellow" else (150, 186, 70)
    p.poly(
        darker(c, 84),
        4,
        22,
        14,
        46,
        34,
        64,
        58,
        68,
        82,
        56,
        96,
        36,
        100,
        44,
        92,
        74,
        66,
        96,
        36,
        94,
        12,
        74,
        0,
        40,
    )
    p.poly(c, 4, 22, 14, 46, 34, 64, 58, 68, 82, 56, 96, 36, 92, 60, 66, 82, 36, 80, 12, 62)
    p.poly((104, 78, 40), 2, 8, 9, 6, 8, 26, 2, 30)
    p.disc((104, 78, 40), 98, 40, 5)


def apple(p: Pen, a: Mapping[str, str]) -> None:
    """Round, with stalk and leaf."""
    c = (206, 40, 44) if a.get("colour", "red") == "red" else (130, 190, 66)
    p.oval(c, 4, 20, 62, 98)
    p.oval(c, 38, 20, 96, 98)
    p.line((92, 62, 36), 6, 50, 28, 54, 4)
    p.poly((70, 150, 62), 54, 16, 74, 0, 84, 12, 66, 20)
    p.oval(lighter(c, 45), 18, 34, 32, 54)


def sandwich(p: Pen, a: Mapping[str, str]) -> None:
    """Two slices of bread on a plate, with filling."""
    _plate(p)
    p.round((222, 176, 108), 14, 56, 86, 80, 10)
    p.poly((96, 170, 64), 10, 56, 22, 64, 36, 56, 50, 64, 64, 56, 78, 64, 90, 56, 90, 50, 10, 50)
    p.rect((214, 60, 50), 14, 44, 86, 51)
    p.rect((250, 208, 80), 12, 38, 88, 45)
    p.round((230, 186, 118), 12, 8, 88, 42, 24)
    p.round((244, 208, 148), 18, 10, 82, 26, 16)


def orange(p: Pen, a: Mapping[str, str]) -> None:
    """A round orange with a green star."""
    c = (244, 142, 32)
    p.disc(c, 50, 52, 48)
    p.oval(lighter(c, 40), 22, 20, 44, 42)
    p.poly((70, 140, 60), 46, 2, 56, 2, 64, 12, 50, 9, 38, 13)
    for u, v in ((66, 60), (56, 76), (34, 66), (72, 40)):
        p.disc(darker(c, 86), u, v, 2.6)


def broccoli(p: Pen, a: Mapping[str, str]) -> None:
    """A green floret on a stalk."""
    c = (62, 146, 66)
    p.poly((150, 196, 110), 38, 50, 62, 50, 68, 98, 34, 98)
    p.line((150, 196, 110), 12, 50, 76, 24, 46)
    p.line((150, 196, 110), 12, 50, 76, 76, 46)
    for u, v, r in ((20, 42, 20), (80, 42, 20), (36, 24, 22), (62, 22, 22), (50, 44, 22)):
        p.disc(darker(c, 86) if v > 40 else c, u, v, r)
    for u, v in ((30, 20), (58, 14), (74, 38), (46, 40), (18, 36)):
        p.disc(lighter(c, 25), u, v, 6)


def carrot(p: Pen, a: Mapping[str, str]) -> None:
    """Lying, with its leaves to the left."""
    c = (240, 124, 34)
    for v in (14, 46, 80):
        p.line((70, 156, 66), 10, 24, 50, 2, v)
    p.poly(c, 22, 16, 42, 14, 100, 56, 42, 90, 22, 84)
    for u in (36, 50, 64):
        p.line(darker(c, 80), 5, u, 34, u + 2, 54)


def hot_dog(p: Pen, a: Mapping[str, str]) -> None:
    """A sausage in a bun with mustard."""
    p.round((216, 158, 86), 2, 40, 98, 96, 40)
    p.round((176, 66, 44), 0, 20, 100, 66, 40)
    p.line((252, 214, 50), 10, 8, 40, 20, 34, 32, 46, 44, 34, 56, 46, 68, 34, 80, 46, 92, 40)
    p.round((232, 180, 108), 4, 58, 96, 96, 34)


def pizza(p: Pen, a: Mapping[str, str]) -> None:
    """A whole pizza seen at an angle."""
    p.oval((176, 116, 56), 0, 6, 100, 100)
    p.oval((222, 164, 88), 0, 0, 100, 92)
    p.oval((250, 208, 92), 8, 8, 92, 80)
    for u, v in ((30, 26), (54, 18), (74, 36), (44, 48), (66, 62), (26, 56), (50, 72)):
        p.oval((196, 50, 40), u - 7, v - 8, u + 7, v + 8)
    for u, v in ((40, 32), (62, 46), (34, 70), (78, 54)):
        p.oval((84, 150, 60), u - 3, v - 4, u + 3, v + 4)


def donut(p: Pen, a: Mapping[str, str]) -> None:
    """A ring with icing and sprinkles."""
    c = {"brown": (110, 66, 40), "pink": (244, 150, 186), "white": (250, 246, 238)}[
        a.get("colour", "pink")
    ]
    p.oval((214, 160, 92), 0, 6, 100, 100)
    p.oval(c, 3, 0, 97, 82)
    p.oval((186, 130, 70), 34, 28, 66, 60)
    p.oval((240, 232, 220), 39, 34, 61, 56)
    for i, (u, v) in enumerate(
        ((18, 34), (30, 16), (52, 12), (74, 20), (84, 42), (70, 64), (46, 70), (24, 58))
    ):
        colour = ((250, 220, 70), (90, 190, 220), (230, 70, 70))[i % 3]
        p.line(colour, 6, u - 3, v, u + 4, v + 5)


def cake(p: Pen, a: Mapping[str, str]) -> None:
    """A round cake with icing and candles."""
    c = {"brown": (110, 66, 40), "pink": (244, 160, 192), "white": (252, 248, 240)}[
        a.get("colour", "white")
    ]
    p.oval((206, 212, 222), 0, 78, 100, 100)
    p.rect((226, 182, 120), 8, 44, 92, 84)
    p.oval((226, 182, 120), 8, 72, 92, 96)
    p.rect((200, 60, 80), 8, 60, 92, 66)
    p.oval(c, 8, 30, 92, 56)
    for u in (14, 30, 48, 66, 84):
        p.oval(c, u - 7, 40, u + 7, 62)
    for u, colour in ((30, (80, 150, 220)), (50, (230, 80, 90)), (70, (90, 190, 110))):
        p.rect(colour, u - 2, 14, u + 2, 40)
        p.oval((255, 200, 50), u - 3, 2, u + 3, 15)
