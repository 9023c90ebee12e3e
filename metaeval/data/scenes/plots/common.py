"""Where things stand, how many there are, and who comes: what all plots share."""

from __future__ import annotations

from metaeval.data.scenes.stage import Stage
from metaeval.data.scenes.things import THINGS

BACK, MID, FRONT = 226, 262, 302  # ground lines
ADULTS = ("man", "woman")
KIDS = ("boy", "girl")


def crowd(s: Stage, n: int, grown: bool = False, **given: str) -> tuple[int, list[str]]:
    """A group of `n` people: all of one kind, or mixed; sometimes old, sometimes in one colour.

    With `grown`, all are adults.
    """
    d = s.draw
    roll = d.below(100)
    if n == 1:
        kinds = [d.pick(("man", "man", "man", "woman", "woman", "woman", "boy", "girl"))]
    elif roll < 40:
        kinds = ["man"] * n
    elif roll < 62:
        kinds = ["woman"] * n
    elif roll < 78:
        kinds = [d.pick(KIDS) for _ in range(n)]
    else:
        kinds = [d.pick(ADULTS) for _ in range(n)]
    if grown:
        kinds = [{"boy": "man", "girl": "woman"}.get(k, k) for k in kinds]
    values = dict(given)
    if kinds[0] in ADULTS and d.chance(12):
        values["age"] = "old"
    if n > 1 and d.chance(25):
        values["clothing"] = d.pick(("red", "blue", "green", "yellow", "white", "black", "orange"))
    return s.group("person", **values), kinds


def set_off(s: Stage, group: int, ground: int) -> None:
    """Give a group another colour if it is that of what it will be drawn upon."""
    colour, other = s.shared[group].get("colour"), s.shared[ground].get("colour")
    options = [c for c in THINGS[s.kinds[group]].colours if c != other]
    if colour == other and options and "material" not in s.shared[group]:
        s.shared[group]["colour"] = s.draw.pick(options)


def few(s: Stage, most: int) -> int:
    """How many: mostly one, sometimes two, rarely more."""
    roll = s.draw.below(100)
    n = 1 if roll < 58 else 2 if roll < 82 else 3 if roll < 93 else 4
    return min(n, most)
