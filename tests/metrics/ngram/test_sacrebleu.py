"""BLEU, chrF, chrF++ and TER against sacrebleu itself, by sentence and as corpora."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings

from metaeval.metrics.base import Scores
from metaeval.metrics.ngram.sacrebleu import (
    Chrf,
    SacreBleu,
    SegmentMetric,
    Smoothing,
    Ter,
    Tokenizer,
)
from tests.metrics.metric_cases import bound
from tests.metrics.ngram.ngram_cases import (
    BASEBALL,
    NASTY,
    Case,
    case_strategy,
    coco_sample,
    configured,
    prepared,
    scores,
)

# The scores come out of the same function of sacrebleu, from the same whole numbers: they are
# equal to the last bit.


# those whose package is there, and that download nothing
INSTALLED = [
    name
    for name in get_args(Tokenizer)
    if name != "flores200" and (name != "ja-mecab" or find_spec("MeCab") is not None)
]


def _library(case: Case, **options: Any) -> Scores:
    return np.array(
        [
            [sacrebleu.sentence_bleu(caption, case.references[i], **options).score / 100]
            for caption, i in zip(case.captions, case.index.tolist(), strict=True)
        ]
    )


@pytest.mark.coco
def test_equals_the_library_on_coco(coco_root: Path) -> None:
    case = coco_sample(coco_root)
    np.testing.assert_array_equal(scores(SacreBleu(), case), _library(case))


@pytest.mark.parametrize("smooth", get_args(Smoothing))
@pytest.mark.parametrize("tokenizer", INSTALLED)
@pytest.mark.parametrize("lowercase", [False, True])
def test_equals_the_library_whatever_the_options(
    smooth: str, tokenizer: str, lowercase: bool
) -> None:
    references = (("A Man's  dog, &quot;Rex&quot;\n runs. ", "the $3.50 dog-house\t"),)
    case = Case(
        NASTY.references + references,
        (*[(*captions, "a man's Dog runs\r\nto 3.50 dogs. ") for captions in NASTY.sets],),
    )
    mine = scores(SacreBleu(smooth=smooth, tokenizer=tokenizer, lowercase=lowercase), case)
    options = {"smooth_method": smooth, "tokenize": tokenizer, "lowercase": lowercase}
    np.testing.assert_array_equal(mine, _library(case, **options))


@given(case_strategy())
@settings(max_examples=150, deadline=None)
def test_equals_the_library_on_any_words(case: Case) -> None:
    np.testing.assert_array_equal(scores(SacreBleu(), case), _library(case))


def test_the_signature_is_the_librarys() -> None:
    options = {"smooth": "floor", "lowercase": True, "tokenizer": "intl"}
    theirs = sacrebleu.BLEU(
        smooth_method="floor", lowercase=True, tokenize="intl", effective_order=True
    )
    theirs.sentence_score("a", ["a"])
    full = str(theirs.get_signature()).replace("nrefs:1|", "")
    found = bound(configured("sacrebleu", **options), NASTY.dataset).signatures
    assert found == (f"sacrebleu|{full}|v:1",)


# The same functions of sacrebleu are called on the same texts: equal to the last bit.

CHRF = {"chrF": {}, "chrF++": {"word_order": 2}}


def _chrf(case: Case, **options: Any) -> Scores:
    return _library_of_segments(case, [sacrebleu.CHRF(**more, **options) for more in CHRF.values()])


def _library_of_segments(case: Case, makers: list[Any]) -> Scores:
    return np.array(
        [
            [maker.sentence_score(caption, case.references[i]).score / 100 for maker in makers]
            for caption, i in zip(case.captions, case.index.tolist(), strict=True)
        ]
    )


def test_chrf_equals_the_library_whatever_the_options() -> None:
    np.testing.assert_array_equal(scores(Chrf(), NASTY), _chrf(NASTY))
    mine = scores(Chrf(lowercase=True, whitespace=True, beta=3, char_order=4), NASTY)
    theirs = _chrf(NASTY, lowercase=True, whitespace=True, beta=3, char_order=4)
    np.testing.assert_array_equal(mine, theirs)
    assert (mine != scores(Chrf(), NASTY)).any()


@pytest.mark.parametrize("options", [{}, {"normalized": True}, {"case_sensitive": True}])
def test_ter_equals_the_library_whatever_the_options(options: dict[str, bool]) -> None:
    case = Case((("A man's dog, running.", "the DOG runs"),), (("a Man's dog is running",),))
    theirs = _library_of_segments(case, [sacrebleu.TER(**options)])
    np.testing.assert_array_equal(scores(Ter(**options), case), theirs)


def test_worked_by_hand() -> None:
    """Two words change places with a shift (1 edit of 4), one is missing (1), and nothing at all:
    4 words to be inserted of 4."""
    case = Case((("a b c d",),), (("b a c d",), ("a b c",), ("",), ("a b c d",)))
    assert scores(Ter(), case)[:, 0].tolist() == [0.25, 0.25, 1.0, 0.0]
    assert not Ter().columns[0].higher_is_better
    assert scores(Chrf(), case)[2:].tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize(("metric", "makers"), [(Chrf(), CHRF), (Ter(), None)])
def test_a_corpus_is_the_librarys(metric: SegmentMetric, makers: Any) -> None:
    references = (BASEBALL.references[0][:2], ("a dog runs fast", "the dog is running"))
    case = Case(references, (("a man with a bat.", "a dog runs"),))
    statistics = prepared(metric, case).statistics(case.captions, case.index)
    assert statistics.shape == (2, len(metric.statistics_names))
    together = metric.of_statistics(statistics.sum(axis=0, keepdims=True), corpus=True)[0]
    streams = list(zip(*references, strict=True))
    libraries = [sacrebleu.CHRF(**o) for o in makers.values()] if makers else [sacrebleu.TER()]
    theirs = [each.corpus_score(case.captions, streams).score / 100 for each in libraries]
    assert together.tolist() == theirs


def assert_equal_to_the_library(case: Case) -> None:
    np.testing.assert_array_equal(scores(Chrf(), case), _chrf(case))
    np.testing.assert_array_equal(
        scores(Ter(), case), _library_of_segments(case, [sacrebleu.TER()])
    )


@pytest.mark.coco
def test_chrf_and_ter_equal_the_library_on_coco(coco_root: Path) -> None:
    assert_equal_to_the_library(coco_sample(coco_root, images=60))


@given(case_strategy())
@settings(max_examples=60, deadline=None)
def test_chrf_and_ter_equal_the_library_on_any_words(case: Case) -> None:
    assert_equal_to_the_library(case)
