"""How varied a captioner's captions are: words, distinct n-grams, and self-CIDEr.

    metaeval diversity RESULTS.json … [--split karpathy_test]

No metric of a caption: these are numbers of a whole set, for which no caption is right or wrong.
RESULTS are in COCO's format of results; an image may have several captions. The references of the
split's images are the corpus of the idf, and are the first row.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import ImageId
from metaeval.data.own.given import given_captions
from metaeval.text.tokenizers.base import get

ORDERS = 4

Ngram = tuple[str, ...]


class Diversity(NamedTuple):
    """Numbers of a set of captions.

    Attributes
    ----------
    captions, distinct, words, length
        How many captions; the share of them that no other equals; the vocabulary; mean words.
    distinct_1, distinct_2
        Distinct words, and pairs of words, over all of them.
    self_cider
        The mean of `self_cider` over the images with at least two captions; NaN without any.
    """

    captions: int
    distinct: float
    words: int
    length: float
    distinct_1: float
    distinct_2: float
    self_cider: float


def self_cider(texts: Sequence[Sequence[str]], idf: Mapping[Ngram, float], unseen: float) -> float:
    """How unlike each other m ≥ 2 captions of an image are, in [0, 1] (Wang and Chan, CVPR 2019).

    -log_m(λ₁ / Σ λᵢ), λ being the eigenvalues of the matrix of the captions' CIDEr with each other
    (without its factor 10): 0 if all are the same, 1 if none shares anything weighty with another.

    Parameters
    ----------
    texts
        The captions as words. An order of which a caption has no weighty n-gram adds 0, as in
        CIDEr; NaN where that is so of all captions and orders.
    idf, unseen
        ln N - ln df of the n-grams of the corpus, and of those that are not in it: ln N.
    """
    m = len(texts)
    kernel = np.zeros((m, m))
    for n in range(1, ORDERS + 1):
        counts = [Counter(_ngrams(text, n)) for text in texts]
        ngrams = sorted(set().union(*counts))
        rows = [[count[ngram] * idf.get(ngram, unseen) for ngram in ngrams] for count in counts]
        vectors = np.array(rows)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(norms > 0, norms, 1)
        kernel += vectors @ vectors.T / ORDERS
    eigenvalues = np.linalg.eigvalsh(kernel)
    if not (total := float(eigenvalues.sum())) > 0:
        return math.nan
    return float(max(0.0, -math.log(eigenvalues[-1] / total, m)))


def count_idf(documents: Sequence[Sequence[Sequence[str]]]) -> tuple[dict[Ngram, float], float]:
    """The idf of the n-grams of documents (the tokenised references of an image each), and of
    n-grams that none of them has."""
    df = Counter(
        ngram
        for texts in documents
        for ngram in {w for text in texts for n in range(1, ORDERS + 1) for w in _ngrams(text, n)}
    )
    log_n = math.log(len(documents))
    return {ngram: log_n - math.log(count) for ngram, count in df.items()}, log_n


def diversity(
    groups: Sequence[Sequence[Sequence[str]]], idf: Mapping[Ngram, float], unseen: float
) -> Diversity:
    """The numbers of captions, tokenised, image by image."""
    texts = [tuple(text) for group in groups for text in group]
    counts = Counter(texts)
    words = Counter(word for text in texts for word in text)
    pairs = Counter(pair for text in texts for pair in pairwise(text))
    each = (self_cider(group, idf, unseen) for group in groups if len(group) > 1)
    several = [value for value in each if not math.isnan(value)]
    return Diversity(
        len(texts),
        sum(n == 1 for n in counts.values()) / len(texts),
        len(words),
        words.total() / len(texts),
        len(words) / max(words.total(), 1),
        len(pairs) / max(pairs.total(), 1),
        float(np.mean(several)) if several else math.nan,
    )


def _ngrams(text: Sequence[str], n: int) -> list[Ngram]:
    return [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]


def _row(name: str, d: Diversity) -> str:
    cells = (
        f"{d.captions:,}",
        f"{100 * d.distinct:.0f} %",
        f"{d.words:,}",
        f"{d.length:.1f}",
        f"{d.distinct_1:.3f}",
        f"{d.distinct_2:.3f}",
        "–" if math.isnan(d.self_cider) else f"{d.self_cider:.3f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


def main(options: argparse.Namespace) -> None:
    """Print a row for the references and one for each file."""
    dataset = load_coco(f"coco_{options.split}", split=options.split)
    tokenizer = get("ptb")
    people = [tokenizer([h, *r]) for h, r in zip(dataset.human, dataset.references, strict=True)]
    idf, unseen = count_idf(people)
    heads = (
        "captions",
        "that no other equals",
        "vocabulary",
        "words each",
        "distinct-1",
        "distinct-2",
        "self-CIDEr",
    )
    print(f"| | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    print(_row("people, all references", diversity(people, idf, unseen)))
    print(_row("people, one each", diversity([group[:1] for group in people], idf, unseen)))
    for path in options.results:
        given = given_captions(path)  # perhaps several captions of an image
        captions: dict[ImageId, list[str]] = {}
        for text, place in zip(given.captions, given.image_index.tolist(), strict=True):
            captions.setdefault(given.dataset.image_ids[place], []).append(text)
        groups = [tokenizer(captions[i]) for i in dataset.image_ids if i in captions]
        print(_row(path.stem, diversity(groups, idf, unseen)))
