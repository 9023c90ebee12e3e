"""One BLEU a run, named where it is not the paper's; ties count one half for all columns."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from metaeval.config import build_all, compose_config
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.experiments.judgments.printout import which_bleu
from metaeval.experiments.pairs.outcomes import TRUE, outcomes_of
from metaeval.stats.ordering.detection import auc_within_images
from metaeval.stats.resampling.bootstrap import bootstrap_counts

IDS, HUMAN = (1, 2), ("a dog runs", "a cat sleeps")
DATASET = CaptionDataset("toy", IDS, HUMAN, (("a dog runs fast",), ("a cat",)), IDS, HUMAN)
SMOOTH = {
    "replace": "none", "shuffle": "none", "references": "none", "sensitivity": "none",
    "pairs": "none", "score": "none", "captioners": "none", "attack": "none",
    "judgments": "coco", "forced_choice": "coco", "arena": "coco",
}  # fmt: skip


@pytest.mark.falsifies("experiments.judgments.printout.which_bleu")
@pytest.mark.parametrize(("experiment", "smooth"), SMOOTH.items())
def test_which_bleu_a_run_has_and_says(experiment: str, smooth: str) -> None:
    """Published agreement with people is of pycocoevalcap's BLEU: the printout says so there."""
    config = compose_config([f"experiment={experiment}"])
    scorer = build_all(["bleu"], config)["bleu"].bind(DATASET)
    assert not isinstance(scorer, Absent)
    assert {f"smooth:{smooth}" in s for s in scorer.signatures} == {True}
    rows = [SimpleNamespace(family="bleu", signature=s) for s in scorer.signatures]
    said = list(which_bleu(SimpleNamespace(metrics=rows)))  # type: ignore[arg-type]
    assert len(said) == (smooth == "coco")
    assert all("only an empty caption has 0 (metric.bleu.smooth=coco)" in line for line in said)
    # what the line says of 0: a caption without a match, and an empty one
    scorer.prepare()
    scores = scorer.score(["zzz", ""], np.array([0, 0]))
    assert ((scores[0] > 0) == (smooth == "coco")).all()
    assert (scores[1] == 0).all()


def test_every_printout_with_other_constants_says_so() -> None:
    root = Path(__file__).parents[2] / "experiments"
    for experiment, smooth in SMOOTH.items():
        if smooth == "coco":
            text = (root / experiment / "printout.py").read_text(encoding="utf-8")
            assert "*which_bleu(result)," in text


def test_pairs_and_sensitivity_count_the_same_ties_alike() -> None:
    """Of four images one is won, one lost, two are tied: .5 in both, not .25."""
    human, changed = np.array([2.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0])
    of_pairs = outcomes_of(human, changed, ties="half")[TRUE]
    of_sets = auc_within_images(human, changed[:, None], bootstrap_counts(4, 20, 0))[0]
    assert of_pairs.credit.mean() == of_sets.auc == 0.5
    assert of_pairs.tied.mean() == 0.5
    assert outcomes_of(human, changed, ties="wrong")[TRUE].credit.mean() == 0.25
    assert compose_config(["experiment=pairs"]).task.ties == "half"
