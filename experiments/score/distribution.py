"""The distribution of the scores of a run, and the captions that its page shows.

All numbers are exact. One column of all parts is in memory at a time: 8 bytes per caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.results.base import Estimate
from metaeval.results.metric import Measured
from metaeval.results.run import Measure
from metaeval.runs import files

BINS = 60
DRAWN, EXTREME = 400, 10  # captions drawn at random, and of each column the lowest and highest
_SOME = 1 << 17  # scores at a time
_QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
_NUMBERS = {
    "mean": "Mean", "sd": "Sd", "min": "Lowest", "p5": "5%", "p25": "25%", "median": "Median",
    "p75": "75%", "p95": "95%", "max": "Highest",
}  # fmt: skip
MEASURES = (
    *(Measure(key, title, best="neither") for key, title in _NUMBERS.items()),
    Measure("n", "Captions", unit="count", best="neither"),
    Measure("n_nan", "Not scored", unit="count", best="neither"),
)

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]


class ScoreDescription(NamedTuple):
    """Column → its statistics; its bins; and the rows to show, with why each was chosen."""

    statistics: Mapping[str, Measured]
    bins: list[Row]
    shown: list[Row]


def distribution(scores: Floats, mean: float | None, n_nan: int = 0) -> Measured:
    """The statistics of scores [n] without NaN, whose mean is known; `n_nan` captions have none.

    Standard deviation with n - 1, quantiles with linear interpolation; the fact `n_lowest` is the
    number of captions with the lowest score. The order of `scores` may be changed.
    """
    numbers: dict[str, float | None] = dict.fromkeys(_NUMBERS)
    numbers |= {"mean": mean, "n": len(scores), "n_nan": n_nan}
    n_lowest = None
    if len(scores):
        low, high = float(scores.min()), float(scores.max())
        n_lowest = int(np.sum(scores == low))
        sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
        # last, because it changes the order of the scores: a copy would take as much memory again
        quantiles = np.quantile(scores, list(_QUANTILES.values()), overwrite_input=True).tolist()
        numbers |= {"sd": sd, "min": low, "max": high}
        numbers |= dict(zip(_QUANTILES, quantiles, strict=True))
    values = {key: Estimate(value=value) for key, value in numbers.items()}
    return Measured(values=values, facts={"n_lowest": n_lowest})


def histogram(name: str, scores: Floats) -> list[Row]:
    """Counts of scores [n] in bins of equal width from the lowest to the highest; one bin of width
    1 where all are equal. The last bin includes its upper edge."""
    if not len(scores):
        return []
    counts, edges = np.histogram(scores, bins=BINS if scores.max() > scores.min() else 1)
    return [
        {"metric": name, "from": low, "to": high, "count": int(n)}
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


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
    n, statistics, bins, shown = 0, {}, [], []
    for name, mean in means.items():
        every = [files.read_columns(part, [name], [name])[name].to_numpy() for part in parts]
        scores = np.concatenate([np.empty(0), *every])
        n = len(scores)
        for why, rows in zip(("lowest", "highest"), extremes(scores), strict=True):
            shown += [{"row": row, "chosen": why, "metric": name} for row in rows]
        missing = np.isnan(scores)
        known = scores[~missing] if missing.any() else scores
        bins += histogram(name, known)
        statistics[name] = distribution(known, mean, n - len(known))
    drawn = np.random.default_rng(seed).choice(n, min(DRAWN, n), replace=False)
    at_random = [{"row": row, "chosen": "at random"} for row in np.sort(drawn).tolist()]
    return ScoreDescription(statistics, bins, [*at_random, *shown])
