"""Training the language model: what it counts, and a small one end to end."""

from pathlib import Path

import pytest
import torch

from metaeval.data.dataset import Absent
from metaeval.data.scenes import load_scenes
from metaeval.metrics.language_model.metric import LanguageModel
from metaeval.text.vocabulary import END, PAD, START
from metaeval.weights.pretrained import read_weights
from research.language_model import log_unigrams, main
from tests.metrics.metric_cases import scores_of


def test_unigrams_by_hand() -> None:
    """Of 4, 4, <end> and 5, <end>: 2 + 1, 1 + 1, 2 + 1 of 5 + 7 words; <pad> never counts."""
    tokens = torch.tensor([[START, 4, 4, END], [START, 5, END, PAD]])
    shares = log_unigrams(tokens, 7).exp().tolist()
    expected = [1 / 12, 1 / 12, 3 / 12, 1 / 12, 3 / 12, 2 / 12, 1 / 12]
    assert shares == pytest.approx(expected, abs=1e-6)


def test_a_small_training_end_to_end(tmp_path: Path) -> None:
    folder = tmp_path / "lm_small"
    options = ["--split", "scenes", "--scenes", "80", "--dev", "10", "--epochs", "2"]
    main([str(folder), *options])
    weights = read_weights(folder)
    assert weights.card["command"] == (
        "python -m research.language_model lm_small --split scenes --scenes 80 --dev 10 --epochs 2"
    )
    assert weights.card["data"]["n_train"] == 70
    val = load_scenes(split="val", n=5, images=False)
    scores = scores_of(LanguageModel(str(folder)), val, val.human, range(5))
    assert ((scores[:, 0] > 0) & (scores[:, 0] < 1)).all()
    # a language model of 280 captions knows their words better than chance among all words
    assert weights.card["dev_perplexity"] < len(weights.vocabulary()) / 2
    learned = load_scenes(split="train", n=80, images=False)
    assert isinstance(LanguageModel(str(folder)).bind(learned), Absent)
