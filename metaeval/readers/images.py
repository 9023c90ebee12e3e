"""Image files, opened if they are of a size that a photograph has."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metaeval.errors import InputError
from metaeval.readers.files import one_line, open_binary

if TYPE_CHECKING:
    from PIL import Image

MOST_PIXELS = 120_000_000  # some telephones make photographs of 108 million
MOST_SIDE = 65_535  # what JPEG can hold; a PNG may be one pixel high and a hundred million wide
READING = "upright-1"  # how pixels are made of a file, for signatures of what looks at them
_MOST_BYTES = 1 << 29
_ORIENTATION, _TURNED = 0x0112, range(5, 9)  # EXIF's tag; where width and height change places
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000")  # none runs a program


@contextmanager
def open_image(path: Path) -> Iterator[Image.Image]:
    """An image in RGB, as a viewer shows it: upright, dark to light as the file says.

    The orientation that a camera noted (EXIF) is applied. Grey values of 16 bits are divided by
    257; floating-point values must lie in [0, 1] and are multiplied by 255. Raises InputError,
    naming the file, for what is not an image, is damaged, is too large, or has other numbers.
    """
    from PIL import ImageOps

    with _opened(path) as image:
        rgb = _rgb(ImageOps.exif_transpose(image))
    yield rgb


def image_size(path: Path) -> tuple[int, int]:
    """The width and height of an image as a viewer shows it (upright), from the file's head.

    Raises InputError as `open_image` does.
    """
    with _opened(path) as image:
        width, height = image.size
        turned = image.getexif().get(_ORIENTATION) in _TURNED
    return (height, width) if turned else (width, height)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """An image whose head is read; whatever goes wrong with it within the block is InputError."""
    from PIL import Image as images

    try:
        with open_binary(path, _MOST_BYTES) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", images.DecompressionBombWarning)
            with images.open(file, formats=_FORMATS) as image:
                if (n := image.width * image.height) > MOST_PIXELS:
                    problem = f"has {n / 1e6:,.0f} million pixels, at most {MOST_PIXELS / 1e6:,.0f}"
                    raise InputError(f"cannot be read as an image ({problem})", file=path)
                if max(image.size) > MOST_SIDE:
                    problem = f"has a side of {max(image.size):,} pixels, at most {MOST_SIDE:,}"
                    raise InputError(f"cannot be read as an image ({problem})", file=path)
                yield image
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        TypeError,
        IndexError,
        KeyError,
        AttributeError,
        OverflowError,
        RuntimeError,
        MemoryError,
        struct.error,
        zlib.error,
        images.DecompressionBombError,
    ) as error:
        raise InputError(f"cannot be read as an image ({one_line(error)})", file=path) from None


def _rgb(image: Image.Image) -> Image.Image:
    """An image in 8 bits a channel; Pillow's own conversion cuts off what is above 255."""
    from PIL import Image as images

    if image.mode not in ("F", "I") and not image.mode.startswith("I;"):
        return image.convert("RGB")
    values = np.asarray(image)
    low, high = float(values.min()), float(values.max())  # NaN where one value is
    limit = 1.0 if image.mode == "F" else 65_535.0
    if not (low >= 0 and high <= limit):
        raise ValueError(f"its values are in [{low:g}, {high:g}], not in [0, {limit:g}]")
    grey = np.rint(np.multiply(values, 255 / limit, dtype=np.float32)).astype(np.uint8)
    return images.fromarray(grey).convert("RGB")
