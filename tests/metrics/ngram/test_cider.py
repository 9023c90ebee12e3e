"""CIDEr; CIDEr (not D) and CIDEr-R against their authors' programs; Self-CIDEr by hand; document
frequencies that grow, against Python's counters, and their files."""

from __future__ import annotations

import logging
import math
from collections import Counter
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pycocoevalcap.cider.cider import Cider as CocoCider

from metaeval.cli.main import run_verb
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.ngram.cider import Cider, CiderPlain, CiderR
from metaeval.metrics.ngram.diversity import count_idf, diversity, self_cider
from metaeval.metrics.ngram.ngrams import (
    ORDERS,
    CountedCorpus,
    DocumentFrequencies,
    distinct_ngrams,
    read_corpus,
)
from tests.metrics.metric_cases import bound
from tests.metrics.ngram.ngram_cases import (
    BASEBALL,
    CHILDREN,
    NASTY,
    Case,
    oracle,
    prepared,
    scores,
    tokenised,
)
from tests.shared import write_captions, write_json

# Sums of products of at most some hundred n-grams in another order: a few units in the last place
# of scores up to 10, so 1e-12 is ample, and far below the documented 1e-9.
close = {"rtol": 0, "atol": 1e-12}

coco_cider = CocoCider().compute_score


def test_sigma_as_in_pycocoevalcap() -> None:
    case = tokenised(NASTY, "whitespace")
    mine = scores(Cider(sigma=2.5, tokenizer="whitespace"), case)
    np.testing.assert_allclose(mine, oracle(CocoCider(sigma=2.5).compute_score, case), **close)
    assert not np.allclose(mine, scores(Cider(tokenizer="whitespace"), case))


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
    assert (mine, oracle(coco_cider, tokenised(BASEBALL))) == (0, 0)
    assert caplog.messages == ["CIDEr is 0 for every caption: its idf needs more than one image"]
    caplog.clear()
    scores(Cider(tokenizer="whitespace"), NASTY)
    assert not caplog.messages


def test_signature_holds_the_corpus() -> None:
    """What changes a document frequency changes the signature, and what does not, does not."""

    def signature(*references: tuple[str, ...]) -> str:
        return bound(Cider(), Case(references, NASTY.sets).dataset).signatures[0]

    (first, second, *rest), whole = NASTY.references, signature(*NASTY.references)
    assert bound(Cider(), NASTY.dataset.limited(5)).signatures[0] != whole
    assert signature(*NASTY.references[:-1], ("one two three four five six seven nine",)) != whole
    assert signature(first[:1], (*second, first[1]), *rest) != whole
    assert signature(*(group[::-1] for group in NASTY.references[::-1])) == whole


def _captions_file(path: Path, case: Case) -> Path:
    """The case's references in COCO's captions schema; images of strange ids, in another order."""
    numbered = dict(enumerate(case.references, start=100))
    return write_captions(path, dict(reversed(numbered.items())))


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
    for options, reason in (
        ({"idf": tmp_path / "none.json"}, "set metric.cider.idf=FILE, a captions file"),
        # no ending, and no split of COCO
        ({"idf": tmp_path / "none"}, "set metric.cider.idf=FILE, a captions file"),
        ({"idf": "coco_val1999", "data": tmp_path}, "the COCO val1999 captions were not found"),
    ):
        assert reason in str(Cider(**options).bind(BASEBALL.dataset))


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


CORPUS = [
    [["a", "dog", "runs"], ["the", "dog", "is", "running"]],
    [["two", "cats"], ["cats", "sleep"]],
    [["a", "man"]],
]


def test_two_captions_by_their_cider() -> None:
    """The eigenvalues of [[1, k], [k, 1]] are 1 ± k. k is CIDEr (not D) of the one against the
    other, over ten, with the same corpus."""
    idf, unseen = count_idf(CORPUS)
    one, other = ["a", "dog", "runs", "on", "grass"], ["the", "dog", "runs", "on", "sand"]
    kernel = 0.0
    for n in range(1, 5):
        grams = [[tuple(t[i : i + n]) for i in range(len(t) - n + 1)] for t in (one, other)]
        words = sorted({g for each in grams for g in each})
        x, y = (np.array([each.count(w) * idf.get(w, unseen) for w in words]) for each in grams)
        kernel += x @ y / (np.linalg.norm(x) * np.linalg.norm(y)) / 4
    mine = self_cider([one, other], idf, unseen)
    assert mine == pytest.approx(-math.log2((1 + kernel) / 2), abs=1e-12)


def test_counts_by_hand() -> None:
    groups = [[["a", "dog"], ["a", "dog"]], [["a", "cat", "a", "cat"]]]
    d = diversity(groups, *count_idf(CORPUS))
    assert d[:4] == (3, 1 / 3, 3, 8 / 3)
    # 3 words of 8; pairs: a dog, a dog; a cat, cat a, a cat: 3 of 5
    assert (d.distinct_1, d.distinct_2) == (3 / 8, 3 / 5)
    assert d.self_cider == pytest.approx(0, abs=1e-12)
    assert np.isnan(self_cider([[], []], *count_idf(CORPUS)))
    assert math.isnan(diversity(groups[1:], *count_idf(CORPUS)).self_cider)


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path))
    people = {i: [f"caption {k} of image {i}" for k in range(5)] for i in range(60)}
    write_captions(tmp_path / "annotations/captions_mine.json", people)
    results = [{"image_id": i, "caption": "a man on a horse"} for i in range(50)]
    path = write_json(tmp_path / "dull.json", results)
    assert run_verb(["diversity", str(path), "--split", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "| dull | 50 | 0 % | 4 | 5.0 | 0.016 | 0.020 | – |"
    assert lines[2].startswith("| people, all references | 300 |")


Gram = tuple[str, ...]


WORDS = st.lists(st.sampled_from("abcd"), max_size=7)
DOCUMENT = st.lists(WORDS, max_size=3)


def counted(documents: list[list[list[str]]], n: int) -> Counter[Gram]:
    every: Counter[Gram] = Counter()
    for texts in documents:
        every.update({tuple(t[i : i + n]) for t in texts for i in range(len(t) - n + 1)})
    return every


def idf_of(frequencies: DocumentFrequencies, text: list[str], n: int) -> dict[Gram, float]:
    ngrams = distinct_ngrams(copy(frequencies.words).encode([text]), ORDERS)
    numbers = frequencies.find(ngrams)[n - 1]
    grams = dict.fromkeys(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
    return dict(zip(grams, frequencies.idf()[n - 1][numbers].tolist(), strict=True))


@given(st.lists(st.lists(DOCUMENT, max_size=4), min_size=1, max_size=6), WORDS)
def test_whatever_the_batches(batches: list[list[list[list[str]]]], asked: list[str]) -> None:
    frequencies = DocumentFrequencies()
    for batch in batches:
        frequencies.add(batch)
    documents = [document for batch in batches for document in batch]
    assert frequencies.n == len(documents)
    if not documents:
        return
    for n in range(1, ORDERS + 1):
        df = counted(documents, n)
        for gram, idf in idf_of(frequencies, [*asked, "e"], n).items():
            assert idf == math.log(len(documents)) - math.log(max(1, df[gram]))


@pytest.fixture
def frequencies() -> DocumentFrequencies:
    return DocumentFrequencies.of([[["a", "b", "c"], ["a", "b"]], [["b", "c", "d"]], [[]]])


def test_a_file_gives_them_back_and_is_the_same_bytes(
    tmp_path: Path, frequencies: DocumentFrequencies
) -> None:
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    corpus = CountedCorpus(3, "12345678", "ptb")
    frequencies.save(one, corpus)
    again = DocumentFrequencies.load(one)
    again.save(two, read_corpus(one))
    assert one.read_bytes() == two.read_bytes()
    assert read_corpus(one) == corpus
    for n in range(1, ORDERS + 1):
        text = ["a", "b", "c", "d", "e"]
        assert idf_of(again, text, n) == idf_of(frequencies, text, n)
    nothing = tmp_path / "nothing.npz"
    DocumentFrequencies().save(nothing, CountedCorpus(0, "", "ptb"))
    assert DocumentFrequencies.load(nothing).n == 0


def test_another_tokenizers_words_are_not_taken(
    tmp_path: Path, frequencies: DocumentFrequencies
) -> None:
    file = tmp_path / "idf.npz"
    frequencies.save(
        file, CountedCorpus(3, "12345678", Cider(tokenizer="whitespace").tokenizer.signature)
    )
    same = Cider(tokenizer="whitespace", idf=file).bind(BASEBALL.dataset)
    assert "|df:3-images-12345678|" in same.signatures[0]
    assert "another tokenizer" in Cider(idf=file).bind(BASEBALL.dataset).reason
