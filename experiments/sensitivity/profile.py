"""The profile of one metric: for each set of changed captions what it notices.

Scores are tables float64 [n_images, 1 + n_sets], the human captions first, higher is better, NaN
where a score is missing or nothing was changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.experiments.sensitivity.kinds import Sets, mean_of_images
from metaeval.results.base import Estimate
from metaeval.results.sensitivity import ChangedCaption, SensitivityCell, Verdict
from metaeval.runs.columns import CAPTION, IMAGE_ID, SET
from metaeval.stats.ordering.detection import (
    Auc,
    Detection,
    auc_within_images,
    detection,
    falls,
)
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import is_significant

EXAMPLES = 3
NEAR_CHANCE = 0.1  # an AUC whose interval is within 0.5 ± this counts as chance
ENOUGH = 20  # images: with fewer the verdict is never "blind" or "spares"


class CaptionsBySet:
    """The captions of a run by image and set, for examples."""

    def __init__(self, captions: pd.DataFrame, images: pd.Index[Any], names: Sequence[str]) -> None:
        self.images = images
        row = images.get_indexer(pd.Index(captions[IMAGE_ID]))
        column = pd.Index(names).get_indexer(pd.Index(captions[SET]))
        self.table = np.empty((len(images), len(names)), dtype=object)
        self.table[row, column] = captions[CAPTION]

    def example(self, image: int, column: int, scores: Floats) -> ChangedCaption:
        return ChangedCaption(
            image_id=self.images[image],
            human=self.table[image, 0],
            changed=self.table[image, column],
            scores=(float(scores[image, 0]), float(scores[image, column])),
        )


class UntestedCell(NamedTuple):
    """A cell before the correction over all cells: `cell` makes it one."""

    seen: Detection
    share_of_another: float | None
    beyond_fluency: Auc | None
    examples: tuple[ChangedCaption, ...]
    refined: Auc | None = None

    def cell(self, p_adjusted: float, expected: str, alpha: float) -> SensitivityCell:
        """The cell with its adjusted p-value and its verdict."""
        d = self.seen
        return SensitivityCell(
            n=d.n,
            auc=_estimate(d.auc, d.ci, d.n),
            detected=_estimate(d.detected, d.detected_ci, d.n),
            tied=d.tied,
            p=d.p,
            p_adjusted=p_adjusted,
            cost=_estimate(d.cost, d.cost_ci, d.n),
            effect=_estimate(d.effect, d.effect_ci, d.n),
            share_of_another=self.share_of_another,
            beyond_fluency=_of_auc(self.beyond_fluency),
            refined=_of_auc(self.refined),
            verdict=verdict(_estimate(d.auc, d.ci, d.n), p_adjusted, expected, alpha),
            examples=self.examples,
        )


def profile(
    table: Floats,
    sets: Sets,
    counts: Counts,
    fluency: Floats | None,
    texts: CaptionsBySet,
    confidence: float,
) -> dict[str, UntestedCell]:
    """Set → a metric's values on it; `fluency` is the table of the language model."""
    another = _cost_of_another(table, sets)
    seen = detection(table[:, 0], table[:, 1:], counts, confidence=confidence)
    beyond = _beyond_fluency(table, fluency, counts, confidence) if fluency is not None else None
    cells: dict[str, UntestedCell] = {}
    for k, entry in enumerate(sets, 1):
        gaps = table[:, 0] - table[:, k]
        harmful = entry.expected == "lower"
        order = np.argsort(np.nan_to_num(gaps if harmful else -gaps, nan=np.inf), kind="stable")
        worst = [i for i in order[:EXAMPLES].tolist() if not np.isnan(gaps[i])]
        cells[entry.set] = UntestedCell(
            seen[k - 1],
            seen[k - 1].cost / another if another and another > 0 else None,
            beyond[k - 1] if beyond is not None else None,
            tuple(texts.example(i, k, table) for i in worst),
        )
    return cells


def _cost_of_another(table: Floats, sets: Sets) -> float | None:
    """What another image's caption costs: the unit in which costs of metrics can be compared."""
    place = next((k for k, entry in enumerate(sets, 1) if entry.name == "random"), None)
    gaps = table[:, 0] - table[:, place] if place is not None else np.empty(0)
    known = gaps[~np.isnan(gaps)]
    return float(known.mean()) if len(known) else None


def _beyond_fluency(table: Floats, fluency: Floats, counts: Counts, confidence: float) -> list[Auc]:
    """Per set the AUC on the images in which the language model does not prefer the human
    caption."""
    prefers = fluency[:, [0]] - fluency[:, 1:] > 0
    remaining = np.where(prefers | np.isnan(fluency[:, 1:]), np.nan, table[:, 1:])
    return auc_within_images(table[:, 0], remaining, counts, confidence=confidence)


def monotone(table: Floats, sets: Sets, counts: Counts, confidence: float) -> dict[str, Estimate]:
    """Corruption with several levels → share of images that are in the right order throughout."""
    shares = {}
    for name, group in groupby(enumerate(sets, 1), key=lambda pair: pair[1].name):
        places = [k for k, _ in group]
        if len(places) > 1:
            shares[name] = mean_of_images(falls(table[:, [0, *places]].T), counts, confidence)
    return shares


def verdict(auc: Estimate, p_adjusted: float | None, expected: str, alpha: float) -> Verdict:
    """The verdict on a cell, in a word.

    Of a set that harms: "sees" (the human caption is significantly more often above), "prefers"
    (the changed one is), "blind" (not significant, and the interval of the AUC ends at 0.6 or
    below) or "unsure". Of a harmless one: "punishes", "rewards", "spares" (not significant, and the
    interval lies within 0.4 and 0.6) or "unsure". A significant difference is never "blind" or
    "spares", however small it is; nor are fewer than 20 images.
    """
    harmful = expected == "lower"
    if auc.value is None:
        return "unsure"
    if is_significant(p_adjusted, alpha) and auc.value != 0.5:
        if auc.value < 0.5:
            return "prefers" if harmful else "rewards"
        return "sees" if harmful else "punishes"
    if (auc.n or 0) >= ENOUGH and auc.high is not None and auc.low is not None:
        near = auc.high <= 0.5 + NEAR_CHANCE
        if near and (harmful or auc.low >= 0.5 - NEAR_CHANCE):
            return "blind" if harmful else "spares"
    return "unsure"


def _of_auc(auc: Auc | None) -> Estimate | None:
    return None if auc is None else _estimate(auc.auc, auc.ci, auc.n)


def _estimate(value: float, interval: tuple[float, float], n: int) -> Estimate:
    return Estimate(value=value, low=interval[0], high=interval[1], n=n)
