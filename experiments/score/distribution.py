"""What all scores of a run look like, and which captions to show of them.

Exact, of all captions: a column of all parts is in memory at a time, 8 bytes a caption.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.runs import files

BINS = 60
DRAWN, EXTREME = 400, 10  # captions drawn at random, and of each column the lowest and highest
_SOME = 1 << 17  # scores at a time
_QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}

Floats = npt.NDArray[np.float64]


def distribution(scores: Floats) -> dict[str, Any]:
    """Of scores [n] without NaN: sd, extremes and how many are the lowest, quantiles (interpolated,
    as numpy does by default) and a histogram of bins of one width between the extremes; `None`
    where there is no score. The scores may be in another order afterwards."""
    if not len(scores):
        return dict.fromkeys(("sd", "min", "max", "n_lowest", *_QUANTILES, "histogram"))
    low, high = float(scores.min()), float(scores.max())
    counts, edges = np.histogram(scores, bins=BINS if high > low else 1)
    n_lowest = int(np.sum(scores == low))
    sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
    # last, because it reorders them: a copy would be as large as they are
    quantiles = np.quantile(scores, list(_QUANTILES.values()), overwrite_input=True)
    return {
        "sd": sd,
        "min": low,
        "max": high,
        "n_lowest": n_lowest,
        **dict(zip(_QUANTILES, quantiles.tolist(), strict=True)),
        "histogram": {"from": float(edges[0]), "to": float(edges[-1]), "counts": counts.tolist()},
    }


def extremes(scores: Floats, most: int = EXTREME) -> tuple[list[int], list[int]]:
    """The places of the lowest and of the highest scores [n], from the farthest on; of equals the
    first. NaN is neither. Some scores are looked at at a time, so that no copy of all is made."""
    ends = []
    for sign in (1.0, -1.0):
        best = np.empty(0, dtype=np.intp)
        for start in range(0, len(scores), _SOME):
            known = np.flatnonzero(~np.isnan(scores[start : start + _SOME]))
            places = np.append(best, start + known)
            best = places[np.lexsort((places, sign * scores[places]))[:most]]
        ends.append(best.tolist())
    return ends[0], ends[1]


def describe(parts: Sequence[Path], columns: Sequence[str], seed: int) -> dict[str, Any]:
    """The distribution of each column of scored parts, and the rows to show.

    Returns `distributions`, column → `distribution`, and `shown`: `random` rows, and column →
    (`lowest`, `highest`) rows.
    """
    n, told, ends = 0, {}, {}
    for name in columns:
        scores = read_column(parts, name)
        n = len(scores)
        low, high = extremes(scores)
        ends[name] = {"lowest": low, "highest": high}
        missing = np.isnan(scores)
        told[name] = distribution(scores[~missing] if missing.any() else scores)
    drawn = np.random.default_rng(seed).choice(n, min(DRAWN, n), replace=False)
    return {
        "distributions": told,
        "shown": {"seed": seed, "random": np.sort(drawn).tolist(), "extremes": ends},
    }


def read_column(parts: Sequence[Path], name: str) -> Floats:
    """A column of all parts [n]."""
    every = [files.read_columns(part, [name], [name])[name].to_numpy() for part in parts]
    return np.concatenate([np.empty(0), *every])
