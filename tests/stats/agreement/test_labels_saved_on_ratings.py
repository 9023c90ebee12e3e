"""What 100 labels are worth, against draws of 100 labelled captions from real ratings."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

from metaeval.data.judgments.flickr8k import load_expert
from metaeval.data.judgments.thumb import load_thumb
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.stats.sample_size import control_variate_mean, label_efficiency

DRAWS, LABELS = 4000, 100


@pytest.mark.skipif("METAEVAL_DATA" not in os.environ, reason="needs METAEVAL_DATA")
@pytest.mark.parametrize(
    ("judged", "metric"), [(load_thumb, RougeL()), (load_expert, Cider())], ids=["thumb", "expert"]
)
def test_variances_of_draws(judged, metric) -> None:
    """The variance of the mean of 100 labels over that of the control variate: 4,000 draws of each
    have a standard error of about 3 %; 10 % are allowed."""
    data = judged()
    captions = [j.candidate for j in data.judged]
    result = score_captions(metric, data.dataset, captions, data.image_index, MemoryStore())
    assert result.scores is not None
    scores, human = result.scores[:, 0], data.means(data.dimensions[0])
    rng = np.random.default_rng(0)
    plain, aided = [], []
    for _ in range(DRAWS):
        drawn = rng.integers(len(human), size=LABELS)
        plain.append(human[drawn].mean())
        aided.append(control_variate_mean(scores[drawn], human[drawn], scores.mean()))
    made = label_efficiency(scores, human, n_labels=LABELS, replicates=10)
    assert np.var(plain) / np.var(aided) == pytest.approx(made.efficiency, rel=0.1)
    assert np.mean(aided) == pytest.approx(human.mean(), abs=0.02)


def test_a_correlation_of_one_is_not_exceeded_by_rounding() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = label_efficiency(
                scores,
                scores * -rng.normal() / 3,
                np.repeat([0, 1, 2], 2),
                n_labels=4,
                replicates=50,
            )
        assert abs(made.r) <= 1
        assert abs(made.r) == pytest.approx(1, abs=1e-12)
