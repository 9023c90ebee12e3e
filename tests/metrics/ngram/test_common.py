"""What all metrics of n-grams have in common: printed examples, signatures, captions without a
score, size; BLEU, chrF, chrF++ and TER against sacrebleu, by sentence and as corpora."""

from __future__ import annotations

import math
import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, get_args

import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given, settings
from nltk.translate.bleu_score import brevity_penalty, closest_ref_length, modified_precision
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge as CocoRouge

from metaeval.config import build, compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric, Scores
from metaeval.metrics.controls import LongestCopy
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider, CiderPlain, CiderR
from metaeval.metrics.ngram.rouge import RougeL, RougeN
from metaeval.metrics.ngram.sacrebleu import (
    Chrf,
    SacreBleu,
    SegmentMetric,
    Smoothing,
    Ter,
    Tokenizer,
)
from tests.metrics.metric_cases import bound, images, scores_of
from tests.metrics.ngram.ngram_cases import (
    BASEBALL,
    CHILDREN,
    NASTY,
    Case,
    case_strategy,
    oracle,
    prepared,
    scores,
    tokenised,
)

WHITESPACE = [
    Bleu("whitespace", unsmoothed=True),
    *(kind(tokenizer="whitespace") for kind in (Cider, CiderPlain, CiderR, RougeL)),
]
RAW = [RougeN(), SacreBleu(), Chrf(), Ter()]


def name_of(metric: Any) -> str | None:
    return getattr(metric, "name", None)


GOLDEN = [
    # the paper prints six digits, cut off rather than rounded
    (Bleu(), BASEBALL, slice(3), [[0.727272, 0.381385, 0.252829]], 1e-6),
    (Bleu(), BASEBALL, slice(3, 4), [[0.0000377]], 5e-8),  # pycocoevalcap's, three digits
    (Bleu(unsmoothed=True), BASEBALL, slice(4, 7), [[0.381385, 0.252829, 0]], 1e-6),
    (RougeL(), BASEBALL, slice(1), [[0.448529]], 1e-6),
    (SacreBleu(), BASEBALL, slice(1), [[0.165904]], 5e-7),
    # FAIEr's four captions; pycocoevalcap's smoothing constants give these digits
    (Bleu(), CHILDREN, slice(3, 4), np.transpose([[0.8409, 3.907e-9, 7.089e-13, 4.939e-5]]), None),
    (Bleu(unsmoothed=True), CHILDREN, slice(6, 7), [[0.8409], [0], [0], [0]], 5e-5),
    (RougeL(), CHILDREN, slice(1), [[0.79664], [0.19902], [0.21670], [0.62500]], 5e-6),
]


@pytest.mark.parametrize(("metric", "case", "columns", "printed", "near"), GOLDEN)
def test_printed_examples(
    metric: Metric, case: Case, columns: slice, printed: Any, near: float | None
) -> None:
    """González-Chávez et al., appendix; FAIEr, figure 5. Near: absolute, or 2e-4 relative."""
    mine = scores(metric, case)[:, columns]
    close = {"rtol": 2e-4, "atol": 0} if near is None else {"rtol": 0, "atol": near}
    np.testing.assert_allclose(mine, printed, **close)


# BLEU's arithmetic is pycocoevalcap's in its order; the others add up some hundred products, scores
# of at most 10, in another order
pycocoevalcap = pytest.mark.parametrize(
    ("kind", "theirs", "near"),
    [
        (Bleu, partial(CocoBleu(4).compute_score, verbose=0), 0),
        (Cider, CocoCider().compute_score, 1e-12),
        (RougeL, CocoRouge().compute_score, 1e-12),
    ],
)
# tokens with a space: two words for BLEU and CIDEr, one for ROUGE-L
SPACED = Case(
    (("about 2 1/2 pizzas are left",), ("a dog",)),
    (("there are 2 1/2 pizzas", "a dog"), ("1/2 pizzas", "2 dogs")),
)


@pycocoevalcap
def test_equals_pycocoevalcap_on_tokens_with_a_space(kind: Any, theirs: Any, near: float) -> None:
    assert any("\xa0" in text for text in tokenised(SPACED).captions)
    expected = oracle(theirs, tokenised(SPACED))
    np.testing.assert_allclose(scores(kind(), SPACED), expected, rtol=0, atol=near)


@pycocoevalcap
@given(case=case_strategy())
@example(case=tokenised(NASTY, "whitespace"))
@settings(max_examples=60)
def test_equals_pycocoevalcap_on_any_words(kind: Any, theirs: Any, near: float, case: Case) -> None:
    metric = kind(tokenizer="whitespace")
    mine = scores(metric, case)
    np.testing.assert_allclose(mine, oracle(theirs, case), rtol=0, atol=near)
    low, high = metric.columns[0].bounds
    assert ((mine >= low) & (mine <= high + 1e-12)).all()


VERSION = sacrebleu.__version__


@pytest.mark.parametrize(
    ("name", "options", "column", "signature"),
    [
        ("bleu", {}, 3, "bleu-4|tok:ptb-3.4.1|smooth:coco|ref:closest|v:1"),
        (
            "bleu",
            {"unsmoothed": True, "tokenizer": "whitespace"},
            6,
            "bleu-4|tok:whitespace|smooth:none|ref:closest|v:1",
        ),
        ("rouge_l", {}, 0, "rouge-l|tok:ptb-3.4.1|beta:1.2|v:1"),
        ("rouge_n", {}, 1, "rouge-2|tok:rouge-score|stem:no|ref:best|v:2"),
        ("cider", {}, 0, "cider|tok:ptb-3.4.1|n:4|sigma:6|df:8-images-HASH|v:1"),
        ("cider_plain", {}, 0, "cider (not d)|tok:ptb-3.4.1|n:4|clip:no|df:8-images-HASH|v:1"),
        (
            "cider_r",
            {},
            0,
            "cider-r|tok:ptb-3.4.1|n:4|repetition:0.8|length:0.2|df:8-images-HASH|v:1",
        ),
        (
            "sacrebleu",
            {},
            0,
            f"sacrebleu|case:mixed|eff:yes|tok:13a|smooth:exp|version:{VERSION}|v:1",
        ),
        (
            "chrf",
            {},
            1,
            f"chrf++|case:mixed|eff:yes|nc:6|nw:2|space:no|version:{VERSION}|beta:2|v:1",
        ),
        ("ter", {}, 0, f"ter|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{VERSION}|v:1"),
    ],
)
def test_signatures_as_configured(
    name: str, options: dict[str, Any], column: int, signature: str
) -> None:
    given = [f"metric.{name}.{option}={value}" for option, value in options.items()]
    metric = build(name, compose_config([f"metric=[{name}]", *given]))
    found = bound(metric, NASTY.dataset).signatures[column]
    assert re.sub("-[0-9a-f]{8}[|]", "-HASH|", found) == signature


NAN = np.nan


@pytest.mark.parametrize(
    ("metric", "expected"),
    [  # of "" and spaces with a reference, of "a dog" and "" without, of "" with an empty reference
        *((metric, [0, 0, NAN, NAN, 0]) for metric in WHITESPACE[:4]),
        (WHITESPACE[4], [0, 0, NAN, NAN, 1]),  # an empty word against an empty word
        *((metric, [0, 0, NAN, NAN, 0]) for metric in RAW[:3]),
        (RAW[3], [1, 1, NAN, NAN, 0]),
    ],
    ids=name_of,
)
def test_nothing_to_score(metric: Metric, expected: Sequence[float]) -> None:
    scorer = prepared(metric, Case((("a dog",), (), ("",), ("two cats",)), (("",) * 4,)))
    scores = scorer.score(["", "   ", "a dog", "", ""], np.array([0, 0, 1, 1, 2]))
    columns = len(scorer.columns)
    np.testing.assert_array_equal(scores, np.repeat(np.array(expected)[:, None], columns, axis=1))
    assert scorer.score([], np.array([], dtype=np.intp)).shape == (0, columns)


IMAGES, MANY = 1000, 5000


@pytest.fixture(scope="module")
def dataset() -> CaptionDataset:
    words = np.array([f"w{i}" for i in range(2000)])
    rng = np.random.default_rng(0)
    references = tuple(
        tuple(" ".join(row) for row in rng.choice(words, (MANY if image == 0 else 4, 10)))
        for image in range(IMAGES)
    )
    human = tuple(" ".join([*group[1].split()[2:], "w1", "w2"]) for group in references)
    return images(references, human)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    [*(kind(tokenizer="whitespace") for kind in (Bleu, RougeL, Cider)), LongestCopy("whitespace")],
    ids=name_of,
)
def test_an_image_with_thousands_of_references_costs_what_it_holds(
    metric: Metric, dataset: CaptionDataset
) -> None:
    """50 MB are allowed: the references, their words and n-grams take up to 30. Padded to the most
    references of any image, the lengths of BLEU alone took 64 MB, the places of ROUGE-L's words
    1,755, the words of the longest copy 244, and CIDEr's n-grams gigabytes."""
    tracemalloc.start()
    scorer = bound(metric, dataset)
    scorer.prepare()
    scores = scorer.score(dataset.human, np.arange(IMAGES))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
    assert scores[0, 0] > 0


def by_nltk(candidate: str, references: tuple[str, ...], order: int) -> float:
    """Unsmoothed BLEU of the parts that nltk has: its whole one smooths where nothing matches."""
    words, others = candidate.split(), [reference.split() for reference in references]
    precisions = [modified_precision(others, words, n) for n in range(1, order + 1)]
    penalty = brevity_penalty(closest_ref_length(others, len(words)), len(words))
    return penalty * math.prod(precisions) ** (1 / order)


@given(case_strategy())
@settings(max_examples=60)
def test_unsmoothed_is_made_of_nltks_parts(case: Case) -> None:
    expected = [
        [by_nltk(caption, case.references[i], order) for order in (2, 3, 4)]
        for caption, i in zip(case.captions, case.index.tolist(), strict=True)
    ]
    mine = scores(Bleu("whitespace", unsmoothed=True), case)[:, 4:]
    # a dozen roundings of factors near 1 on either side, no cancellation
    np.testing.assert_allclose(mine, expected, rtol=1e-13, atol=0)
    assert ((mine >= 0) & (mine <= 1 + 1e-12)).all()


def test_orders_can_be_fewer_or_more() -> None:
    few = Bleu(tokenizer="whitespace", max_n=2)
    np.testing.assert_array_equal(
        scores(few, NASTY), scores(Bleu(tokenizer="whitespace"), NASTY)[:, :2]
    )
    six = scores(Bleu("whitespace", max_n=6, unsmoothed=True), NASTY)
    same = NASTY.captions.index("one two three four five six seven eight nine ten")
    # n-gram matches 8, 7, …, 3 out of 10, 9, …, 5
    assert six[same, -1] == pytest.approx((8 * 7 * 6 * 5 * 4 * 3 / 151200) ** (1 / 6), rel=1e-13)


# The LCS are whole numbers and equal; what is left is one formula, rounded half a dozen times on
# either side: 1e-12 is ample, and far below the documented 1e-9.
close = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("length", [1, 63, 64, 65, 130])
def test_common_subsequences_at_the_width_of_a_machine_word(length: int) -> None:
    rng = random.Random(length)
    reference = rng.choices("abcd", k=length)
    candidates = [rng.choices("abcde", k=k) for k in (1, 2, length, length + 7)] + [reference]
    case = Case(((" ".join(reference),),), tuple((" ".join(c),) for c in candidates))
    mine = scores(RougeL(tokenizer="whitespace"), case)
    np.testing.assert_allclose(mine, oracle(CocoRouge().compute_score, case), **close)
    assert mine[-1] == pytest.approx(1)


def test_precision_and_recall_may_come_from_different_references() -> None:
    # candidate "a b c d": precision 3/4 from the long reference, recall 2/2 from the short one
    case = Case((("a b c x x x x x", "a b"),), (("a b c d",),))
    beta, p, r = 2.0, 0.75, 1.0
    expected = (1 + beta**2) * p * r / (r + beta**2 * p)
    mine = scores(RougeL(beta=beta, tokenizer="whitespace"), case)
    assert mine == pytest.approx(expected, abs=1e-15)


# references, candidate, then `RougeScorer(["rouge1", "rouge2"]).score_multi(…)`'s two F-measures
# without and with use_stemmer, as rouge-score 0.1.2 prints them. One formula of two small
# fractions: a few units in the last place.
LIBRARY = [
    (
        BASEBALL.references[0][:2] + BASEBALL.references[0][4:],
        BASEBALL.sets[0][0],
        [0.39999999999999997, 0.11111111111111112, 0.39999999999999997, 0.11111111111111112],
    ),
    (
        (
            "two children are standing in a grassy field.",
            "there are two children standing in the grass by water.",
        ),
        "Two children with umbrellas in a grassy field.",
        [0.75, 0.5714285714285714, 0.75, 0.5714285714285714],
    ),
    (
        ("A café-owner's dogs were running, quickly!",),
        "the café owner's dog runs quickly",
        [0.5333333333333333, 0.30769230769230765, 0.7999999999999999, 0.6153846153846153],
    ),
    (
        ("a a a a b", "b b b"),
        "a a b a",
        [0.888888888888889, 0.5714285714285715, 0.888888888888889, 0.5714285714285715],
    ),
    (("dog",), "", [0, 0, 0, 0]),
    (("",), "dog", [0, 0, 0, 0]),
    (("dog",), "dog", [1, 0, 1, 0]),
    (
        ("don't 3.5 top-down",),
        "DON'T 35 top down",
        [0.7272727272727272, 0.4444444444444445, 0.7272727272727272, 0.4444444444444445],
    ),
    (("running runners ran easily",), "run runner ran easy", [0.25, 0, 0.75, 2 / 3]),
    (
        ("a b", "b a c"),
        "a b c",
        [1, 2 / 3, 1, 2 / 3],
    ),  # ROUGE-1 of the second, ROUGE-2 of the first
    # Porter makes "ga" of "gas"; only words of more than three letters are stemmed
    (("ga",), "gas", [0, 0, 0, 0]),
    (("hold",), "holds", [0, 0, 1, 0]),
]


@pytest.mark.parametrize(("references", "candidate", "expected"), LIBRARY)
def test_equals_rouge_score(
    references: tuple[str, ...], candidate: str, expected: list[float]
) -> None:
    case = Case((references,), ((candidate,),))
    plain, stemmed = scores(RougeN(), case)[0], scores(RougeN(stem=True), case)[0]
    np.testing.assert_allclose([*plain, *stemmed], expected, rtol=0, atol=1e-15)


# The scores come out of the same functions of sacrebleu, from the same whole numbers: they are
# equal to the last bit.
BY_SENTENCE = {"effective_order": True}  # as `sentence_bleu` has it
TER_OPTIONS = ("normalized", "case_sensitive")


# those whose package is there, and that download nothing
INSTALLED = [
    name
    for name in get_args(Tokenizer)
    if name != "flores200" and (name != "ja-mecab" or find_spec("MeCab") is not None)
]


def by_library(case: Case, *makers: Any) -> Scores:
    return np.array(
        [
            [maker.sentence_score(caption, case.references[i]).score / 100 for maker in makers]
            for caption, i in zip(case.captions, case.index.tolist(), strict=True)
        ]
    )


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
    theirs = sacrebleu.BLEU(lowercase, tokenize=tokenizer, smooth_method=smooth, **BY_SENTENCE)
    np.testing.assert_array_equal(mine, by_library(case, theirs))


CHRF = [sacrebleu.CHRF(), sacrebleu.CHRF(word_order=2)]  # chrF, chrF++
OTHERS = {"lowercase": True, "whitespace": True, "beta": 3}


@pytest.mark.parametrize(
    ("metric", "theirs"),
    [
        (
            Chrf(**OTHERS, char_order=4),
            [sacrebleu.CHRF(4, order, **OTHERS) for order in (0, 2)],
        ),
        *((Ter(**{name: True}), [sacrebleu.TER(**{name: True})]) for name in TER_OPTIONS),
    ],
)
def test_other_options_are_the_librarys(metric: SegmentMetric, theirs: list[Any]) -> None:
    case = Case((("A man's dog, running.", "the DOG runs"),), (("a Man's dog is running",),))
    mine = scores(metric, case)
    np.testing.assert_array_equal(mine, by_library(case, *theirs))
    assert (mine != scores(type(metric)(), case)).any()


@pytest.mark.parametrize(
    ("metric", "libraries"),
    [
        (Chrf(), CHRF),
        (Ter(), [sacrebleu.TER()]),
        (SacreBleu(), [sacrebleu.BLEU()]),
    ],
)
def test_a_corpus_is_the_librarys(metric: SegmentMetric, libraries: list[Any]) -> None:
    references = (BASEBALL.references[0][:2], ("a dog runs fast", "the dog is running"))
    case = Case(references, (("a man with a bat.", "a dog runs"),))
    statistics = prepared(metric, case).statistics(case.captions, case.index)
    assert statistics.shape == (2, len(metric.statistics_names))
    together = metric.of_statistics(statistics.sum(axis=0, keepdims=True), corpus=True)[0]
    streams = list(zip(*references, strict=True))
    theirs = [each.corpus_score(case.captions, streams).score / 100 for each in libraries]
    assert together.tolist() == theirs
    assert {column.higher_is_better for column in metric.columns} == {not isinstance(metric, Ter)}


@given(case_strategy())
@example(case=NASTY)
@settings(max_examples=50)
def test_equals_the_library_on_any_words(case: Case) -> None:
    bleu, ter = sacrebleu.BLEU(**BY_SENTENCE), sacrebleu.TER()
    for metric, theirs in ((SacreBleu(), [bleu]), (Chrf(), CHRF), (Ter(), [ter])):
        np.testing.assert_array_equal(scores(metric, case), by_library(case, *theirs))


SAME = {
    "ru": "кот спит на диване",
    "hi": "लड़का घोड़े पर है",
    "ar": "رجل يركب حصانا",
    "el": "ένας σκύλος τρέχει",
    "zh": "两只狗在草地上跑",
    "th": "สุนัขวิ่งบนหญ้า",
}


@pytest.mark.parametrize(
    ("caption", "reference", "one", "two"),
    [
        *((text, text, 1, 1) for text in SAME.values()),
        ("two dogs", SAME["zh"], 0, 0),
        ("красная собака бежит в парке BMW", "синяя кошка спит на диване BMW", 1 / 6, 0),
        ("Кот, спит!", "кот спит", 1, 1),
        ("а\u0301нна", "а\u0301нна идёт", 2 / 3, 0),  # a stress mark does not part a word
        ("लड़का", "लड़की", 0, 0),  # a boy, a girl: they differ by a mark
        ("狗跑。", "狗。", 2 / 3, 0),  # a letter a word: 1 of 2 and of 1
        ("рейс т34", "рейс т35", 1 / 2, 0),
    ],
)
def test_words_of_other_scripts(caption: str, reference: str, one: float, two: float) -> None:
    (row,) = scores_of(RougeN(), images([[reference]]), [caption])
    np.testing.assert_allclose(row, [one, two])


def test_latin_text_has_the_words_of_rouge_score() -> None:
    """rouge_score/tokenize.py: re.sub(r"[^a-z0-9]+", " ", text.lower()).split()."""
    rng = np.random.default_rng(0)
    letters = list("aàâbcdeéèfghıîß·’“”—10½²²µªºʻ \t.-_'ÅÉ€®\u0301ﬁＡ")
    texts = ["".join(rng.choice(letters, 30)) for _ in range(200)]
    scorer = RougeN().bind(images([texts]))
    for text in texts:
        words = re.sub(r"[^a-z0-9]+", " ", text.lower()).split()
        assert scorer._ngrams(text)[0] == Counter(words), text
