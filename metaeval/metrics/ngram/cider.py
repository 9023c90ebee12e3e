"""CIDEr (Vedantam et al., 2015) as in pycocoevalcap (CIDEr-D), for many captions at once."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.metrics.ngram.ngrams import (
    Ints,
    Ngrams,
    Texts,
    Trie,
    WordIndex,
    distinct_ngrams,
    flatten_references,
    split_at_spaces,
)
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest
from metaeval.text.tokenizers import base as tokenizers

log = logging.getLogger(__name__)

ORDERS = 4

Floats = npt.NDArray[np.float64]


class Cider(Metric):
    """CIDEr of each caption against the references of its image, in [0, 10].

    Per order n = 1 … 4 and reference, the cosine between the tf-idf vectors of candidate and
    reference, where the candidate's weights are clipped at the reference's, times
    exp(-δ²/(2σ²)), δ being the difference in bigrams (pycocoevalcap's cider_scorer.py). The score
    is the mean over orders and references, times 10.

    idf is ln N - ln max(1, df): N is the number of images *of this dataset* (after any `limit`),
    df the number of those whose references contain the n-gram. So a caption's CIDEr depends on
    which images are in the run, and the signature holds N and a digest of all references. With a
    single image every idf is 0 and so is every score: that is logged as a warning.

    An empty candidate scores 0, as in pycocoevalcap. Not a number only where the image has no
    reference.

    Parameters
    ----------
    sigma
        Width of the length penalty, in words.
    tokenizer
        "ptb", "java" or "whitespace".
    """

    name = "cider"
    columns = (ScoreColumn("CIDEr", bounds=(0.0, 10.0)),)

    def __init__(self, sigma: float = 6.0, tokenizer: str = "ptb") -> None:
        if not sigma > 0:
            raise ConfigError(f"sigma must be above 0, not {sigma}")
        self.sigma = float(sigma)
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> CiderScorer | Absent:
        if (absent := self.lacks(dataset) or self.tokenizer.missing()) is not None:
            return absent
        if len(dataset) == 1:
            log.warning("CIDEr is 0 for every caption: its idf needs more than one image")
        settings = {
            "tok": self.tokenizer.signature,
            "n": ORDERS,
            "sigma": f"{self.sigma:g}",
            "df": f"{len(dataset)}-images-{_digest_references(dataset)}",
            "v": 1,
        }
        return CiderScorer(self, settings, dataset)


def _digest_references(dataset: CaptionDataset) -> str:
    """Eight hexadecimal digits of all references, image by image.

    Neither the images' order nor that of an image's references changes a document frequency, so
    neither changes the digest.
    """
    images = sorted(content_digest(sorted(group)) for group in dataset.references)
    return hashlib.sha256(b"".join(images)).hexdigest()[:8]


class CiderScorer(ReferenceScorer):
    """CIDEr against the references of a dataset."""

    metric: Cider
    batch_size = 50_000

    def prepare(self) -> None:
        references, n_images = flatten_references(self.dataset.references), len(self.dataset)
        image, slot, self._sizes = references.image, references.slot, references.sizes
        self._vocabulary = WordIndex()
        texts = self._vocabulary.learn(self._words(references.texts))
        ngrams = distinct_ngrams(texts, ORDERS)
        self._corpus_ngrams, self._image_ngrams = Trie(), Trie()
        in_corpus = self._corpus_ngrams.grow(ngrams, np.zeros_like(image))
        in_image = self._image_ngrams.grow(ngrams, image)

        # per order: the idf of each n-gram of the corpus, and, last, of those that are not in it
        log_n = math.log(n_images)
        logs = np.array([math.log(max(1, df)) for df in range(n_images + 1)])
        self._idf = []
        for size, inside, node in zip(
            self._corpus_ngrams.sizes(), in_corpus, in_image, strict=True
        ):
            # each (image, n-gram) counts once, however many references of the image have it
            once = np.zeros(int(node.max(initial=-1)) + 1, dtype=np.int64)
            once[node] = inside
            df = np.bincount(once, minlength=size + 1)
            self._idf.append(log_n - logs[df])

        slots = int(self._sizes.max(initial=1))  # the most references that any image has
        # per order: how often each n-gram of an image is in each of the image's references
        self._tf = []
        for size, order, node in zip(self._image_ngrams.sizes(), ngrams, in_image, strict=True):
            tf = np.zeros((size, slots))
            tf[node, slot[order.text]] = order.tf
            self._tf.append(tf)

        # [orders, images, slots]; norm 1 where there is no reference
        self._norms = np.ones((ORDERS, n_images, slots))
        self._norms[:, image, slot] = self._vector_norms(ngrams, in_corpus, len(image))
        self._bigrams = np.zeros((n_images, slots), dtype=np.int64)
        self._bigrams[image, slot] = _count_bigrams(texts)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        n, slots = len(captions), self._bigrams.shape[1]
        texts = self._vocabulary.encode(self._words(captions))
        ngrams = distinct_ngrams(texts, ORDERS)
        in_corpus = self._corpus_ngrams.find(ngrams, np.zeros(n, dtype=np.int64))
        in_image = self._image_ngrams.find(ngrams, image_index)
        norms = self._vector_norms(ngrams, in_corpus, n)

        total = np.zeros((n, slots))
        for k, (order, inside, node) in enumerate(zip(ngrams, in_corpus, in_image, strict=True)):
            shared = np.flatnonzero(node >= 0)
            tf = self._tf[k][node[shared]]
            square = self._idf[k][inside[shared]] ** 2
            weights = np.minimum(order.tf[shared, None], tf) * tf * square[:, None]
            # added up in their order: the same to the last bit whatever else is in the array
            sums = [np.bincount(order.text[shared], column, n) for column in weights.T]
            total += np.stack(sums, axis=1) / (norms[k][:, None] * self._norms[k][image_index])

        delta = np.abs(_count_bigrams(texts)[:, None] - self._bigrams[image_index])
        longest, width = int(delta.max(initial=0)), 2 * self.metric.sigma**2
        total *= np.array([math.exp(-(d * d) / width) for d in range(longest + 1)])[delta]
        scores = np.zeros(n)
        for reference in range(slots):  # one after the other: np.sum may add in another order
            scores += total[:, reference]
        references = self._sizes[image_index]
        scores *= 10 / (ORDERS * np.maximum(references, 1))
        scores[references == 0] = np.nan
        return scores[:, None]

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        return split_at_spaces(self.metric.tokenizer(texts))

    def _vector_norms(self, ngrams: list[Ngrams], in_corpus: list[Ints], n: int) -> Floats:
        """[orders, n] The length of each text's tf-idf vector; 1 for a vector of zeros, whose
        products are 0 anyway."""
        norms = np.empty((ORDERS, n))
        for norm, idf, order, inside in zip(norms, self._idf, ngrams, in_corpus, strict=True):
            weights = order.tf * idf[inside]
            norm[:] = np.sqrt(np.bincount(order.text, weights * weights, n))
        norms[norms == 0] = 1.0
        return norms


def _count_bigrams(texts: Texts) -> Ints:
    """pycocoevalcap measures length in bigrams."""
    return np.maximum(texts.lengths - 1, 0)
