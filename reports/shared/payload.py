"""The data inside the page: captions and scores, compressed, for the browser to unfold.

Scores are rounded to five significant digits and stored as float32 in four byte planes (all first
bytes, all second bytes, …), which gzip packs well; 19 bits of mantissa keep all five digits.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.stats.ordering import inversions
from metaeval.stats.ordering.inversions import worst_inversion
from reports.graded.run import Run

DIGITS = 5


def packed(raw: bytes) -> str:
    """gzip, then base64; the same bytes in give the same text out."""
    return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")


def packed_json(value: Any) -> str:
    return packed(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def captions(run: Run, images: Sequence[int]) -> str:
    """Per image [id, source, applied flags, [marked captions], [references]], images together.

    What is similar stands together, so that it is told once. A lone surrogate, which UTF-8 cannot
    hold, does not get past the dataset readers.
    """
    return packed_json(
        [
            [
                run.image_ids[i],
                run.sources[i],
                sum(int(run.applied[s, i]) << s for s in range(len(run.sets))),
                [run.captions[s][i] for s in range(len(run.sets))],
                run.references[i],
            ]
            for i in images
        ]
    )


def scores(values: npt.NDArray[np.float64]) -> str:
    """Scores [c, s, n] as packed byte planes."""
    flat = rounded(values).ravel().astype("<f4")
    bits = flat.view("<u4").copy()
    finite = np.isfinite(flat)
    bits[finite] = (bits[finite] + 8) & np.uint32(0xFFFFFFF0)  # round to 19 bits of mantissa
    planes = bits.view(np.uint8).reshape(-1, 4).T
    return packed(planes.tobytes())


def rounded(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`values` to DIGITS significant digits; 0, infinities and NaN as they are."""
    usable = np.isfinite(values) & (values != 0)
    size = np.floor(np.log10(np.abs(np.where(usable, values, 1.0))))
    scale = 10.0 ** (DIGITS - 1 - size)
    return np.where(usable, np.round(values * scale) / scale, values)


def worst_first(run: Run) -> list[int]:
    """Image indices by their worst inversions, taking turns among the metrics."""
    turns = np.full(len(run.image_ids), len(run.image_ids))
    for place in places(run).values():
        turns = np.minimum(turns, place)
    return [int(i) for i in np.argsort(turns, kind="stable")]


def places(run: Run) -> dict[str, npt.NDArray[np.intp]]:
    """Column → the place of each image [n] when those of its worst inversions come first."""
    higher = {m["metric"]: m.get("higher_is_better", True) for m in run.metrics}
    levels = [s["level"] for s in run.sets]
    found = {}
    for name, values in zip(run.columns, run.scores, strict=True):
        severity = worst_inversion(values, levels, run.applied, higher_is_better=higher[name])
        place = np.empty(len(run.image_ids), dtype=np.intp)
        place[inversions.worst_first(severity)] = np.arange(len(place))
        found[name] = place
    return found
