"""TIGEr: does a caption speak of an image's regions as the references do? (Jiang et al., 2019)

A SCAN network says how well a caption grounds in each region. The candidate's grounding vector is
compared with the mean of the references': TIGEr-RRS asks whether it ranks the regions alike,
TIGEr-WDS whether it gives them as much weight, and TIGEr is their mean (`tiger_score.py`). An
identical caption scores 0.75, not 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Scores, content_digest
from metaeval.metrics.scan.base import ScanMetric
from metaeval.metrics.scan.tiger_batches import tiger_of
from metaeval.metrics.scan.tiger_score import GAINS, MIN_MAX, TAU
from metaeval.vision.regions.base import RegionSource
from metaeval.weights.pretrained import AUTO, GroundedWeights


class Tiger(ScanMetric):
    """TIGEr, TIGEr-RRS and TIGEr-WDS of each caption.

    Not a number for images that the weights were trained on, that have no region, or no reference.
    Weights that give human captions a mean cosine of 0 or less are refused: with them WDS, whose
    norms do not know of signs, would reward the worse caption.

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
    titles = ("TIGEr", "TIGEr-RRS", "TIGEr-WDS")
    bounds = (0.0, 1.0)

    def __init__(
        self,
        regions: RegionSource,
        weights: str = AUTO,
        variant: str = "",
        vocabulary: str | Path | None = None,
        smooth: float | None = None,
        tau: float = TAU,
        gains: str = MIN_MAX,
        clamp: bool = False,
        device: str = "auto",
    ) -> None:
        super().__init__(regions, weights, variant, vocabulary, smooth, device)
        if not tau > 0:
            raise ConfigError(f"metric.tiger.tau must be positive: {tau!r}")
        if gains not in GAINS:
            raise ConfigError(f"metric.tiger.gains must be one of {', '.join(GAINS)}: '{gains}'")
        self._tau, self._gains, self._clamp = float(tau), gains, bool(clamp)

    def settings(self) -> Mapping[str, Any]:
        return {
            **super().settings(),
            "tau": f"{self._tau:g}",
            "gains": self._gains,
            "cosines": "clamped" if self._clamp else "signed",
            "refs": "mean",
            "v": 3,
        }

    def context(self, dataset: CaptionDataset, index: int) -> bytes:
        return super().context(dataset, index) + content_digest(dataset.references[index])

    def _unfit(self, weights: GroundedWeights) -> Absent | None:
        cosine = weights.card.get("human_cosine")
        if isinstance(cosine, int | float) and not cosine > 0 and not self._clamp:
            return Absent("weights", _upside_down(weights.name, float(cosine)), _REMEDY)
        return None

    def prepare(self, dataset: CaptionDataset) -> None:
        grounder = self._grounder = self._load()
        counts = [len(group) for group in dataset.references]
        owner = np.repeat(np.arange(len(dataset)), counts)
        flat = [text for group in dataset.references for text in group]
        vectors = self._vectors(flat, owner)
        self._references = np.full((len(dataset), grounder.width), np.nan)
        there = np.array(counts) > 0
        if len(flat):
            first = np.cumsum([0, *counts])[:-1][there]
            sums = np.add.reduceat(vectors, first, axis=0)
            self._references[there] = sums / np.array(counts)[there, None]
        self._usable = there & ~self._seen & (grounder.n_regions > 0)
        self._check_sign()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        self._ready()
        scores = np.full((len(captions), 3), np.nan)
        rows = np.flatnonzero(self._usable[image_index])
        if len(rows):
            images = image_index[rows]
            vectors = self._vectors([captions[k] for k in rows.tolist()], images)
            scores[rows] = self._compared(vectors, images)
        return scores

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        if not self._usable[image_index]:
            return None
        own = np.array([image_index], dtype=np.intp)
        vectors = self._vectors([caption], own)
        vector, scores = vectors[0], self._compared(vectors, own)[0]
        n = int(self._ready().n_regions[image_index])
        boxes, labels = self._looked_at.boxes[image_index], self._looked_at.labels[image_index]
        return {
            "kind": "grounding",
            "regions": [
                {
                    "label": label,
                    "box": [round(float(x), 4) for x in boxes[k]],
                    **({"cell": True} if 0 < k <= self._grid**2 else {}),
                }
                for k, label in enumerate(labels)
            ],
            "candidate": [round(float(x), 4) for x in vector[:n]],
            "references": [round(float(x), 4) for x in self._references[image_index, :n]],
            "values": {
                column: None if np.isnan(score) else round(float(score), 4)
                for column, score in zip(self.columns, scores, strict=True)
            },
        }

    def _vectors(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Scores:
        """[n, r] Grounding vectors, clamped where asked for."""
        found = self._ready().grounding(captions, images)
        return np.maximum(found, 0.0) if self._clamp else found

    def _compared(self, vectors: Scores, images: npt.NDArray[np.intp]) -> Scores:
        """[n, 3] TIGEr, RRS and WDS of candidates by their grounding vectors [n, r]."""
        n_regions = self._ready().n_regions
        return tiger_of(self._references, n_regions, vectors, images, self._tau, self._gains)

    def _check_sign(self) -> None:
        """Refuse weights under which human captions ground negatively."""
        if not self._usable.any():
            return
        n_regions = self._ready().n_regions
        mask = np.arange(self._references.shape[1])[None, :] < n_regions[:, None]
        own = np.where(mask, self._references, 0.0)[self._usable]
        mean = float((own.sum(axis=1) / n_regions[self._usable]).mean())
        if not (mean > 0 or self._clamp):
            raise ConfigError(f"{_upside_down(self._label, mean)}; {_REMEDY}")


_REMEDY = "train with losses.anchor_weight=1, or set metric.tiger.clamp=true"


def _upside_down(name: str, cosine: float) -> str:
    return (
        f"under the weights {name} human captions have a mean cosine of {cosine:.2f}, which is not "
        "positive: TIGEr would reward the worse caption"
    )
