"""Harmless rewrites beside harmful near-copies: what they cost, and which of the two wins.

Near-copies are the corruptions of facts: all kinds that harm but those of form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.sensitivity.profile import Told, mean_and_interval
from metaeval.stats.ordering.detection import central_intervals, drawn_sums, won
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats

FORM = ("words", "grammar", "order", "spelling", "whole caption")  # kinds that change no fact alone
BANDS = ((1, 1), (2, 3), (4, 10**6))  # edits of the same size: so many words changed


def hard_positives(table: Floats, told: Told, counts: Counts, confidence: float) -> dict[str, Any]:
    """How often a harmless rewrite scores above a harmful near-copy of the same image.

    Per image the mean over its pairs of 1, ½ (equal scores) or 0; per harmless set and in all
    ("all") the mean over images, with its interval.
    """
    harmful = [k for k, e in enumerate(told, 1) if _is_near_copy(e)]
    harmless = [k for k, e in enumerate(told, 1) if e["expected"] == "same"]
    by_set = {
        told[k - 1]["set"]: _image_means(table, [k], harmful, counts, confidence) for k in harmless
    }
    return {"all": _image_means(table, harmless, harmful, counts, confidence), "sets": by_set}


def _is_near_copy(entry: Any) -> bool:
    return bool(entry["expected"] == "lower" and entry["kind"] not in FORM)


def _image_means(
    table: Floats, harmless: list[int], harmful: list[int], counts: Counts, confidence: float
) -> dict[str, Any]:
    total, n = np.zeros(len(table)), np.zeros(len(table))
    for k in harmless if harmful else ():
        wins = won(table[:, [k]] - table[:, harmful])
        total += np.nansum(wins, axis=1)
        n += (~np.isnan(wins)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        # to whole 2^-20, so that resampled sums are exact
        means = np.rint(total / n * 2**20) / 2**20
    return mean_and_interval(means, counts, confidence)


def invariance(
    table: Floats, told: Told, cells: dict[str, dict[str, Any]], counts: Counts, confidence: float
) -> dict[str, Any]:
    """Harmless set → its cost as a share of the mildest harm of the same size of edit.

    Sizes are compared by the median number of edited words: 1, 2 to 3, 4 or more. The mildest is
    the near-copy of least mean cost among those that the metric sees (`verdict`). 0: the rewrite
    costs nothing, 1: as much as that harm. Interval by resampled images, the same for both;
    `None` where there is nothing to compare with.
    """
    shares: dict[str, Any] = {}
    for k, entry in enumerate(told, 1):
        if entry["expected"] != "same":
            continue
        size = _band(entry["median_edits"])
        mild = [
            (cells[e["set"]]["cost"], j)
            for j, e in enumerate(told, 1)
            if _is_near_copy(e) and size is not None and _band(e["median_edits"]) == size
            and cells[e["set"]]["verdict"] == "sees" and cells[e["set"]]["cost"] > 0
        ]  # fmt: skip
        if not mild or not cells[entry["set"]]["n"]:
            shares[entry["set"]] = None
            continue
        least, j = min(mild)
        shares[entry["set"]] = {
            "against": told[j - 1]["set"],
            "share": cells[entry["set"]]["cost"] / least,
            "ci": _ratio_interval(table, k, j, counts, confidence),
        }
    return shares


def _band(edits: float | None) -> int | None:
    if edits is None:
        return None
    return next((b for b, (low, high) in enumerate(BANDS) if low <= edits <= high), None)


def _ratio_interval(
    table: Floats, numerator: int, denominator: int, counts: Counts, confidence: float
) -> tuple[float, float]:
    gaps = table[:, [0]] - table[:, [numerator, denominator]]
    known = ~np.isnan(gaps)
    unit = max(float(np.abs(gaps[known]).max(initial=0)), 1e-300) / 2.0**30
    total, n = drawn_sums([np.rint(np.where(known, gaps, 0.0) / unit), known], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = total / n
        ratio = means[:, [0]] / means[:, [1]]
    return central_intervals(np.where(np.isfinite(ratio), ratio, np.nan), confidence)[0]
