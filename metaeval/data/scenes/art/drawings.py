"""How every kind of thing except people is drawn: a list of flat shapes in the thing's own box.

A line is a method of `Pen`, a colour, and the numbers of one or more shapes, separated by "/":

    disc tyre 22 79 20 / 78 79 20

A colour is "own" (the colour that the scene gives the thing), "trim" (a second colour that
follows from it), a name of `PALETTE` or "#rrggbb"; "own-80" is the colour at 80 % of its
brightness, "own+45" the colour moved 45 % of the way to white.

Below a line like "upright:" are the shapes of things of that pose, material, colour or kind; below
"lake & trees, park:" those of lakes with trees and of parks; below "else:" those of things to which
none of the drawing's conditions applies; below "always:" those of all.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from metaeval.data.scenes.art.pen import COLOURS, RGB, Pen, darker, dim, lighter

PALETTE: dict[str, RGB] = COLOURS | {
    "shade": (40, 44, 52),
    "glass": (176, 214, 232),
    "tyre": (38, 38, 42),
    "rim": (190, 194, 200),
    "pole": (112, 118, 126),
    "steel": (166, 172, 180),
    "eye": (28, 24, 24),
    "blush": (232, 160, 160),
}


class Drawing(NamedTuple):
    """The shapes of a thing, and its colours.

    `colour` is the thing's colour where the scene names none. `own` and `trim` map a material or a
    colour of the thing to what "own" and "trim" mean for it; the key "" of `trim` is for all
    others.
    """

    shapes: str
    colour: str = ""
    own: Mapping[str, str] = {}
    trim: Mapping[str, str] = {}


class Shape(NamedTuple):
    """One shape, and the conditions under which it is drawn: all of one of the sets."""

    conditions: tuple[frozenset[str], ...]
    method: str
    colour: str
    numbers: tuple[float, ...]


def draw_thing(pen: Pen, category: str, looks: Mapping[str, str]) -> None:
    """Draw a thing; `looks` holds its kind, colour, material and pose."""
    drawing = DRAWINGS[category]
    material, colour = looks.get("material", ""), looks.get("colour", drawing.colour)
    own = drawing.own.get(material) or drawing.own.get(colour, colour)
    trim = drawing.trim.get(colour) or drawing.trim.get(material) or drawing.trim.get("", "")
    draw_shapes(pen, drawing.shapes, looks.values(), own, trim)


def draw_shapes(
    pen: Pen, shapes: str, met: Iterable[str], own: str = "", trim: str = "", light: str = ""
) -> None:
    """Draw those shapes whose conditions are met; `light` tints colours without "lit" before."""
    conditions, parsed = _parsed(shapes)
    chosen = {"always", *met}
    if chosen.isdisjoint(conditions):
        chosen.add("else")
    for shape in parsed:
        if any(each <= chosen for each in shape.conditions):
            getattr(pen, shape.method)(_rgb(shape.colour, own, trim, light), *shape.numbers)


@cache
def _rgb(colour: str, own: str, trim: str, light: str) -> RGB:
    name, *changes = re.split(r"(?=[+-])", colour)
    if name == "own":
        rgb = _rgb(own, "", "", light)
    elif name == "trim":
        rgb = _rgb(trim, own, "", light)
    else:
        code = name.removeprefix("lit#").removeprefix("#")
        red, green, blue = PALETTE[name] if code == name else bytes.fromhex(code)
        rgb = (red, green, blue) if name.startswith("lit") else dim((red, green, blue), light)
    for change in map(int, changes):
        rgb = lighter(rgb, change) if change > 0 else darker(rgb, -change)
    return rgb


@cache
def _parsed(text: str) -> tuple[frozenset[str], tuple[Shape, ...]]:
    """The conditions that a drawing names, and its shapes."""
    conditions: tuple[frozenset[str], ...] = (frozenset({"always"}),)
    shapes: list[Shape] = []
    for line in text.strip().splitlines():
        if line.endswith(":"):
            alternatives = line.strip(" :").split(", ")
            conditions = tuple(frozenset(each.split(" & ")) for each in alternatives)
            continue
        method, colour, numbers = line.strip().split(" ", 2)
        parts = [tuple(map(float, part.split())) for part in numbers.split("/")]
        shapes += [Shape(conditions, method, colour, part) for part in parts]
    named = frozenset[str]().union(*(each for shape in shapes for each in shape.conditions))
    return named - {"always"}, tuple(shapes)


DRAWINGS: dict[str, Drawing] = {
    # Two thin wheels and a frame
    "bicycle": Drawing(
        """
        ring tyre 19 70 29 5
        line rim 1 3 70 35 70 / 1 19 43 19 97
        ring tyre 81 70 29 5
        line rim 1 65 70 97 70 / 1 81 43 81 97
        line own 7 19 70 36 32 70 30 46 70 19 70 / 7 36 32 46 70 / 6 81 70 68 12
        line shade 5 64 12 76 8
        line own 5 36 32 34 20
        round shade 26 14 43 22 6
        disc rim 46 70 8
        """,
        "red",
    ),
    # A saloon
    "car": Drawing(
        """
        poly own 20 44 32 10 68 10 84 44
        poly glass 26 42 35 16 49 16 49 42 / 53 42 53 16 66 16 77 42
        round own 1 40 99 80 20
        rect own-82 3 66 97 76
        round #fae896 92 48 99 58 6
        round #d23232 1 48 6 58 6
        rect own-70 50 44 51 72
        rect own-60 40 48 46 51
        disc tyre 22 79 20
        disc rim 22 79 10
        disc tyre 78 79 20
        disc rim 78 79 10
        """,
        "red",
    ),
    # Fat wheels, tank, seat, exhaust
    "motorcycle": Drawing(
        """
        disc tyre 18 72 27
        disc rim 18 72 13.5
        disc tyre 82 72 27
        disc rim 82 72 13.5
        line #969aa0 8 82 72 68 14
        poly shade 26 56 62 50 66 82 34 86
        disc #a6aab0 48 68 14
        line #b4b8be 8 48 84 8 82
        poly own 42 32 62 24 72 36 66 54 42 54
        poly #322e2e 10 36 44 36 46 52 22 52
        poly own 4 44 22 40 34 58 16 52
        line shade 6 58 12 70 10
        disc #faeca0 76 28 9
        """,
        "black",
    ),
    # A jet with a coloured tail; on its wheels unless it flies
    "airplane": Drawing(
        """
        fly:
        else:
          line shade 4 42 66 42 92
          disc tyre 42 93 7
          line shade 4 52 66 52 92
          disc tyre 52 93 7
          line shade 4 84 66 84 92
          disc tyre 84 93 7
        always:
          poly #bcbec1 50 40 36 12 44 12 66 40
          poly own 3 6 14 6 28 40 8 44
          poly #eceef2 4 40 84 34 96 46 100 56 92 66 30 68
          poly own 8 52 99 52 97 60 22 60
          oval #5a82aa 26 42 29 49 / 33 42 36 49 / 40 42 43 49 / 47 42 50 49 / 54 42 57 49
          oval #5a82aa 61 42 64 49 / 68 42 71 49 / 75 42 78 49
          poly glass 88 40 94 45 88 48
          poly #a5a6a9 42 58 66 58 34 90 24 90
          round #6e747e 40 70 54 80 8
          poly #aeb0b3 6 46 20 46 8 60 1 60
        """,
        "blue",
    ),
    # A long box with a row of windows
    "bus": Drawing(
        """
        round own 1 2 99 90 10
        round glass 5 14 16 46 3 / 18 14 29 46 3 / 31 14 42 46 3 / 44 14 55 46 3
        round glass 57 14 68 46 3 / 70 14 81 46 3 / 84 14 98 50 3
        rect own-70 1 70 99 75
        rect own+55 71 50 81 88
        round #faecaa 93 76 99 84 4
        disc tyre 20 88 12
        disc rim 20 88 6
        disc tyre 64 88 12
        disc rim 64 88 6
        """,
        "yellow",
    ),
    # An engine with a sloping nose and a carriage, on rails
    "train": Drawing(
        """
        rect #786e68 0 94 100 97
        round own 0 12 46 84 4
        poly own 48 12 84 12 94 36 100 66 100 84 48 84
        rect own+65 0 54 46 62 / 48 54 98 62
        round glass 3 22 11 46 3 / 14 22 22 46 3 / 25 22 33 46 3 / 36 22 44 46 3
        round glass 51 22 59 46 3 / 61 22 69 46 3 / 71 22 79 46 3
        poly glass 82 22 87 22 93 42 82 42
        disc #fceea0 96 72 5
        rect shade 0 82 100 87
        disc tyre 8 88 7 / 18 88 7 / 30 88 7 / 40 88 7 / 56 88 7 / 66 88 7 / 80 88 7 / 90 88 7
        rect shade 46 60 48 76
        """,
        "blue",
    ),
    # A cab before a box
    "truck": Drawing(
        """
        rect shade 4 74 96 82
        round trim 1 6 66 76 4
        rect own 1 34 66 48
        poly own 69 80 69 22 86 22 97 48 99 80
        poly glass 74 46 74 28 84 28 92 46
        round #faeca0 94 60 99 68 4
        disc tyre 17 84 15
        disc rim 17 84 7.5
        disc tyre 33 84 15
        disc rim 33 84 7.5
        disc tyre 83 84 15
        disc rim 83 84 7.5
        """,
        "white",
        trim={"": "own+60", "white": "#dee0e2"},
    ),
    # A sailing boat, or an open rowing boat where someone sits in it
    "boat": Drawing(
        """
        row:
          poly own 0 30 100 24 86 92 14 92
          poly own-76 6 54 95 50 86 92 14 92
          line #785432 9 0 30 100 24
        else:
          line #785432 2.4 46 2 46 78
          poly #f8f6ee 49 4 49 68 90 68
          poly #e8e4d8 43 12 43 68 14 68
          poly own 2 74 98 74 84 98 16 98
          poly own-78 9 86 91 86 84 98 16 98
        """,
        "white",
    ),
    # Three lamps on a pole; `colour` is the lamp that shines
    "traffic light": Drawing(
        """
        always:
          rect pole 44 44 56 100
          round #282c2e 16 0 84 50 14
        yellow:
          disc #4c100e 50 9 6.4
          disc #ffd03c 50 25 6.4
          disc #15431e 50 41 6.4
        green:
          disc #4c100e 50 9 6.4
          disc #4c3e12 50 25 6.4
          disc #46e264 50 41 6.4
        else:
          disc #ff3830 50 9 6.4
          disc #4c3e12 50 25 6.4
          disc #15431e 50 41 6.4
        """,
    ),
    # A stout post with a dome and two caps
    "fire hydrant": Drawing(
        """
        round own-74 12 90 88 100 6
        rect own 26 28 74 92
        rect own+25 34 30 42 90
        slice own 24 8 76 52 180 360
        round own-74 18 28 82 35 5 / 43 0 57 12 5 / 2 46 30 64 10 / 70 46 98 64 10
        disc own-74 50 56 11
        disc own+40 50 56 5
        """,
        "red",
    ),
    # A red octagon with white letters on a pole
    "stop sign": Drawing(
        """
        rect pole 46 36 54 100
        poly #fafafa 30 0 70 0 100 12 100 28 70 40 30 40 0 28 0 12
        poly #ce2026 32 2 68 2 95 13 95 27 68 38 32 38 5 27 5 13
        line #fafafa 1.9 24 15 13 15 13 20 24 20 24 25 12 25 / 1.9 28 15 46 15
        line #fafafa 1.9 37 15 37 26 / 1.9 51 15 64 15 64 25 51 25 51 14
        line #fafafa 1.9 70 26 70 15 84 15 84 20 70 20
        """,
    ),
    # A rounded head with a display on a pole
    "parking meter": Drawing(
        """
        rect pole 40 40 60 100
        rect #50545a 30 97 70 100
        round own 6 12 94 48 20
        chord own 6 0 94 32 180 360
        round #d6e8d2 22 8 78 20 8
        line #c82828 1.6 50 19 66 11
        rect shade 44 26 56 30
        disc own+50 50 38 4
        """,
        "gray",
    ),
    # Slats on two iron legs
    "bench": Drawing(
        """
        metal:
          rect shade 8 8 12 98 / 4 95 16 99 / 88 8 92 98 / 84 95 96 99
          round own 1 6 99 17 4 / 1 22 99 33 4 / 1 38 99 49 4
          round own+12 0 56 100 68 4
          rect own-70 1 67 99 73
        else:
          rect shade 8 8 12 98 / 4 95 16 99 / 88 8 92 98 / 84 95 96 99
          round own 1 6 99 17 4
          line own-80 1.6 8 11 56 11
          round own 1 22 99 33 4
          line own-80 1.6 8 27 56 27
          round own 1 38 99 49 4
          line own-80 1.6 8 43 56 43
          round own+12 0 56 100 68 4
          rect own-70 1 67 99 73
        """,
        "brown",
        own={"metal": "#969ca4"},
    ),
    # Perched or, with the pose "fly", wings spread
    "bird": Drawing(
        """
        fly:
          poly own 0 58 22 50 20 72
          oval own 14 44 80 74
          poly trim 34 56 18 2 62 48
          poly trim-86 48 56 66 4 70 54
          disc own 80 52 14
          poly #f0a028 90 48 100 53 90 58
          disc eye 84 49 3
        else:
          line #d68c32 5 46 76 46 99 / 5 56 76 56 99
          poly trim 0 60 28 44 30 66
          oval own 14 32 80 84
          oval own+50 50 46 80 80
          disc own 74 26 22
          poly #f0a028 88 20 100 28 88 36
          disc #fafafa 78 22 6
          disc eye 79 22 3.6
          poly trim 20 44 56 42 44 72 26 66
        """,
        "blue",
        trim={"": "own-70", "black": "#5c5c64"},
    ),
    # Pointed ears, whiskers, a long tail; sitting, lying or standing
    "cat": Drawing(
        """
        sit:
          limb trim 7 22 92 2 90 2 66
          oval own 12 44 74 100
          poly own 28 70 40 24 66 24 72 70
          limb own 8 48 70 48 96 / 8 60 70 60 96
          poly own 36 20 37 -2 50 12 / 70 20 69 -2 56 12
          poly blush 39 14 39.5 4 46 12 / 67 14 66.5 4 60 12
          oval own 34 6 72 40
          oval #dcd65a 42 17 50 25
          oval eye 44.6 17 47.4 25
          oval #dcd65a 57 17 65 25
          oval eye 59.6 17 62.4 25
          poly blush 51 27 56 27 53.5 31
          line trim 1.2 29 28 46 29 / 1.2 77 28 61 29 / 1.2 29 32 46 33 / 1.2 77 32 61 33
        lie:
          limb trim 8 6 84 20 96 44 96
          oval own 2 40 82 100
          line trim 4 22 43 25 60 / 4 32 43 35 60 / 4 42 43 45 60
          limb own 10 62 92 88 93
          poly own 62 36 63 14 76 28 / 96 36 95 14 82 28
          poly blush 65 30 65.5 20 72 28 / 93 30 92.5 20 86 28
          oval own 60 22 98 56
          oval #dcd65a 68 33 76 41
          oval eye 70.6 33 73.4 41
          oval #dcd65a 83 33 91 41
          oval eye 85.6 33 88.4 41
          poly blush 77 43 82 43 79.5 47
          line trim 1.2 55 44 72 45 / 1.2 103 44 87 45 / 1.2 55 48 72 49 / 1.2 103 48 87 49
        else:
          limb trim 7 12 50 4 30 10 8
          limb own 9 18 64 18 96
          limb own-80 9 27 64 27 96
          limb own 9 60 64 60 96
          limb own-80 9 69 64 69 96
          oval own 8 42 78 76
          line trim 4 26 43 28 58 / 4 36 43 38 58 / 4 46 43 48 58
          poly own 64 28 65 6 78 20 / 98 28 97 6 84 20
          poly blush 67 22 67.5 12 74 20 / 95 22 94.5 12 88 20
          oval own 62 14 100 48
          oval #dcd65a 70 25 78 33
          oval eye 72.6 25 75.4 33
          oval #dcd65a 85 25 93 33
          oval eye 87.6 25 90.4 33
          poly blush 79 35 84 35 81.5 39
          line trim 1.2 57 36 74 37 / 1.2 105 36 89 37 / 1.2 57 40 74 41 / 1.2 105 40 89 41
        """,
        "brown",
        trim={"": "own-74", "black": "#565258"},
    ),
    # Floppy ears, tail up; sitting, lying or standing
    "dog": Drawing(
        """
        sit:
          limb own 7 18 88 4 74
          oval own 8 48 62 100
          poly own 18 70 40 24 74 32 68 80
          limb own-84 9 54 60 56 95
          limb own 9 64 60 66 95
          oval own 46 0 74 36
          round own+22 64 16 86 32 8
          disc eye 84 19 4 / 64 13 2.6
          poly trim 48 4 58 2 58 30 50 36
          line #c83232 4 48 36 66 38
        lie:
          limb own 9 8 78 0 60
          oval own 4 42 76 98
          limb own 13 60 90 94 91
          limb own-84 12 16 91 38 92
          oval own 66 10 94 46
          round own+22 84 26 106 42 8
          disc eye 104 29 4 / 84 23 2.6
          poly trim 68 14 78 12 78 40 70 46
          line #c83232 4 68 46 86 48
        else:
          limb own 7 12 46 2 22 / 10 16 62 16 96
          limb own-80 10 26 62 26 96
          limb own 10 58 62 58 96
          limb own-80 10 68 62 68 96
          oval own 8 36 78 72
          poly own 56 42 66 16 84 36 76 62
          oval own 58 8 86 44
          round own+22 76 24 98 40 8
          disc eye 96 27 4 / 76 21 2.6
          poly trim 60 12 70 10 70 38 62 44
          line #c83232 4 60 44 78 46
        """,
        "brown",
        trim={"": "own-66", "black": "#5a5452", "white": "#b09678"},
    ),
    # Long head, mane and tail
    "horse": Drawing(
        """
        limb trim 6 10 42 4 56 5 76
        limb own 7 18 58 18 96
        limb #322a28 7 18 95 18 97
        limb own-80 7 28 58 28 96
        limb #322a28 7 28 95 28 97
        limb own 7 62 58 62 96
        limb #322a28 7 62 95 62 97
        limb own-80 7 72 58 72 96
        limb #322a28 7 72 95 72 97
        oval own 8 34 78 70
        poly own 58 44 76 8 88 14 78 58
        limb trim 5 60 36 72 10
        poly own 74 8 84 6 100 26 97 33 90 33 78 24
        poly own-80 74 10 75 0 80 8
        disc eye 83 15 1.8
        disc own-60 96 28 1.4
        """,
        "brown",
        trim={"": "own-55", "black": "#544e4c"},
    ),
    # A woolly cloud on thin dark legs
    "sheep": Drawing(
        """
        limb trim 7 22 66 22 96
        limb trim-80 7 32 66 32 96
        limb trim 7 60 66 60 96
        limb trim-80 7 70 66 70 96
        disc own 20 48 22 / 38 38 24 / 58 38 24 / 72 50 21
        disc own-90 30 58 20 / 52 60 22
        oval own 12 30 76 72
        oval trim 76 24 97 62
        poly trim 78 34 66 38 78 44
        disc own 83 25 11
        disc #f0f0f0 89 40 3.4
        disc eye 90 40 2
        """,
        "white",
        trim={"": "#3e3838", "black": "#968c86"},
    ),
    # Heavy body, horns, udder; patches if black and white
    "cow": Drawing(
        """
        limb trim 3 6 34 3 66
        limb own 9 15 62 15 96
        limb #3a3230 9 15 95 15 97
        limb own-80 9 25 62 25 96
        limb #3a3230 9 25 95 25 97
        limb own 9 62 62 62 96
        limb #3a3230 9 62 95 62 97
        limb own-80 9 72 62 72 96
        limb #3a3230 9 72 95 72 97
        disc blush 30 70 7
        round own 6 26 80 72 16
        oval trim 12 28 34 52 / 44 40 66 66
        poly own 68 32 80 14 94 22 84 56
        oval own 76 12 98 46
        oval blush 82 34 99 50
        line #e8e0c8 4 79 14 75 2 / 4 90 13 95 2
        poly trim 76 20 66 22 76 29
        disc eye 90 25 2.4 / 94 42 1.6
        """,
        "brown",
        own={"black and white": "white"},
        trim={"": "own-82", "black and white": "#2e2c30"},
    ),
    # Trunk, tusk and a big ear
    "elephant": Drawing(
        """
        limb #77787f 3 5 42 2 64
        round #77787f 18 56 32 99 4
        line #d6d4ce 2 21 97 29 97
        round #77787f 58 56 72 99 4
        line #d6d4ce 2 61 97 69 97
        round #8e9098 8 56 22 99 4
        line #d6d4ce 2 11 97 19 97
        round #8e9098 48 56 62 99 4
        line #d6d4ce 2 51 97 59 97
        oval #8e9098 3 18 72 80 / 54 8 88 56
        limb #8e9098 11 82 34 92 56 91 78 / 8 91 78 96 84
        poly #f6f2e4 80 50 84 47 96 62 94 64
        oval #77787f 50 10 72 58
        disc eye 79 28 2.2
        """,
    ),
    # Round ears, a hump, heavy paws
    "bear": Drawing(
        """
        round own-84 19 58 35 99 8 / 59 58 75 99 8
        round own 7 58 23 99 8 / 47 58 63 99 8
        oval own 3 20 78 84 / 44 16 80 60
        disc own 72 16 8
        disc own-84 86 16 8
        oval own 64 14 96 58
        oval trim 82 34 100 56
        disc eye 97 41 4 / 84 30 2.6
        """,
        "brown",
        trim={"": "own+40", "white": "#ded8cc"},
    ),
    # A horse's build, striped
    "zebra": Drawing(
        """
        limb #28262a 3 10 42 4 56 5 70
        limb #f4f4f0 7 18 58 18 96
        limb #28262a 7 18 95 18 97
        limb #c3c3c0 7 28 58 28 96
        limb #28262a 7 28 95 28 97
        limb #f4f4f0 7 62 58 62 96
        limb #28262a 7 62 95 62 97
        limb #c3c3c0 7 72 58 72 96
        limb #28262a 7 72 95 72 97
        line #28262a 3 15 68 21 68 / 3 15 76 21 76 / 3 15 84 21 84 / 3 25 68 31 68
        line #28262a 3 25 76 31 76 / 3 25 84 31 84 / 3 59 68 65 68 / 3 59 76 65 76
        line #28262a 3 59 84 65 84 / 3 69 68 75 68 / 3 69 76 75 76 / 3 69 84 75 84
        oval #f4f4f0 8 34 78 70
        line #28262a 4 18 38 15.12 66 / 4 26 38 24.08 66 / 4 34 38 33.04 66 / 4 42 38 42 66
        line #28262a 4 50 38 50.96 66 / 4 58 38 59.92 66 / 4 66 38 68.88 66
        poly #f4f4f0 58 44 76 8 88 14 78 58
        limb #28262a 4 60 36 73 8
        line #28262a 3 69.2 16 83.04 21 / 3 66.05 25 81.96 30 / 3 62.9 34 80.88 39
        line #28262a 3 59.75 43 79.8 48
        poly #f4f4f0 74 8 84 6 100 26 97 33 90 33 78 24
        poly #28262a 92 33 100 26 97 34
        line #28262a 2.5 80 8 84 20 / 2.5 86 10 88 24
        poly #28262a 74 10 75 0 80 8
        disc eye 82 15 1.8
        """,
    ),
    # A very long neck and brown patches
    "giraffe": Drawing(
        """
        limb #a0622e 2 8 52 4 66
        limb #ecc470 4.5 16 60 16 96
        limb #503a28 4.5 16 95 16 97
        limb #bc9c59 4.5 26 60 26 96
        limb #503a28 4.5 26 95 26 97
        limb #ecc470 4.5 54 60 54 96
        limb #503a28 4.5 54 95 54 97
        limb #bc9c59 4.5 64 60 64 96
        limb #503a28 4.5 64 95 64 97
        poly #ecc470 6 50 24 44 60 40 70 50 66 66 12 66 / 50 46 72 8 82 12 70 58
        oval #a0622e 12 49.8 20 54.2 / 24 47.8 32 52.2 / 36 45.8 44 50.2 / 18 57.8 26 62.2
        oval #a0622e 31 56.8 39 61.2 / 44 53.8 52 58.2 / 54 49.8 62 54.2 / 56 57.8 64 62.2
        oval #a0622e 56 41.8 64 46.2 / 60 33.8 68 38.2 / 64 25.8 72 30.2 / 68 17.8 76 22.2
        oval #a0622e 64 43.8 72 48.2 / 69 29.8 77 34.2
        limb #a0622e 2 54 40 72 9
        poly #ecc470 70 7 82 4 100 14 98 18 84 18 74 14
        line #a0622e 1.6 75 6 73 0 / 1.6 79 5 79 0
        poly #ecc470 70 8 60 7 70 12
        disc eye 83 9 1.2
        """,
    ),
    # A rounded bag with a pocket and straps
    "backpack": Drawing(
        """
        ring shade 50 10 10 4
        round own 8 8 92 98 30
        round own-80 18 52 82 92 14
        line own+60 3 24 62 76 62
        line own-60 4 14 36 86 36
        rect #e6dc96 46 32 54 44
        """,
        "blue",
    ),
    # An open canopy on a stick; the hand is at the bottom centre
    "umbrella": Drawing(
        """
        line shade 2.4 50 4 50 100
        slice own 0 4 100 88 180 360
        slice trim 30 4 70 88 180 360
        slice own 43 4 57 88 180 360
        line shade 3 50 0 50 6
        """,
        "red",
        trim={"": "own+62", "white": "#ced2dc"},
    ),
    # A bag with one big handle
    "handbag": Drawing(
        """
        ring own-66 50 34 28 7
        poly own 12 36 88 36 100 98 0 98
        poly own-82 12 36 88 36 92 58 8 58
        rect #ecce60 44 52 56 64
        """,
        "brown",
    ),
    # Lying or hanging on its own; a worn tie is drawn with its wearer
    "tie": Drawing(
        """
        poly own 30 0 70 0 62 16 38 16 / 40 16 60 16 84 82 50 100 16 82
        line own+50 4 32 42 66 34 / 4 32 60 66 52 / 4 32 78 66 70
        """,
        "red",
    ),
    # Upright on wheels, or lying open
    "suitcase": Drawing(
        """
        open:
          poly own-80 6 2 94 2 100 56 0 56
          poly #e2ceb0 12 8 88 8 93 54 7 54
          round own 0 52 100 100 10
          rect own-70 0 54 100 62
          round #d2cec4 40 70 60 78 4
        else:
          line pole 4 30 26 30 2 70 2 70 26
          round own 4 24 96 94 14
          rect own-78 21 30 27 88 / 47 30 53 88 / 73 30 79 88
          round shade 38 20 62 27 4
          disc shade 18 96 4 / 82 96 4
        """,
        "blue",
    ),
    # A disc seen at an angle
    "frisbee": Drawing(
        """
        oval own-70 0 12 100 100
        oval own 0 0 100 88
        oval own+50 20 14 80 66
        oval own 28 22 72 58
        """,
        "red",
    ),
    # A pair of long boards with turned-up tips
    "skis": Drawing(
        """
        upright:
          limb own 4 24 4 24 98
          line own+60 1.5 24 10 24 40
          limb own 4 76 4 76 98
          line own+60 1.5 76 10 76 40
        else:
          limb own-74 16 2 58 86 58 98 20
          limb own 16 6 86 88 86 99 44
        """,
        "red",
    ),
    # A short wide board
    "snowboard": Drawing(
        """
        upright:
          round own 8 0 92 100 48
          rect own+55 30 24 70 32 / 30 66 70 74
        else:
          poly own 0 20 8 50 92 50 100 20 96 96 4 96
          round own 2 40 98 100 48
          rect own+55 24 44 32 94 / 68 44 76 94
        """,
        "purple",
    ),
    # A soccer ball, a tennis ball or a baseball by `kind`
    "sports ball": Drawing(
        """
        tennis ball:
          disc #cee63c 50 50 50
          ring #f8fce6 6 50 34 8
        baseball:
          disc #fafaf8 50 50 50
          line #ce3c3c 7 26 16 36 50 26 84 / 7 74 16 64 50 74 84
        else:
          disc #fafaf8 50 50 50
          ring #787c82 50 50 50 4
          poly shade 50 30 70 45 62 68 38 68 30 45
          disc shade 50 4 9 / 93 38 9 / 78 88 9 / 22 88 9 / 7 38 9
        """,
    ),
    # A diamond with a tail
    "kite": Drawing(
        """
        poly own 50 0 100 34 50 76 0 34
        poly own+58 50 0 50 34 0 34 / 50 76 50 34 100 34
        line shade 2 50 76 40 84 52 91 42 100
        poly own-84 31 79 41 83 31 87 / 51 79 41 83 51 87 / 41 87 51 91 41 95
        poly own-84 61 87 51 91 61 95
        """,
        "red",
    ),
    # A baseball bat, held at the lower left
    "baseball bat": Drawing(
        """
        limb #a47e4e 7 6 96 40 58
        limb #ce9e62 13 46 52 88 12
        disc shade 6 96 5
        """,
    ),
    # A baseball glove, palm to the viewer
    "baseball glove": Drawing(
        """
        limb #965c30 18 22 22 48 60 / 18 38 12 48 60 / 18 54 12 48 60 / 18 70 20 48 60
        limb #7e4d28 18 88 50 60 78
        oval #965c30 14 36 84 100
        oval #6f4423 32 50 70 86
        """,
    ),
    # A deck with turned-up ends on four wheels
    "skateboard": Drawing(
        """
        limb own 24 2 22 14 40 86 40 98 22
        rect shade 21 48 27 66
        disc #f0ecdc 24 78 21
        disc shade 24 78 9
        rect shade 73 48 79 66
        disc #f0ecdc 76 78 21
        disc shade 76 78 9
        """,
        "red",
    ),
    # A pointed board, flat on the water or upright
    "surfboard": Drawing(
        """
        upright:
          oval own 4 0 96 90
          poly own 6 38 94 38 80 100 20 100
          rect trim 43 6 57 98
        else:
          poly own 0 46 22 22 74 22 100 40 76 80 22 84
          line trim 14 4 50 94 46
          poly own-60 8 62 16 100 22 70
        """,
        "yellow",
        trim={"": "own+65", "white": "#508cc8"},
    ),
    # A tennis racket, held at the lower left
    "tennis racket": Drawing(
        """
        limb shade 9 6 94 26 74
        line own 6 26 74 42 58
        ring own 64 34 33 6
        line #ecece2 1.5 48 8 48 60 / 1.5 40 18 88 18 / 1.5 64 8 64 60 / 1.5 40 34 88 34
        line #ecece2 1.5 80 8 80 60 / 1.5 40 50 88 50
        """,
        "red",
    ),
    # A tall bottle with a label
    "bottle": Drawing(
        """
        rect own 36 6 64 34
        round #dcbe6e 32 0 68 9 6
        poly own 36 26 64 26 92 46 92 98 8 98 8 46
        rect #f6f0dc 8 58 92 82
        rect own+50 16 46 28 56
        """,
        "green",
    ),
    # A stemmed glass of red wine
    "wine glass": Drawing(
        """
        line #becedc 5 50 50 50 94
        oval #becedc 14 91 86 100
        chord #deeaf2 8 -46 92 60 0 180
        chord #941834 14 -30 86 57 10 170
        line #fafcff 3 22 10 26 34
        """,
    ),
    # A mug with a handle
    "cup": Drawing(
        """
        ring own-84 80 52 24 10
        poly own 4 10 78 10 72 98 10 98
        oval own-80 4 0 78 22
        oval #5c3822 10 4 72 19
        """,
        "white",
    ),
    # Lying flat, tines up
    "fork": Drawing(
        """
        limb #a8aeb8 4 50 44 50 97
        round #a8aeb8 14 26 86 46 40
        line #a8aeb8 4.5 20 2 20 36 / 4.5 50 2 50 36 / 4.5 80 2 80 36
        """,
    ),
    # Blade up
    "knife": Drawing(
        """
        poly #bec4ce 30 56 30 10 56 0 74 16 74 56
        round #46342a 26 54 78 100 20
        """,
    ),
    # Bowl up
    "spoon": Drawing(
        """
        limb #a8aeb8 4.5 50 26 50 97
        oval #a8aeb8 8 0 92 36
        oval #cfd2d7 24 5 70 28
        """,
    ),
    # A bowl of soup
    "bowl": Drawing(
        """
        chord own 0 -58 100 96 0 180
        rect own-76 32 88 68 99
        oval own-80 0 4 100 38
        oval #de9642 7 8 93 34
        disc #689c3c 26 16 5 / 48 12 5 / 68 18 5 / 40 22 5 / 58 24 5
        """,
        "blue",
    ),
    # A curved yellow banana
    "banana": Drawing(
        """
        poly #d2b334 4 22 14 46 34 64 58 68 82 56 96 36 100 44 92 74 66 96 36 94 12 74 0 40
        poly #fad63e 4 22 14 46 34 64 58 68 82 56 96 36 92 60 66 82 36 80 12 62
        poly #684e28 2 8 9 6 8 26 2 30
        disc #684e28 98 40 5
        """,
    ),
    # Round, with stalk and leaf
    "apple": Drawing(
        """
        oval own 4 20 62 98 / 38 20 96 98
        line #5c3e24 6 50 28 54 4
        poly #46963e 54 16 74 0 84 12 66 20
        oval own+45 18 34 32 54
        """,
        "red",
        own={"red": "#ce282c", "green": "#82be42"},
    ),
    # Two slices of bread on a plate, with filling
    "sandwich": Drawing(
        """
        oval #c4c8d0 0 62 100 100
        oval #fafafa 0 58 100 96
        round #deb06c 14 56 86 80 10
        poly #60aa40 10 56 22 64 36 56 50 64 64 56 78 64 90 56 90 50 10 50
        rect #d63c32 14 44 86 51
        rect #fad050 12 38 88 45
        round #e6ba76 12 8 88 42 24
        round #f4d094 18 10 82 26 16
        """,
    ),
    # A round orange with a green star
    "orange": Drawing(
        """
        disc #f48e20 50 52 48
        oval #f8bb79 22 20 44 42
        poly #468c3c 46 2 56 2 64 12 50 9 38 13
        disc #d17a1b 66 60 2.6 / 56 76 2.6 / 34 66 2.6 / 72 40 2.6
        """,
    ),
    # A green floret on a stalk
    "broccoli": Drawing(
        """
        poly #96c46e 38 50 62 50 68 98 34 98
        line #96c46e 12 50 76 24 46 / 12 50 76 76 46
        disc #357d38 20 42 20 / 80 42 20
        disc #3e9242 36 24 22 / 62 22 22
        disc #357d38 50 44 22
        disc #6ead71 30 20 6 / 58 14 6 / 74 38 6 / 46 40 6 / 18 36 6
        """,
    ),
    # Lying, with its leaves to the left
    "carrot": Drawing(
        """
        line #469c42 10 24 50 2 14 / 10 24 50 2 46 / 10 24 50 2 80
        poly #f07c22 22 16 42 14 100 56 42 90 22 84
        line #c0631b 5 36 34 38 54 / 5 50 34 52 54 / 5 64 34 66 54
        """,
    ),
    # A sausage in a bun with mustard
    "hot dog": Drawing(
        """
        round #d89e56 2 40 98 96 40
        round #b0422c 0 20 100 66 40
        line #fcd632 10 8 40 20 34 32 46 44 34 56 46 68 34 80 46 92 40
        round #e8b46c 4 58 96 96 34
        """,
    ),
    # A whole pizza seen at an angle
    "pizza": Drawing(
        """
        oval #b07438 0 6 100 100
        oval #dea458 0 0 100 92
        oval #fad05c 8 8 92 80
        oval #c43228 23 18 37 34 / 47 10 61 26 / 67 28 81 44 / 37 40 51 56 / 59 54 73 70
        oval #c43228 19 48 33 64 / 43 64 57 80
        oval #54963c 37 28 43 36 / 59 42 65 50 / 31 66 37 74 / 75 50 81 58
        """,
    ),
    # A ring with icing and sprinkles
    "donut": Drawing(
        """
        oval #d6a05c 0 6 100 100
        oval own 3 0 97 82
        oval #ba8246 34 28 66 60
        oval #f0e8dc 39 34 61 56
        line #fadc46 6 15 34 22 39
        line #5abedc 6 27 16 34 21
        line #e64646 6 49 12 56 17
        line #fadc46 6 71 20 78 25
        line #5abedc 6 81 42 88 47
        line #e64646 6 67 64 74 69
        line #fadc46 6 43 70 50 75
        line #5abedc 6 21 58 28 63
        """,
        "pink",
        own={"pink": "#f496ba", "brown": "#6e4228", "white": "#faf6ee"},
    ),
    # A round cake with icing and candles
    "cake": Drawing(
        """
        oval #ced4de 0 78 100 100
        rect #e2b678 8 44 92 84
        oval #e2b678 8 72 92 96
        rect #c83c50 8 60 92 66
        oval own 8 30 92 56 / 7 40 21 62 / 23 40 37 62 / 41 40 55 62 / 59 40 73 62
        oval own 77 40 91 62
        rect #5096dc 28 14 32 40
        oval #ffc832 27 2 33 15
        rect #e6505a 48 14 52 40
        oval #ffc832 47 2 53 15
        rect #5abe6e 68 14 72 40
        oval #ffc832 67 2 73 15
        """,
        "white",
        own={"white": "#fcf8f0", "brown": "#6e4228", "pink": "#f4a0c0"},
    ),
    # A chair half turned to the right
    "chair": Drawing(
        """
        rect own-76 14 58 22 99 / 78 60 86 99
        rect own-76-80 30 58 36 90 / 64 58 70 90
        round own 12 0 34 56 8
        rect own+20 17 8 29 44
        poly own+14 14 50 84 50 90 60 14 60
        rect own-76 14 60 90 65
        """,
        "brown",
        own={"metal": "steel"},
    ),
    # Two cushions between round arms
    "couch": Drawing(
        """
        rect #483428 10 90 14 100 / 86 90 90 100
        round own-80 6 4 94 80 16
        round own 12 12 49 56 10 / 51 12 88 56 10
        round own+16 10 52 50 72 8 / 50 52 90 72 8
        rect own-80 10 70 90 93
        round own-90 0 34 14 94 14 / 86 34 100 94 14
        """,
        "red",
    ),
    # Leaves above a clay pot
    "potted plant": Drawing(
        """
        poly #42924a 46 66 19 39 8 34 39 49 54 66
        poly #377a3e 46 66 27 28 24 12 47 38 54 66
        poly #42924a 46 66 40 23 50 2 60 33 54 66
        poly #377a3e 46 66 53 28 76 12 73 38 54 66
        poly #42924a 46 66 61 39 92 34 81 49 54 66
        poly #be643e 24 66 76 66 68 99 32 99
        rect #9f5434 20 62 80 71
        """,
    ),
    # Seen from the side: headboard left, pillow, blanket
    "bed": Drawing(
        """
        round #8c5c38 0 4 6 100 10 / 95 44 100 100 10
        rect #70492c 3 76 98 88
        round #f4f4f6 4 46 97 78 8
        round #ffffff 6 34 26 54 14
        round #e2e4ea 8 48 26 54 6
        poly own 30 46 96 46 97 86 30 86
        rect own+45 30 46 37 86
        """,
        "blue",
    ),
    # A table top seen a little from above; things stand on its upper surface
    "dining table": Drawing(
        """
        always:
          rect trim 6 40 10 100 / 90 40 94 100
        desk:
          rect own-80 66 44 92 88
          rect own 68 48 90 58
          rect shade 77 52 81 54
          rect own 68 62 90 72
          rect shade 77 66 81 68
          rect own 68 76 90 86
          rect shade 77 80 81 82
        always:
          poly own 9 0 91 0 100 38 0 38
          rect own-80 0 38 100 45
        wooden:
          line own-86 1.4 7.2 9 92.8 9 / 1.4 5.2 19 94.8 19 / 1.4 3.2 29 96.8 29
        glass:
          poly #def0f4 22 4 34 4 22 34 8 34
        """,
        "brown",
        own={"metal": "steel", "glass": "#bad8e0"},
        trim={"": "own-66", "glass": "#788086"},
    ),
    # Tank and bowl, half turned to the right
    "toilet": Drawing(
        """
        round #f8f8fa 4 6 42 56 8
        round #ced2da 0 0 46 10 6
        rect #a0a6ae 32 16 40 20
        poly #f8f8fa 16 54 94 54 84 78 66 86 66 99 24 99 24 60
        poly #ced2da 24 84 66 86 66 99 24 99
        oval #ced2da 28 44 98 64
        oval #78aac4 38 49 88 60
        """,
    ),
    # A flat screen on a foot, showing a picture
    "tv": Drawing(
        """
        rect #464a50 44 84 56 96
        round #3c4046 26 93 74 100 8
        round #1e2026 0 0 100 86 5
        rect #68b0e2 4 5 96 80
        poly #58a45c 4 58 34 40 60 56 96 42 96 80 4 80
        disc #fce26e 76 22 10
        """,
    ),
    # Open, the screen upright
    "laptop": Drawing(
        """
        round own-60 14 0 86 66 6
        rect #7ab2e0 18 5 82 60
        rect #eef2f6 26 14 60 46
        line #96a0aa 3 30 24 54 24 / 3 30 34 50 34
        poly own 12 66 88 66 100 96 0 96
        poly own-62 16 70 84 70 88 82 12 82
        rect own-80 40 86 60 92
        """,
        "gray",
    ),
    # A computer mouse from above, its cable running off
    "mouse": Drawing(
        """
        line #5a5e64 8 86 46 98 20
        oval own 4 14 88 96
        line own+40 7 46 16 46 48 / 5 8 50 84 50
        """,
        "black",
    ),
    # A slim box with buttons
    "remote": Drawing(
        """
        round own 0 0 100 100 30
        disc #e63c3c 12 50 22
        disc trim 34 30 13 / 34 72 13 / 50 30 13 / 50 72 13 / 66 30 13 / 66 72 13 / 82 30 13
        disc trim 82 72 13
        """,
        "black",
        trim={"": "#e6e6ec", "white": "#5a5e68"},
    ),
    # Rows of keys
    "keyboard": Drawing(
        """
        poly own 5 0 95 0 100 100 0 100
        rect trim 9 12 15 30 / 18 12 24 30 / 27 12 33 30 / 36 12 42 30 / 45 12 51 30
        rect trim 54 12 60 30 / 63 12 69 30 / 72 12 78 30 / 81 12 87 30 / 9 40 15 58
        rect trim 18 40 24 58 / 27 40 33 58 / 36 40 42 58 / 45 40 51 58 / 54 40 60 58
        rect trim 63 40 69 58 / 72 40 78 58 / 81 40 87 58 / 12 68 20 86 / 26 68 74 86
        rect trim 80 68 90 86
        """,
        "black",
        trim={"": "#c4c8d0", "white": "#828892"},
    ),
    # A smartphone with a lit screen
    "cell phone": Drawing(
        """
        round own 0 0 100 100 20
        rect #8ccef0 10 10 90 84
        rect #fafafa 20 18 44 32 / 56 18 80 32 / 20 42 44 56 / 56 42 80 56
        disc #e6e6e6 50 92 4
        """,
        "black",
    ),
    # A box with a dark window and a keypad
    "microwave": Drawing(
        """
        round own 0 2 100 96 6
        rect own-76 3 94 97 100
        round #343a42 6 14 68 84 6
        rect #606a74 14 26 60 72
        rect #5adc8c 75 14 95 28
        rect #787e86 76 38 80 46 / 83 38 87 46 / 90 38 94 46 / 76 54 80 62 / 83 54 87 62
        rect #787e86 90 54 94 62 / 76 70 80 78 / 83 70 87 78 / 90 70 94 78
        """,
        "white",
        own={"metal": "steel"},
    ),
    # A stove with four rings, knobs and an oven door
    "oven": Drawing(
        """
        round own 0 8 100 100 4
        poly #3c4046 4 0 96 0 100 12 0 12
        oval #ce5032 9 2 23 10 / 31 2 45 10 / 53 2 67 10 / 75 2 89 10
        disc #32363c 14 22 4.5 / 32 22 4.5 / 50 22 4.5 / 68 22 4.5 / 86 22 4.5
        rect #787e86 10 33 90 37
        round #2e323a 10 42 90 84 4
        rect #ec9642 18 52 82 76
        rect own-80 0 90 100 92
        """,
        "white",
        own={"metal": "steel"},
    ),
    # Two slices of toast sticking out of a rounded box
    "toaster": Drawing(
        """
        round #ce924c 18 0 46 50 10
        round #eebe78 22 6 42 50 8
        round #ce924c 54 0 82 50 10
        round #eebe78 58 6 78 50 8
        round own 2 30 98 96 20
        rect own-60 10 30 90 38
        rect shade 92 46 100 58
        rect own-84 8 76 92 82
        """,
        "gray",
        own={"metal": "steel"},
    ),
    # A basin on a pedestal with a tap
    "sink": Drawing(
        """
        line #969ea8 6 50 30 50 6 66 6 66 16
        disc #969ea8 38 28 5
        poly #ccd2da 40 56 60 56 66 99 34 99
        chord #f6f8fa 4 -2 96 70 0 180
        oval #f6f8fa 0 24 100 44
        oval #ccd2da 8 27 92 41
        oval #96c8de 16 30 84 40
        """,
    ),
    # Two doors with long handles
    "refrigerator": Drawing(
        """
        round own 2 0 98 98 8
        rect own-70 2 33 98 35
        rect own-84 88 2 97 96
        round #60666e 10 12 17 29 4 / 10 40 17 66 4
        rect shade 10 97 24 100 / 76 97 90 100
        """,
        "white",
        own={"metal": "steel"},
    ),
    # Closed and lying, or open in someone's hands
    "book": Drawing(
        """
        open:
          poly own-80 0 12 50 22 100 12 100 94 50 100 0 94
          poly #fcfaf0 4 6 49 18 49 92 4 84
          poly #f0ece0 96 6 51 18 51 92 96 84
          line #969696 3 12 26 42 33 / 3 58 33 88 26 / 3 12 42 42 49 / 3 58 49 88 42
          line #969696 3 12 58 42 65 / 3 58 65 88 58
        else:
          round own 0 0 100 100 10
          rect #faf6e8 4 66 98 88
          rect own-76 0 86 100 100
          rect own+60 24 18 76 40
        """,
        "red",
    ),
    # A round face with two hands
    "clock": Drawing(
        """
        disc own 50 50 48
        disc #fcfaf2 50 50 39.36
        disc shade 50 18.32 3.84 / 81.68 50 3.84 / 50 81.68 3.84 / 18.32 50 3.84
        line shade 5.28 50 50 50 23.12 / 5.28 50 50 69.2 59.6
        """,
        "black",
    ),
    # A vase with three flowers
    "vase": Drawing(
        """
        line #46924a 3 50 52 22 14
        disc pink 22 14 9
        disc #faec96 22 14 3.6
        line #46924a 3 50 52 50 8
        disc yellow 50 8 9
        disc #faec96 50 8 3.6
        line #46924a 3 50 52 78 16
        disc red 78 16 9
        disc #faec96 78 16 3.6
        oval own 16 54 84 100
        poly own 32 46 68 46 62 66 38 66
        rect own-76 26 44 74 49
        oval own+45 28 64 40 84
        """,
        "blue",
    ),
    # Open blades, coloured handles
    "scissors": Drawing(
        """
        line #b0b6c0 14 34 62 98 10 / 14 34 38 98 90
        ring own 18 76 22 11 / 18 24 22 11
        disc shade 50 50 7
        """,
        "red",
    ),
    # A sitting toy bear, front view, with a bow
    "teddy bear": Drawing(
        """
        disc own 22 14 12
        disc own+45 22 14 6
        oval own 2 44 38 72 / 2 74 42 100
        oval own+45 10 79 34 96
        disc own 78 14 12
        disc own+45 78 14 6
        oval own 58 44 98 72 / 58 74 98 100
        oval own+45 66 79 90 96
        oval own 20 42 80 98
        oval own+45 32 54 68 90
        oval own 14 6 86 54
        oval own+45 34 28 66 50
        oval eye 43 30 57 38
        disc eye 34 24 4 / 66 24 4
        poly #ce2c3c 50 56 32 49 32 63 / 50 56 68 49 68 63
        """,
        "brown",
    ),
    # A barrel with a nozzle and a handle
    "hair drier": Drawing(
        """
        poly own-80 20 44 46 44 42 100 26 100
        oval own 4 2 60 60
        poly own 32 6 84 16 84 46 32 58
        rect shade 84 12 99 50
        disc own-66 32 31 15
        """,
        "pink",
    ),
    # Standing, bristles up
    "toothbrush": Drawing(
        """
        limb own 5 40 6 40 97
        rect #fafcff 52 2 96 22
        rect own+50 52 8 96 12
        """,
        "blue",
    ),
}
