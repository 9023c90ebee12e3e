"""How metrics agree on captioners' captions, and on which images they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.runs.records import ScoreColumn
from metaeval.stats.ordering.agreement import answers, kendall_matrix
from metaeval.stats.ordering.disagreement import disagreement
from metaeval.stats.resampling.bootstrap import Counts, percentile_interval
from metaeval.stats.resampling.items import Floats


class Ordering(NamedTuple):
    """A score that orders systems or captions.

    `values` is float64 [systems, cases]: a caption of each image, or a replicate's score. `name` is
    the column's, or the label under which systems get it.
    """

    name: str
    column: ScoreColumn
    values: Floats
    family: str = ""

    @property
    def upward(self) -> Floats:
        """The values, more being better."""
        return self.values if self.column.higher_is_better else -self.values


def agreement(
    whole: Sequence[Ordering],
    points: Mapping[str, Sequence[float]],
    sentences: Sequence[Ordering],
    counts: Counts,
    confidence: float,
) -> dict[str, Any]:
    """Kendall's τ-b between all metrics (components left out) in three ways: docs/captioners.md.

    `whole` are the scores of systems in each bootstrap replicate, `points` the scores themselves by
    name, `sentences` those of captions; `counts` [replicates, images] made the replicates.
    """
    whole = [score for score in whole if score.column.part_of is None]
    sentences = [score for score in sentences if score.column.part_of is None]
    if not sentences:
        return {}
    systems = np.array([[[x] for x in points[v.name]] for v in whole])
    signs = np.array([1.0 if score.column.higher_is_better else -1.0 for score in whole])
    drawn = answers(np.array([score.upward for score in whole])).tau_of_each()
    within = answers(np.array([score.upward for score in sentences]))
    return {
        "systems": {
            "metrics": [score.name for score in whole],
            "n_systems": systems.shape[1],
            "tau_b": answers(systems * signs[:, None, None]).tau(),
            "tau_b_ci": _intervals(drawn, confidence),
        },
        "within_image": {
            "metrics": [score.name for score in sentences],
            "n_images": sentences[0].values.shape[1],
            "tau_b": within.tau(),
            "tau_b_ci": _intervals(within.tau_resampled(counts), confidence),
        },
        "captions": {
            "metrics": [score.name for score in sentences],
            "tau_b": kendall_matrix([score.upward for score in sentences]),
        },
    }


def disagreements(
    sentences: Sequence[Ordering], images: pd.Index[Any]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The metrics' disagreement per image: what votes in it, its mean, and the table of all images.

    Each metric has one vote: its first headline column.
    """
    votes: dict[str, Ordering] = {}
    for score in sentences:
        if score.column.part_of is None and score.column.headline:
            votes.setdefault(score.family, score)
    values = np.full(len(images), np.nan)
    if votes:
        values = disagreement(np.array([score.upward for score in votes.values()]))
    defined = values[~np.isnan(values)]
    summary = {
        "votes": [score.name for score in votes.values()],
        "n_images": len(defined),
        "mean": float(defined.mean()) if len(defined) else float("nan"),
    }
    return summary, pd.DataFrame({"image_id": images, "disagreement": values})


def _intervals(replicates: Floats, confidence: float) -> list[list[list[float]]]:
    """[m, m] intervals from [m, m, replicates]."""
    return [[percentile_interval(cell, confidence) for cell in row] for row in replicates]
