"""Thumbnails of a run's image files, made on request."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path

from metaeval.errors import InputError
from metaeval.readers.images import open_image

SIDE = 320


def thumbnails(
    image_ids: Sequence[int | str], image_paths: Sequence[str | None], images: Sequence[int]
) -> dict[str, str]:
    """Image id → data URL of a JPEG of at most SIDE pixels a side; unreadable files left out."""
    paths = {i: Path(p) for i in images if (p := image_paths[i])}
    if not paths:
        return {}
    urls = {}
    for i, path in paths.items():
        try:
            with open_image(path) as image:
                image.thumbnail((SIDE, SIDE))
        except InputError:
            continue
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=72, optimize=True)
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        urls[str(image_ids[i])] = f"data:image/jpeg;base64,{data}"
    return urls
