"""The controls against loops over their definitions, and what they must not depend on."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.controls import (
    BigramModel,
    Brevity,
    Length,
    LongestCopy,
    RandomScore,
    captions_by_image,
)

WORDS = ["a", "man", "dog", "rides", "the", "horse", "on", "beach", "red"]


def sentences(rng: np.random.Generator, n: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(n)]


def dataset(n: int = 12, pool: int = 20, seed: int = 0) -> CaptionDataset:
    """`pool` captions of a file, of which the first n images are in the run; one repeats another's
    words, and one image has no reference."""
    rng = np.random.default_rng(seed)
    human = sentences(rng, pool)
    human[5] = human[7] = "the dog rides on the dog"
    references = [tuple(sentences(rng, 3)) for _ in range(n)]
    references[3] = ()
    ids = tuple(range(pool))
    return CaptionDataset("d", ids[:n], tuple(human[:n]), tuple(references), ids, tuple(human))


def candidates(data: CaptionDataset) -> tuple[list[str], np.ndarray]:
    """Human captions, other images' captions, references, random words, unknown words, nothing."""
    rng = np.random.default_rng(1)
    n = len(data)
    texts = [*data.human, *data.human[1:], data.human[0], *sentences(rng, n)]
    texts += ["", "zebra", "a zebra a zebra"]
    images = [*range(n)] * 3 + [0, 1, 2]
    return texts, np.array(images, dtype=np.intp)


def plain_bigram(text: str, image: int, data: CaptionDataset, k: float) -> float:
    """The definition, one caption at a time."""
    groups = captions_by_image(data)
    everything = [s.split() for group in groups.values() for s in group]
    others = [
        s.split()
        for owner, group in groups.items()
        for s in group
        if owner != image and s.split() != text.split()
    ]
    size = len({w for s in everything for w in s}) + 2  # the end, and one for unknown words
    known = {w for s in everything for w in s}
    pairs, firsts = Counter(), Counter()
    for words in others:
        line = ["<s>", *words, "</s>"]
        pairs.update(pairwise(line))
        firsts.update(line[:-1])
    line = ["<s>", *(w if w in known else "<unk>" for w in text.split()), "</s>"]
    return sum(math.log((pairs[p] + k) / (firsts[p[0]] + k * size)) for p in pairwise(line))


@pytest.mark.parametrize("k", [0.1, 1.0])
def test_the_bigram_model_is_its_definition(k: float) -> None:
    data = dataset()
    texts, images = candidates(data)
    scorer = BigramModel(k, "whitespace").bind(data)
    scorer.prepare()
    scores = scorer.score(texts, images)
    expected = [plain_bigram(t, int(i), data, k) for t, i in zip(texts, images, strict=True)]
    # sums of ten logarithms in another order
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-12)
    lengths = [len(t.split()) + 1 for t in texts]
    np.testing.assert_allclose(scores[:, 1], np.array(expected) / lengths, rtol=1e-12)


def test_the_probabilities_after_a_word_add_up_to_one() -> None:
    """Over all words, the end and the unknown word, after "dog": from two-word captions whose
    first bigram is the same."""
    data = dataset()
    scorer = BigramModel(0.1, "whitespace").bind(data)
    scorer.prepare()
    known = sorted(
        {w for group in captions_by_image(data).values() for s in group for w in s.split()}
    )
    after = [f"horse {w}" for w in [*known, "zebra"]]
    image = np.zeros(1, dtype=np.intp)

    def chain(text: str) -> float:
        """log p(start … text) without the end, from the definition that the test above holds."""
        groups = captions_by_image(data)
        others = [s.split() for i, g in groups.items() for s in g if i != 0]
        pairs = Counter(p for s in others for p in pairwise(["<s>", *s, "</s>"]))
        first = sum(n for (a, _), n in pairs.items() if a == text.split()[-1])
        return math.log((pairs[text.split()[-1], "</s>"] + 0.1) / (first + 0.1 * (len(known) + 2)))

    alone = float(scorer.score(["horse"], image)[0, 0]) - chain("horse")
    total = math.exp(chain("horse"))
    for text in after:
        if all(text.split() != s.split() for g in captions_by_image(data).values() for s in g):
            total += math.exp(float(scorer.score([text], image)[0, 0]) - alone - chain(text))
    assert total == pytest.approx(1, abs=1e-9)


def test_an_images_own_captions_do_not_help_it() -> None:
    """What an image's references say changes the score of its own captions not at all."""
    data = dataset()
    other = CaptionDataset(
        data.name,
        data.image_ids,
        data.human,
        (("red red red horse", *data.references[0][1:]), *data.references[1:]),
        data.pool_ids,
        data.pool,
    )
    text, image = ["red red horse", data.human[0]], np.zeros(2, dtype=np.intp)
    scores = []
    for d in (data, other):
        scorer = BigramModel(0.1, "whitespace").bind(d)
        scorer.prepare()
        scores.append(scorer.score(text, image))
        elsewhere = scorer.score(text, np.ones(2, dtype=np.intp))
        scores.append(elsewhere)
    np.testing.assert_array_equal(scores[0], scores[2])
    assert (scores[1] != scores[3]).any()  # but it helps another image's captions


@pytest.mark.parametrize("references", [("a b", "a c"), ("a c", "a b")])
def test_the_order_of_references_does_not_matter(references: tuple[str, ...]) -> None:
    """Rated data have their first reference as the human caption; it counted twice."""
    ids, human = (1, 2), (references[0], "z")
    data = CaptionDataset("d", ids, human, (references, ("z",)), ids, human)
    scorer = BigramModel(1.0, "whitespace").bind(data)
    scorer.prepare()
    # "a b a" of image 2, by hand: V = a, b, c, z, the end and one unknown; after the start "a" 2 of
    # 2, after "a" 1 "b" of 2, after "b" the end 1 of 1 and never "a", after "a" never the end
    expected = np.log([(2 + 1) / (2 + 6), (1 + 1) / (2 + 6), 1 / (1 + 6), 1 / (2 + 6)]).sum()
    found = scorer.score(["a b a"], np.array([1]))[0]
    np.testing.assert_allclose(found, [expected, expected / 4], rtol=1e-15)


def test_two_documents_of_one_photograph_are_one_image() -> None:
    """What the other document of the same photograph says does not help a caption, either, and a
    caption that is in both counts once."""
    texts = ("a red horse", "a dog"), ("a red horse", "the beach"), ("a man", "the dog rides")
    ids, human = ("a", "a", "b"), ("a dog rides", "the horse", "a man rides")
    sources = ("coco:1", "coco:1", "coco:2")
    data = CaptionDataset(
        "d", ids, human, texts, ids, human, image_source=sources, pool_source=sources
    )
    groups = captions_by_image(data)
    assert sorted(groups) == ["coco:1", "coco:2"]
    assert sorted(groups["coco:1"]) == [
        "a dog",
        "a dog rides",
        "a red horse",
        "the beach",
        "the horse",
    ]
    alone = CaptionDataset(
        "d",
        ids[1:],
        human[1:],
        texts[1:],
        ids[1:],
        human[1:],
        image_source=sources[1:],
        pool_source=sources[1:],
    )
    caption, image = ["a man"], np.zeros(1, dtype=np.intp)
    scores = []
    for d in (data, alone):
        scorer = BigramModel(0.1, "whitespace").bind(d)
        scorer.prepare()
        scores.append(float(scorer.score(caption, image)[0, 0]))
    known = [
        len({w for t in g.values() for s in t for w in s.split()}) + 2
        for g in (groups, captions_by_image(alone))
    ]
    # of the other photograph alone: "a man" occurs there unchanged and does not score itself, so
    # "a man rides" gives "a" after the start once of twice, "man" after "a" once of once
    for score, size in zip(scores, known, strict=True):
        expected = (1.1 / (2 + 0.1 * size)) * (1.1 / (1 + 0.1 * size)) * (0.1 / (1 + 0.1 * size))
        assert score == pytest.approx(math.log(expected), abs=1e-12)


def test_brevity_is_minus_length() -> None:
    data = dataset()
    texts, images = candidates(data)
    scores = []
    for metric in (Length("whitespace"), Brevity("whitespace")):
        scorer = metric.bind(data)
        scorer.prepare()
        scores.append(scorer.score(texts, images))
    np.testing.assert_array_equal(scores[1], -scores[0])
    assert Brevity().columns[0].control


def test_one_image_has_no_other_captions() -> None:
    data = CaptionDataset("d", (1,), ("a dog",), (("a cat",),), (1,), ("a dog",))
    absent = BigramModel().bind(data)
    assert "other images" in absent.reason


def plain_copy(text: str, references: tuple[str, ...]) -> float:
    words = text.split()
    runs = {
        tuple(r.split()[i:j])
        for r in references
        for i in range(len(r.split()))
        for j in range(i + 1, len(r.split()) + 1)
    }
    best = max(
        (
            j - i
            for i in range(len(words))
            for j in range(i + 1, len(words) + 1)
            if tuple(words[i:j]) in runs
        ),
        default=0,
    )
    return best / max(len(words), 1) if references else float("nan")


def test_the_longest_copy_is_its_definition() -> None:
    data = dataset(40, 40, 3)
    texts, images = candidates(data)
    scorer = LongestCopy("whitespace").bind(data)
    scorer.prepare()
    expected = [plain_copy(t, data.references[int(i)]) for t, i in zip(texts, images, strict=True)]
    np.testing.assert_array_equal(scorer.score(texts, images)[:, 0], expected)
    assert 0 < np.nanmean(expected) < 1


def test_length_counts_words_without_punctuation() -> None:
    scorer = Length().bind(dataset())
    scores = scorer.score(["A man, a plan.", "", "one"], np.zeros(3, dtype=np.intp))
    assert scores[:, 0].tolist() == [4, 0, 1]


def test_random_scores_are_uniform_and_follow_the_content_alone() -> None:
    data = dataset()
    scorer = RandomScore().bind(data)
    texts = [f"caption {k}" for k in range(4000)]
    images = np.zeros(4000, dtype=np.intp)
    scores = scorer.score(texts, images)[:, 0]
    assert (scores == RandomScore().bind(data).score(texts, images)[:, 0]).all()
    assert scorer.score(texts[7:8], images[:1])[0, 0] == scores[7]
    assert scorer.score(texts[7:8], images[:1] + 1)[0, 0] != scores[7]
    assert RandomScore(1).bind(data).score(texts[7:8], images[:1])[0, 0] != scores[7]
    # a uniform distribution: ten bins of 400, chi-squared with 9 degrees of freedom, p = 0.001
    observed = np.histogram(scores, bins=10, range=(0, 1))[0]
    assert ((observed - 400) ** 2 / 400).sum() < 27.9
