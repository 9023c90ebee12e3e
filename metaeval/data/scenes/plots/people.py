"""People who ride, hold, wear, pull, swing or look."""

from __future__ import annotations

from metaeval.data.scenes.plots.common import FRONT, MID, crowd, few
from metaeval.data.scenes.stage import Stage
from metaeval.data.scenes.things import THINGS

FOR_ADULTS = ("wine glass", "knife", "bottle")
BULKY = ("laptop", "pizza", "cake", "bowl", "hot dog", "sandwich")  # would hide their holder


def riders(s: Stage, mount: str, most: int = 3, predicate: str = "riding") -> None:
    """People riding horses, bicycles, motorcycles or elephants."""
    d = s.draw
    n = few(s, most)
    g, kinds = crowd(s, n)
    m = s.group(mount)
    flip = d.chance(45)
    scale = (118, 84, 62)[n - 1] if mount != "elephant" else (118, 74, 56)[n - 1]
    seat, pose = {
        "horse": ((40, 38), "ride"), "elephant": ((34, 24), "ride"),
        "bicycle": ((34, 17), "pedal"), "motorcycle": ((31, 38), "ride"),
    }[mount]  # fmt: skip
    base = d.between(FRONT - 14, FRONT + 8) if n == 1 else d.between(MID, FRONT)
    for i, x in enumerate(s.spread(n)):
        b = base + d.between(-8, 8)
        steed = s.put(m, x, b, scale, flip=flip)
        u, v = s.at(steed, *seat)
        rider = scale * (80 if mount == "elephant" else 96) // 100
        s.person(g, u, v, pose, rider, flip=flip, layer=b + 1, kind=kinds[i], hip=True)
        s.claim(steed)
    s.relate(g, predicate, m)


def boarders(s: Stage, board: str, most: int = 3) -> None:
    """People on surfboards, skateboards, skis or snowboards."""
    d = s.draw
    n = few(s, most)
    g, kinds = crowd(s, n)
    b = s.group(board)
    scale = (124, 92, 70)[n - 1]
    flip = d.chance(45)
    for i, x in enumerate(s.spread(n, jitter=10)):
        base = d.between(MID - 6, FRONT)
        plank = s.put(b, x, base, scale, flip=flip)
        u, v = s.at(plank, 50, {"skateboard": 30, "surfboard": 45}.get(board, 70))
        s.person(g, u, v + 2, "surf", scale * 94 // 100, flip=flip, layer=base + 1, kind=kinds[i])
        s.claim(plank)
    s.relate(g, "on skis" if board == "skis" else "riding", b)


def playing(s: Stage, gear: str, ball: str) -> None:
    """Tennis or baseball: someone swinging, with or without the ball in the air."""
    d = s.draw
    n = few(s, 2)
    g, kinds = crowd(s, n)
    t = s.group(gear)
    flip = d.chance(45)
    scale = (150, 116)[n - 1]
    for i, x in enumerate(s.spread(n, 40, 296)):
        p = s.person(g, x, FRONT + d.between(-4, 10), "swing", scale, flip=flip, kind=kinds[i])
        s.claim(p, s.hold(p, t, scale * 92 // 100))
    s.relate(g, "swinging" if d.chance(45) else "holding", t)
    if d.chance(50):
        b = s.group(ball, category="sports ball", place="sky")
        s.put(b, 300 if not flip else 36, d.between(120, 190), 62, layer=310)


def kite_flyers(s: Stage) -> None:
    """People with kites in the air."""
    d = s.draw
    n = few(s, 2)
    g, kinds = crowd(s, n)
    k = s.group("kite", place="sky")
    flip = d.chance(45)
    for i, x in enumerate(s.spread(n, 30, 250) if not flip else s.spread(n, 86, 306)):
        p = s.person(g, x, FRONT + d.between(-4, 8), "raise", (112, 96)[n - 1], flip=flip,
                     kind=kinds[i])  # fmt: skip
        hx, _ = s.hand(p)
        side = -1 if flip else 1
        s.put(k, hx + side * d.between(46, 66), d.between(98, 122), 108 * 100 // s.scale(k)
              if s.scale(k) > 100 else 108, layer=30)  # fmt: skip
        s.claim(p)
    s.relate(g, "flying", k)


def leash(s: Stage) -> None:
    """Someone walking a dog."""
    d = s.draw
    g, kinds = crowd(s, 1)
    a = s.group("dog")
    flip = d.chance(45)
    p = s.person(g, 130 if not flip else 206, FRONT, "hold", 138, flip=flip, kind=kinds[0])
    q = s.put(a, 234 if not flip else 102, FRONT + 4, 110, flip=flip, pose="stand")
    s.claim(p, q)
    s.relate(g, "walking", a)


def keeper(s: Stage, kind: str, predicate: str = "looking at") -> None:
    """Someone with an animal or a vehicle: next to it or looking at it."""
    d = s.draw
    g, kinds = crowd(s, 1)
    a = s.group(kind)
    flip = d.chance(50)
    far, near = (222, 74) if not flip else (114, 262)
    base = d.between(FRONT - 20, FRONT)
    big = min(112, 232 * 10000 // (THINGS[kind].size[0] * s.scale(a)))
    other = s.put(a, far, base, big, flip=not flip)
    edge = s.objects[other].box
    near = edge[0] - 32 if not flip else edge[0] + edge[2] + 32
    p = s.person(
        g,
        min(max(near, 36), 300),
        base + 4,
        "look" if predicate == "looking at" else "stand",
        116,
        flip=flip,
        kind=kinds[0],
    )
    s.relate(g, predicate, a)
    s.claim(other, p)


def holding(s: Stage, kind: str, pose: str = "hold", thing_pose: str = "",
            most: int = 2, predicate: str = "holding") -> None:  # fmt: skip
    """People with something in the hand."""
    d = s.draw
    n = few(s, most)
    g, kinds = crowd(s, n, grown=kind in FOR_ADULTS)
    t = s.group(kind)
    scale = (138, 112, 92)[n - 1]
    grip = scale * 62 // 100 if kind in BULKY else scale
    flip = d.chance(45)
    for i, x in enumerate(s.spread(n, 50, 286)):
        base = d.between(FRONT - 6, FRONT + 16)
        p = s.person(g, x, base, pose, scale, flip=flip, kind=kinds[i])
        s.claim(p, s.hold(p, t, grip, thing_pose))
    s.relate(g, predicate, t)
    if n < 3 and s.light != "indoors" and d.chance(22):
        wear(s, g)


def carrying(s: Stage, board: str) -> None:
    """People carrying an upright board."""
    holding(s, board, "hold", "upright", 3, "carrying")


def wear(s: Stage, g: int) -> None:
    """Put a backpack on the back of everyone in group `g`."""
    t = s.group("backpack")
    for i in s.members[g]:
        item = s.objects[i]
        pose = dict(item.looks)["pose"]
        if pose in ("surf", "lie", "sit", "sithold", "ride", "pedal"):
            continue
        x, y = s.at(i, 16, 47)
        s.put(t, x, y, item.box[3] * 76 // 132, layer=item.layer - 1)
    if len(s.members[t]) == len(s.members[g]):
        s.relate(g, "wearing", t)


def packed(s: Stage) -> None:
    """Walkers with backpacks."""
    n = few(s, 3)
    g, kinds = crowd(s, n)
    flip = s.draw.chance(45)
    for i, x in enumerate(s.spread(n, 40, 296)):
        s.claim(s.person(g, x, FRONT + s.draw.between(-6, 10), "walk", (140, 116, 96)[n - 1],
                         flip=flip, kind=kinds[i]))  # fmt: skip
    wear(s, g)


def suited(s: Stage) -> None:
    """Someone who wears a tie."""
    d = s.draw
    n = few(s, 2)
    t = s.group("tie")
    g = s.group("person", who="man", tie=s.shared[t]["colour"],
                clothing=d.pick(("black", "gray", "blue", "white")))  # fmt: skip
    for x in s.spread(n, 40, 296):
        p = s.person(g, x, FRONT + d.between(0, 14), "stand", (156, 128)[n - 1])
        px, py, w, h = s.objects[p].box
        hidden = s.put(t, px + w // 2, py + h * 49 // 100, h * 80 // 132,
                       layer=s.objects[p].layer + 1)  # fmt: skip
        s.claim(p, hidden)
    s.relate(g, "wearing", t)


def luggage(s: Stage) -> None:
    """Travellers pulling suitcases."""
    n = few(s, 2)
    g, kinds = crowd(s, n)
    t = s.group("suitcase")
    flip = s.draw.chance(45)
    scale = (136, 112)[n - 1]
    for i, x in enumerate(s.spread(n, 50, 286)):
        base = FRONT + s.draw.between(0, 10)
        p = s.person(g, x, base, "walk", scale, flip=flip, kind=kinds[i])
        dx = -38 if not flip else 38
        s.claim(p, s.put(t, x + dx * scale // 110, base, scale * 78 // 100, layer=base - 1))
    s.relate(g, "pulling", t)
