"""The fitted control on THumB: what blind features reach, as found with another implementation."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks.judgments.coverage import CASES, coverage
from metaeval.data.judgments.benchmarks import load_expert, load_thumb
from metaeval.metrics.controls import BigramModel, Length
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.runs.records import HUMAN
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.stats.agreement.controls import fitted_control
from metaeval.stats.sample_size import control_variate_mean, label_efficiency


@pytest.mark.coco
def test_blind_features_on_thumb(coco_root: Path) -> None:
    """Ridge on length and two bigram scores, five folds by image: Pearson .241, .087, .321 with all
    captions and .074, .111, .238 without people's (total, precision, recall). Folds are random: a
    value differs by about .01 from seed to seed, so the mean of five seeds is compared within .02.
    """
    if not (coco_root / "thumb").is_dir():
        pytest.skip("METAEVAL_DATA has no folder thumb")
    data = load_thumb(data=coco_root)
    texts = [j.candidate for j in data.judged]
    columns = []
    for metric in (Length(), BigramModel()):
        scored = score_captions(metric, data.dataset, texts, data.image_index, MemoryStore())
        assert scored.scores is not None
        names = [c.name for c in scored.columns]
        wanted = [n for n in names if n in ("Length", "Bigram model", "Bigram model per word")]
        columns += [scored.scores[:, names.index(n)] for n in wanted]
    features = np.stack(columns, axis=1)
    assert features.shape == (2500, 3)
    image = np.array([j.image for j in data.judged])
    machine = np.array([j.system != HUMAN for j in data.judged])
    expected = {"total": (0.241, 0.074), "precision": (0.087, 0.111), "recall": (0.321, 0.238)}
    for dimension, values in expected.items():
        target = data.means(dimension)
        for rows, value in zip((np.ones(2500, dtype=bool), machine), values, strict=True):
            r = [
                np.corrcoef(
                    fitted_control(
                        features[rows], target[rows], image[rows], seed=seed
                    ).predictions,
                    target[rows],
                )[0, 1]
                for seed in range(5)
            ]
            assert np.mean(r) == pytest.approx(value, abs=0.02)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_the_truth(name: str) -> None:
    """95 % of 400 simulations, give or take four standard errors (4.4 points)."""
    assert 0.906 <= coverage(CASES[name], 400) / 400 <= 0.994
