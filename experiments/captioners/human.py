"""Each system against Human, by the two-level protocol of the paper (section 4.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.experiments.captioners.scores import by_image_and_set
from metaeval.results.captioners import AgainstHuman, HumanStatistics
from metaeval.results.metric import MetricResult
from metaeval.scoring import SystemScores
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import Counts


def against_human(
    family: SystemScores,
    captions: pd.DataFrame,
    images: pd.Index[int | str],
    sets: list[str],
    counts: Counts,
    config: DictConfig,
) -> list[MetricResult[HumanStatistics]]:
    """Per column, each system (level 0) against Human (level 1) on the images that both have."""
    scored = family.scored
    if scored.scores is None:
        return [scored.result(c, None) for c in range(len(scored.columns))]
    scores = by_image_and_set(scored.scores, captions, images, sets)
    results = []
    for c, column in enumerate(scored.columns):
        systems: dict[str, AgainstHuman] = {}
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
            systems[name] = AgainstHuman.of(graded, int((~np.isnan(pair[:, 0])).sum()))
        results.append(scored.result(c, HumanStatistics(systems=systems)))
    return results
