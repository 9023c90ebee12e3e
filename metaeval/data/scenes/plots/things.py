"""Animals, vehicles and things among themselves."""

from __future__ import annotations

from itertools import pairwise

from metaeval.data.scenes.plots.common import BACK, FRONT, MID, crowd, few
from metaeval.data.scenes.stage import Stage
from metaeval.data.scenes.things import THINGS


def herd(s: Stage, kind: str, most: int = 5) -> None:
    """Animals of one kind, standing about."""
    d = s.draw
    n = d.pick((1, 1, 2, 2, 3, 3, 4, 5))
    n = min(n, most)
    g = s.group(kind)
    scale = {1: 106, 2: 80, 3: 60, 4: 49, 5: 41}[n]
    if kind in ("sheep", "bird"):
        scale = scale * 132 // 100
    pose = ""
    if kind in ("dog", "cat"):
        pose = d.pick(("stand", "sit", "lie"))
        if pose != "stand":
            s.shared[g]["place"] = {"sit": "seated", "lie": "lying"}[pose]
    facing = d.chance(50)
    for i, x in enumerate(s.spread(n)):
        flip = (i % 2 == 1) if n == 2 and facing else d.chance(35)
        base = d.between(FRONT - 20, FRONT + 6) if n == 1 else d.between(BACK + 22, FRONT)
        s.claim(s.put(g, x, base, scale, flip=flip, pose=pose))


def flying(s: Stage, kind: str, most: int = 3) -> None:
    """Airplanes, kites or birds in the sky, perhaps above something."""
    d = s.draw
    n = few(s, most)
    g = s.group(kind, place="sky")
    scale = {1: 88, 2: 64, 3: 46}[n]
    if kind == "bird":
        scale = {1: 190, 2: 140, 3: 110}[n]
    for x in s.spread(n, 16, 320):
        s.put(g, x, d.between(92, 128), scale, pose="fly",
              layer=40, flip=d.chance(30))  # fmt: skip


def catching(s: Stage) -> None:
    """A dog with a frisbee in its mouth."""
    d = s.draw
    a, f = s.group("dog"), s.group("frisbee")
    flip = d.chance(45)
    p = s.put(a, 168 + d.between(-30, 30), FRONT - 4, 176 * 100 // max(100, s.scale(a)), flip=flip,
              pose="stand")  # fmt: skip
    x, y = s.at(p, 99, 46)
    s.put(f, x, y + 10, 112, layer=s.objects[p].layer + 1)
    s.relate(a, "holding", f)
    s.claim(p)


def parked(s: Stage, kind: str, neighbour: str = "", predicate: str = "next to",
           most: int = 3) -> None:  # fmt: skip
    """Vehicles, perhaps next to (or behind) something by the road."""
    if neighbour and predicate == "next to":
        pair(s, kind, neighbour, scale=110)
        return
    d = s.draw
    n = 1 if neighbour or kind in ("bus", "train", "truck") else few(s, most)
    g = s.group(kind)
    big = {1: 104, 2: 80, 3: 56, 4: 46}[n] if THINGS[kind].size[0] > 100 else 118 // n + 20
    flip = d.chance(45)
    if not neighbour:
        for x in s.spread(n, jitter=3):
            s.claim(s.put(g, x, d.between(MID + 6, FRONT - 8), big, flip=flip))
        return
    other = s.group(neighbour)
    first = s.put(g, 168 + d.between(-14, 14), MID + 6, big, flip=flip)
    x, _, w, _ = s.objects[first].box
    second = s.put(other, x + w // 2 + d.between(-30, 30), FRONT + 8, 108)
    s.claim(first, second)
    s.relate(g, predicate, other)


def pair(s: Stage, one: str, two: str, predicate: str = "next to", pose: str = "",
         scale: int = 120) -> None:  # fmt: skip
    """Two things side by side, one under or one looking at the other."""
    d = s.draw
    a, b = s.group(one), s.group(two)
    limit = 100 * 318 // ((THINGS[one].size[0] * s.scale(a) + THINGS[two].size[0] * s.scale(b))
                          // 100 + 14)  # fmt: skip
    scale = min(scale, limit)
    wa = THINGS[one].size[0] * s.scale(a) * scale // 10000
    wb = THINGS[two].size[0] * s.scale(b) * scale // 10000
    left = d.chance(50)
    slack = max(0, (300 - wa - wb) // 3)
    x = 168 - (wa + wb + 10) // 2 + d.between(-slack, slack)
    xa, xb = (x + wa // 2, x + wa + 10 + wb // 2) if left else (x + wb + 10 + wa // 2, x + wb // 2)
    base = d.between(FRONT - 16, FRONT + 2)
    first = s.put(a, xa, base, scale, flip=not left, pose=pose)
    second = s.put(b, xb, base - d.between(0, 6), scale, flip=left)
    s.claim(first, second)
    s.relate(a, predicate, b)


def tabletop(s: Stage, kinds: tuple[str, ...], table: str = "dining table",
             diners: int = 0, place: str = "") -> None:  # fmt: skip
    """A table or desk with things on it, perhaps with people behind it."""
    d = s.draw
    given = {"category": "dining table"} if table != "dining table" else {}
    t = s.group("dining table", **given)
    s.kinds[t] = table
    s.shared[t].pop("place", None)
    wide = d.between(116, 128)
    top = s.put(t, 168 + d.between(-6, 6), FRONT + 22, wide)
    guests = diners and d.chance(diners)
    room = 5
    if guests:
        n = d.pick((1, 1, 2, 2, 3))
        g, who = crowd(s, n)
        x0, y0, w, _ = s.objects[top].box
        for i in range(n):
            x = x0 + w * (2 * i + 1) // (2 * n) + d.between(-6, 6)
            s.person(g, x, y0 + 20, "sit", 128, layer=60, kind=who[i], hip=True)
        s.relate(g, "sitting at", t)
        room -= n
    chosen = d.sample(kinds, min(d.pick((1, 2, 2, 3, 3, 4)), room))
    slots: list[int] = []
    for kind in chosen:
        n = 2 if kind in ("cup", "apple", "orange", "banana", "donut", "wine glass", "book",
                          "carrot", "hot dog") and d.chance(34) else 1  # fmt: skip
        if d.chance(12) and kind in ("apple", "orange", "donut", "cup"):
            n = 3
        n = min(n, room - len(slots))
        if n > 0:
            given = {"category": "tv"} if kind == "monitor" else {}
            slots += [s.group(kind, **given)] * n
    groups = sorted(set(slots))
    slots = d.shuffled(slots)
    widths = [s.thing(g).size[0] * s.scale(g) // 100 for g in slots]
    span = s.objects[top].box[2] * 84 // 100
    scale = min(130, max(62, span * 100 // (sum(widths) + 8 * len(widths))))
    x = s.at(top, 8, 0)[0] + max(0, span - sum(w * scale // 100 + 8 for w in widths)) // 2
    for g, w in zip(slots, widths, strict=True):
        w = w * scale // 100
        v = d.between(20, 34)
        y = s.at(top, 0, v)[1]
        s.put(g, x + w // 2, y, scale, layer=s.objects[top].layer + v, flip=d.chance(20))
        x += w + 8
    for g in groups:
        s.relate(g, "on", t)
    s.claim(top)


def room(s: Stage, kinds: tuple[str, ...], low: int = 2, high: int = 4) -> None:
    """Furniture and appliances side by side along a wall."""
    d = s.draw
    chosen = d.sample(kinds, d.between(low, high))
    groups = [s.group(k) for k in chosen]
    widths = [THINGS[k].size[0] * s.scale(g) // 100 for k, g in zip(chosen, groups, strict=True)]
    while sum(widths) * 70 // 100 > 318 and len(groups) > 1:
        groups.pop()
        widths.pop()
        s.members.pop()
        s.shared.pop()
        s.kinds.pop()
    scale = min(118, 318 * 100 // (sum(widths) + 10 * len(widths)))
    tallest = max(THINGS[s.kinds[g]].size[1] * s.scale(g) // 100 for g in groups)
    scale = min(scale, 236 * 100 // tallest)
    room = 334 - sum(w * scale // 100 + 8 for w in widths)
    x = room // 2 + d.between(-max(0, room // 3), max(0, room // 3))
    for g, w in zip(groups, widths, strict=True):
        w = w * scale // 100
        s.claim(s.put(g, x + w // 2, MID + 20 + d.between(0, 8), scale))
        x += w + 8
    for a, b in pairwise(groups):
        s.relate(a, "next to", b)


def counter(s: Stage, kinds: tuple[str, ...]) -> None:
    """Small things on the kitchen counter."""
    d = s.draw
    chosen = d.sample(kinds, d.pick((1, 2, 2, 3)))
    groups = [s.group(k, place="counter") for k in chosen]
    widths = [THINGS[k].size[0] * s.scale(g) // 100 for k, g in zip(chosen, groups, strict=True)]
    scale = min(150, 290 * 100 // (sum(widths) + 14 * len(widths)))
    x = 168 - (sum(w * scale // 100 + 12 for w in widths) - 12) // 2
    for g, w in zip(groups, widths, strict=True):
        w = w * scale // 100
        s.put(g, x + w // 2, 206, scale, layer=200)
        x += w + 12
    for a, b in pairwise(groups):
        s.relate(a, "next to", b)


def wall(s: Stage, kind: str = "clock") -> None:
    """A clock on the wall."""
    g = s.group(kind, place="wall")
    s.put(g, s.draw.between(60, 276), s.draw.between(72, 88), 84, layer=5)


def bystander(s: Stage, kinds: tuple[str, ...]) -> None:
    """One more thing where there is room left."""
    d = s.draw
    kind = d.pick(kinds)
    if kind in s.kinds or len(s.objects) >= 6:
        return
    w, h = THINGS[kind].size
    scale = 92 if h < 120 else 84
    spot = s.free(w * scale * 122 // 10000 + 4)
    if spot is None:
        return
    if kind == "person":
        g, who = crowd(s, 1)
        s.claim(s.person(g, spot, MID + d.between(8, 22), "stand", 96, kind=who[0],
                         flip=d.chance(50)))  # fmt: skip
        return
    pose = "upright" if kind in ("surfboard", "snowboard", "skis") else ""
    g = s.group(kind)
    size = (26, 112) if pose else None
    if pose:
        s.shared[g].pop("size", None)
    s.claim(s.put(g, spot, MID + d.between(8, 22), scale, flip=d.chance(40), pose=pose,
                  size=size))  # fmt: skip
