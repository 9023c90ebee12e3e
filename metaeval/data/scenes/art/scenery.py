"""Sky, trees, hills and other things that many outdoor places share."""

from __future__ import annotations

from metaeval.data.scenes.art.pen import RGB, Pen, darker

SKIES: dict[str, tuple[RGB, RGB]] = {
    "sunny": ((112, 184, 240), (196, 228, 250)),
    "cloudy": ((142, 190, 226), (214, 230, 240)),
    "overcast": ((164, 172, 182), (210, 214, 218)),
    "sunset": ((240, 138, 92), (252, 214, 140)),
    "night": ((22, 28, 58), (50, 60, 104)),
}
HORIZON = 46  # the ground begins here, in hundredths of the image


def mix(a: RGB, b: RGB, t: int) -> RGB:
    return (a[0] + (b[0] - a[0]) * t // 100, a[1] + (b[1] - a[1]) * t // 100,
            a[2] + (b[2] - a[2]) * t // 100)  # fmt: skip


def dim(c: RGB, light: str) -> RGB:
    """The colour of the ground in this light."""
    if light == "night":
        return mix(c, (26, 32, 62), 55)
    if light == "sunset":
        return mix(c, (236, 142, 84), 22)
    return mix(c, (120, 126, 134), 14) if light == "overcast" else c


def sky(p: Pen, light: str, horizon: int) -> None:
    top, low = SKIES[light]
    bands = 8
    for i in range(bands):
        p.rect(mix(top, low, 100 * i // (bands - 1)), 0, horizon * i / bands, 100,
               horizon * (i + 1) / bands)  # fmt: skip
    if light == "sunny":
        p.disc((255, 226, 92), 86, 12, 6)
    elif light == "sunset":
        p.disc((255, 236, 170), 66, horizon - 8, 7)
    elif light == "night":
        p.disc((246, 240, 206), 84, 11, 5)
        p.disc(top, 82, 9.6, 4.4)
        for u, v in ((8, 9), (22, 17), (33, 6), (47, 13), (58, 5), (68, 19), (94, 24), (14, 26)):
            p.disc((244, 244, 230), u, v, 0.5)
    if light in ("cloudy", "overcast"):
        c = (250, 252, 254) if light == "cloudy" else (184, 190, 198)
        for u, v, k in ((16, 11, 1.0), (52, 8, 1.3), (84, 17, 0.9), (34, 21, 0.8)):
            p.oval(c, u - 12 * k, v, u + 12 * k, v + 6 * k)
            p.oval(c, u - 6 * k, v - 3.4 * k, u + 5 * k, v + 5 * k)


def trees(p: Pen, light: str, at: tuple[int, ...], base: float, size: float = 1.0) -> None:
    leaf, trunk = dim((72, 148, 78), light), dim((120, 82, 52), light)
    for i, u in enumerate(at):
        k = size * (1.0 if i % 2 else 0.84)
        c = leaf if i % 2 else darker(leaf, 90)
        p.rect(trunk, u - 1.2 * k, base - 14 * k, u + 1.2 * k, base)
        p.disc(c, u, base - 20 * k, 9 * k)
        p.disc(c, u - 6 * k, base - 14 * k, 6.5 * k)
        p.disc(c, u + 6 * k, base - 14 * k, 6.5 * k)


def pines(p: Pen, light: str, at: tuple[int, ...], base: float) -> None:
    leaf = dim((44, 104, 78), light)
    for i, u in enumerate(at):
        k = 1.0 if i % 2 else 0.78
        p.rect(dim((104, 74, 50), light), u - 1, base - 4 * k, u + 1, base)
        for v, w in ((3, 8), (10, 6.4), (17, 4.6)):
            p.poly(leaf, u - w * k, base - v * k, u + w * k, base - v * k, u,
                   base - (v + 12) * k)  # fmt: skip
            p.poly((240, 246, 250), u - w * k * 0.34, base - (v + 8) * k, u + w * k * 0.34,
                   base - (v + 8) * k, u, base - (v + 12) * k)  # fmt: skip


def mountains(p: Pen, light: str) -> None:
    c = dim((132, 142, 164), light)
    for u, w, h in ((18, 26, 24), (50, 30, 31), (84, 26, 26)):
        p.poly(c if u != 50 else darker(c, 92), u - w, HORIZON + 1, u, HORIZON - h, u + w,
               HORIZON + 1)  # fmt: skip
        p.poly((246, 248, 252), u - w * 0.26, HORIZON - h * 0.74, u, HORIZON - h, u + w * 0.26,
               HORIZON - h * 0.74, u, HORIZON - h * 0.66)  # fmt: skip


def fence(p: Pen, light: str, v: float) -> None:
    c = dim((176, 132, 88), light)
    for rail in (v, v + 4):
        p.rect(c, 0, rail, 100, rail + 1.3)
    for u in range(4, 100, 13):
        p.rect(darker(c, 86), u, v - 3, u + 1.8, v + 8)


def flowers(p: Pen, light: str) -> None:
    tints = ((232, 84, 96), (250, 216, 84), (250, 250, 250), (186, 110, 206))
    for i, u in enumerate(range(4, 100, 8)):
        v = 88 + (i * 37) % 10 if i % 3 else 52 + (i * 29) % 5
        p.disc(dim(tints[i % 4], light), u + (i * 13) % 5, v, 1.1)


def rocks(p: Pen, light: str) -> None:
    c = dim((142, 140, 138), light)
    for u, v, k in ((84, 58, 1.0), (92, 60, 0.7), (76, 60, 0.6)):
        p.poly(c if k != 0.7 else darker(c, 86), u - 7 * k, v + 4 * k, u - 4 * k, v - 4 * k,
               u + 3 * k, v - 5 * k, u + 7 * k, v + 4 * k)  # fmt: skip
