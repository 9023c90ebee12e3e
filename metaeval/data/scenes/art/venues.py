"""The lines and buildings of sports grounds, stations and airports."""

from __future__ import annotations

from metaeval.data.scenes.art.pen import Pen
from metaeval.data.scenes.art.scenery import HORIZON, dim


def grounds(p: Pen, setting: str, light: str, has: set[str]) -> None:
    """The lines and buildings of sports grounds, stations and airports."""
    h = HORIZON
    white = dim((244, 244, 240), light)
    if setting == "baseball field":
        p.oval(dim((204, 150, 100), light), -10, 70, 110, 112)
        p.line(white, 0.8, 50, 94, -4, 62)
        p.line(white, 0.8, 50, 94, 104, 62)
        p.poly(white, 46, 92, 54, 92, 54, 95, 50, 97, 46, 95)
        p.rect(dim((40, 92, 70), light), 0, h - 8, 100, h + 2)
        if "crowd fence" in has:
            tints = ((214, 70, 64), (250, 214, 90), (86, 130, 206), (240, 240, 236), (60, 64, 72))
            p.rect(dim((120, 124, 132), light), 0, 24, 100, h - 8)
            for row, v in enumerate((27, 31, 35)):
                for i, u in enumerate(range(2 + row, 100, 4)):
                    p.disc(dim((226, 184, 150), light), u, v - 1, 1)
                    p.rect(dim(tints[(i * 3 + row) % 5], light), u - 1.2, v, u + 1.2, v + 3)
    elif setting == "tennis court":
        if "bleachers" in has:
            for v in (30, 35, 40):
                p.rect(dim((150, 156, 164), light), 0, v, 100, v + 3)
        p.rect(dim((46, 110, 90), light), 0, h, 100, h + 8)
        p.line(white, 0.8, 0, 72, 100, 72)
        p.line(white, 0.8, 14, 58, 2, 100)
        p.line(white, 0.8, 86, 58, 98, 100)
        p.rect(dim((60, 66, 72), light), 0, 50, 100, 58)
        for u in range(0, 100, 4):
            p.line(dim((200, 204, 206), light), 0.25, u, 50, u, 58)
        p.rect(white, 0, 49, 100, 50.4)
    elif setting == "skate park":
        p.rect(dim((160, 162, 166), light), 0, h - 6, 100, h + 3)
        if "graffiti" in has:
            for i, c in enumerate(((226, 84, 96), (80, 160, 214), (246, 202, 78), (126, 190, 98))):
                u = 6 + i * 24
                p.line(dim(c, light), 1.6, u, h, u + 4, h - 4, u + 8, h + 1, u + 13, h - 4)
        if "ramp" in has:
            p.poly(dim((150, 152, 158), light), 58, 66, 100, 48, 100, 70, 58, 70)
            p.poly(dim((128, 130, 136), light), 100, 48, 100, 70, 92, 70)
    elif setting == "station":
        p.rect(dim((118, 108, 100), light), 0, 76, 100, 88)
        for u in range(0, 100, 6):
            p.rect(dim((96, 76, 60), light), u, 79, u + 3, 87)
        for v in (80, 85):
            p.rect(dim((196, 198, 202), light), 0, v, 100, v + 1)
        p.rect(dim((250, 214, 90), light), 0, 88, 100, 89.6)
        p.rect(dim((196, 194, 190), light), 0, 89.6, 100, 100)
        if "platform roof" in has:
            p.rect(dim((92, 104, 116), light), 0, 12, 100, 18)
            for u in (6, 50, 92):
                p.rect(dim((112, 122, 132), light), u, 18, u + 2, 76)
    elif setting == "airport":
        p.rect(dim((128, 178, 100), light), 0, h, 100, h + 10)
        for u in range(2, 100, 20):
            p.rect(white, u, 95, u + 11, 96.6)
        if "control tower" in has:
            p.rect(dim((200, 204, 208), light), 8, 22, 13, h + 2)
            p.poly(dim((86, 120, 150), light), 4, 16, 17, 16, 15, 23, 6, 23)
            p.rect(dim((180, 184, 190), light), 13, 38, 40, h + 2)
