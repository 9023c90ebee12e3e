"""Metrics sentence by sentence, against the metric itself on each sentence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from metaeval.config import build, compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scores
from metaeval.metrics.bertscore.metric import BertScore
from metaeval.metrics.clipscore.metric import ClipScore
from metaeval.metrics.combined.by_sentence import BySentence, Take
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.metrics.ngram.sacrebleu import Ter
from metaeval.runs.store import MemoryStore

REFERENCES = (("a dog is running", "the dog runs"), ("two sleeping cats", "cats asleep on a bed"))
DATASET = CaptionDataset("toy", (0, 1), ("a dog", "a cat"), REFERENCES, (0, 1), ("a dog", "a cat"))
PARTS = [["A dog runs.", "The sky is blue.", "It is a dog."], ["Two cats.", "They sleep on a bed."]]
LONG = [" ".join(parts) for parts in PARTS]


def scores(metric: Metric, captions: list[str], index: list[int]) -> Scores:
    scorer = metric.bind(DATASET, MemoryStore())
    scorer.prepare()
    return scorer.score(captions, np.asarray(index))


@pytest.mark.parametrize("metric", [Cider(), RougeL(), Ter(), BertScore()])
@pytest.mark.parametrize("take", ["mean", "worst"])
def test_scores_are_those_of_the_sentences(metric: Metric, take: Take) -> None:
    whole = scores(BySentence(["x"], take, parts=[metric]), LONG, [0, 1])
    for i, parts in enumerate(PARTS):
        of_parts = scores(metric, parts, [i] * len(parts))
        for k, column in enumerate(metric.columns):
            worst = min if column.higher_is_better else max
            expected = np.mean(of_parts[:, k]) if take == "mean" else worst(of_parts[:, k])
            # the network's rounding: its step is 1e-5
            assert whole[i, k] == pytest.approx(expected, abs=1e-5 if column.precision else 1e-12)


def test_one_sentence_has_the_metrics_own_score() -> None:
    captions = ["A dog runs", "two cats.", ""]
    ours = scores(BySentence(["rouge_l"], parts=[RougeL()]), captions, [0, 1, 0])
    assert ours.tolist() == scores(RougeL(), captions, [0, 1, 0]).tolist()


class Picky(RougeL):
    """Cannot score a sentence about the sky."""

    def bind(self, dataset, store=None):
        scorer = super().bind(dataset, store)
        inner = scorer.score

        def score(captions, image_index):
            values = inner(captions, image_index)
            values[["sky" in caption for caption in captions]] = np.nan
            return values

        scorer.score = score
        return scorer


@pytest.mark.parametrize("take", ["mean", "worst"])
def test_a_sentence_without_a_score_is_left_out(take: Take) -> None:
    metric = BySentence(["rouge_l"], take, parts=[Picky()])
    result = scores(metric, [LONG[0], "A dog runs. It is a dog.", "The sky. A sky."], [0, 0, 0])
    assert result[0].tolist() == result[1].tolist()
    assert np.isnan(result[2]).all()


def test_columns_and_signatures_say_how() -> None:
    mean, worst = (BySentence(["cider"], take, parts=[Cider()]) for take in ("mean", "worst"))
    assert [c.name for c in (*mean.columns, *worst.columns)] == [
        "CIDEr (by sentence)",
        "CIDEr (worst sentence)",
    ]
    assert mean.columns[0].variant_of == "CIDEr"
    bound = [metric.bind(DATASET) for metric in (mean, worst)]
    assert len({scorer.signatures for scorer in bound}) == 2
    assert "sigma:6" in bound[0].signatures[0]
    assert pickle.loads(pickle.dumps(mean)).columns == mean.columns


def test_it_is_configured_by_name() -> None:
    config = compose_config(
        ["metric=[by_sentence]", "metric.by_sentence.of=[cider]", "metric.by_sentence.take=worst"]
    )
    metric = build("by_sentence", config)
    assert [c.name for c in metric.columns] == ["CIDEr (worst sentence)"]
    for of, message in (("[cider,bleu]", "one metric"), ("[cidr]", "unknown metric 'cidr'")):
        config = compose_config(["metric=[by_sentence]", f"metric.by_sentence.of={of}"])
        with pytest.raises(ConfigError, match=message):
            build("by_sentence", config)


def test_captions_that_are_cut_are_counted_once() -> None:
    data = load_scenes(n=2)
    scorer = BySentence(["clipscore"], parts=[ClipScore()]).bind(data, MemoryStore())
    assert list(scorer.counted.values()) == ["captions", "images"]
    scorer.prepare()
    sentence = "dog " * 200  # more than twice what CLIP reads
    captions = [f"A {sentence}. The {sentence}.", "A dog. A cat."]
    index = np.array([0, 1])
    assert not np.isnan(scorer.score(captions, index)).any()
    assert scorer.tally(captions, index).tolist() == [[1, 0], [0, 0]]
