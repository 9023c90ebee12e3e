"""The language model: its arithmetic by hand, what the shipped weights know, and what they skip."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.language_model.metric import LanguageModel
from metaeval.metrics.language_model.network import CaptionLanguageModel, LanguageShape
from metaeval.text.vocabulary import END, PAD, START
from tests.metrics.metric_cases import images, ready

CAPTIONS = (
    "a man rides a horse on the beach",
    "horse a the rides on man beach a",
    "a man rides a",
    "",
    "a zyzzyva sits on a table",
)
SOURCES = tuple(f"own:{i}" for i in range(len(CAPTIONS)))
DATASET = images([()] * len(CAPTIONS), CAPTIONS, image_source=SOURCES, pool_source=SOURCES)


def test_the_network_by_a_loop() -> None:
    """One GRU step after the other by torch's own GRUCell, one softmax a word: 1e-5 in float32."""
    torch.manual_seed(0)
    model = CaptionLanguageModel(LanguageShape(words=9, word=4, hidden=5)).eval()
    with torch.no_grad():
        model.bias.normal_()
    tokens = [START, 5, 8, 3, END]
    cell = torch.nn.GRUCell(4, 5)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in model.gru.state_dict().items()})
    state, expected = torch.zeros(1, 5), []
    with torch.inference_mode():
        for before, after in pairwise(tokens):
            state = cell(model.embedding.weight[before][None], state)
            logits = model.embedding.weight @ model.down(state[0]) + model.bias
            weights = [
                0.0 if k in (PAD, START) else math.exp(x) for k, x in enumerate(logits.tolist())
            ]
            expected.append(math.log(weights[after] / sum(weights)))
        mine = model(torch.tensor([tokens, [START, 5, END, PAD, PAD]]))
    np.testing.assert_allclose(mine[0].numpy(), expected, rtol=0, atol=1e-5)
    assert mine[1, 0] == pytest.approx(expected[0], abs=1e-5)


def test_scores_from_the_networks_own_numbers() -> None:
    scorer = ready(LanguageModel(), DATASET)
    scores = scorer.score(CAPTIONS, np.arange(len(CAPTIONS)))
    for row, caption in zip(scores, CAPTIONS, strict=True):
        (ids,) = scorer._vocabulary.encode_all([caption])
        with torch.inference_mode():
            logs = scorer._model(torch.tensor([ids]))[0].double()
        common = scorer._model.unigrams.double()[torch.tensor(ids[1:])]
        n = len(ids) - 1
        # float32 in batches of other shapes: a few units in the last place of each logarithm
        assert row[0] == pytest.approx(math.exp(float(logs.sum()) / n), rel=1e-5)
        assert row[1] == pytest.approx(float((logs - common).sum()) / n, abs=1e-5)
    assert scores[0, 0] > 5 * scores[1, 0]  # order
    assert scores[0, 1] > scores[1, 1] + 1
    assert scorer.tally(CAPTIONS, np.arange(len(CAPTIONS)))[:, 1].tolist() == [0, 0, 0, 0, 1]


@pytest.mark.coco
def test_no_image_that_was_learned_from_is_scored(val2017: CaptionDataset, coco_root: Path) -> None:
    val = val2017.limited(300)
    scorer = ready(LanguageModel(), val)
    assert scorer.settings["weights"].startswith("lm_karpathy_test-")
    scores = scorer.score(val.human, np.arange(300))
    assert not np.isnan(scores).any()
    shuffled = [" ".join(sorted(text.split())) for text in val.human]
    assert (scorer.score(shuffled, np.arange(300))[:, 0] < scores[:, 0]).mean() > 0.97
    test = load_coco("coco_karpathy_test", root=coco_root, split="karpathy_test", exclude="val2017")
    absent = LanguageModel("lm_karpathy_test").bind(test)
    assert "have learned from every one of these images" in absent.reason
