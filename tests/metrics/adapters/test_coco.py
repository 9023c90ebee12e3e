"""Scorers of pycocoevalcap, equal to ours; metrics of torchmetrics and of evaluate."""

from pathlib import Path

import numpy as np
import pytest
import sacrebleu
import torchmetrics.text
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge

from metaeval.data.coco.load import load_coco
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.function import CocoScorerMetric
from metaeval.metrics.adapters.library import EvaluateMetric, TorchmetricsMetric
from metaeval.metrics.base import Metric
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from tests.metrics.adapters.adapter_cases import REFERENCES, scored, scores_of, small

BLEU = {"options": {"n": 4}, "columns": ["B-1", "B-2", "B-3", "B-4"]}


@pytest.mark.parametrize(
    ("brought", "ours"),
    [
        (CocoScorerMetric("pycocoevalcap.cider.cider.Cider"), Cider()),
        (CocoScorerMetric("pycocoevalcap.rouge.rouge.Rouge"), RougeL()),
        (CocoScorerMetric("pycocoevalcap.bleu.bleu.Bleu", **BLEU), Bleu()),
    ],
    ids=["cider", "rouge_l", "bleu"],
)
@pytest.mark.coco
def test_equals_ours_on_coco(brought: Metric, ours: Metric, coco_root: Path) -> None:
    data = load_coco(
        "coco",
        "val2017",
        limit=150,
        data=coco_root,
        captions=coco_root / "coco/annotations/captions_val2017.json",
    )
    # human captions, corrupted ones, and another image's: 2 to 4 candidates an image, shuffled
    n = len(data)
    captions, index = list(data.human), list(range(n))
    captions += [" ".join(c.split()[::-1]) for c in data.human]
    captions += [data.human[(i + 1) % n] for i in range(n)]
    captions += [data.references[i][0] for i in range(0, n, 3)]
    index += [*range(n), *range(n), *range(0, n, 3)]
    order = np.random.default_rng(0).permutation(len(captions))
    captions, index = [captions[k] for k in order], [index[k] for k in order]
    # 1e-9: the same formulas, added up in another order
    np.testing.assert_allclose(
        scores_of(brought, data, captions, index),
        scores_of(ours, data, captions, index),
        rtol=0,
        atol=1e-9,
    )


def test_document_frequencies_always_come_from_all_images() -> None:
    data = load_scenes(limit=20)
    metric = CocoScorerMetric(CocoCider)
    everything = scores_of(metric, data, list(data.human), list(range(20)))
    assert scores_of(metric, data, [data.human[7]], [7])[0, 0] == everything[7, 0] > 0
    # what the obvious adapter does: each caption on its own is a corpus of one, and CIDEr is 0
    naive, _ = CocoCider().compute_score({7: list(data.references[7])}, {7: [data.human[7]]})
    assert naive == 0
    signature = scored(metric, data, [data.human[7]], [7]).signatures[0]
    other = scored(metric, data.limited(19), [data.human[7]], [7]).signatures[0]
    assert "|corpus:20-images-" in str(signature)
    assert signature != other


def test_texts_are_tokenised_as_pycocoevalcap_has_them_tokenised() -> None:
    captions = ["Two dogs run over the grass."]
    tokenised = scores_of(CocoScorerMetric(Rouge), small(), captions, [1])
    assert tokenised.tolist() == [[1.0]]  # the same words as the first reference
    assert scores_of(CocoScorerMetric(Rouge, tokenizer=None), small(), captions, [1])[0, 0] < 1


class NoScorer:
    pass


class Wordy:
    def compute_score(self, gts, res):  # type: ignore[no-untyped-def]
        return 0.0, {i: len(res[i][0].split()) for i in reversed(list(gts))}


class Corpus:
    def compute_score(self, gts, res):  # type: ignore[no-untyped-def]
        return 0.5


def test_scores_may_come_by_id() -> None:
    assert scores_of(CocoScorerMetric(Wordy), small(), ["a b", "c"], [2, 0]).tolist() == [[2], [1]]


def test_bleu_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    scores_of(CocoScorerMetric(CocoBleu, **BLEU), small(), ["a b"], [0])
    assert capsys.readouterr().out == ""


ROUGE = {"options": {"rouge_keys": "rougeL"}}


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        (CocoScorerMetric(CocoBleu), "gives 4 scores a caption: name them, metric.coco.columns=[A"),
        (CocoScorerMetric(Corpus), "returned float, not (corpus score, scores)"),
        (CocoScorerMetric(CocoCider, options={"m": 4}), "metric.coco.options"),
        (
            TorchmetricsMetric(torchmetrics.text.CHRFScore, options={"order": 1}),
            "metric.torchmetrics.options",
        ),
        (
            TorchmetricsMetric(torchmetrics.text.ROUGEScore, **ROUGE),
            "only rougeL_fmeasure, rougeL_precision, rougeL_recall",
        ),
    ],
)
def test_what_returns_no_scores_fails(metric: Metric, reason: str) -> None:
    assert reason in str(scored(metric, small(), ["a"], [0]).reason)


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
    metric = TorchmetricsMetric("torchmetrics.text.CHRFScore", options={"n_word_order": 0})
    ours = scores_of(metric, small(), CAPTIONS, ALL)
    theirs = [
        sacrebleu.sentence_chrf(c, list(r), eps_smoothing=True).score / 100
        for c, r in zip(CAPTIONS, REFERENCES, strict=True)
    ]
    np.testing.assert_allclose(ours[:, 0], theirs, atol=1e-6)
    assert [column.name for column in metric.columns] == ["CHRFScore"]


def test_the_class_says_whether_higher_is_better_and_the_best_reference_counts() -> None:
    metric = TorchmetricsMetric(torchmetrics.text.WordErrorRate, references="each")
    assert not metric.columns[0].higher_is_better
    # "two dogs run": against 6 words 3 are missing of 6 -> by hand 3/6; "Dogs are running.": 3/3
    assert scores_of(metric, small(), ["two dogs run"], [1])[0, 0] == pytest.approx(3 / 6)


def test_columns_choose_among_the_results() -> None:
    rouge = torchmetrics.text.ROUGEScore
    metric = TorchmetricsMetric(rouge, columns=["rougeL_fmeasure"], **ROUGE)
    # by hand: LCS "the road" of 2 and of 8 words: P 1, R 2/8, F 2/5
    assert scores_of(metric, small(), ["the road"], [2])[0, 0] == pytest.approx(2 / 5)


def test_a_library_that_is_not_there_is_a_skipped_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchmetricsMetric, "library", "torchmetrics_of_nobody")
    done = scored(TorchmetricsMetric(torchmetrics.text.CHRFScore), small(), ["a"], [0])
    assert (done.status, done.remedy) == ("skipped", "pip install torchmetrics_of_nobody")


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


@pytest.mark.parametrize(
    ("metric", "of", "options", "message"),
    [
        (CocoScorerMetric, [NoScorer], {}, "NoScorer has no compute_score"),
        (CocoScorerMetric, [], {}, r"give the scorer's class: metric\.coco\.scorer="),
        (TorchmetricsMetric, [], {}, "give the metric's class"),
        (
            TorchmetricsMetric,
            ["json.JSONDecoder"],
            {},
            r"json\.JSONDecoder has no update and compute",
        ),
        (TorchmetricsMetric, ["torchmetrics.text.CHRF"], {}, "has no attribute 'CHRF'"),
        (
            TorchmetricsMetric,
            [torchmetrics.text.CHRFScore],
            {"references": "some"},
            "references is 'some', not all or each",
        ),
        # nothing is fetched
        (EvaluateMetric, ["bleu"], {}, r"module bleu not found .*; give its folder"),
        (EvaluateMetric, [Path(__file__).parent], {}, r"adapters\.py not found"),
    ],
)
def test_what_is_no_metric_is_refused(
    metric: type, of: list[object], options: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        metric(*of, **options)
