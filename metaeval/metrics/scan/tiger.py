"""TIGEr: does a caption describe an image's regions as the references do? (Jiang et al., 2019)

A SCAN network says how well a caption grounds in each region. The candidate's grounding vector is
compared with the mean of the references': TIGEr-RRS measures whether it ranks the regions alike,
TIGEr-WDS whether it gives them as much weight, and TIGEr is their mean (`tiger_score.py`). An
identical caption scores 0.75, not 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Scores, reference_digests
from metaeval.metrics.scan.base import Rectifier, ScanMetric, ScanScorer, Smooth
from metaeval.metrics.scan.weights import ScanWeights
from metaeval.options import Device, Positive, checked
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn
from metaeval.runs.store import Store
from metaeval.vision.regions.base import RegionSource
from metaeval.weights.pretrained import AUTO


class Tiger(ScanMetric):
    """TIGEr, TIGEr-RRS and TIGEr-WDS of each caption.

    Not a number for images that the weights were trained on, that have no region, or no reference.
    Weights that give human captions a mean cosine of 0 or less are refused: with them WDS, whose
    norms ignore signs, would reward the worse caption.

    Parameters beyond those of `ScanMetric`
    ---------------------------------------
    tau
        τ of WDS: 1.5 in the authors' code; "to be tuned" in the paper.
    gains
        Of RRS: "min-max" (the code) or "raw" (the paper).
    clamp
        Whether cosines below 0 count as 0. Not TIGEr as published; named in the signature.
    """

    name = "tiger"
    languages = frozenset({"en"})
    plain_columns = (
        ScoreColumn("TIGEr", precision=NETWORK_PRECISION),
        ScoreColumn("TIGEr-RRS", part_of="TIGEr", precision=NETWORK_PRECISION),
        ScoreColumn("TIGEr-WDS", part_of="TIGEr", precision=NETWORK_PRECISION),
    )

    @checked
    def __init__(
        self,
        regions: RegionSource,
        weights: str = AUTO,
        variant: Literal["", "corruptions"] = "",
        vocabulary: str | Path | None = None,
        smooth: Smooth | None = None,
        tau: Positive = 1.5,
        gains: Literal["min-max", "raw"] = "min-max",
        clamp: bool = False,
        device: Device = "auto",
        rectifier: Rectifier = "leaky",
    ) -> None:
        super().__init__(regions, weights, variant, vocabulary, smooth, device, rectifier)
        self.tau, self.gains, self.clamp = float(tau), gains, bool(clamp)

    def _unfit(self, weights: ScanWeights) -> Absent | None:
        cosine = weights.human_cosine
        if cosine is None or cosine > 0 or self.clamp:
            return None
        return Absent("weights", _upside_down(weights.label, cosine), _REMEDY)

    @property
    def reads(self) -> frozenset[str]:
        return super().reads | {"references"}

    def _scorer(
        self, weights: ScanWeights, dataset: CaptionDataset, store: Store | None
    ) -> TigerScorer:
        return TigerScorer(self, weights, dataset, store)


class TigerScorer(ScanScorer):
    """TIGEr against the references of a dataset."""

    def __init__(
        self, metric: Tiger, weights: ScanWeights, dataset: CaptionDataset, store: Store | None
    ) -> None:
        settings = {
            "tau": f"{metric.tau:g}",
            "gains": metric.gains,
            "cosines": "clamped" if metric.clamp else "signed",
            "refs": "mean",
            "v": 3,
        }
        super().__init__(metric, weights, dataset, store, settings)
        self._tau, self._gains, self._clamp = metric.tau, metric.gains, metric.clamp

    def context(self, index: int) -> bytes:
        return super().context(index) + reference_digests(self.dataset)[index]

    def prepare(self) -> None:
        super().prepare()
        counts = np.array([len(group) for group in self.dataset.references])
        references = [text for group in self.dataset.references for text in group]
        vectors = self._vectors(references, np.repeat(np.arange(len(counts)), counts))
        there = counts > 0
        # [images, r] the mean grounding vector of an image's references
        self._references = np.full((len(counts), self.grounder.width), np.nan)
        if len(references):
            first = (np.cumsum(counts) - counts)[there]
            sums = np.add.reduceat(vectors, first, axis=0)
            self._references[there] = sums / counts[there, None]
        self.usable &= there
        self._check_sign()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 3), np.nan)
        rows = np.flatnonzero(self.usable[image_index])
        if len(rows):
            images = image_index[rows]
            vectors = self._vectors([captions[k] for k in rows.tolist()], images)
            scores[rows] = self._compare(vectors, images)
        return scores

    def explain(self, caption: str, image_index: int) -> Mapping[str, object] | None:
        return self.explain_all([caption], np.array([image_index]))[0]

    def explain_all(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> list[Mapping[str, object] | None]:
        payloads: list[Mapping[str, object] | None] = [None] * len(captions)
        rows = np.flatnonzero(self.usable[image_index])
        if len(rows):
            images = image_index[rows]
            vectors = self._vectors([captions[k] for k in rows.tolist()], images)
            scores = self._compare(vectors, images)
            for k, i, *numbers in zip(rows.tolist(), images.tolist(), vectors, scores, strict=True):
                payloads[k] = self._payload(i, *numbers)
        return payloads

    def _payload(self, image_index: int, vector: Scores, scores: Scores) -> dict[str, object]:
        """Of one caption, with its grounding vector [r] and its scores [3]."""
        n = int(self.grounder.n_regions[image_index])
        boxes, labels = self.regions.boxes[image_index], self.regions.labels[image_index]
        return {
            "kind": "grounding",
            "regions": [
                {
                    "label": label,
                    "box": [round(float(x), 4) for x in boxes[k]],
                    **({"cell": True} if 0 < k <= self.weights.grid**2 else {}),
                }
                for k, label in enumerate(labels)
            ],
            "candidate": [round(float(x), 4) for x in vector[:n]],
            "references": [round(float(x), 4) for x in self._references[image_index, :n]],
            "values": {
                column.name: None if np.isnan(score) else round(float(score), 4)
                for column, score in zip(self.columns, scores, strict=True)
            },
        }

    def _vectors(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Scores:
        """[n, r] Grounding vectors, clamped if `floor` is set."""
        vectors = self.grounder.grounding(captions, images)
        return np.maximum(vectors, 0.0) if self._clamp else vectors

    def _compare(self, vectors: Scores, images: npt.NDArray[np.intp]) -> Scores:
        """[n, 3] TIGEr, RRS and WDS of candidates by their grounding vectors [n, r]."""
        from metaeval.metrics.scan.tiger_score import compare_groundings

        regions = self._references, self.grounder.n_regions
        return compare_groundings(
            *regions, vectors, images, self._tau, self._gains, self.grounder.device
        )

    def _check_sign(self) -> None:
        """Refuse weights under which human captions ground negatively."""
        if not self.usable.any():
            return
        n_regions = self.grounder.n_regions
        mask = np.arange(self._references.shape[1])[None, :] < n_regions[:, None]
        vectors = np.where(mask, self._references, 0.0)[self.usable]
        mean = float((vectors.sum(axis=1) / n_regions[self.usable]).mean())
        if not (mean > 0 or self._clamp):
            raise ConfigError(f"{_upside_down(self.weights.label, mean)}; {_REMEDY}")


_REMEDY = "train with task.losses.anchor_weight=1, or set metric.tiger.clamp=true"


def _upside_down(name: str, cosine: float) -> str:
    return (
        f"under the weights {name} human captions have a mean cosine of {cosine:.2f}, which is not "
        "positive: TIGEr would reward the worse caption"
    )
