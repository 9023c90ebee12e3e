"""Scores of systems by the length of their captions, against the length of the references."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from metaeval.experiments.captioners.systems import best_first
from metaeval.results.measured import Extra
from metaeval.results.sentences import names
from metaeval.runs.columns import CAPTION, IMAGE_ID, SET
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats

EDGES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
FEWEST = 20  # captions of a system in a bin
Row = dict[str, Any]


class LengthAnalysis(NamedTuple):
    """Scores of systems by the length of their captions.

    Attributes
    ----------
    systems
        System → the mean words of its captions, their mean ratio to the mean words of the image's
        references, the share longer than every reference, and whether the captions are in length
        bins that the other systems' captions are in, too (`comparable`).
    by_bin
        The number of captions (`metric` "captions") and the mean scores of each metric and system
        in bins of the ratio, without one where there are fewer than `FEWEST`; `length_controlled`,
        the mean over the bins that all comparable systems share, each bin with the same weight;
        and `trend`, Spearman's ρ of length and score within the system's captions.
    changed
        The metrics by which the order of the comparable systems changes with length held fixed.
    caveat
        What cannot be separated from length; empty where everything can.
    """

    systems: Mapping[str, Row]
    by_bin: Extra
    changed: tuple[str, ...]
    caveat: str


def length_analysis(
    machines: pd.DataFrame,
    references: Mapping[object, Sequence[str]],
    scored: Sequence[MetricScores],
    systems: Sequence[str],
    headlines: Collection[str],
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
    headlines
        The columns whose order of systems `changed` looks at.
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
    used = [k for k in range(len(EDGES) + 1) if any(counts[name][k] for name in systems)]
    records: list[Row] = [
        {"metric": "captions", "system": name, **{bin_name(k): int(counts[name][k]) for k in used}}
        for name in systems
    ]
    changed = []
    for of in scored:
        for c, column in enumerate(of.columns):
            if of.scores is None or column.part_of is not None or column.control:
                continue
            scores = of.scores[:, c]
            plain, controlled = [], []
            for name, r in rows.items():
                in_bins = [_mean(scores[r][place[r] == k], FEWEST) for k in range(len(EDGES) + 1)]
                fixed = float("nan")
                if shared and name in comparable:
                    fixed = float(np.mean([in_bins[k] for k in shared]))
                controlled.append(fixed)
                plain.append(float("nan") if np.isnan(fixed) else _mean(scores[r]))
                records.append(
                    {
                        "metric": column.name,
                        "system": name,
                        **{bin_name(k): in_bins[k] for k in used},
                        "length_controlled": fixed,
                        "trend": _spearman(ratio[r], scores[r]),
                    }
                )
            higher = column.higher_is_better
            order = best_first(np.array(controlled), higher)
            if column.name in headlines and order != best_first(np.array(plain), higher):
                changed.append(column.name)
    title = (
        "Mean scores by the length of captions, as a share of the references' length "
        f"(bins with fewer than {FEWEST} captions have none)"
    )
    return LengthAnalysis(
        systems={
            name: {
                "words": _mean(words[r]),
                "ratio": ratios[name],
                "longer": _mean(np.where(longest[r] > 0, words[r] > longest[r], np.nan)),
                "comparable": name in comparable,
            }
            for name, r in rows.items()
        },
        by_bin=Extra.of("length", title, records, folded=True),
        changed=tuple(changed),
        caveat=_caveat(counts, ratios, comparable, changed),
    )


def bin_name(place: int) -> str:
    """A bin, as a share of the references' length.

    >>> bin_name(0), bin_name(3)
    ('below 0.5 ×', '1 to 1.25 ×')
    """
    if place == 0:
        return f"below {EDGES[0]:g} ×"
    if place == len(EDGES):
        return f"{EDGES[-1]:g} × and more"
    return f"{EDGES[place - 1]:g} to {EDGES[place]:g} ×"


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


def _caveat(
    counts: Mapping[str, npt.NDArray[np.intp]],
    ratios: Mapping[str, float],
    comparable: Sequence[str],
    changed: Sequence[str],
) -> str:
    """What a reader should not take for a difference of systems; empty where there is nothing."""
    if len(counts) > 1 and all(max(n, default=0) < FEWEST for n in counts.values()):
        return (
            f"Every length bin has fewer than {FEWEST} captions of a system: scores cannot be "
            "separated from length."
        )
    apart = [name for name in counts if name not in comparable and not np.isnan(ratios[name])]
    if apart:
        lengths = names(
            [f"{name} ({ratios[name]:.1f} times the references' length)" for name in apart]
        )
        return (
            f"In no length bin of the other systems: {lengths}; scores cannot be separated from "
            "length there."
        )
    if changed:
        return f"With length held fixed, the order of systems changes by {names(changed)}."
    return ""


def _spearman(x: Floats, y: Floats) -> float:
    """Spearman's ρ by mid-ranks without NaN; NaN where one of both is constant."""
    known = ~(np.isnan(x) | np.isnan(y))
    if known.sum() < 3 or np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(x[known]), rankdata(y[known]))[0, 1])


def _mean(values: Floats, fewest: int = 1) -> float:
    """The mean of the numbers; NaN of fewer than `fewest`."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) >= fewest else float("nan")
