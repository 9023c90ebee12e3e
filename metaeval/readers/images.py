"""Image files, opened if they are of a size that a photograph has."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.errors import InputError
from metaeval.readers.files import one_line, open_binary

if TYPE_CHECKING:
    from PIL import Image

MOST_PIXELS = 120_000_000  # some telephones make photographs of 108 million
_MOST_BYTES = 1 << 29
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000")  # none runs a program


@contextmanager
def open_image(path: Path) -> Iterator[Image.Image]:
    """An image in RGB; InputError, naming the file, for what is none, is damaged or too large."""
    from PIL import Image as images

    try:
        with open_binary(path, _MOST_BYTES) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", images.DecompressionBombWarning)
            with images.open(file, formats=_FORMATS) as image:
                if (n := image.width * image.height) > MOST_PIXELS:
                    problem = f"has {n / 1e6:,.0f} million pixels, at most {MOST_PIXELS / 1e6:,.0f}"
                    raise InputError(f"cannot be read as an image ({problem})", file=path)
                rgb = image.convert("RGB")
    except (OSError, ValueError, SyntaxError, EOFError, TypeError, IndexError, KeyError,
            AttributeError, OverflowError, RuntimeError, MemoryError, struct.error, zlib.error,
            images.DecompressionBombError) as error:  # fmt: skip
        problem = f"cannot be read as an image ({one_line(error)})"
        raise InputError(problem, file=path) from None
    yield rgb
