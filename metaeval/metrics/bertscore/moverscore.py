"""MoverScore (Zhao et al., 2019): word mover's distance over contextual token vectors.

Models, token vectors and idf are BERTScore's; instead of each token's best partner, all tokens of
a caption are moved to those of a reference at the least cost, exactly.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute import transport
from metaeval.metrics.base import Scores
from metaeval.metrics.bertscore.metric import BertScore, TokenMetric, TokenScorer
from metaeval.metrics.bertscore.sentences import EncodedSentences
from metaeval.text.transformers import hub

Floats = npt.NDArray[np.float64]

_PUNCTUATION = frozenset(string.punctuation)
_PAIRS = 4096  # of sentences compared at a time
_EXACT = "donot_use_mm_for_euclid_dist"  # products of matrices lose the digits of small distances
LOWEST = -1.0


class _Sentence(NamedTuple):
    """The tokens of a sentence that have mass: their vectors [k, width], and shares [k]."""

    vectors: Floats
    mass: Floats


class MoverScorer(TokenScorer):
    """MoverScore against the references of a dataset."""

    usual_ms = 4.0
    batch_size = 2000
    token_settings = ("model", "weights", "layer", "idf", "dtype", "transformers")
    # `v` is raised when this comes to give another number for the same caption
    form = MappingProxyType({"without": "punctuation+later-pieces", "refs": "mean", "v": 1})

    def prepare(self) -> None:
        references = [text for texts in self.dataset.references for text in texts]
        corpus = [text for texts in self.dataset.corpus() for text in texts]
        self._sentences = EncodedSentences(self._tokens.encoder, np.inf, corpus)
        self._sentence = cache(self._weighted)
        vocabulary = self._tokens.encoder.tokenizer.get_vocab()
        self._light = {
            number
            for piece, number in vocabulary.items()
            if piece.startswith("##") or set(piece) <= _PUNCTUATION
        }
        self._sentences.add(references)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        self._sentences.add(captions)
        sentences = [self._sentence(caption) for caption in captions]
        groups = [
            [
                each
                for text in self.dataset.references[i]
                if len((each := self._sentence(text)).mass)
            ]
            for i in image_index.tolist()
        ]
        pairs = [
            (sentence, reference)
            for sentence, group in zip(sentences, groups, strict=True)
            for reference in group
            if len(sentence.mass)
        ]
        similar = iter((1 - _distances(pairs)).tolist())
        scores = np.full((len(captions), 1), np.nan)
        for row, (sentence, group) in enumerate(zip(sentences, groups, strict=True)):
            if group:
                similarities = [next(similar) for _ in group] if len(sentence.mass) else [LOWEST]
                scores[row] = sum(similarities) / len(similarities)
        return scores

    def _weighted(self, text: str) -> _Sentence:
        """The tokens of a text that have mass."""
        _, weights, vectors = self._sentences.tokens(text)
        (ids,), _ = self._tokens.encoder.tokenize([text])
        light = [token in self._light for token in ids]
        mass = np.where(light, 0.0, weights)
        weighted = np.flatnonzero(mass > 0)
        total = mass.sum() if len(weighted) else 1.0
        return _Sentence(vectors[weighted].astype(np.float64), mass[weighted] / total)

    def close(self) -> None:
        self.__dict__.pop("_sentences", None)
        self._tokens.close()


class MoverScore(TokenMetric):
    """1 - d, in [-1, 1]: d is the cost of turning the caption's tokens into a reference's.

    A token's mass is its idf (over all references of the dataset, so a caption's score depends on
    which images are in the run; the signature has a digest of them), 0 for punctuation and for the
    later pieces of a word; moving it costs the Euclidean distance of the token vectors, of unit
    length. With several references the score is the mean over them, as in the authors' example.
    A caption without a token that has mass gets the lowest score, -1.

    The authors' second version (`moverscore_v2`) with another model: theirs is DistilBERT, fine
    tuned on MNLI, so that the column always carries the model's name.

    Parameters
    ----------
    model, layer, device, download, offline, cache
        As of `BertScore`; "auto" is all-MiniLM-L6-v2, which comes with metaeval.
    """

    name = "moverscore"
    title = "MoverScore"
    scorer_class = MoverScorer

    def __init__(
        self,
        model: str = "auto",
        layer: int | None = None,
        device: str = "auto",
        download: bool = False,
        offline: bool | str | int = False,
        cache: str | None = None,
    ) -> None:
        self.tokens = BertScore(
            model=hub.MINILM if model == "auto" else model,
            layer=layer,
            idf=True,
            device=device,
            download=download,
            offline=offline,
            cache=cache,
        )


def _distances(pairs: Sequence[tuple[_Sentence, _Sentence]]) -> Floats:
    """[n] The least cost of turning the first sentence of each pair into the second."""
    import torch

    distances = np.empty(len(pairs))
    sizes = np.array([(len(a.mass), len(b.mass)) for a, b in pairs], dtype=np.intp).reshape(-1, 2)
    for m, n, group in transport.group_by_size(sizes[:, 0], sizes[:, 1]):
        for which in np.array_split(group, -(-len(group) // _PAIRS)):
            some = [pairs[row] for row in which.tolist()]
            left, supply = _padded([a for a, _ in some], m)
            right, demand = _padded([b for _, b in some], n)
            tokens = torch.from_numpy(left), torch.from_numpy(right)
            cost = torch.cdist(*tokens, compute_mode=_EXACT).permute(1, 2, 0).numpy()
            distances[which] = transport.costs(cost, transport.flows(cost, supply, demand))
    return distances


def _padded(sentences: Sequence[_Sentence], size: int) -> tuple[Floats, Floats]:
    """The vectors [P, size, d] and masses [size, P] of sentences; zeros behind the last token."""
    vectors = np.zeros((len(sentences), size, sentences[0].vectors.shape[1]))
    masses = np.zeros((size, len(sentences)))
    for k, sentence in enumerate(sentences):
        vectors[k, : len(sentence.mass)] = sentence.vectors
        masses[: len(sentence.mass), k] = sentence.mass
    return vectors, masses
