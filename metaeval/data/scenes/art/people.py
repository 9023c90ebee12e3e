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


class _Figure:
    """The measures of a person: lengths in hundredths of the box's height or width."""

    def __init__(self, p: Pen, a: Mapping[str, str]) -> None:
        self.p, self.a = p, a
        self.pose = pose = POSES[a["pose"]]
        self.female = a["kind"] in ("woman", "girl")
        self.skin, self.hair, self.top = SKIN[a["skin"]], HAIR[a["hair"]], COLOURS[a["top"]]
        self.unit = 100 / pose.tall  # one hundredth of the standing height
        self.squeeze = 100 / pose.wide
        self.lying = a["pose"] == "lie"
        self.sideways = a["pose"] in (
            *("ride", "pedal", "swing", "hold", "raise", "walk", "look", "lie"),
        )
        self.half = (8 if self.lying else 9.6) * self.squeeze  # half the shoulders' width
        self.hips = 7 * self.squeeze
        child = a["kind"] in ("boy", "girl") and not self.lying
        self.size = (11 if child else 8.6) * self.unit  # the head's radius
        self.width = self.size * self.squeeze / self.unit  # the same, of the box's width

    def arm(self, side: int, shade: int) -> None:
        """The far (-1) or near (1) arm."""
        p, (sx, sy), far = self.p, self.pose.shoulder, side < 0
        elbow_and_hand = self.pose.arms[0 if far else 1]
        off = side * self.half * (0.45 if self.sideways else 0.8)
        p.limb(darker(self.top, shade), 6.2 * self.unit, sx + off, sy + 2, *elbow_and_hand)
        skin = darker(self.skin, 90) if far else self.skin
        p.disc(skin, *elbow_and_hand[2:], (3.4 if far else 3.6) * self.unit)

    def legs(self) -> None:
        """Both legs and shoes."""
        (hx, hy), bottom = self.pose.hip, COLOURS[self.a["bottom"]]
        colours = darker(bottom, 84), bottom
        for limb, side, colour in zip(self.pose.legs, (-1, 1), colours, strict=True):
            start = hx + (0 if self.sideways else side * 0.5 * self.hips)
            self.p.limb(colour, 8.4 * self.unit, start, hy, *limb)
            fx, fy = limb[2], limb[3]
            toe = 0 if self.lying else (4 if self.sideways else side * 2) * self.squeeze
            self.p.limb((54, 46, 46), 5 * self.unit, fx, fy, fx + toe, fy)

    def torso(self) -> None:
        """Hair behind the head, neck, and a shirt or dress."""
        p, top, half, hips, unit = self.p, self.top, self.half, self.hips, self.unit
        (x, y), (sx, sy), (hx, hy) = self.pose.head, self.pose.shoulder, self.pose.hip
        width, size = self.width, self.size
        if self.female:
            p.oval(self.hair, x - width * 1.3, y - size * 1.15, x + width * 1.1, y + size * 2.1)
        p.limb(self.skin, 5 * unit, x, y, sx, sy - 2)
        if self.lying:
            p.limb(top, 15 * unit, sx, sy, hx, hy)
        elif self.female and self.a.get("dress"):
            neck = sx - half, sy - 4, sx + half, sy - 4
            waist = sx + half * 0.8, hy - 6, hx + hips * 2.1, hy + 18
            p.poly(top, *neck, *waist, hx - hips * 2.1, hy + 18, sx - half * 0.8, hy - 6)
        else:
            left = sx - half, sy - 2, sx - half * 0.6, sy - 6 * unit
            right = sx + half * 0.6, sy - 6 * unit, sx + half, sy - 2
            p.poly(top, *left, *right, hx + hips * 1.1, hy + 3, hx - hips * 1.1, hy + 3)

    def head(self) -> None:
        """Face, hair and hat."""
        p, (x, y), width, size = self.p, self.pose.head, self.width, self.size
        p.disc(self.skin, x, y, size)
        crown = x - width * 1.1, y - size * 1.18, x + width * 1.1, y + size * 0.95
        p.chord(self.hair, *crown, 180, 360)
        face = 0.35 if self.sideways else 0
        if not self.lying:
            for eye in (-0.38, 0.42):
                p.disc((44, 36, 36), x + (eye + face) * width, y + size * 0.18, size * 0.13)
            mouth = x + (face - 0.25) * width, x + (face + 0.3) * width
            height = y + size * 0.56
            p.line(darker(self.skin, 66), 1.1 * self.unit, mouth[0], height, mouth[1], height)
        if hat := self.a.get("hat"):
            colour = COLOURS[hat]
            crown = x - width * 1.15, y - size * 1.35, x + width * 1.15, y + size * 0.8
            p.chord(colour, *crown, 180, 360)
            left = x - width * (0.4 if self.sideways else 1.2)
            right = x + width * (1.9 if self.sideways else 1.2)
            p.round(darker(colour, 86), left, y - size * 0.42, right, y - size * 0.1)

    def tie(self) -> None:
        """A collar and a tie, if the person wears one."""
        if (tie := self.a.get("tie")) and not self.lying:
            p, (sx, sy) = self.p, self.pose.shoulder
            p.poly(lighter(self.top, 70), sx - 7, sy - 6, sx + 7, sy - 6, sx, sy + 3)
            knot, tip = (sx - 5, sy - 5, sx + 5, sy - 5), (sx, sy + 25, sx - 8, sy + 20)
            p.poly(COLOURS[tie], *knot, sx + 8, sy + 20, *tip)


def draw_person(p: Pen, a: Mapping[str, str]) -> None:
    """A figure; `a` holds pose, kind, age, skin, hair, top, bottom and perhaps hat."""
    figure = _Figure(p, a)
    figure.arm(-1, 78)
    figure.legs()
    figure.torso()
    figure.head()
    figure.tie()
    figure.arm(1, 90)
