"""The distribution of the scores of a run, and the captions that its page shows.

All numbers are exact. One column of all parts is in memory at a time: 8 bytes per caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.results.score import ExtremeRows, Histogram, RowSample, ScoreStatistics
from metaeval.runs import files

BINS = 60
DRAWN, EXTREME = 400, 10  # captions drawn at random, and of each column the lowest and highest
_SOME = 1 << 17  # scores at a time
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Floats = npt.NDArray[np.float64]


class ScoreDescription(NamedTuple):
    """Column → its statistics, and the rows to show."""

    statistics: Mapping[str, ScoreStatistics]
    shown: RowSample


def distribution(scores: Floats, mean: float | None, n_nan: int = 0) -> ScoreStatistics:
    """The statistics of scores [n] without NaN, whose mean is known; `n_nan` captions have none.

    The order of `scores` may be changed.
    """
    if not len(scores):
        return ScoreStatistics(
            n=0, n_nan=n_nan, mean=mean, sd=None, min=None, max=None, n_lowest=None, p5=None,
            p25=None, median=None, p75=None, p95=None, histogram=None,
        )  # fmt: skip
    low, high = float(scores.min()), float(scores.max())
    counts, edges = np.histogram(scores, bins=BINS if high > low else 1)
    n_lowest = int(np.sum(scores == low))
    sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
    # last, because it changes the order of the scores: a copy would take as much memory again
    p5, p25, median, p75, p95 = np.quantile(scores, _QUANTILES, overwrite_input=True).tolist()
    return ScoreStatistics(
        n=len(scores),
        n_nan=n_nan,
        mean=mean,
        sd=sd,
        min=low,
        max=high,
        n_lowest=n_lowest,
        p5=p5,
        p25=p25,
        median=median,
        p75=p75,
        p95=p95,
        histogram=Histogram(low=edges[0], high=edges[-1], counts=counts.tolist()),
    )


def extremes(scores: Floats, most: int = EXTREME) -> tuple[list[int], list[int]]:
    """The places of the lowest and of the highest scores [n], from the farthest on; of equals the
    first. NaN is neither. Scores are read in blocks, so that no copy of all is made."""
    ends = []
    for sign in (1.0, -1.0):
        best = np.empty(0, dtype=np.intp)
        for start in range(0, len(scores), _SOME):
            known = np.flatnonzero(~np.isnan(scores[start : start + _SOME]))
            places = np.append(best, start + known)
            best = places[np.lexsort((places, sign * scores[places]))[:most]]
        ends.append(best.tolist())
    return ends[0], ends[1]


def describe(
    parts: Sequence[Path], means: Mapping[str, float | None], seed: int
) -> ScoreDescription:
    """The statistics of each column of scored parts, and the rows to show.

    `means` has the mean of each column; `None` for a column without scores.
    """
    n, statistics, ends = 0, {}, {}
    for name, mean in means.items():
        scores = read_column(parts, name)
        n = len(scores)
        low, high = extremes(scores)
        ends[name] = ExtremeRows(lowest=tuple(low), highest=tuple(high))
        missing = np.isnan(scores)
        known = scores[~missing] if missing.any() else scores
        statistics[name] = distribution(known, mean, n - len(known))
    drawn = np.random.default_rng(seed).choice(n, min(DRAWN, n), replace=False)
    return ScoreDescription(
        statistics, RowSample(seed=seed, random=tuple(np.sort(drawn).tolist()), extremes=ends)
    )


def read_column(parts: Sequence[Path], name: str) -> Floats:
    """A column of all parts [n]."""
    every = [files.read_columns(part, [name], [name])[name].to_numpy() for part in parts]
    return np.concatenate([np.empty(0), *every])
