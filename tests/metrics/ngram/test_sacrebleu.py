"""SacreBLEU against sacrebleu itself."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings

from metaeval.errors import ConfigError
from metaeval.metrics.base import Scores
from metaeval.metrics.ngram.sacrebleu import SacreBleu, Smoothing, Tokenizer
from tests.metrics.ngram.ngram_cases import (
    BASEBALL,
    NASTY,
    Case,
    bound,
    case_strategy,
    coco_sample,
    configured,
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


def test_golden_example_of_the_paper() -> None:
    assert scores(SacreBleu(), BASEBALL)[0, 0] == pytest.approx(0.165904, abs=5e-7)


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


def test_configuration_and_signature() -> None:
    version = sacrebleu.__version__
    expected = f"sacrebleu|case:mixed|eff:yes|tok:13a|smooth:exp|version:{version}|v:1"
    assert bound(configured("sacrebleu"), NASTY.dataset).signatures == (expected,)
    floor = configured("sacrebleu", smooth="floor", lowercase=True, tokenizer="intl")
    theirs = sacrebleu.BLEU(
        smooth_method="floor", lowercase=True, tokenize="intl", effective_order=True
    )
    theirs.sentence_score("a", ["a"])
    full = str(theirs.get_signature()).replace("nrefs:1|", "")
    assert bound(floor, NASTY.dataset).signatures == (f"sacrebleu|{full}|v:1",)
    with pytest.raises(ConfigError, match=r"SacreBleu\.smooth: 'coco' is not one of exp"):
        SacreBleu(smooth="coco")
    with pytest.raises(ConfigError, match="tokenizer: 'ptb' is not one of 13a"):
        SacreBleu(tokenizer="ptb")
