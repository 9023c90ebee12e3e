"""What can happen: small plots that put people, animals and things into relation on a stage.

Each plot places a few groups, relates them, and leaves the layout consistent with what it says:
a rider sits on the mount, whatever is on the table stands on its top.
"""

from itertools import pairwise

from metaeval.data.scenes.cast import THINGS
from research.scenes.stage import BACK, FRONT, MID, Stage, crowd, few, set_off

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
        "horse": ((40, 38), "ride"),
        "elephant": ((34, 24), "ride"),
        "bicycle": ((34, 17), "pedal"),
        "motorcycle": ((31, 38), "ride"),
    }[mount]
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
        p = s.person(
            g, x, FRONT + d.between(-4, 8), "raise", (112, 96)[n - 1], flip=flip, kind=kinds[i]
        )
        hx, _ = s.hand(p)
        side = -1 if flip else 1
        s.put(
            k,
            hx + side * d.between(46, 66),
            d.between(98, 122),
            108 * 100 // s.scale(k) if s.scale(k) > 100 else 108,
            layer=30,
        )
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


def holding(
    s: Stage,
    kind: str,
    pose: str = "hold",
    thing_pose: str = "",
    most: int = 2,
    predicate: str = "holding",
) -> None:
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
        s.claim(
            s.person(
                g,
                x,
                FRONT + s.draw.between(-6, 10),
                "walk",
                (140, 116, 96)[n - 1],
                flip=flip,
                kind=kinds[i],
            )
        )
    wear(s, g)


def suited(s: Stage) -> None:
    """Someone who wears a tie."""
    d = s.draw
    n = few(s, 2)
    t = s.group("tie")
    g = s.group(
        "person",
        who="man",
        tie=s.shared[t]["colour"],
        clothing=d.pick(("black", "gray", "blue", "white")),
    )
    for x in s.spread(n, 40, 296):
        p = s.person(g, x, FRONT + d.between(0, 14), "stand", (156, 128)[n - 1])
        px, py, w, h = s.objects[p].box
        hidden = s.put(
            t, px + w // 2, py + h * 49 // 100, h * 80 // 132, layer=s.objects[p].layer + 1
        )
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
            s.put(
                g,
                px,
                py + (4 if rider != "bird" else 2),
                scale * 100 // max(100, s.scale(g)),
                flip=d.chance(40),
                layer=base + 1,
                pose=pose,
            )
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
    b = s.group(
        two, **({"pose": "row"} if two == "boat" else {"pose": "open"} if two == "suitcase" else {})
    )
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
                s.person(
                    g, x, y, "sit", 112, layer=s.objects[hull].layer - 1, kind=kinds[i], hip=True
                )
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
    s.put(
        a,
        x,
        y,
        108 * 100 // max(100, s.scale(a)),
        layer=s.objects[host].layer + 1,
        pose="lie" if one in ("cat", "dog") else "",
        flip=d.chance(40),
    )
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
        s.put(
            a,
            x,
            y + 2,
            100 * 100 // max(100, s.scale(a)),
            layer=s.objects[second].layer + 1,
            flip=d.chance(40),
            pose="sit" if top in ("cat", "dog") else "",
        )
    s.relate(a, "sitting on" if top in ("cat", "dog") else "standing on", b)
    s.claim(second)


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
        s.put(g, x, d.between(92, 128), scale, pose="fly", layer=40, flip=d.chance(30))


def catching(s: Stage) -> None:
    """A dog with a frisbee in its mouth."""
    d = s.draw
    a, f = s.group("dog"), s.group("frisbee")
    flip = d.chance(45)
    p = s.put(
        a,
        168 + d.between(-30, 30),
        FRONT - 4,
        176 * 100 // max(100, s.scale(a)),
        flip=flip,
        pose="stand",
    )
    x, y = s.at(p, 99, 46)
    s.put(f, x, y + 10, 112, layer=s.objects[p].layer + 1)
    s.relate(a, "holding", f)
    s.claim(p)


def parked(
    s: Stage, kind: str, neighbour: str = "", predicate: str = "next to", most: int = 3
) -> None:
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


def pair(
    s: Stage, one: str, two: str, predicate: str = "next to", pose: str = "", scale: int = 120
) -> None:
    """Two things side by side, one under or one looking at the other."""
    d = s.draw
    a, b = s.group(one), s.group(two)
    limit = (
        100
        * 318
        // ((THINGS[one].size[0] * s.scale(a) + THINGS[two].size[0] * s.scale(b)) // 100 + 14)
    )
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


def tabletop(
    s: Stage, kinds: tuple[str, ...], table: str = "dining table", diners: int = 0, place: str = ""
) -> None:
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
        n = (
            2
            if kind
            in (
                "cup",
                "apple",
                "orange",
                "banana",
                "donut",
                "wine glass",
                "book",
                "carrot",
                "hot dog",
            )
            and d.chance(34)
            else 1
        )
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
        s.claim(
            s.person(g, spot, MID + d.between(8, 22), "stand", 96, kind=who[0], flip=d.chance(50))
        )
        return
    pose = "upright" if kind in ("surfboard", "snowboard", "skis") else ""
    g = s.group(kind)
    size = (26, 112) if pose else None
    if pose:
        s.shared[g].pop("size", None)
    s.claim(s.put(g, spot, MID + d.between(8, 22), scale, flip=d.chance(40), pose=pose, size=size))
