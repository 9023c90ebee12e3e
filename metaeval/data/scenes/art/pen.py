"""Drawing in an object's own coordinates: 0 to 100 across its box, 0 to 100 down."""

from PIL import ImageDraw

RGB = tuple[int, int, int]

COLOURS: dict[str, RGB] = {
    "red": (206, 44, 44),
    "blue": (44, 96, 196),
    "green": (56, 150, 74),
    "yellow": (244, 204, 60),
    "orange": (240, 134, 42),
    "purple": (130, 74, 168),
    "pink": (242, 138, 174),
    "brown": (128, 82, 48),
    "black": (42, 42, 48),
    "white": (244, 244, 240),
    "gray": (136, 140, 148),
    "tan": (206, 170, 118),
}

# what the light does to colours: towards which one, by how many percent
TINTS: dict[str, tuple[RGB, int]] = {
    "night": ((26, 32, 62), 55),
    "sunset": ((236, 142, 84), 22),
    "overcast": ((120, 126, 134), 14),
}


def darker(c: RGB, percent: int = 72) -> RGB:
    """The colour at `percent` of its brightness."""
    return (c[0] * percent // 100, c[1] * percent // 100, c[2] * percent // 100)


def lighter(c: RGB, percent: int = 45) -> RGB:
    """The colour moved `percent` of the way to white."""
    return mix(c, (255, 255, 255), percent)


def mix(a: RGB, b: RGB, percent: int) -> RGB:
    """The colour `percent` of the way from a to b."""
    return (
        a[0] + (b[0] - a[0]) * percent // 100,
        a[1] + (b[1] - a[1]) * percent // 100,
        a[2] + (b[2] - a[2]) * percent // 100,
    )


def dim(c: RGB, light: str) -> RGB:
    """The colour of the ground in this light."""
    return mix(c, *TINTS[light]) if light in TINTS else c


class Pen:
    """Draws flat shapes into a box of the canvas; `flip` mirrors left and right.

    Parameters
    ----------
    canvas
        Where to draw.
    x, y, w, h
        The box, in canvas pixels.
    flip
        Whether the thing looks to the left (drawings look to the right).
    """

    __slots__ = ("canvas", "flip", "h", "w", "x", "y")

    def __init__(
        self,
        canvas: ImageDraw.ImageDraw,
        x: float,
        y: float,
        w: float,
        h: float,
        flip: bool = False,
    ) -> None:
        self.canvas, self.y, self.h, self.flip = canvas, y, h / 100, flip
        self.x = x + w if flip else x
        self.w = -w / 100 if flip else w / 100

    def at(self, u: float, v: float) -> tuple[float, float]:
        """Box coordinates to canvas pixels."""
        return self.x + u * self.w, self.y + v * self.h

    def poly(self, fill: RGB, *uv: float) -> None:
        """A filled polygon: u, v, u, v, …"""
        self.canvas.polygon(self._points(uv), fill)

    def _corners(self, u0: float, v0: float, u1: float, v1: float) -> list[float]:
        a, b = self.x + u0 * self.w, self.x + u1 * self.w
        return [min(a, b), self.y + v0 * self.h, max(a, b), self.y + v1 * self.h]

    def _angles(self, start: int, end: int) -> tuple[int, int]:
        return (180 - end, 180 - start) if self.flip else (start, end)

    def _circle(self, u: float, v: float, r: float) -> list[float]:
        (x, y), r = self.at(u, v), r * self.h
        return [x - r, y - r, x + r, y + r]

    def _points(self, uv: tuple[float, ...]) -> list[tuple[float, float]]:
        return [self.at(uv[i], uv[i + 1]) for i in range(0, len(uv), 2)]

    def rect(self, fill: RGB, u0: float, v0: float, u1: float, v1: float) -> None:
        """A filled rectangle."""
        self.canvas.rectangle(self._corners(u0, v0, u1, v1), fill)

    def oval(self, fill: RGB, u0: float, v0: float, u1: float, v1: float) -> None:
        """A filled ellipse in the given rectangle."""
        self.canvas.ellipse(self._corners(u0, v0, u1, v1), fill)

    def round(
        self, fill: RGB, u0: float, v0: float, u1: float, v1: float, radius: float = 8
    ) -> None:
        """A filled rectangle with round corners; `radius` in hundredths of the shorter box side."""
        r = radius * min(abs(self.w), self.h)
        box = self._corners(u0, v0, u1, v1)
        r = min(r, (box[2] - box[0]) / 2, (box[3] - box[1]) / 2)
        self.canvas.rounded_rectangle(box, r, fill)

    def slice(
        self, fill: RGB, u0: float, v0: float, u1: float, v1: float, start: int, end: int
    ) -> None:
        """A pie slice of an ellipse, angles in degrees clockwise from three o'clock."""
        self.canvas.pieslice(self._corners(u0, v0, u1, v1), *self._angles(start, end), fill)

    def chord(
        self, fill: RGB, u0: float, v0: float, u1: float, v1: float, start: int, end: int
    ) -> None:
        """A segment of an ellipse, angles in degrees clockwise from three o'clock."""
        self.canvas.chord(self._corners(u0, v0, u1, v1), *self._angles(start, end), fill)

    def ring(self, fill: RGB, u: float, v: float, r: float, thick: float) -> None:
        """A circle's outline; radius and thickness in hundredths of the box height."""
        self.canvas.ellipse(self._circle(u, v, r), None, fill, max(1, round(thick * self.h)))

    def disc(self, fill: RGB, u: float, v: float, r: float) -> None:
        """A true circle; radius in hundredths of the box height."""
        self.canvas.ellipse(self._circle(u, v, r), fill)

    def line(self, fill: RGB, thick: float, *uv: float) -> None:
        """A polyline; thickness in hundredths of the box height."""
        self.canvas.line(self._points(uv), fill, max(1, round(thick * self.h)))

    def limb(self, fill: RGB, thick: float, *uv: float) -> None:
        """A polyline with round joints and ends; thickness in hundredths of the box height."""
        points, width = self._points(uv), max(2, round(thick * self.h))
        self.canvas.line(points, fill, width)
        r = width / 2 - 0.5
        for px, py in points:
            self.canvas.ellipse([px - r, py - r, px + r, py + r], fill)
