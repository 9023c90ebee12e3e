"""Sentence-BERT similarity (Reimers and Gurevych, 2019): cosine of mean-pooled sentence vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.metrics.bertscore.metric import BertScore, BertScorer
from metaeval.metrics.bertscore.sentences import count_cut
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.transformers import locate
from metaeval.text.transformers.encoder import TextEncoder

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]


class SentenceSimilarity(Metric):
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
            model=locate.MINILM if model == "auto" else model, layer=layer, device=device,
            download=download, offline=offline, cache=cache,
        )  # fmt: skip

    @property
    def runs_network(self) -> bool:
        return True

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return (_column(self.tokens.columns[0]),)

    def fetch(self, dataset: CaptionDataset) -> None:
        self.tokens.fetch(dataset)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> SentenceScorer | Absent:
        bound = self.tokens.bind(dataset, store)
        return bound if isinstance(bound, Absent) else SentenceScorer(self, dataset, bound)


def _column(of_tokens: ScoreColumn) -> ScoreColumn:
    label = of_tokens.model or "roberta-large"
    return ScoreColumn(
        f"Sentence similarity ({label})", bounds=(-1.0, 1.0), model=label,
        variant_of="Sentence similarity",
        precision=of_tokens.precision,
    )  # fmt: skip


class _StateEncoder(TextEncoder):
    """The layer's states as they are, not of unit length."""

    def vectors_of(self, states: torch.Tensor) -> torch.Tensor:
        return states


class SentenceScorer(ReferenceScorer):
    """Sentence similarity against the references of a dataset."""

    metric: SentenceSimilarity
    usual_ms = 1.0
    counted = BertScorer.counted

    def __init__(
        self, metric: SentenceSimilarity, dataset: CaptionDataset, tokens: BertScorer
    ) -> None:
        names = ("model", "weights", "layer", "dtype", "transformers")
        settings: Mapping[str, object] = {
            **{key: tokens.settings[key] for key in names},
            "pooling": "mean", "refs": "max", "v": 1,
        }  # fmt: skip
        super().__init__(metric, settings, dataset, [_column(tokens.columns[0])])
        self.training = tokens.training
        self._tokens = tokens

    @cached_property
    def _encoder(self) -> TextEncoder:
        options = self.metric.tokens
        return _StateEncoder(self._tokens.model, self._tokens.layer, options.device, options.dtype)

    def prepare(self) -> None:
        self._vectors: dict[str, Floats] = {}
        self._add([text for texts in self.dataset.references for text in texts])

    def _add(self, texts: Sequence[str]) -> None:
        """Encode those of the texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        ids, _ = self._encoder.tokenize(new)

        def keep(positions: list[int], vectors: torch.Tensor) -> None:
            means = vectors.mean(dim=1)
            unit = means / means.norm(dim=-1, keepdim=True)
            for position, row in zip(positions, unit.cpu().double().numpy(), strict=True):
                self._vectors[new[position]] = row

        self._encoder.encode(ids, keep)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        self._add(captions)
        scores = np.full((len(captions), 1), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            if references := self.dataset.references[image]:
                table = np.stack([self._vectors[text] for text in references])
                scores[row] = (table @ self._vectors[caption]).max()
        return np.asarray(np.clip(scores, -1, 1))

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        has_score = [bool(self.dataset.references[i]) for i in image_index.tolist()]
        return count_cut(self._encoder, captions, has_score)

    def close(self) -> None:
        self._vectors = {}
        self._tokens.close()
        self.__dict__.pop("_encoder", None)
