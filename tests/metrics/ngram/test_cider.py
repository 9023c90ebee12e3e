"""CIDEr against pycocoevalcap, CIDEr (not D) and CIDEr-R against their authors' programs."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from pycocoevalcap.cider.cider import Cider as CocoCider

from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.ngram.cider import Cider, CiderPlain, CiderR
from tests.metrics.ngram.ngram_cases import (
    BASEBALL,
    CHILDREN,
    NASTY,
    Case,
    bound,
    case_strategy,
    coco_sample,
    configured,
    oracle,
    prepared,
    scores,
    tokenised,
)

# Sums of products of at most some hundred n-grams in another order: a few units in the last place
# of scores up to 10, so 1e-12 is ample, and far below the documented 1e-9.
close = {"rtol": 0, "atol": 1e-12}

coco_cider = CocoCider().compute_score


@pytest.mark.coco
def test_equals_pycocoevalcap_on_coco(coco_root: Path) -> None:
    case = coco_sample(coco_root)
    np.testing.assert_allclose(scores(Cider(), case), oracle(coco_cider, tokenised(case)), **close)


def test_equals_pycocoevalcap_on_nasty_captions() -> None:
    case = tokenised(NASTY, "whitespace")
    mine = scores(Cider(tokenizer="whitespace"), case)
    np.testing.assert_allclose(mine, oracle(coco_cider, case), **close)


@given(case_strategy())
@settings(max_examples=200, deadline=None)
def test_equals_pycocoevalcap_on_any_words(case: Case) -> None:
    mine = scores(Cider(tokenizer="whitespace"), case)
    np.testing.assert_allclose(mine, oracle(coco_cider, case), **close)
    assert ((mine >= 0) & (mine <= 10 + 1e-12)).all()


def test_sigma_as_in_pycocoevalcap() -> None:
    case = tokenised(NASTY, "whitespace")
    mine = scores(Cider(sigma=2.5, tokenizer="whitespace"), case)
    np.testing.assert_allclose(mine, oracle(CocoCider(sigma=2.5).compute_score, case), **close)
    assert not np.allclose(mine, scores(Cider(tokenizer="whitespace"), case))


def test_a_token_with_a_space_is_two_words_as_in_pycocoevalcap() -> None:
    case = Case(
        (("about 2 1/2 pizzas are left",), ("a dog",)),
        (("there are 2 1/2 pizzas", "a dog"), ("1/2 pizzas", "2 dogs")),
    )
    assert any("\xa0" in text for text in tokenised(case).captions)
    np.testing.assert_allclose(scores(Cider(), case), oracle(coco_cider, tokenised(case)), **close)


def test_worked_by_hand() -> None:
    """Candidate "red cat", reference "cat sat", another image with "cat"; so N = 2.

    idf: cat ln 2 - ln 2 = 0, red, sat, "red cat", "cat sat" ln 2. Nothing weighty is shared: 0.
    Candidate "sat": unigram cosine ln²2 / (ln 2 · ln 2) = 1, one bigram less than the reference:
    exp(-1/72), so 10 · exp(-1/72) / 4.
    """
    case = Case((("cat sat",), ("cat",)), (("red cat", "cat"), ("sat", "cat")))
    mine = scores(Cider(tokenizer="whitespace"), case)[:, 0]
    expected = [0, 0, 10 * math.exp(-1 / 72) / 4, 0]
    np.testing.assert_allclose(mine, expected, **close)


def test_documents_are_images_or_what_a_protocol_counts() -> None:
    """Image 0 has two sets of references: "cat sat" and "cat ran"; image 1 has "dog".

    Candidate "cat" against "cat sat": idf(cat)/√(idf(cat)² + idf(sat)²) of unigrams, one bigram
    less than the reference. By image N = 2, and cat and sat are each in one; counted one by one
    N = 3, and cat is in two; with the first counted twice N = 4, cat is in three and sat in two.
    """
    ids, human = (0, 0, 1), ("x",) * 3
    references = (("cat sat",), ("cat ran",), ("dog",))
    data = CaptionDataset("d", ids, human, references, ids, human)
    counted = {
        None: (math.log(2), math.log(2)),
        (1, 1, 1): (math.log(3 / 2), math.log(3)),
        (2, 1, 1): (math.log(4 / 3), math.log(4 / 2)),
    }
    signatures = set()
    for documents, (cat, sat) in counted.items():
        scorer = Cider(tokenizer="whitespace").bind(replace(data, documents=documents))
        scorer.prepare()
        score = scorer.score(["cat"], np.zeros(1, np.intp))[0, 0]
        expected = 10 * math.exp(-1 / 72) / 4 * cat / math.hypot(cat, sat)
        assert score == pytest.approx(expected, abs=1e-12)
        signatures |= set(scorer.signatures)
    assert len(signatures) == 3


def test_the_only_reference_itself_scores_ten() -> None:
    text = "a dog runs along the beach"
    mine = scores(Cider(tokenizer="whitespace"), Case(((text,), ("two cats",)), ((text, ""),)))
    np.testing.assert_allclose(mine[:, 0], [10, 0], **close)


def test_unknown_words_do_not_lean_on_each_other() -> None:
    """Words outside the corpus are numbered call by call; their order must not enter the sums."""
    scorer = prepared(Cider(tokenizer="whitespace"), NASTY)
    mixed = "a zwei b drei zwei vier drei zwei dog vier fünf a a"
    alone = scorer.score([mixed], np.array([0]))
    after = scorer.score(["fünf vier drei zwei x y z", mixed], np.array([0, 0]))[1:]
    assert alone.tobytes() == after.tobytes()
    assert alone[0, 0] > 0


def test_a_single_image_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        mine = scores(Cider(), BASEBALL)
    assert mine == 0
    assert oracle(coco_cider, tokenised(BASEBALL)) == 0
    assert caplog.messages == ["CIDEr is 0 for every caption: its idf needs more than one image"]
    caplog.clear()
    scores(Cider(tokenizer="whitespace"), NASTY)
    assert not caplog.messages


def _signature(dataset: CaptionDataset) -> str:
    return bound(configured("cider"), dataset).signatures[0]


def test_bounds() -> None:
    assert configured("cider").columns[0].bounds == (0, 10)


def test_signature_holds_the_corpus() -> None:
    dataset = NASTY.dataset
    signature = _signature(dataset)
    start = "cider|tok:ptb-3.4.1|n:4|sigma:6|df:8-images-"
    assert signature.startswith(start)
    assert signature.endswith("|v:1")
    assert len(signature) == len(start) + 8 + len("|v:1")
    # what changes a document frequency changes the signature …
    assert _signature(dataset.limited(5)) not in signature
    other = (*NASTY.references[:-1], ("one two three four five six seven nine",))
    assert _signature(Case(other, NASTY.sets).dataset) != signature
    moved = (NASTY.references[0][:1], (*NASTY.references[1], NASTY.references[0][1]))
    assert _signature(Case(moved + NASTY.references[2:], NASTY.sets).dataset) != signature
    # … and what does not, does not
    backwards = tuple(tuple(group[::-1]) for group in NASTY.references[::-1])
    assert _signature(Case(backwards, NASTY.sets).dataset) == signature


def test_sigma_has_a_bound() -> None:
    with pytest.raises(ConfigError, match="sigma"):
        Cider(sigma=0)


def _captions_file(path: Path, case: Case) -> Path:
    """The case's references in COCO's captions schema; images of strange ids, in another order."""
    images = [{"id": 100 + i} for i in reversed(range(len(case.references)))]
    texts = [(100 + i, text) for i, group in enumerate(case.references) for text in group]
    annotations = [{"id": k, "image_id": i, "caption": c} for k, (i, c) in enumerate(texts)]
    path.write_text(json.dumps({"images": images, "annotations": annotations}))
    return path


def test_the_idf_of_a_named_corpus(tmp_path: Path) -> None:
    whole = Case(
        (*BASEBALL.references, *CHILDREN.references, ("a man on a field",), ("two dogs",)),
        (("a man on a field", "two children stand in grass", "a man", "dogs"),),
    )
    corpus = _captions_file(tmp_path / "captions_mine.json", whole)
    # the corpus being the dataset itself, nothing changes: this is pycocoevalcap's number
    np.testing.assert_array_equal(scores(Cider(idf=corpus), whole), scores(Cider(), whole))
    expected = oracle(coco_cider, tokenised(whole))
    np.testing.assert_allclose(scores(Cider(idf=corpus), whole), expected, atol=1e-12)
    # of one image alone, the same as among all: not 0
    alone = Case(whole.references[:1], (whole.sets[0][:1],))
    named = scores(Cider(idf=corpus), alone)
    np.testing.assert_allclose(named, expected[:1], atol=1e-12)
    assert named > 0 == scores(Cider(), alone)


def test_the_named_corpus_is_in_the_signature_and_must_be_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = _captions_file(tmp_path / "captions_mine.json", NASTY)
    before = bound(Cider(idf=corpus), BASEBALL.dataset).signatures[0]
    assert before.startswith("cider|tok:ptb-3.4.1|n:4|sigma:6|df:captions_mine-")
    assert not caplog.messages  # one image, but its idf is not 0
    _captions_file(corpus, CHILDREN)
    assert bound(Cider(idf=corpus), BASEBALL.dataset).signatures[0] != before
    absent = Cider(idf=tmp_path / "none.json").bind(BASEBALL.dataset)
    assert absent.remedy == "set metric.cider.idf=FILE, a captions file"
    absent = Cider(idf=tmp_path / "none").bind(BASEBALL.dataset)  # no ending, and no split of COCO
    assert absent.remedy == "set metric.cider.idf=FILE, a captions file"
    absent = Cider(idf="coco_val1999", data=tmp_path).bind(BASEBALL.dataset)
    assert "the COCO val1999 captions were not found" in str(absent)


@pytest.mark.coco
def test_a_corpus_is_called_by_the_name_of_cocos_captions(coco_root: Path) -> None:
    signature = bound(Cider(idf="coco_val2017", data=coco_root), BASEBALL.dataset).signatures[0]
    assert "|df:captions_val2017-" in signature


CASE = Case(
    (
        (
            "a man swings a bat at a ball",
            "a man with a bat on a field",
            "the crowd watches a baseball game",
        ),
        ("two children stand in a grassy field", "there are two children in the grass"),
        ("a dog runs", "the dog is running very fast over the green grass of the park"),
        ("a a a b",),
    ),
    (
        ("a man swings a bat", "two children in a field", "a dog dog dog runs", "a b"),
        (
            "a man with a bat at a man with a bat",
            "a man",
            "the dog runs on the grass of a field",
            "a a a b",
        ),
        (
            "a crowd watches two dogs",
            "there are children in the grass in the grass",
            "the dog is running very fast",
            "b",
        ),
    ),
)

# What the authors' programs print for CASE, set by set, to 12 places: `CiderScorer` of
# vrama91/cider (pyciderevalcap, its Python 2 names changed to those of 3) and `CiderRScorer` of
# gabrielsantosrv/coco-caption. The program for CIDEr has neither clipping nor length penalty.
PLAIN = [
    [3.173470362584, 3.231004766115, 2.22170774376, 3.61803398875],
    [3.469476184788, 0.0, 1.852740736729, 10.0],
    [0.600780695979, 3.332249043779, 3.558557568573, 2.5],
]
R = [
    [2.686048903041, 3.17868195512, 0.962268354261, 2.217733804698],
    [1.249261782707, 0.0, 1.135269759683, 10.0],
    [0.597452279607, 1.800357855886, 2.901943969188, 2.233993367771],
]


@pytest.mark.parametrize(("metric", "printed"), [(CiderPlain, PLAIN), (CiderR, R)])
def test_equals_the_authors_program(metric: type[CiderPlain], printed: list[list[float]]) -> None:
    mine = scores(metric(tokenizer="whitespace"), CASE)[:, 0]
    # the printed digits
    np.testing.assert_allclose(mine, np.concatenate(printed), rtol=0, atol=6e-13)


def test_the_three_differ() -> None:
    d, plain, r = (
        scores(metric(tokenizer="whitespace"), CASE)[:, 0] for metric in (Cider, CiderPlain, CiderR)
    )
    assert (plain >= d - 1e-12).all()  # nothing is clipped, nothing is charged for length
    assert np.abs(plain - d).max() > 1
    assert np.abs(r - d).max() > 0.5


def test_cider_r_worked_by_hand() -> None:
    """Candidate "sat sat", reference "cat sat", another image with "cat"; N = 2.

    Weighty n-grams of the reference: "sat" (ln 2) and "cat sat" (ln 2). Unigrams: min(2, 1) · 1 /
    (2 · 1) = 1/2; no bigram. One distinct word with |2 - 1| = 1: r = 1/2. Lengths are equal: l = 1.
    """
    case = Case((("cat sat",), ("cat",)), (("sat sat", "cat"),))
    mine = scores(CiderR(tokenizer="whitespace"), case)[0, 0]
    assert mine == pytest.approx(10 / 4 * 0.5 * 0.5**0.8, abs=1e-12)
    longer = Case(case.references, (("sat sat sat", "cat"),))
    mine = scores(CiderR(tokenizer="whitespace"), longer)[0, 0]
    wanted = 10 / 4 / 3 * (1 / 3) ** 0.8 * math.exp(-((3 - 2) ** 2) / 2**2) ** 0.2
    assert mine == pytest.approx(wanted, abs=1e-12)


def test_configuration_and_signature() -> None:
    plain, r, d = (
        bound(configured(n), NASTY.dataset).signatures[0]
        for n in ("cider_plain", "cider_r", "cider")
    )
    assert plain.startswith("cider (not d)|tok:ptb-3.4.1|n:4|clip:no|df:8-images-")
    assert r.startswith("cider-r|tok:ptb-3.4.1|n:4|repetition:0.8|length:0.2|df:8-images-")
    assert d.startswith("cider|tok:ptb-3.4.1|n:4|sigma:6|df:8-images-")  # as ever
