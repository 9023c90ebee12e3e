"""MoverScore against POT, sentence similarity against transformers alone, and their edges."""

from __future__ import annotations

import math
import pickle

import numpy as np
import ot
import pytest
import transformers

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.bertscore.metric import SentenceSimilarity
from metaeval.metrics.bertscore.moverscore import MoverScore, MoverScorer
from metaeval.text.transformers import locate
from tests.precision import assert_same_scores

REFERENCES = (
    ("A man swings a bat at a ball.", "A baseball player in a grey uniform."),
    ("two children stand in a grassy field", "kids outdoors, playing"),
    ("a skateboarder",),
    ("", "?!"),
)
HUMAN = ("a batter at home plate", "two kids", "skateboarding", "")
IDS = (0, 1, 2, 3)
DATASET = CaptionDataset("toy", IDS, HUMAN, REFERENCES, IDS, HUMAN)
CAPTIONS = ["A man with a bat!", "two dogs in a field", "a skateboarder", "", "a man", "..."]
INDEX = np.array([0, 1, 2, 0, 3, 1])


@pytest.fixture(scope="module")
def metric() -> MoverScore:
    if isinstance(locate.locate(locate.MINILM), Absent):
        pytest.skip("MiniLM is not on this machine")
    return MoverScore(device="cpu")


def ready(metric: MoverScore) -> MoverScorer:
    scorer = metric.bind(DATASET)
    scorer.prepare()
    return scorer


def test_equals_pot(metric: MoverScore) -> None:
    """The plain definition: idf from the references' word pieces, without punctuation and later
    pieces; Euclidean distances of unit vectors; POT's exact transport; the mean over references.
    Vectors are float32, their products float64 on both sides: 1e-6 is what the roots of small
    differences leave (√(2 - 2 cos) near 0)."""
    scorer = ready(metric)
    mine = scorer.score(CAPTIONS, INDEX)[:, 0]
    encoder = scorer._tokens.encoder
    names = {number: piece for piece, number in encoder.tokenizer.get_vocab().items()}
    flat = [text for group in REFERENCES for text in group]
    documents = [set(ids) for ids in encoder.tokenize(flat)[0]]

    def tokens(text: str) -> tuple[np.ndarray, np.ndarray]:
        (ids,), _ = encoder.tokenize([text])
        kept: list[np.ndarray] = []
        encoder.encode([ids], lambda _, vectors: kept.append(vectors[0].numpy()), alone=True)
        mass = np.array(
            [
                0.0
                if names[i].startswith("##") or not any(c.isalnum() for c in names[i])
                else math.log((len(flat) + 1) / (1 + sum(i in d for d in documents)))
                for i in ids
            ]
        )
        mass[[0, -1]] = 0  # [CLS] and [SEP] are in every document
        rows = kept[0].astype(np.float64)
        return rows[mass > 0], mass[mass > 0] / max(mass.sum(), 1e-300)

    expected = []
    for caption, image in zip(CAPTIONS, INDEX.tolist(), strict=True):
        (a, m), each = tokens(caption), []
        for reference in REFERENCES[image]:
            b, n = tokens(reference)
            if len(n):
                cost = np.linalg.norm(a[:, None] - b[None], axis=2)
                each.append(1 - ot.emd2(m, n, cost) if len(m) else -1.0)
        expected.append(np.mean(each) if each else np.nan)
    np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)
    assert mine[2] == pytest.approx(1, abs=1e-3)  # word for word the reference
    assert np.isnan(mine).tolist() == [False, False, False, False, True, False]
    assert mine[[3, 5]].tolist() == [-1, -1]


def test_alone_as_together_and_unchanged(metric: MoverScore) -> None:
    before = pickle.dumps(metric)
    together = ready(metric).score(CAPTIONS, INDEX)
    scorer = ready(metric)
    alone = [scorer.score([c], INDEX[k : k + 1]) for k, c in enumerate(CAPTIONS)]
    assert_same_scores(np.concatenate(alone), together)
    scorer.close()
    assert pickle.dumps(metric) == before
    assert metric.columns[0].name == "MoverScore (MiniLM)"
    assert scorer.signatures[0].startswith("moverscore (minilm)|model:all-MiniLM-L6-v2|weights:")
    assert scorer.training is not None  # MiniLM has learned from captions of COCO


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
