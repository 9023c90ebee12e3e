"""Corpus scores against the packages that the field's corpus scores come from."""

from contextlib import closing

import numpy as np
import numpy.typing as npt
import pytest
import sacrebleu

from metaeval.metrics.base import (
    Statistics,
    StatisticsAdapter,
    SummableMetric,
)
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.sacrebleu import SacreBleu
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions, system_scores
from metaeval.stats.significance.paired_bootstrap import system_score
from tests.metrics.metric_cases import bound
from tests.metrics.ngram.ngram_cases import BASEBALL, CHILDREN, NASTY, Case, prepared, scores


# A mean or a sum of 5,000 terms, added in another order than the oracle's (ours is exact), may
# differ in the last bits; nothing else may. BLEU's and METEOR's sums are of whole numbers.
def statistics(metric: SummableMetric, case: Case) -> Statistics:
    with closing(prepared(metric, case)) as scorer:
        return scorer.statistics(case.captions, case.index)


def corpus(metric: SummableMetric, case: Case) -> npt.NDArray[np.float64]:
    return system_score(
        statistics(metric, case), lambda sums: metric.of_statistics(sums, corpus=True)
    )


@pytest.mark.parametrize("case", [BASEBALL, CHILDREN, NASTY])
@pytest.mark.parametrize("metric", [Bleu(unsmoothed=True), Bleu(max_n=2), SacreBleu()])
def test_a_corpus_of_one_caption_scores_as_the_caption(metric: SummableMetric, case: Case) -> None:
    """But for SacreBLEU's effective order, which `corpus_bleu` does not have."""
    table = statistics(metric, case)
    np.testing.assert_array_equal(metric.of_statistics(table), scores(metric, case))
    if not isinstance(metric, SacreBleu):
        np.testing.assert_array_equal(
            metric.of_statistics(table, corpus=True), metric.of_statistics(table)
        )


def test_corpus_and_sentence_bleu_of_sacrebleu_differ_on_short_captions() -> None:
    case = Case((("two dogs run", "dogs"),), (("two dogs",),))
    metric = SacreBleu()
    whole = corpus(metric, case)
    streams = [[r] for r in case.references[0]]
    assert whole[0] == sacrebleu.corpus_bleu(["two dogs"], streams).score / 100
    sentence = sacrebleu.sentence_bleu("two dogs", list(case.references[0])).score / 100
    assert scores(metric, case)[0, 0] == sentence != whole[0]


def test_statistics_go_through_the_cache_as_scores_do() -> None:
    store, metric = MemoryStore(), Bleu(unsmoothed=True)
    first, again = (
        score_captions(
            StatisticsAdapter(each), CHILDREN.dataset, CHILDREN.captions, CHILDREN.index, store
        )
        for each in (metric, Bleu(unsmoothed=True))
    )
    assert [(each.n_scored, each.n_cached) for each in (first, again)] == [(4, 0), (0, 4)]
    np.testing.assert_array_equal(first.scores, again.scores)
    np.testing.assert_array_equal(metric.of_statistics(first.scores), scores(metric, CHILDREN))
    assert first.columns[0].name == "bleu matches-1"
    signatures = bound(metric, CHILDREN.dataset).signatures
    assert first.signatures[0] == f"bleu matches-1|{signatures[0].split('|', 1)[1]}"
    # scores made of statistics have the signatures of scores
    assert system_scores(metric, first).scored.signatures == signatures


def test_an_image_without_references_has_no_statistics() -> None:
    case = Case((("a dog",), ()), (("a dog", "a dog"),))
    table = statistics(Bleu(), case)
    for rows in (table, Bleu().of_statistics(table)):
        assert np.isnan(rows).any(axis=1).tolist() == [False, True]
    # the sum leaves it out
    assert corpus(Bleu(max_n=1), case)[0] == pytest.approx(1, abs=1e-8)  # BLEU's constants
