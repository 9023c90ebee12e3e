"""Sentence-BERT similarity (Reimers and Gurevych, 2019): cosine of mean-pooled sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaeval.metrics.base import Scores
from metaeval.metrics.bertscore.metric import BertScore, TokenMetric, TokenScorer
from metaeval.text.transformers import locate
from metaeval.text.transformers.encoder import TextEncoder

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]


class _StateEncoder(TextEncoder):
    """The layer's states as they are, not of unit length."""

    def vectors_of(self, states: torch.Tensor) -> torch.Tensor:
        return states


class SentenceScorer(TokenScorer):
    """Sentence similarity against the references of a dataset."""

    metric: SentenceSimilarity
    usual_ms = 1.0
    token_settings = ("model", "weights", "layer", "dtype", "transformers")
    form = MappingProxyType({"pooling": "mean", "refs": "max", "v": 1})

    @cached_property
    def encoder(self) -> TextEncoder:
        options = self.metric.tokens
        return _StateEncoder(self._tokens.model, self._tokens.layer, options.device, options.dtype)

    def prepare(self) -> None:
        self._vectors: dict[str, Floats] = {}
        self._add([text for texts in self.dataset.references for text in texts])

    def _add(self, texts: Sequence[str]) -> None:
        """Encode those of the texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        ids, _ = self.encoder.tokenize(new)

        def keep(positions: list[int], vectors: torch.Tensor) -> None:
            means = vectors.mean(dim=1)
            unit = means / means.norm(dim=-1, keepdim=True)
            for position, row in zip(positions, unit.cpu().double().numpy(), strict=True):
                self._vectors[new[position]] = row

        self.encoder.encode(ids, keep)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        self._add(captions)
        scores = np.full((len(captions), 1), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            if references := self.dataset.references[image]:
                table = np.stack([self._vectors[text] for text in references])
                scores[row] = (table @ self._vectors[caption]).max()
        return np.asarray(np.clip(scores, -1, 1))

    def close(self) -> None:
        self._vectors = {}
        self._tokens.close()
        self.__dict__.pop("encoder", None)


class SentenceSimilarity(TokenMetric):
    """Cosine of two sentence vectors, each the mean of the last layer's token vectors.

    The score is the highest over the references, in [-1, 1].

    Parameters
    ----------
    layer
        The number of the model's last layer: 6 for all-MiniLM-L6-v2.
    model, device, download, offline, cache
        As of `BertScore`; "auto" is all-MiniLM-L6-v2, which comes with metaeval.
    """

    name = "sentence_similarity"
    title = "Sentence similarity"
    scorer_class = SentenceScorer

    def __init__(
        self,
        model: str = "auto",
        layer: int = 6,
        device: str = "auto",
        download: bool = False,
        offline: bool | str | int = False,
        cache: str | None = None,
    ) -> None:
        self.tokens = BertScore(
            model=locate.MINILM if model == "auto" else model,
            layer=layer,
            device=device,
            download=download,
            offline=offline,
            cache=cache,
        )
