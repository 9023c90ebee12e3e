"""pycocoevalcap's scorers given by a user: equal to ours, correct where naive use is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge

from metaeval.data.coco.load import load_coco
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.coco import CocoScorerMetric
from metaeval.metrics.base import Metric
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from tests.metrics.adapters.adapter_cases import REFERENCES, scenes, scored, scores_of, small

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
    data = scenes(20)
    metric = CocoScorerMetric(CocoCider)
    everything = scores_of(metric, data, list(data.human), list(range(20)))
    alone = scores_of(metric, data, [data.human[7]], [7])
    assert alone[0, 0] == everything[7, 0] > 0
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
    raw = scores_of(CocoScorerMetric(Rouge, tokenizer=None), small(), captions, [1])
    assert raw[0, 0] < 1


def test_an_image_without_references_is_not_scored() -> None:
    data = small((*REFERENCES[:2], ()))
    values = scores_of(CocoScorerMetric(Rouge), data, ["a", "two dogs run", "a"], [0, 1, 2])
    assert np.isnan(values[:, 0]).tolist() == [False, False, True]


class NoScorer:
    pass


class Wordy:
    """Returns a mapping from ids, and takes no `verbose`."""

    def compute_score(self, gts, res):  # type: ignore[no-untyped-def]
        return 0.0, {i: len(res[i][0].split()) for i in reversed(list(gts))}


class Corpus:
    def compute_score(self, gts, res):  # type: ignore[no-untyped-def]
        return 0.5


def test_scores_may_come_by_id() -> None:
    assert scores_of(CocoScorerMetric(Wordy), small(), ["a b", "c"], [2, 0]).tolist() == [[2], [1]]


def test_bleu_prints_nothing_and_requires_names_of_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores_of(CocoScorerMetric(CocoBleu, **BLEU), small(), ["a b"], [0])
    assert capsys.readouterr().out == ""
    unnamed = scored(CocoScorerMetric(CocoBleu), small(), ["a b"], [0])
    assert unnamed.reason == (
        "ValueError: gives 4 scores a caption: name them, metric.coco.columns=[A,B,…]"
    )


def test_what_is_no_scorer_is_refused() -> None:
    with pytest.raises(ConfigError, match="NoScorer has no compute_score"):
        CocoScorerMetric(NoScorer)
    with pytest.raises(ConfigError, match=r"give the scorer's class: metric\.coco\.scorer="):
        CocoScorerMetric()
    done = scored(CocoScorerMetric(Corpus), small(), ["a"], [0])
    assert "returned float, not (corpus score, scores)" in str(done.reason)
    done = scored(CocoScorerMetric(CocoCider, options={"m": 4}), small(), ["a"], [0])
    assert "metric.coco.options" in str(done.reason)
