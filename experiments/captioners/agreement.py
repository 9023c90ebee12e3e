"""How metrics agree on captioners' captions, and on which images they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.results.base import Estimate
from metaeval.results.captioners import Agreement, AgreementMatrix, Disagreement
from metaeval.runs.records import ScoreColumn
from metaeval.stats.correlation.kendall import answers, disagreement, kendall_matrix
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
) -> Agreement | None:
    """Kendall's τ-b between all metrics (parts left out) in three ways: docs/captioners.md.

    `whole` are the scores of systems in each bootstrap replicate, `points` the scores themselves by
    name, `sentences` those of captions; `counts` [replicates, images] made the replicates. `None`
    without any score.
    """
    whole = [score for score in whole if score.column.part_of is None]
    sentences = [score for score in sentences if score.column.part_of is None]
    if not sentences:
        return None
    systems = np.array([[[x] for x in points[v.name]] for v in whole])
    signs = np.array([1.0 if score.column.higher_is_better else -1.0 for score in whole])
    drawn = answers(np.array([score.upward for score in whole])).tau_of_each()
    within = answers(np.array([score.upward for score in sentences]))
    names, n_images = tuple(score.name for score in sentences), counts.shape[1]
    every = kendall_matrix([score.upward for score in sentences])
    return Agreement(
        systems=AgreementMatrix(
            metrics=tuple(score.name for score in whole),
            n=systems.shape[1],
            tau_b=_estimates(
                answers(systems * signs[:, None, None]).tau(), drawn, confidence, n_images
            ),
        ),
        within_image=AgreementMatrix(
            metrics=names,
            n=sentences[0].values.shape[1],
            tau_b=_estimates(within.tau(), within.tau_resampled(counts), confidence, n_images),
        ),
        captions=AgreementMatrix(
            metrics=names, tau_b=tuple(tuple(Estimate(value=x) for x in row) for row in every)
        ),
    )


def disagreements(
    sentences: Sequence[Ordering], images: pd.Index[Any]
) -> tuple[Disagreement, pd.DataFrame]:
    """The metrics' disagreement: which columns vote, its mean, and the table of all images.

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
    summary = Disagreement(
        votes=tuple(score.name for score in votes.values()),
        n_images=len(defined),
        mean=float(defined.mean()) if len(defined) else None,
    )
    return summary, pd.DataFrame({"image_id": images, "disagreement": values})


def _estimates(
    values: Floats, replicates: Floats, confidence: float, n_images: int
) -> tuple[tuple[Estimate, ...], ...]:
    """Values [m, m] with their intervals from [m, m, replicates]."""
    rows = []
    for row, drawn in zip(values, replicates, strict=True):
        ends = [percentile_interval(cell, confidence, n_images) for cell in drawn]
        pairs = zip(row, ends, strict=True)
        rows.append(tuple(Estimate(value=x, low=low, high=high) for x, (low, high) in pairs))
    return tuple(rows)
