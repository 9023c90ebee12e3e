"""Means of metrics: by hand, SPIDEr as the mean of its parts; and metrics sentence by sentence."""

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import percentileofscore, zmap

from metaeval.config import build, compose_config, selected
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.base import Metric, Scores
from metaeval.metrics.bertscore.metric import BertScore
from metaeval.metrics.clipscore.metric import ClipScore
from metaeval.metrics.combined.mean import BySentence, Mean, Scale, Take
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.metrics.ngram.sacrebleu import Chrf, Ter
from metaeval.metrics.vifidel.metric import Vifidel
from metaeval.text.word_vectors.base import MiniLmVectors
from tests.metrics.metric_cases import images, ready, scores_of

HUMAN = ("a dog runs", "two cats sleep", "a man rides a horse")
REFERENCES = (
    ("a dog is running", "the dog runs"),
    ("two sleeping cats", "cats asleep on a bed"),
    ("a man on a horse", "someone rides"),
)
DATASET = images(REFERENCES, HUMAN)
CAPTIONS = [*HUMAN, "a dog", "", "a man rides a dog"]
INDEX = np.array([0, 1, 2, 1, 0, 2])


def scores(metric: Metric, captions: list[str] = CAPTIONS, index: Any = INDEX) -> Scores:
    return scores_of(metric, DATASET, captions, index)


def mean(*of: str, parts: list[Metric], **options: object) -> Mean:
    return Mean(of, parts=parts, **options)  # type: ignore[arg-type]


def test_the_mean_of_columns_as_they_are() -> None:
    ours = scores(mean("cider", "chrf", parts=[Cider(), Chrf()]))[:, 0]
    assert ours.tolist() == ((scores(Cider())[:, 0] + scores(Chrf())[:, 1]) / 2).tolist()
    metric = mean("chrf/chrF", "ter", parts=[Chrf(), Ter()])  # lower is better
    by_hand = (scores(Chrf())[:, 0] - scores(Ter())[:, 0]) / 2
    assert scores(metric)[:, 0].tolist() == by_hand.tolist()
    (column,) = metric.columns
    assert (column.name, column.bounds) == ("chrF+TER", (-np.inf, 0.5))
    with pytest.raises(ConfigError, match="no such column: chrF, chrF"):
        _ = mean("chrf/x", "ter", parts=[Chrf(), Ter()]).columns


@pytest.mark.parametrize(
    ("scale", "by_scipy", "note"),
    [
        ("rank", lambda pool, own: percentileofscore(pool, own, "mean") / 100, "ranks"),
        ("standard", lambda pool, own: zmap(own, pool), "standardised"),
    ],
)
def test_scales_are_those_of_scipy(scale: Scale, by_scipy: Any, note: str) -> None:
    metric = mean("cider", "rouge_l", parts=[Cider(), RougeL()], scale=scale)
    # the pool: the human captions for their own image, and for the next one
    each = [
        by_scipy(scores(part, [*HUMAN] * 2, [0, 1, 2, 1, 2, 0])[:, -1], scores(part)[:, 0])
        for part in (Cider(), RougeL())
    ]
    np.testing.assert_allclose(scores(metric)[:, 0], np.mean(each, axis=0), rtol=0, atol=1e-12)
    assert metric.columns[0].name == f"CIDEr+ROUGE-L ({note})"


def test_what_keeps_a_part_keeps_the_mean() -> None:
    absent = mean("vifidel", "cider", parts=[Vifidel(MiniLmVectors()), Cider()]).bind(DATASET)
    assert absent.reason == "it needs vifidel: the dataset 'toy' has no objects"


def test_options_of_the_parts_are_those_of_the_configuration() -> None:
    config = compose_config(
        [
            "metric=[mean,cider]",
            "metrics=[mean]",
            "metric.mean.of=[rouge_l,cider]",
            "metric.cider.sigma=3",
        ]
    )
    assert selected(config) == ["mean"]
    (signature,) = build("mean", config).bind(DATASET).signatures
    assert signature.startswith("rouge-l+cider|of1:rouge-l;tok:ptb-3.4.1;beta:1.2;v:1|of2:cider;")
    assert ";sigma:3;" in signature
    assert list(config.metric) == ["mean", "cider"]  # rouge_l is a part, no metric of the run


def test_parts_bring_what_they_need() -> None:
    metric = build("vifidel_cider", compose_config(["metric=[vifidel_cider]"]))
    (column,) = metric.columns
    assert (column.name, column.bounds) == ("VIFIDEL+CIDEr (gold objects)", (0, 5.5))
    assert metric.needs == {"references", "objects"}


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("mean", "of=[cider]", "at least two metrics"),
        ("mean", "of=[cider,bleuu]", "unknown metric 'bleuu'; did you mean 'bleu'"),
        ("mean", "of=[cider,mean]", "mean would be made of itself"),
        ("mean", "scale=z", "scale: 'z' is not one of none, standard, rank"),
        ("by_sentence", "of=[cider,bleu]", "one metric"),
        ("by_sentence", "of=[cidr]", "unknown metric 'cidr'"),
    ],
)
def test_what_is_no_mean(name: str, option: str, message: str) -> None:
    config = compose_config([f"metrics=[{name}]", f"metric=[{name}]", f"metric.{name}.{option}"])
    with pytest.raises(ConfigError, match=message):
        build(name, config)


PARTS = [["A dog runs.", "The sky is blue.", "It is a dog."], ["Two cats.", "They sleep on a bed."]]
LONG = [" ".join(parts) for parts in PARTS]


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


@pytest.mark.parametrize("take", ["mean", "worst"])
def test_a_sentence_without_a_score_is_left_out(take: Take) -> None:
    words = FunctionMetric(lambda captions: [None if "sky" in c else len(c) for c in captions])
    metric = BySentence(["callable"], take, parts=[words])
    result = scores(metric, [LONG[0], "A dog runs. It is a dog.", "The sky. A sky."], [0, 0, 0])
    assert result[0].tolist() == result[1].tolist()
    assert np.isnan(result[2]).all()


def test_columns_and_signatures_say_how() -> None:
    mean, worst = (BySentence(["cider"], take, parts=[Cider()]) for take in ("mean", "worst"))
    options = ["metric=[by_sentence]", "metric.by_sentence.of=[cider]"]
    config = compose_config([*options, "metric.by_sentence.take=worst"])
    built = build("by_sentence", config)
    assert [c.name for metric in (mean, worst, built) for c in metric.columns] == [
        "CIDEr (by sentence)",
        *["CIDEr (worst sentence)"] * 2,
    ]
    assert mean.columns[0].variant_of == "CIDEr"
    (one,), (other,) = (metric.bind(DATASET).signatures for metric in (mean, worst))
    assert ("sigma:6" in one, one == other) == (True, False)
    assert pickle.loads(pickle.dumps(mean)).columns == mean.columns


def test_captions_that_are_cut_are_counted_once() -> None:
    data = load_scenes(n=2)
    scorer = ready(BySentence(["clipscore"], parts=[ClipScore()]), data)
    assert list(scorer.counted.values()) == ["captions", "images"]
    sentence = "dog " * 200  # more than twice what CLIP reads
    captions = [f"A {sentence}. The {sentence}.", "A dog. A cat."]
    index = np.array([0, 1])
    assert not np.isnan(scorer.score(captions, index)).any()
    assert scorer.tally(captions, index).tolist() == [[1, 0], [0, 0]]
