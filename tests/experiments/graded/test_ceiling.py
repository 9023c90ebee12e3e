"""The ceiling: a perfect metric meets it, and no scoring of the captions gets more."""

from itertools import product

import numpy as np
import pandas as pd

from metaeval.experiments.graded.task import ceiling
from metaeval.stats.correlation.rank_order import rank_order, rank_orders_within


def frame(rows: list[list[str]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"image_id": image, "caption": text, "level": level}
            for image, row in enumerate(rows)
            for level, text in enumerate(row)
        ]
    )


def test_without_equal_captions_it_is_the_perfect_order() -> None:
    scores = ceiling(frame([["x", "y", "z"], ["z", "y", "x"]])).scores
    assert scores.reshape(2, 3).tolist() == [[0, 1, 2]] * 2


def test_no_scoring_of_equal_captions_gets_more() -> None:
    """Every function of (image, caption) to three values, tried out."""
    rows = [["a", "b", "b"], ["c", "d", "e"]]
    table = ceiling(frame(rows)).scores.reshape(2, 3)
    texts = ["a", "b", "c", "d", "e"]
    for values in product(range(3), repeat=5):
        given = dict(zip(texts, values, strict=True))
        scores = np.array([[given[t] for t in row] for row in rows], dtype=float)
        pooled, most = (rank_order(each, range(3)).rho for each in (scores, table))
        assert pooled <= most + 1e-12
        within, most = (rank_orders_within(each, range(3)).mean() for each in (scores, table))
        assert within <= most + 1e-12
