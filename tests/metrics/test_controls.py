"""The controls against loops over their definitions, and what they must not depend on."""

import math
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
import pytest

from metaeval.data.dataset import Absent, CaptionDataset, captions_by_image
from metaeval.metrics.controls import (
    BigramModel,
    Brevity,
    Length,
    LongestCopy,
    RandomScore,
)
from tests.metrics.metric_cases import images, scores_of

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
    return texts, np.array([*range(n)] * 3 + [0, 1, 2], dtype=np.intp)


@pytest.mark.parametrize(
    ("human", "references", "absent"),
    [
        ("", [()] * 3, True),  # battles without references have documents of empty captions
        ("a dog", [()] * 3, True),
        ("", [("",)] * 3, True),
        ("", [("a dog",), ("a cat",), ()], False),
        ("", [("a cat",), (), ()], True),  # of one image alone
    ],
)
def test_a_bigram_model_needs_text_of_other_images(
    human: str, references: list[tuple[str, ...]], absent: bool
) -> None:
    texts, ids = (human, "", ""), (0, 1, 2)
    bound = BigramModel().bind(CaptionDataset("d", ids, texts, tuple(references), ids, texts))
    assert (isinstance(bound, Absent) and bound.remedy == "give references") == absent


def plain_bigram(text: str, image: int, data: CaptionDataset, k: float) -> float:
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
    scores = scores_of(BigramModel(k, "whitespace"), data, texts, images)
    expected = [plain_bigram(t, int(i), data, k) for t, i in zip(texts, images, strict=True)]
    # sums of ten logarithms in another order
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-12)
    lengths = [len(t.split()) + 1 for t in texts]
    np.testing.assert_allclose(scores[:, 1], np.array(expected) / lengths, rtol=1e-12)


@pytest.mark.parametrize("references", [("a b", "a c"), ("a c", "a b")])
def test_the_order_of_references_does_not_matter(references: tuple[str, ...]) -> None:
    data = images([references, ["z"]], [references[0], "z"])
    # "a b a" of image 2, by hand: V = a, b, c, z, the end and one unknown; after the start "a" 2 of
    # 2, after "a" 1 "b" of 2, after "b" the end 1 of 1 and never "a", after "a" never the end
    expected = np.log([(2 + 1) / (2 + 6), (1 + 1) / (2 + 6), 1 / (1 + 6), 1 / (2 + 6)]).sum()
    found = scores_of(BigramModel(1.0, "whitespace"), data, ["a b a"], [1])[0]
    np.testing.assert_allclose(found, [expected, expected / 4], rtol=1e-15)


def test_two_documents_of_one_photograph_are_one_image() -> None:
    """What the other document of the same photograph says does not help a caption, either, and a
    caption that is in both counts once."""
    texts = ("a red horse", "a dog"), ("a red horse", "the beach"), ("a man", "the dog rides")
    ids, human = ("a", "a", "b"), ("a dog rides", "the horse", "a man rides")
    sources = ("coco:1", "coco:1", "coco:2")
    data, alone = (
        CaptionDataset(
            "d",
            ids[start:],
            human[start:],
            texts[start:],
            ids[start:],
            human[start:],
            image_source=sources[start:],
            pool_source=sources[start:],
        )
        for start in (0, 1)  # without the first document, too
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
    model = BigramModel(0.1, "whitespace")
    scores = [float(scores_of(model, each, ["a man"])[0, 0]) for each in (data, alone)]
    known = [
        len({w for t in g.values() for s in t for w in s.split()}) + 2
        for g in (groups, captions_by_image(alone))
    ]
    # of the other photograph alone: "a man" occurs there unchanged and does not score itself, so
    # "a man rides" gives "a" after the start once of twice, "man" after "a" once of once
    for score, size in zip(scores, known, strict=True):
        expected = (1.1 / (2 + 0.1 * size)) * (1.1 / (1 + 0.1 * size)) * (0.1 / (1 + 0.1 * size))
        assert score == pytest.approx(math.log(expected), abs=1e-12)


@pytest.mark.parametrize(("metric", "sign"), [(Length, 1), (Brevity, -1)])
def test_length_counts_words_without_punctuation(metric: type[Length], sign: int) -> None:
    found = scores_of(metric(), dataset(), ["A man, a plan.", "", "one"])
    assert (found * sign).tolist() == [[4], [0], [1]]
    assert metric().columns[0].control


def plain_copy(text: str, references: tuple[str, ...]) -> float:
    words = text.split()
    matchers = [SequenceMatcher(None, words, r.split(), autojunk=False) for r in references]
    runs = [matcher.find_longest_match().size for matcher in matchers]
    return max(runs) / max(len(words), 1) if references else float("nan")


def test_the_longest_copy_is_its_definition() -> None:
    data = dataset(40, 40, 3)
    texts, images = candidates(data)
    found = scores_of(LongestCopy("whitespace"), data, texts, images)[:, 0]
    expected = [plain_copy(t, data.references[int(i)]) for t, i in zip(texts, images, strict=True)]
    np.testing.assert_array_equal(found, expected)
    assert 0 < np.nanmean(expected) < 1


def test_random_scores_are_uniform_and_follow_the_content_alone() -> None:
    data, texts = dataset(), [f"caption {k}" for k in range(4000)]

    def scored(captions: list[str], image: int = 0, seed: int = 0) -> list[float]:
        return scores_of(RandomScore(seed), data, captions, [image] * len(captions))[:, 0].tolist()

    scores = scored(texts)
    assert scored(texts[7:8]) == scores[7:8]
    assert scores[7] not in (*scored(texts[7:8], image=1), *scored(texts[7:8], seed=1))
    # a uniform distribution: ten bins of 400, chi-squared with 9 degrees of freedom, p = 0.001
    assert ((np.histogram(scores, bins=10, range=(0, 1))[0] - 400) ** 2 / 400).sum() < 27.9
