"""People: a jointed figure in one of a few poses, dressed in the colours the scene gives it."""

from collections.abc import Mapping
from typing import NamedTuple

from metaeval.data.scenes.art.pen import COLOURS, RGB, Pen, darker, lighter

SKIN: dict[str, RGB] = {
    "light": (244, 206, 172),
    "medium": (212, 158, 114),
    "dark": (134, 88, 60),
}
HAIR: dict[str, RGB] = {
    "black": (36, 30, 30),
    "brown": (94, 60, 34),
    "blond": (228, 190, 96),
    "gray": (196, 196, 200),
    "red": (170, 80, 34),
}


class Pose(NamedTuple):
    """Joints of a figure, u and v in hundredths of its box.

    `wide` and `tall` are the box's sides in hundredths of the standing height; `hand` is where a
    held thing goes.
    """

    wide: int
    tall: int
    head: tuple[int, int]
    shoulder: tuple[int, int]
    hip: tuple[int, int]
    legs: tuple[tuple[int, ...], tuple[int, ...]]  # far and near: knee, foot
    arms: tuple[tuple[int, ...], tuple[int, ...]]  # far and near: elbow, hand
    hand: tuple[int, int]


POSES: dict[str, Pose] = {
    "stand": Pose(
        38,
        100,
        (50, 9),
        (50, 24),
        (50, 54),
        ((36, 75, 34, 97), (64, 75, 66, 97)),
        ((20, 38, 17, 54), (80, 38, 83, 54)),
        (83, 56),
    ),
    "look": Pose(
        38,
        100,
        (50, 9),
        (50, 24),
        (50, 54),
        ((38, 75, 36, 97), (60, 75, 62, 97)),
        ((34, 40, 40, 55), (58, 40, 64, 55)),
        (64, 56),
    ),
    "walk": Pose(
        44,
        100,
        (52, 9),
        (52, 24),
        (50, 54),
        ((32, 74, 14, 95), (66, 73, 74, 97)),
        ((28, 38, 14, 50), (74, 38, 86, 50)),
        (88, 52),
    ),
    "hold": Pose(
        46,
        100,
        (42, 9),
        (42, 24),
        (40, 54),
        ((28, 75, 26, 97), (52, 75, 54, 97)),
        ((62, 40, 88, 42), (66, 42, 92, 38)),
        (92, 39),
    ),
    "raise": Pose(
        46,
        108,
        (42, 17),
        (42, 31),
        (40, 59),
        ((28, 78, 26, 97), (52, 78, 54, 97)),
        ((16, 45, 14, 60), (74, 24, 86, 5)),
        (86, 4),
    ),
    "swing": Pose(
        54,
        100,
        (44, 9),
        (44, 24),
        (42, 54),
        ((24, 74, 12, 97), (58, 74, 70, 97)),
        ((66, 34, 78, 26), (62, 38, 78, 28)),
        (79, 26),
    ),
    "ride": Pose(
        56,
        92,
        (42, 10),
        (38, 27),
        (30, 60),
        ((60, 66, 56, 95), (60, 66, 56, 95)),
        ((56, 44, 84, 50), (52, 44, 82, 52)),
        (84, 50),
    ),
    "pedal": Pose(
        66,
        96,
        (46, 9),
        (40, 24),
        (22, 55),
        ((50, 62, 40, 84), (58, 66, 50, 95)),
        ((62, 38, 88, 46), (60, 40, 88, 48)),
        (88, 46),
    ),
    "surf": Pose(
        74,
        86,
        (54, 11),
        (50, 29),
        (42, 58),
        ((24, 74, 16, 96), (66, 70, 68, 96)),
        ((26, 36, 4, 30), (76, 34, 98, 28)),
        (98, 28),
    ),
    "sit": Pose(
        42,
        76,
        (50, 12),
        (50, 32),
        (50, 68),
        ((32, 70, 30, 97), (68, 70, 70, 97)),
        ((20, 50, 32, 64), (80, 50, 68, 64)),
        (70, 60),
    ),
    "sithold": Pose(
        42,
        76,
        (50, 12),
        (50, 32),
        (50, 68),
        ((32, 70, 30, 97), (68, 70, 70, 97)),
        ((20, 50, 44, 56), (80, 50, 58, 54)),
        (52, 50),
    ),
    "lie": Pose(
        100,
        34,
        (9, 56),
        (24, 62),
        (56, 66),
        ((74, 60, 96, 74), (76, 64, 97, 80)),
        ((36, 76, 50, 78), (36, 78, 52, 80)),
        (52, 78),
    ),
}


def draw_person(p: Pen, a: Mapping[str, str]) -> None:
    """A figure; `a` holds pose, kind, age, skin, hair, top, bottom and perhaps hat."""
    pose, female = POSES[a["pose"]], a["kind"] in ("woman", "girl")
    skin, top, bottom = SKIN[a["skin"]], COLOURS[a["top"]], COLOURS[a["bottom"]]
    unit = 100 / pose.tall  # one hundredth of the standing height, in hundredths of the box height
    arm, leg = 6.2 * unit, 8.4 * unit
    (sx, sy), (hx, hy), (x, y) = pose.shoulder, pose.hip, pose.head
    lying = a["pose"] == "lie"
    squeeze = 100 / pose.wide
    half = (8 if lying else 9.6) * squeeze  # half the shoulders' width, in hundredths of box width
    hips = 7 * squeeze
    (far_leg, near_leg), (far_arm, near_arm) = pose.legs, pose.arms
    sideways = a["pose"] in ("ride", "pedal", "swing", "hold", "raise", "walk", "look", "lie")
    off = half * (0.45 if sideways else 0.8)

    p.limb(darker(top, 78), arm, sx - off, sy + 2, *far_arm)
    p.disc(darker(skin, 90), far_arm[2], far_arm[3], 3.4 * unit)
    for limb, side, colour in ((far_leg, -1, darker(bottom, 84)), (near_leg, 1, bottom)):
        p.limb(colour, leg, hx + (0 if sideways else side * 0.5 * hips), hy, *limb)
        fx, fy = limb[2], limb[3]
        toe = 0 if lying else (4 if sideways else side * 2) * squeeze
        p.limb((54, 46, 46), 5 * unit, fx, fy, fx + toe, fy)
    size = (11 if a["kind"] in ("boy", "girl") and not lying else 8.6) * unit
    width = size * squeeze / unit  # the head's radius in hundredths of the box width
    if female:
        hair = x - width * 1.3, y - size * 1.15, x + width * 1.1, y + size * 2.1
        p.oval(HAIR[a["hair"]], *hair)
    p.limb(skin, 5 * unit, x, y, sx, sy - 2)
    if lying:
        p.limb(top, 15 * unit, sx, sy, hx, hy)
    elif female and a.get("dress"):
        waist = (sx + half * 0.8, hy - 6), (sx - half * 0.8, hy - 6)
        hem = (hx + hips * 2.1, hy + 18), (hx - hips * 2.1, hy + 18)
        p.poly(top, sx - half, sy - 4, sx + half, sy - 4, *waist[0], *hem[0], *hem[1], *waist[1])
    else:
        neck = (sx - half * 0.6, sy - 6 * unit), (sx + half * 0.6, sy - 6 * unit)
        hem = (hx + hips * 1.1, hy + 3), (hx - hips * 1.1, hy + 3)
        p.poly(top, sx - half, sy - 2, *neck[0], *neck[1], sx + half, sy - 2, *hem[0], *hem[1])
    _draw_head(p, a, size, width, unit, sideways)
    if a.get("tie") and not lying:
        p.poly(lighter(top, 70), sx - 7, sy - 6, sx + 7, sy - 6, sx, sy + 3)
        knot, tip = (sx - 5, sy - 5, sx + 5, sy - 5), (sx, sy + 25, sx - 8, sy + 20)
        p.poly(COLOURS[a["tie"]], *knot, sx + 8, sy + 20, *tip)
    p.limb(darker(top, 90), arm, sx + off, sy + 2, *near_arm)
    p.disc(skin, near_arm[2], near_arm[3], 3.6 * unit)


def _draw_head(
    p: Pen, a: Mapping[str, str], size: float, width: float, unit: float, sideways: bool
) -> None:
    """Head, hair, face and hat; `size` and `width` are the head's radius in the box's height and
    width."""
    skin, (x, y) = SKIN[a["skin"]], POSES[a["pose"]].head
    p.disc(skin, x, y, size)
    crown = x - width * 1.1, y - size * 1.18, x + width * 1.1, y + size * 0.95
    p.chord(HAIR[a["hair"]], *crown, 180, 360)
    if a["pose"] != "lie":
        face, mouth = 0.35 if sideways else 0, y + size * 0.56
        for eye in (-0.38, 0.42):
            p.disc((44, 36, 36), x + (eye + face) * width, y + size * 0.18, size * 0.13)
        ends = x + (face - 0.25) * width, mouth, x + (face + 0.3) * width, mouth
        p.line(darker(skin, 66), 1.1 * unit, *ends)
    if hat := a.get("hat"):
        brim = x - width * (0.4 if sideways else 1.2), x + width * (1.9 if sideways else 1.2)
        crown = x - width * 1.15, y - size * 1.35, x + width * 1.15, y + size * 0.8
        p.chord(COLOURS[hat], *crown, 180, 360)
        p.round(darker(COLOURS[hat], 86), brim[0], y - size * 0.42, brim[1], y - size * 0.1)
