"""The data inside the page: captions and scores, compressed, for the browser to unfold.

Scores are rounded to five significant digits and stored as float32 in four byte planes (all first
bytes, all second bytes, …), which gzip packs well; 19 bits of mantissa keep all five digits.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

DIGITS = 5


class Sized(Protocol):
    @property
    def size(self) -> int:
        """Bytes in the page."""


Payload = TypeVar("Payload", bound=Sized)


def pack(raw: bytes) -> str:
    """gzip, then base64; the same bytes in give the same text out."""
    return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")


def pack_json(value: Any) -> str:
    return pack(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def pack_scores(values: npt.NDArray[np.float64]) -> str:
    """Scores [c, s, n] as packed byte planes."""
    flat = round_significant(values).ravel().astype("<f4")
    bits = flat.view("<u4").copy()
    finite = np.isfinite(flat)
    bits[finite] = (bits[finite] + 8) & np.uint32(0xFFFFFFF0)  # round to 19 bits of mantissa
    planes = bits.view(np.uint8).reshape(-1, 4).T
    return pack(planes.tobytes())


def round_significant(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`values` to DIGITS significant digits; 0, infinities and NaN as they are."""
    usable = np.isfinite(values) & (values != 0)
    size = np.floor(np.log10(np.abs(np.where(usable, values, 1.0))))
    scale = 10.0 ** (DIGITS - 1 - size)
    return np.where(usable, np.round(values * scale) / scale, values)


def fit(n_images: int, pack_first: Callable[[int], Payload], room: int) -> tuple[int, Payload]:
    """How many of the images fit into `room` bytes, and their payload; at least one image.

    `pack_first(k)` packs the first k.
    """
    keep = n_images
    while True:
        payload = pack_first(keep)
        if payload.size <= room or keep <= 1:
            return keep, payload
        keep = max(1, int(keep * 0.97 * max(room, 1) / max(payload.size, 1)))
