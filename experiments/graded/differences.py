"""Which metrics differ: from each other, from the best control, and from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from metaeval.stats.ordering.graded import GradedResult
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.holm import holm
from metaeval.stats.significance.paired_differences import (
    PairedDifference,
    detectable_difference,
    images_needed,
    paired_difference,
)

MEASURES = ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy")
POWER = 0.8
CEILING = "ceiling"  # the family of the control that no metric can beat


def replicates_of(result: GradedResult) -> dict[str, Floats]:
    """Measure → its replicates, float64 [replicates]."""
    return {
        "rank_order_rho": result.resampled.rank_order_rho,
        "rank_order_rho_within": result.within,
        "pairwise_accuracy": result.resampled.pairwise_accuracy,
    }


def differences(
    records: Sequence[Mapping[str, Any]],
    resampled: Mapping[str, Mapping[str, Floats]],
    n_images: int,
    confidence: float,
) -> dict[str, Any]:
    """All pairs of metrics that are no parts, controls or untrained networks, by each measure.

    `resampled` is column → measure → replicates. p-values are Holm-corrected over the pairs of a
    measure; what is detectable, and the images needed, are at the level of the hardest of the
    pairs, α/m.
    """
    names = [
        r["metric"]
        for r in records
        if r["status"] == "ok" and r["part_of"] is None and not r["untrained"] and not r["control"]
    ]
    by_name = {r["metric"]: r for r in records}
    alpha = round(1 - confidence, 12)
    measures = {}
    for measure in MEASURES:
        pairs = list(combinations(names, 2))
        tested = [
            paired_difference(
                by_name[a][measure], by_name[b][measure],
                resampled[a][measure], resampled[b][measure], n_images, confidence,
            )
            for a, b in pairs
        ]  # fmt: skip
        adjusted = holm([t.p for t in tested])
        level = alpha / max(len(pairs), 1)
        measures[measure] = {
            "pairs": [
                _pair(a, b, test, float(p), n_images, level)
                for (a, b), test, p in zip(pairs, tested, adjusted, strict=True)
            ]
        }
    return {"alpha": alpha, "power": POWER, "measures": measures}


def _pair(
    a: str, b: str, test: PairedDifference, p_holm: float, n_images: int, level: float
) -> dict[str, Any]:
    known = test.error == test.error
    return {
        "a": a,
        "b": b,
        "difference": test.difference,
        "effect": test.effect,
        "detectable": detectable_difference(test.error, level, POWER) if known else None,
        "images_needed": images_needed(n_images, test.difference, test.error, level, POWER)
        if known
        else None,
        "bootstrap": {"ci": [test.low, test.high], "p": test.p, "p_holm": p_holm},
    }


def against_controls(
    records: Sequence[dict[str, Any]],
    resampled: Mapping[str, Mapping[str, Floats]],
    n_images: int,
    confidence: float,
) -> None:
    """Set `against_control` of every column that ran: by each measure the best control, the
    difference from it, its p-value (Holm's, over the columns) and whether the column beats it.

    Arguments as for `differences`. The ceiling is no control to beat. Without controls nothing is
    set.
    """
    ran = [r for r in records if r["status"] == "ok"]
    controls = [r for r in ran if r["control"] and r["family"] != CEILING]
    columns = [r for r in ran if not r["control"]]
    if not controls or not columns:
        return
    for measure in MEASURES:
        best = max(controls, key=lambda r: np.nan_to_num(r[measure], nan=-2.0))
        tested = [
            paired_difference(
                r[measure], best[measure],
                resampled[r["metric"]][measure], resampled[best["metric"]][measure],
                n_images, confidence,
            )
            for r in columns
        ]  # fmt: skip
        for r, test, p in zip(columns, tested, holm([t.p for t in tested]), strict=True):
            r.setdefault("against_control", {})[measure] = {
                "control": best["metric"],
                "difference": test.difference,
                "ci": [test.low, test.high],
                "p_holm": float(p),
                "beats": bool(test.difference > 0 and p <= 1 - confidence + 1e-12),
            }


def extreme_steps(result: GradedResult, n_images: int, confidence: float) -> dict[str, Any]:
    """The step between neighbouring levels that a metric sees least, and most, where that is sure.

    A step is named only if its AUC differs from that of *every* other step, after Holm's correction
    over all pairs of steps; otherwise `None`.
    """
    steps = result.record["adjacent_auc"]
    aucs, resampled = [step["auc"] for step in steps], result.resampled.adjacent_auc
    pairs = list(combinations(range(len(steps)), 2))
    tested = [
        paired_difference(aucs[i], aucs[j], resampled[i], resampled[j], n_images, confidence)
        for i, j in pairs
    ]
    adjusted = holm([t.p for t in tested])
    sign = {}
    for (i, j), test, p in zip(pairs, tested, adjusted, strict=True):
        real = p <= 1 - confidence + 1e-12
        sign[i, j] = real * np.sign(test.difference)
        sign[j, i] = -sign[i, j]

    def extreme(direction: int) -> dict[str, str] | None:
        for i, step in enumerate(steps):
            others = [sign[i, j] for j in range(len(steps)) if j != i]
            if others and all(s == direction for s in others):
                return {"lower": step["lower"], "upper": step["upper"]}
        return None

    return {"least_seen_step": extreme(-1), "clearest_step": extreme(1)}
