"""Who sits, lies or stands on, in, under or in front of what."""

from __future__ import annotations

from metaeval.data.scenes.plots.common import FRONT, crowd, few, set_off
from metaeval.data.scenes.stage import Stage
from metaeval.data.scenes.things import THINGS


def seated(s: Stage, seat: str, rider: str, most: int = 2) -> None:
    """People, animals or toys on a bench, couch, chair or bed."""
    d = s.draw
    f = s.group(seat)
    big = {"bench": 172, "couch": 116, "chair": 170, "bed": 106}[seat]
    x = d.between(150, 186)
    base = FRONT - (0 if seat != "chair" else 4)
    furniture = s.put(f, x, base, big)
    level = {"bench": 62, "couch": 62, "chair": 56, "bed": 50}[seat]
    left, right = {"bench": (10, 90), "couch": (16, 84), "chair": (30, 80), "bed": (34, 92)}[seat]
    if seat == "chair":
        most = 1
    n = few(s, most)
    if rider == "person":
        lying = seat == "bed" or (seat == "couch" and n == 1 and d.chance(22))
        n = 1 if lying else n
        g, kinds = crowd(s, n)
        for i in range(n):
            u = left + (right - left) * (2 * i + 1) // (2 * n) + d.between(-3, 3)
            px, py = s.at(furniture, u if not lying else 48, level)
            if lying:
                s.person(g, px, py + 12, "lie", 130, layer=base + 1, kind=kinds[i])
            else:
                tall = 132 if s.scale(f) >= 100 else 104
                s.person(g, px, py, "sit", tall, layer=base + 1, kind=kinds[i], hip=True)
        s.relate(g, "lying on" if lying else "sitting on", f)
    else:
        g = s.group(rider)
        set_off(s, g, f)
        pose = d.pick(("lie", "lie", "sit")) if rider in ("dog", "cat") else ""
        for i in range(n):
            u = left + (right - left) * (2 * i + 1) // (2 * n) + d.between(-4, 4)
            px, py = s.at(furniture, u, level)
            if rider == "bird":
                py = s.at(furniture, u, 7)[1]
            scale = 100 if rider != "bird" else 110
            s.put(g, px, py + (4 if rider != "bird" else 2), scale * 100 // max(100, s.scale(g)),
                  flip=d.chance(40), layer=base + 1, pose=pose)  # fmt: skip
        seated_things = ("bird", "cat", "dog", "teddy bear")
        word = {"lie": "lying on"}.get(pose, "sitting on" if rider in seated_things else "on")
        s.relate(g, word, f)
    s.claim(furniture)


def using(s: Stage, kind: str, seat: str) -> None:
    """Someone on a couch, a bed or a bench with a book, a laptop or a toy in the hands."""
    d = s.draw
    f = s.group(seat)
    big = {"bench": 172, "couch": 116}[seat]
    furniture = s.put(f, 168, FRONT, big)
    g, kinds = crowd(s, 1)
    x, y = s.at(furniture, d.pick((32, 50, 68)), 62)
    tall = 140 if s.scale(f) >= 100 else 102
    p = s.person(g, x, y, "sithold", tall, layer=FRONT + 1, kind=kinds[0], hip=True)
    t = s.group(kind)
    s.hold(p, t, 84 if kind != "cell phone" else 110, "open" if kind == "book" else "")
    s.relate(g, "sitting on", f)
    s.relate(g, "holding", t)
    s.claim(furniture)


def hiding(s: Stage, one: str, two: str, predicate: str) -> None:
    """An animal under a table, a chair, a bench or an umbrella, or in front of something."""
    d = s.draw
    a, b = s.group(one), s.group(two)
    set_off(s, a, b)
    widest = THINGS[two].size[0] * (122 if THINGS[two].sizes else 100) // 100
    big = min(150, 318 * 100 // widest)
    big = min(big, 150 if two != "refrigerator" else 104)
    second = s.put(b, 168 + d.between(-20, 20), FRONT - (10 if predicate == "under" else 16), big)
    pose = d.pick(("sit", "lie")) if one in ("dog", "cat") else ""
    x, _, w, h = s.objects[second].box
    scale = 92
    if predicate == "under":
        room = h * {"dining table": 52, "bench": 34, "chair": 34, "bed": 24}.get(two, 40) // 100
        tall = THINGS[one].size[1] * s.scale(a) // 100
        scale = min(96, max(40, room * 100 // tall))
    layer = s.objects[second].layer + (2 if predicate == "in front of" else 1)
    first = s.put(
        a,
        x + w // 2 + d.between(-w // 8, w // 8),
        FRONT - 6 + (10 if predicate == "in front of" else 0),
        scale,
        flip=d.chance(45),
        layer=layer,
        pose=pose,
    )
    s.claim(first, second)
    s.relate(a, predicate, b)


def inside(s: Stage, one: str, two: str) -> None:
    """A cat or a toy in a suitcase, a sink or a bowl; people or a dog in a boat."""
    d = s.draw
    b = s.group(two, **({"pose": "row"} if two == "boat" else {"pose": "open"}
                        if two == "suitcase" else {}))  # fmt: skip
    if two == "boat":
        n = few(s, 3)
        hull = s.put(b, 168, FRONT - 8, 100, size=(216, 54))
        if one == "person":
            g, kinds = crowd(s, n)
        else:
            g, kinds = s.group(one), []
        for i in range(n):
            x, y = s.at(hull, 100 * (2 * i + 1) // (2 * n), 58)
            if one == "person":
                s.person(g, x, y, "sit", 112, layer=s.objects[hull].layer - 1, kind=kinds[i],
                         hip=True)  # fmt: skip
            else:
                s.put(g, x, y + 8, 96, layer=s.objects[hull].layer - 1, pose="sit")
        s.relate(g, "in", b)
        s.claim(hull)
        return
    box = (136, 110) if two == "suitcase" else (128, 150)
    host = s.put(b, 168 + d.between(-40, 40), FRONT, 100, size=box)
    a = s.group(one)
    set_off(s, a, b)
    x, y = s.at(host, 50, 78 if two == "suitcase" else 36)
    s.put(a, x, y, 108 * 100 // max(100, s.scale(a)), layer=s.objects[host].layer + 1,
          pose="lie" if one in ("cat", "dog") else "", flip=d.chance(40))  # fmt: skip
    s.relate(a, "in", b)
    s.claim(host)


def perched(s: Stage, top: str, host: str, level: int, most: int = 2) -> None:
    """Birds or cats standing or sitting on an animal, a car, a sign …"""
    d = s.draw
    n = few(s, most)
    a, b = s.group(top), s.group(host)
    set_off(s, a, b)
    big = 128 * 100 // max(100, s.scale(b))
    second = s.put(b, 168 + d.between(-24, 24), FRONT - 8, big, flip=d.chance(40))
    for i in range(n):
        x, y = s.at(second, 26 + 34 * (2 * i + 1) // (2 * n), level)
        s.put(a, x, y + 2, 100 * 100 // max(100, s.scale(a)), layer=s.objects[second].layer + 1,
              flip=d.chance(40), pose="sit" if top in ("cat", "dog") else "")  # fmt: skip
    s.relate(a, "sitting on" if top in ("cat", "dog") else "standing on", b)
    s.claim(second)
