"""The profile of one metric: per set of changed captions what it notices, and how surely.

Scores are tables float64 [n_images, 1 + n_sets], the human captions first, higher is better, NaN
where there is no score or nothing was changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from metaeval.stats.ordering.detection import (
    auc_within_images,
    central_intervals,
    detection,
    drawn_sums,
    falls,
)
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats

EXAMPLES = 3
NEAR_CHANCE = 0.1  # an AUC surely within 0.5 ± this is as good as not told apart
ENOUGH = 20  # images below which "does not see" is never said
Told = Sequence[Mapping[str, Any]]


class CaptionsBySet:
    """The captions of a run by image and set, for examples."""

    def __init__(self, captions: pd.DataFrame, images: pd.Index[Any], names: Sequence[str]) -> None:
        self.images = images
        row = images.get_indexer(pd.Index(captions["image_id"]))
        column = pd.Index(names).get_indexer(pd.Index(captions["set"]))
        self.table = np.empty((len(images), len(names)), dtype=object)
        self.table[row, column] = captions["caption"]

    def example(self, image: int, column: int, scores: Floats) -> dict[str, Any]:
        return {
            "image_id": self.images[image],
            "human": self.table[image, 0],
            "changed": self.table[image, column],
            "scores": [float(scores[image, 0]), float(scores[image, column])],
        }


def profile(
    table: Floats,
    told: Told,
    counts: Counts,
    fluency: Floats | None,
    texts: CaptionsBySet,
    confidence: float,
) -> dict[str, dict[str, Any]]:
    """Set → what a metric makes of it; `fluency` is the table of the language model."""
    another = _cost_of_another(table, told)
    seen = detection(table[:, 0], table[:, 1:], counts, confidence=confidence)
    beyond = _beyond_fluency(table, fluency, counts, confidence) if fluency is not None else None
    cells: dict[str, dict[str, Any]] = {}
    for k, entry in enumerate(told, 1):
        gaps = table[:, 0] - table[:, k]
        harmful = entry["expected"] == "lower"
        order = np.argsort(np.nan_to_num(gaps if harmful else -gaps, nan=np.inf), kind="stable")
        worst = [i for i in order[:EXAMPLES].tolist() if not np.isnan(gaps[i])]
        cost = seen[k - 1].cost
        cells[entry["set"]] = {
            **seen[k - 1]._asdict(),
            "share_of_another": cost / another if another and another > 0 else None,
            "beyond_fluency": beyond[k - 1] if beyond is not None else None,
            "examples": [texts.example(i, k, table) for i in worst],
        }
    return cells


def _cost_of_another(table: Floats, told: Told) -> float | None:
    """What another image's caption costs: the unit in which costs of metrics can be compared."""
    place = next((k for k, entry in enumerate(told, 1) if entry["name"] == "random"), None)
    return float(np.nanmean(table[:, 0] - table[:, place])) if place is not None else None


def _beyond_fluency(
    table: Floats, fluency: Floats, counts: Counts, confidence: float
) -> list[dict[str, Any]]:
    """Per set the AUC on the images in which the language model does not prefer the human
    caption."""
    prefers = fluency[:, [0]] - fluency[:, 1:] > 0
    kept = np.where(prefers | np.isnan(fluency[:, 1:]), np.nan, table[:, 1:])
    seen = auc_within_images(table[:, 0], kept, counts, confidence=confidence)
    return [auc._asdict() for auc in seen]


def monotone(
    table: Floats, told: Told, counts: Counts, confidence: float
) -> dict[str, dict[str, Any]]:
    """Corruption with several levels → share of images that are in the right order throughout."""
    shares = {}
    for name, group in groupby(enumerate(told, 1), key=lambda pair: pair[1]["name"]):
        places = [k for k, _ in group]
        if len(places) > 1:
            shares[name] = mean_and_interval(falls(table[:, [0, *places]].T), counts, confidence)
    return shares


def mean_and_interval(values: Floats, counts: Counts, confidence: float) -> dict[str, Any]:
    """The mean of values 0, ½ or 1 over images, NaN left out, and its interval."""
    known = ~np.isnan(values)
    if not known.any():
        return {"n": 0, "mean": float("nan"), "ci": (float("nan"), float("nan"))}
    total, n = drawn_sums([np.where(known, values, 0.0)[:, None], known[:, None]], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        interval = central_intervals(total / n, confidence)[0]
    return {"n": int(known.sum()), "mean": float(values[known].mean()), "ci": interval}


def verdict(cell: Mapping[str, Any], expected: str, alpha: float) -> str:
    """What may be said of a cell, in a word.

    Of a set that harms: "sees" (the human caption is surely above, after Holm's correction),
    "prefers" (the changed one is), "blind" (the interval of the AUC ends below 0.6: at most in 60
    of 100 is it told apart, counting ties half) or "unsure". Of a harmless one: "punishes",
    "rewards", "spares" (the interval lies within 0.4 and 0.6) or "unsure". Fewer than 20 images
    are never blindness, nor sparing.
    """
    low, high = cell["ci"]
    harmful = expected == "lower"
    sure = cell["p_holm"] <= alpha + 1e-12  # of NaN, never
    if sure and cell["auc"] < 0.5:
        return "prefers" if harmful else "rewards"
    near = cell["n"] >= ENOUGH and high <= 0.5 + NEAR_CHANCE
    if near and (harmful or low >= 0.5 - NEAR_CHANCE):
        return "blind" if harmful else "spares"
    if sure and cell["auc"] > 0.5:
        return "sees" if harmful else "punishes"
    return "unsure"
