"""One BLEU in all experiments; ties count one half for all columns."""

import math

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu

from metaeval.config import build_all, compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.pairs.task import TRUE, comparison_credit
from metaeval.stats.ordering.detection import auc_within_images
from metaeval.stats.resampling.bootstrap import bootstrap_counts

IDS, HUMAN = (1, 2), ("a dog runs", "a cat sleeps")
DATASET = CaptionDataset("toy", IDS, HUMAN, (("a dog runs fast",), ("a cat",)), IDS, HUMAN)
EXPERIMENTS = (
    "replace", "shuffle", "graded", "references", "sensitivity", "pairs", "score", "captioners",
    "attack", "judgments", "forced_choice", "arena", "retrieval",
)  # fmt: skip
PAPERS = ("replace", "shuffle")  # whose published values are of unsmoothed BLEU


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_column_called_bleu_is_pycocoevalcaps_in_every_experiment(experiment: str) -> None:
    """One name, one metric; replace and shuffle have further columns of other names."""
    config = compose_config([f"experiment={experiment}"])
    scorer = build_all(["bleu"], config)["bleu"].bind(DATASET)
    smoothed = [f"BLEU-{n}" for n in (1, 2, 3, 4)]
    more = [f"BLEU-{n} (unsmoothed)" for n in (2, 3, 4)] if experiment in PAPERS else []
    assert [column.name for column in scorer.columns] == [*smoothed, *more]
    scorer.prepare()
    captions = ["a dog sleeps", "zzz", ""]
    scores = scorer.score(captions, np.array([0, 0, 0]))
    references = {k: list(DATASET.references[0]) for k in range(3)}
    _, expected = CocoBleu(4).compute_score(references, {k: [c] for k, c in enumerate(captions)}, 0)
    np.testing.assert_array_equal(scores[:, :4], np.transpose(expected))
    # "a dog" is one of its two pairs of words, 2 of 3 words match, and the reference is longer
    by_hand = math.sqrt(2 / 3 * 1 / 2) * math.exp(1 - 4 / 3)
    np.testing.assert_allclose(scores[0, 4:], [by_hand, 0, 0][: len(more)], rtol=1e-15)
    assert (scores[1:, 4:] == 0).all()


def test_pairs_and_sensitivity_count_the_same_ties_alike() -> None:
    """Of four images one is won, one lost, two are tied: .5 in both, not .25."""
    human, changed = np.array([2.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0])
    of_pairs = [comparison_credit([human, changed], TRUE, tied).mean() for tied in (0, 0.5, 1)]
    of_sets = auc_within_images(human, changed[:, None], bootstrap_counts(4, 20, 0))[0]
    assert (of_pairs, of_sets.auc) == ([0.25, 0.5, 0.75], 0.5)
    assert compose_config(["experiment=pairs"]).task.ties == "half"
