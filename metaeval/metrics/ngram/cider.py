"""CIDEr (Vedantam et al., 2015) for many captions at once: as in pycocoevalcap (CIDEr-D), as its
paper first defines it, and CIDEr-R (Santos et al., 2021)."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import load_once
from metaeval.data.coco.captions import read_captions
from metaeval.data.coco.files import find_coco_captions
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.metrics.ngram.ngrams import (
    ORDERS,
    SUFFIX,
    DocumentFrequencies,
    Ints,
    Ngrams,
    Texts,
    Trie,
    digest_document,
    digest_documents,
    distinct_ngrams,
    flatten_references,
    places_of,
    read_corpus,
    runs_of_cost,
    split_tokens_containing_spaces,
)
from metaeval.options import Positive, checked
from metaeval.readers.files import user_path
from metaeval.runs.files import file_sha256
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.tokenizers import base as tokenizers

log = logging.getLogger(__name__)

DATASET = "dataset"
_WORD = re.compile(r"\w+")
REPETITION, LENGTH = 0.8, 0.2  # how much each of CIDEr-R's penalties weighs, as exponents
_PAIRS = 1 << 18  # of a caption and a reference, at once

Floats = npt.NDArray[np.float64]


class CiderScorer(ReferenceScorer):
    """CIDEr against the references of a dataset."""

    metric: Cider
    batch_size = 50_000
    clipped = True  # the candidate's counts, at those of the reference

    def __init__(
        self,
        metric: Cider,
        settings: Mapping[str, object],
        dataset: CaptionDataset,
        corpus: Path | None,
    ) -> None:
        super().__init__(metric, settings, dataset)
        self._corpus = corpus

    def prepare(self) -> None:
        references = flatten_references(self.dataset.references)
        image, self._sizes = references.image, references.sizes
        words = self._words(references.texts)
        self._corpus_ngrams = self._frequencies(dict(zip(references.texts, words, strict=True)))
        self._idf = self._corpus_ngrams.idf()
        self._vocabulary = copy(self._corpus_ngrams.words)  # which does not change
        texts = self._vocabulary.learn(words)
        ngrams = distinct_ngrams(texts, ORDERS)
        self._image_ngrams = Trie()
        in_image = self._image_ngrams.grow(ngrams, image)
        in_corpus = self._corpus_ngrams.find(ngrams)

        self._first = np.cumsum(self._sizes) - self._sizes  # each image's first reference
        # per order: which references have an n-gram of an image, and how often
        self._postings = [
            _Postings.of(size, node, order)
            for size, order, node in zip(self._image_ngrams.sizes(), ngrams, in_image, strict=True)
        ]
        self._norms = self._vector_norms(ngrams, in_corpus, len(image))  # [orders, references]
        self._bigrams = _count_bigrams(texts)

    def _frequencies(self, words: Mapping[str, list[str]]) -> DocumentFrequencies:
        """Those of the corpus; `words` are the references'."""
        file = self._corpus
        if file is None:
            return DocumentFrequencies.of([words[t] for t in d] for d in self.dataset.corpus())
        if file.suffix == SUFFIX:
            return load_once(
                ("df", file, read_corpus(file)), lambda: DocumentFrequencies.load(file)
            )
        key = ("df", file, file.stat().st_mtime_ns, self.metric.tokenizer.signature)
        return load_once(key, lambda: self._read_corpus(file))

    def _read_corpus(self, file: Path) -> DocumentFrequencies:
        """Of a captions file; all captions of an image are one document."""
        documents = flatten_references(list(read_captions(file).captions.values()))
        words = iter(self._words(documents.texts))
        return DocumentFrequencies.of(list(islice(words, n)) for n in documents.sizes.tolist())

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.empty(len(captions))
        # a caption is compared with each of its references: as many captions at once as have
        # a limit for all together, independent of the number of an image
        for begin, end in runs_of_cost(self._sizes[image_index], _PAIRS):
            scores[begin:end] = self._scores(captions[begin:end], image_index[begin:end])
        return scores[:, None]

    def _scores(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Floats:
        n = len(captions)
        words = self._words(captions)
        texts = self._vocabulary.encode(words)
        ngrams = distinct_ngrams(texts, ORDERS)
        in_corpus = self._corpus_ngrams.find(ngrams)
        in_image = self._image_ngrams.find(ngrams, image_index)
        norms = self._vector_norms(ngrams, in_corpus, n)

        # pairs of a caption and a reference of its image, caption by caption
        references = self._sizes[image_index]
        caption = np.repeat(np.arange(n), references)
        first_pair = np.cumsum(references) - references
        reference = self._first[image_index][caption] + places_of(references)

        total = np.zeros(len(caption))
        for k, (order, inside, node) in enumerate(zip(ngrams, in_corpus, in_image, strict=True)):
            shared = np.flatnonzero(node >= 0)
            with_it, tf, which = self._postings[k].of_nodes(node[shared])
            gram = shared[which]
            square = self._idf[k][inside[gram]] ** 2
            frequency = order.tf[gram]
            weights = (np.minimum(frequency, tf) if self.clipped else frequency) * tf * square
            text = order.text[gram]
            pair = first_pair[text] + with_it - self._first[image_index[text]]
            # added up in their order: the same to the last bit whatever else is in the array
            sums = _summed(pair, weights, len(caption))
            total += sums / (norms[k][caption] * self._norms[k][reference])

        total *= self._penalty(words, _count_bigrams(texts), caption, reference)
        scores = _summed(caption, total, n)  # one reference after the other
        scores *= 10 / (ORDERS * np.maximum(references, 1))
        scores[references == 0] = np.nan
        return scores

    def _penalty(
        self, words: list[list[str]], bigrams: Ints, caption: Ints, reference: Ints
    ) -> Floats:
        """[pairs] What the cosines of each pair of a caption and a reference are multiplied by.

        `words` and `bigrams` are the captions', `caption` and `reference` the numbers of a pair's.
        """
        delta = np.abs(bigrams[caption] - self._bigrams[reference])
        longest, width = int(delta.max(initial=0)), 2 * self.metric.sigma**2
        return np.array([math.exp(-(d * d) / width) for d in range(longest + 1)])[delta]

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        return self.metric.words(texts)

    def _vector_norms(self, ngrams: list[Ngrams], in_corpus: list[Ints], n: int) -> Floats:
        """[orders, n] The length of each text's tf-idf vector; 1 for a vector of zeros, whose
        products are 0 anyway."""
        norms = np.empty((ORDERS, n))
        for norm, idf, order, inside in zip(norms, self._idf, ngrams, in_corpus, strict=True):
            weights = order.tf * idf[inside]
            norm[:] = np.sqrt(np.bincount(order.text, weights * weights, n))
        norms[norms == 0] = 1.0
        return norms


class _Postings(NamedTuple):
    """The references that have an n-gram, n-gram after n-gram.

    `begins` int64 [n-grams + 1] says where the entries of each n-gram begin; an entry is the number
    of a reference and how often the n-gram is in it.
    """

    begins: Ints
    reference: Ints
    tf: Ints

    @classmethod
    def of(cls, n_ngrams: int, node: Ints, ngrams: Ngrams) -> _Postings:
        order = np.argsort(node, kind="stable")
        begins = np.zeros(n_ngrams + 1, dtype=np.int64)
        np.cumsum(np.bincount(node, minlength=n_ngrams), out=begins[1:])
        return cls(begins, ngrams.text[order], ngrams.tf[order])

    def of_nodes(self, nodes: Ints) -> tuple[Ints, Ints, Ints]:
        """The entries of these n-grams: reference, how often, and which of `nodes` it is of."""
        sizes = self.begins[nodes + 1] - self.begins[nodes]
        which = np.repeat(np.arange(len(nodes)), sizes)
        entry = self.begins[nodes][which] + places_of(sizes)
        return self.reference[entry], self.tf[entry], which


def _summed(place: Ints, values: Floats, n: int) -> Floats:
    """The sums [n] of the values at each place, added in their order."""
    # without any value, numpy's are whole numbers
    return np.bincount(place, values, n).astype(np.float64, copy=False)


def _count_bigrams(texts: Texts) -> Ints:
    """pycocoevalcap measures length in bigrams."""
    return np.maximum(texts.lengths - 1, 0)


class Cider(Metric):
    """CIDEr of each caption against the references of its image, in [0, 10].

    Per order n = 1 … 4 and reference, the cosine between the tf-idf vectors of candidate and
    reference, where the candidate's weights are clipped at the reference's, times
    exp(-δ²/(2σ²)), δ being the difference in bigrams (pycocoevalcap's cider_scorer.py). The score
    is the mean over orders and references, times 10.

    idf is ln N - ln max(1, df): N is the number of images of the corpus, df the number of those
    whose references contain the n-gram; protocols of judgments may count their captions instead
    (`CaptionDataset.corpus`). The corpus is by default *this dataset* (after any `limit`): then a
    caption's CIDEr depends on which images are in the run, and the signature holds N and a digest
    of all references. With a single image every idf is 0 and so is every score: that is logged as a
    warning, and `idf` names another corpus.

    An empty candidate scores 0, as in pycocoevalcap. Not a number only where the image has no
    reference.

    Parameters
    ----------
    sigma
        Width of the length penalty, in words.
    tokenizer
        "ptb" or "whitespace".
    idf
        "dataset"; or a file of COCO's captions schema, of whose images all captions count; or the
        name of COCO's captions in the data folder, "coco_val2014"; or the file of frequencies that
        `experiment=score` writes of tables with their references. The signature holds its digest.
    data, cache
        The folders in which a name is looked for; by default METAEVAL_DATA.
    """

    name = "cider"
    columns = (ScoreColumn("CIDEr", bounds=(0.0, 10.0)),)
    scorer_class: ClassVar[type[CiderScorer]] = CiderScorer

    @checked
    def __init__(
        self,
        sigma: Positive = 6.0,
        tokenizer: str = "ptb",
        idf: str | Path = DATASET,
        data: str | Path | None = None,
        cache: str | Path | None = None,
    ) -> None:
        self.sigma = float(sigma)
        self.tokenizer = tokenizers.get(tokenizer)
        self.idf, self.data, self.cache = idf, data, cache

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> CiderScorer | Absent:
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        corpus = self._corpus()
        if isinstance(corpus, Absent):
            return corpus
        if corpus is not None and corpus.suffix == SUFFIX:
            counted_with = read_corpus(corpus).tokenizer
            if counted_with != self.tokenizer.signature:
                reason = f"{corpus} counts the words of another tokenizer: {counted_with}"
                return Absent("corpus", reason, "set metric.cider.tokenizer, or count again")
        if corpus is None and len(dataset.corpus()) == 1:
            log.warning("CIDEr is 0 for every caption: its idf needs more than one image")
        settings = {
            "tok": self.tokenizer.signature,
            "n": ORDERS,
            **self._form(),
            "df": _identity(dataset, corpus, store),
            "v": 1,
        }
        return self.scorer_class(self, settings, dataset, corpus)

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of texts, as CIDEr counts them."""
        return split_tokens_containing_spaces(self.tokenizer(texts))

    def of_corpus(self, file: Path) -> Self:
        """The same metric, whose idf is that of a file; see `idf`."""
        other = copy(self)
        other.idf = file
        return other

    def _form(self) -> dict[str, object]:
        """The signature's entry on the form of CIDEr."""
        return {"sigma": f"{self.sigma:g}"}

    def _corpus(self) -> Path | Absent | None:
        """The file of the corpus, `None` for the dataset itself."""
        if self.idf == DATASET:
            return None
        path = user_path(self.idf)
        if path.is_file():
            return path
        named = str(self.idf)
        if named.startswith("coco_") and not path.suffix:
            split = named.removeprefix("coco_")
            return find_coco_captions(split, data=self.data, cache=self.cache)
        reason = f"the corpus of CIDEr's idf is not there: {path}"
        return Absent("corpus", reason, "set metric.cider.idf=FILE, a captions file")


def _identity(dataset: CaptionDataset, corpus: Path | None, store: Store | None) -> str:
    """The signature's entry on a corpus: the dataset, or a file.

    Neither the images' order nor that of an image's references changes a document frequency, so
    neither changes the digest.
    """
    if corpus is None:
        documents = dataset.corpus()
        return f"{len(documents)}-images-{digest_documents(map(digest_document, documents))}"
    if corpus.suffix == SUFFIX:
        counted = read_corpus(corpus)
        return f"{counted.n}-images-{counted.digest}"
    return f"{corpus.stem}-{file_sha256(corpus, store)[:8]}"


class _PlainScorer(CiderScorer):
    clipped = False

    def _penalty(
        self, words: list[list[str]], bigrams: Ints, caption: Ints, reference: Ints
    ) -> Floats:
        return np.ones(len(caption))


class CiderPlain(Cider):
    """CIDEr without the two changes that made it CIDEr-D, in [0, 10].

    The mean over n = 1 … 4 and over the references of the cosine of tf-idf vectors (Vedantam et
    al., Eq. 2 and 3), times 10 as in the authors' code: counts are not clipped, lengths do not
    matter. Words are not stemmed, as in the authors' Python code and unlike their paper. Everything
    else, and the options, are CIDEr's (`Cider`).
    """

    name = "cider_plain"
    columns = (ScoreColumn("CIDEr (not D)", bounds=(0.0, 10.0), variant_of="CIDEr", model="not D"),)
    scorer_class: ClassVar[type[CiderScorer]] = _PlainScorer

    def __init__(
        self,
        tokenizer: str = "ptb",
        idf: str | Path = DATASET,
        data: str | Path | None = None,
        cache: str | Path | None = None,
    ) -> None:
        super().__init__(tokenizer=tokenizer, idf=idf, data=data, cache=cache)

    def _form(self) -> dict[str, object]:
        return {"clip": "no"}


class _RScorer(CiderScorer):
    def _penalty(
        self, words: list[list[str]], bigrams: Ints, caption: Ints, reference: Ints
    ) -> Floats:
        counts = [_count_words(each) for each in words]
        of_references = self._reference_counts
        lengths, of_reference_lengths = bigrams.tolist(), self._bigrams.tolist()
        return np.array(
            [
                _repetition(counts[c], of_references[r]) ** REPETITION
                * _length(lengths[c] + 1, of_reference_lengths[r] + 1) ** LENGTH
                for c, r in zip(caption.tolist(), reference.tolist(), strict=True)
            ],
            dtype=np.float64,
        )

    @cached_property
    def _reference_counts(self) -> list[Counter[str]]:
        return [
            _count_words(words)
            for words in self._words([text for group in self.dataset.references for text in group])
        ]


class CiderR(CiderPlain):
    """CIDEr-R, in [0, 10]: CIDEr-D with penalties for references of different lengths.

    Each pair's clipped cosines are multiplied by r^0.8 · l^0.2. l = exp(-(a - b)²/b²), a and b
    being the lengths of candidate and reference in words. r is the geometric mean, over the
    distinct words of the candidate, of 1 / (1 + d): d is how far the word's count is from the
    reference's, or, where the word is not in the reference, how often it is repeated (count - 1).
    Words of r are runs of word characters. An empty candidate scores 0 (the authors' code gives NaN
    there). Options are those of `CiderPlain`.
    """

    name = "cider_r"
    columns = (ScoreColumn("CIDEr-R", bounds=(0.0, 10.0)),)
    scorer_class = _RScorer

    def _form(self) -> dict[str, object]:
        return {"repetition": REPETITION, "length": LENGTH}


def _count_words(words: Sequence[str]) -> Counter[str]:
    return Counter(_WORD.findall(" ".join(words)))


def _repetition(candidate: Counter[str], reference: Counter[str]) -> float:
    """The geometric mean of 1 / (1 + d) over the candidate's distinct words; 0 without any."""
    if not candidate:
        return 0.0
    logs = [
        math.log1p(abs(n - reference[word]) if word in reference else n - 1)
        for word, n in candidate.items()
    ]
    return math.exp(-math.fsum(logs) / len(logs))


def _length(candidate: int, reference: int) -> float:
    return math.exp(-((candidate - reference) ** 2) / reference**2)
