"""The fitted control on THumB: what blind features reach, as found with another implementation."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.judgments.benchmarks import load_thumb
from metaeval.metrics.controls import BigramModel, Length
from metaeval.runs.records import HUMAN
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.stats.agreement.controls import fitted_control
from metaeval.stats.sample_size import label_efficiency


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
                    fitted_control(features[rows], target[rows], image[rows], seed=seed),
                    target[rows],
                )[0, 1]
                for seed in range(5)
            ]
            assert np.mean(r) == pytest.approx(value, abs=0.02)


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
        assert made.value > 1e9  # 1 / (1 - r²); below 0 with an r above 1
