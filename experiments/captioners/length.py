"""Scores of systems by the length of their captions, against the length of the references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from metaeval.results.captioners import LengthAnalysis, MetricLength, SystemLength
from metaeval.runs.columns import CAPTION, IMAGE_ID, SET
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats

EDGES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
FEWEST = 20  # captions of a system in a bin


def length_analysis(
    machines: pd.DataFrame,
    references: Mapping[object, Sequence[str]],
    scored: Sequence[MetricScores],
    systems: Sequence[str],
) -> LengthAnalysis:
    """The scores of all metrics by length bins.

    Parameters
    ----------
    machines
        One row per caption: `image_id`, `set` (the system) and `caption`.
    references
        Image → its references. A caption of an image without references has no ratio.
    scored
        The metrics over the captions of `machines`, in the order of its rows.
    """
    words = np.array([len(caption.split()) for caption in machines[CAPTION]], dtype=np.float64)
    lengths = {image: [len(r.split()) for r in of] or [0] for image, of in references.items()}
    mean = np.array([float(np.mean(lengths[image])) for image in machines[IMAGE_ID]])
    longest = np.array([float(max(lengths[image])) for image in machines[IMAGE_ID]])
    ratio = words / np.where(mean > 0, mean, np.nan)
    place = np.where(np.isnan(ratio), -1, np.searchsorted(EDGES, ratio, side="right"))
    rows = {name: np.flatnonzero(machines[SET].to_numpy() == name) for name in systems}
    counts = {
        name: np.bincount(place[r][place[r] >= 0], minlength=len(EDGES) + 1)
        for name, r in rows.items()
    }
    ratios = {name: _mean(ratio[r]) for name, r in rows.items()}
    comparable, shared = comparable_systems(counts, ratios)
    return LengthAnalysis(
        edges=EDGES,
        fewest=FEWEST,
        systems=tuple(
            SystemLength(
                name=name,
                words=_mean(words[r]),
                ratio=ratios[name],
                longer=_mean(np.where(longest[r] > 0, words[r] > longest[r], np.nan)),
                bins=tuple(counts[name].tolist()),
                comparable=name in comparable,
            )
            for name, r in rows.items()
        ),
        metrics=tuple(
            _metric(
                column.name, of.scores[:, c], column.higher_is_better, rows, place, ratio,
                comparable, shared,
            )
            for of in scored
            if of.scores is not None
            for c, column in enumerate(of.columns)
            if column.part_of is None and not column.control
        ),
    )  # fmt: skip


def comparable_systems(
    counts: Mapping[str, npt.NDArray[np.intp]], ratios: Mapping[str, float]
) -> tuple[list[str], list[int]]:
    """The systems whose captions are in common length bins, and these bins.

    A bin is shared where each of the systems has `FEWEST` captions. Without such a bin, the
    system whose length is farthest from the references' is left out.
    """
    left = [name for name in counts if counts[name].sum()]
    while len(left) > 1:
        shared = np.flatnonzero(np.min([counts[name] for name in left], axis=0) >= FEWEST)
        if len(shared):
            return left, shared.tolist()
        left.remove(max(left, key=lambda name: abs(np.log(max(ratios[name], 1e-9)))))
    return left, []


def _metric(
    name: str,
    scores: Floats,
    higher: bool,
    rows: Mapping[str, npt.NDArray[np.intp]],
    place: npt.NDArray[np.intp],
    ratio: Floats,
    comparable: Sequence[str],
    shared: Sequence[int],
) -> MetricLength:
    by_bin = {}
    for system, r in rows.items():
        in_bins = [scores[r][place[r] == k] for k in range(len(EDGES) + 1)]
        in_bins = [values[~np.isnan(values)] for values in in_bins]
        by_bin[system] = tuple(
            float(values.mean()) if len(values) >= FEWEST else float("nan") for values in in_bins
        )
    controlled = {s: float(np.mean([by_bin[s][k] for k in shared])) for s in comparable if shared}
    controlled = {s: value for s, value in controlled.items() if not np.isnan(value)}
    plain = {system: _mean(scores[r]) for system, r in rows.items()}
    return MetricLength(
        name=name,
        by_bin=by_bin,
        controlled=controlled,
        ranking=_ranking(plain, higher),
        controlled_ranking=_ranking(controlled, higher),
        trend={system: _spearman(ratio[r], scores[r]) for system, r in rows.items()},
    )


def _ranking(values: Mapping[str, float], higher: bool) -> tuple[str, ...]:
    """The systems with a value, best first."""
    known = [name for name, value in values.items() if not np.isnan(value)]
    return tuple(sorted(known, key=lambda name: -values[name] if higher else values[name]))


def _spearman(x: Floats, y: Floats) -> float:
    """Spearman's ρ by mid-ranks without NaN; NaN where one of both is constant."""
    known = ~(np.isnan(x) | np.isnan(y))
    if known.sum() < 3 or np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(x[known]), rankdata(y[known]))[0, 1])


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
