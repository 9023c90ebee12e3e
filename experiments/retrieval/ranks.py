"""Ranks of right captions and images among all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.results.run import Measure
from metaeval.stats.resampling.items import Floats

# a measure, the field of `SearchRanks` that it is of, and how many places count
MEASURES = tuple(
    (Measure(f"{way}_R{k}", f"R@{k}, {way.replace('_', ' ')}", unit="share"), way, k)
    for way in ("image_to_text", "text_to_image")
    for k in (1, 5, 10)
)
Ints = npt.NDArray[np.int64]


class SearchRanks(NamedTuple):
    """The items that take part [n], and the rank of each one's own match, 0 = first, both ways."""

    items: Ints
    image_to_text: Ints
    text_to_image: Ints


def ranks_of(scores: Floats) -> SearchRanks:
    """The ranks from scores [captions, images], more is better; caption i belongs to image i.

    A rank counts the others with a score at least as high: ties count against the metric. An image
    or caption that has no score with any other leaves with its counterpart; ValueError where single
    scores are still missing then.

    >>> ranks_of(np.array([[3.0, 1.0], [2.0, 2.0]]))
    SearchRanks(items=array([0, 1]), image_to_text=array([0, 0]), text_to_image=array([0, 1]))
    """
    missing = np.isnan(scores)
    items = np.flatnonzero(~(missing.all(axis=0) | missing.all(axis=1)))
    kept = scores[np.ix_(items, items)]
    if np.isnan(kept).any():
        raise ValueError("some pairs of a caption and an image have no score")
    own = np.diag(kept)
    return SearchRanks(
        items,
        (kept >= own[None, :]).sum(axis=0) - 1,
        (kept >= own[:, None]).sum(axis=1) - 1,
    )


def hits_at(ranks: Mapping[str, SearchRanks], way: str, depth: int, n: int) -> dict[str, Floats]:
    """Column → [n] whether a query's own match is among the first `depth`; NaN without a rank."""
    hits = {}
    for name, of_column in ranks.items():
        hits[name] = np.full(n, np.nan)
        hits[name][of_column.items] = getattr(of_column, way) < depth
    return hits
