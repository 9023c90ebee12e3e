"""Metrics of torchmetrics and of evaluate, one caption at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sacrebleu
import torchmetrics.text

from metaeval.errors import ConfigError
from metaeval.metrics.adapters.library import EvaluateMetric, TorchmetricsMetric
from tests.metrics.adapters.adapter_cases import REFERENCES, scored, scores_of, small

CAPTIONS = ["a baseball player jumps", "two dogs", "the road"]
ALL = [0, 1, 2]

MODULE = """
import datasets
import evaluate

class Overlap(evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features=datasets.Features({
                "predictions": datasets.Value("string"),
                "references": datasets.Sequence(datasets.Value("string")),
            }),
        )

    def _compute(self, predictions, references, lower=False):
        scores = []
        for p, r in zip(predictions, references):
            words = set((p.lower() if lower else p).split())
            scores.append(len(words & set(" ".join(r).split())) / len(words))
        return {"overlap": sum(scores) / len(scores), "n": len(scores)}
"""


def test_chrf_of_torchmetrics_is_sacrebleus() -> None:
    # sacrebleu is what torchmetrics' CHRFScore follows; it gives per cent. 1e-6: single precision
    options = {"n_word_order": 0}
    metric = TorchmetricsMetric("torchmetrics.text.CHRFScore", options=options)
    ours = scores_of(metric, small(), CAPTIONS, ALL)
    theirs = [
        sacrebleu.sentence_chrf(c, list(r), eps_smoothing=True).score / 100
        for c, r in zip(CAPTIONS, REFERENCES, strict=True)
    ]
    np.testing.assert_allclose(ours[:, 0], theirs, atol=1e-6)
    assert [column.name for column in metric.columns] == ["CHRFScore"]


def test_a_caption_is_scored_alone_not_added_to_those_before() -> None:
    metric = TorchmetricsMetric(torchmetrics.text.BLEUScore, options={"n_gram": 1})
    together = scores_of(metric, small(), CAPTIONS, ALL)
    for k in ALL:
        assert scores_of(metric, small(), [CAPTIONS[k]], [k])[0, 0] == together[k, 0]


def test_the_class_says_whether_higher_is_better_and_the_best_reference_counts() -> None:
    metric = TorchmetricsMetric(torchmetrics.text.WordErrorRate, references="each")
    assert not metric.columns[0].higher_is_better
    # "two dogs run": against 6 words 3 are missing of 6 -> by hand 3/6; "Dogs are running.": 3/3
    assert scores_of(metric, small(), ["two dogs run"], [1])[0, 0] == pytest.approx(3 / 6)


def test_columns_choose_among_the_results() -> None:
    metric = TorchmetricsMetric(
        torchmetrics.text.ROUGEScore, columns=["rougeL_fmeasure"], options={"rouge_keys": "rougeL"}
    )
    # by hand: LCS "the road" of 2 and of 8 words: P 1, R 2/8, F 2/5
    assert scores_of(metric, small(), ["the road"], [2])[0, 0] == pytest.approx(2 / 5)
    none = scored(
        TorchmetricsMetric(torchmetrics.text.ROUGEScore, options={"rouge_keys": "rougeL"}),
        small(),
        ["the road"],
        [2],
    )
    assert "only rougeL_fmeasure, rougeL_precision, rougeL_recall" in str(none.reason)


def test_a_library_that_is_not_there_is_a_skipped_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchmetricsMetric, "library", "torchmetrics_of_nobody")
    done = scored(TorchmetricsMetric(torchmetrics.text.CHRFScore), small(), ["a"], [0])
    assert (done.status, done.remedy) == ("skipped", "pip install torchmetrics_of_nobody")


def test_what_is_no_metric_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"give the metric's class"):
        TorchmetricsMetric()
    with pytest.raises(ConfigError, match=r"json\.JSONDecoder has no update and compute"):
        TorchmetricsMetric("json.JSONDecoder")
    with pytest.raises(ConfigError, match="has no attribute 'CHRF'"):
        TorchmetricsMetric("torchmetrics.text.CHRF")
    with pytest.raises(ConfigError, match="references is 'some', not all or each"):
        TorchmetricsMetric(torchmetrics.text.CHRFScore, references="some")
    done = scored(
        TorchmetricsMetric(torchmetrics.text.CHRFScore, options={"order": 1}), small(), ["a"], [0]
    )
    assert "metric.torchmetrics.options" in str(done.reason)


def test_a_module_of_evaluate_from_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "overlap"
    folder.mkdir()
    (folder / "overlap.py").write_text(MODULE)
    metric = EvaluateMetric(folder)
    # by hand: a, baseball, player of 4 words; two, dogs; the, road
    expected = [[3 / 4], [1], [1]]
    assert scores_of(metric, small(), CAPTIONS, ALL).tolist() == expected
    lower = EvaluateMetric(folder, options={"lower": True})
    assert scores_of(lower, small(), ["TWO dogs"], [1]).tolist() == [[1]]
    before = scored(metric, small(), ["a"], [0]).signatures
    (folder / "overlap.py").write_text(MODULE + "# edited\n")
    assert scored(metric, small(), ["a"], [0]).signatures != before


def test_evaluate_fetches_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"module bleu not found .*; give its folder"):
        EvaluateMetric("bleu")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"empty\.py not found"):
        EvaluateMetric(tmp_path / "empty")
