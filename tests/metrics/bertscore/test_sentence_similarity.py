"""Sentence similarity, against the formula of the model's card by transformers alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import transformers

from metaeval.data.dataset import Absent
from metaeval.metrics.bertscore.sentence_similarity import SentenceSimilarity
from metaeval.text.transformers import locate
from tests.metrics.bertscore.test_moverscore import CAPTIONS, DATASET, INDEX, REFERENCES


def test_equals_mean_pooling_of_the_whole_network() -> None:
    """Each sentence alone through the whole network; float32 sums differ by less than 1e-5."""
    import torch

    found = locate.locate(locate.MINILM)
    if isinstance(found, Absent):
        pytest.skip("MiniLM is not on this machine")
    scorer = SentenceSimilarity(device="cpu").bind(DATASET)
    scorer.prepare()
    mine = scorer.score(CAPTIONS, INDEX)[:, 0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(found.folder)
    network = transformers.AutoModel.from_pretrained(found.folder).eval()

    def vector(text: str) -> np.ndarray:
        with torch.inference_mode():
            states = network(**tokenizer(text, return_tensors="pt"))[0][0]
        mean = states.mean(dim=0).double().numpy()
        return mean / np.linalg.norm(mean)

    expected = [
        max(float(vector(c) @ vector(r)) for r in REFERENCES[i])
        for c, i in zip(CAPTIONS, INDEX, strict=True)
    ]
    assert mine == pytest.approx(expected, abs=1e-5)
    assert mine[2] == pytest.approx(1, abs=1e-6)  # its own reference
    assert scorer.columns[0].name == "Sentence similarity (MiniLM)"
    scorer.close()
