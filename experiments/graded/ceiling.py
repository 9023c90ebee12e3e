"""The ceiling: what a perfect metric gets on the versions of a run, as one more control."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metaeval.runs.columns import CAPTION, IMAGE_ID, LEVEL
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import CEILING, MetricScores

COLUMN = ScoreColumn(CEILING, bounds=(0.0, float("inf")), control=True)


def ceiling(captions: pd.DataFrame) -> MetricScores:
    """Each version scored by its own level; versions of an image with equal words by the highest.

    No metric can separate equal captions of an image, so none can do better, within an image or
    in every image at once. `captions` has `image_id`, `caption` and `level`.
    """
    levels = captions.groupby([IMAGE_ID, CAPTION], sort=False)[LEVEL].transform("max")
    return MetricScores(
        "ceiling",
        (COLUMN,),
        ("ceiling|v:1",),
        "ok",
        scores=levels.to_numpy(dtype=np.float64)[:, None],
        n_scored=len(captions),
    )
