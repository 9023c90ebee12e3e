"""Each system against Human, by the two-level protocol of the paper (section 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments.captioners.scores import by_image_and_set, record_of
from experiments.captioners.systems import MEAN
from metaeval.scoring import Family
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import Counts

# the means stand beside, and with two levels the rate says what the pairwise accuracy does
_LEFT_OUT = ("sets", "monotone_rate", "monotone_rate_ci")


def against_human(
    family: Family,
    captions: pd.DataFrame,
    images: pd.Index[Any],
    sets: list[str],
    counts: Counts,
    config: DictConfig,
) -> list[dict[str, Any]]:
    """Per column, each system (level 0) against Human (level 1) on the images that both have."""
    columns = family.scored.columns
    if family.scored.scores is None:
        return [record_of(family, c, x.name, MEAN, systems={}) for c, x in enumerate(columns)]
    scores = by_image_and_set(family.scored.scores, captions, images, sets)
    records = []
    for c, column in enumerate(columns):
        own: dict[str, Any] = {}
        for s, name in enumerate(sets[:-1]):
            pair = scores[:, [s, -1], c]
            pair = np.where(np.isnan(pair).any(axis=1, keepdims=True), np.nan, pair)
            graded = graded_statistics(
                pair,
                [0, 1],
                [name, sets[-1]],
                higher_is_better=column.higher_is_better,
                counts=counts,
                confidence=config.stats.confidence,
                tie_seeds=config.stats.tie_seeds,
                seed=config.stats.seed,
            )
            own[name] = {
                "n": int((~np.isnan(pair[:, 0])).sum()),
                "mean": graded["sets"][name]["mean"],
                "human_mean": graded["sets"][sets[-1]]["mean"],
                **{k: v for k, v in graded.items() if k not in _LEFT_OUT},
            }
        records.append(record_of(family, c, column.name, MEAN, systems=own))
    return records
