"""RefCLIPScore, and PAC-S and RefPAC-S: the metrics that are made of CLIPScore.

RefCLIPScore (Hessel et al., 2021) says also how well a caption fits the references: the harmonic
mean of CLIPScore (its factor of 2.5 included) and the highest cosine, if positive, between CLIP's
vectors of the caption and of a reference.

PAC-S and RefPAC-S (Sarto et al., 2023) are CLIPScore's formula over a CLIP of their own: OpenAI's
ViT-B/32 (or open_clip's ViT-L/14), its projections fine-tuned on captions and images that were
generated in addition to the real ones; the factor is 2 instead of 2.5, the prefix the same
(`evaluation/pac_score/pac_score.py` of aimagelab/pacscore).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import precision_of
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Scores
from metaeval.metrics.clipscore.metric import ClipScore, ClipScorer, dot_rows
from metaeval.metrics.clipscore.weights import ClipWeights
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest


class RefClipScorer(ClipScorer):
    """RefCLIPScore with the images and references of a dataset."""

    def context(self, index: int) -> bytes:
        return super().context(index) + content_digest(self.dataset.references[index])

    def score_with_image(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> Scores:
        by_image = super().score_with_image(captions, image_index)
        groups = [self.dataset.references[i] for i in image_index.tolist()]
        counts = np.array([len(group) for group in groups], dtype=np.intp)
        distinct = {text: k for k, text in enumerate(dict.fromkeys(r for g in groups for r in g))}
        by_text = np.full(len(captions), np.nan)
        if distinct:
            references = self.encode_texts(list(distinct))
            candidates = np.repeat(self.encode_texts(captions), counts, axis=0)
            cosine = dot_rows(
                candidates, references[[distinct[r] for group in groups for r in group]]
            )
            has_references = counts > 0
            starts = (np.cumsum(counts) - counts)[has_references]
            by_text[has_references] = np.maximum.reduceat(cosine, starts)
        return harmonic_mean(by_image, np.maximum(by_text, 0.0))


class RefClipScore(ClipScore):
    """RefCLIPScore of each caption, in [0, 2·weight/(weight + 1)].

    0 where either part is 0 (the limit of the harmonic mean). NaN without an image or
    without references. The parameters are those of `ClipScore`.
    """

    name = "refclipscore"
    title: ClassVar[str] = "RefCLIPScore"
    needs = frozenset({"images", "references"})
    scorer_class = RefClipScorer

    @property
    def highest(self) -> float:
        return 2 * self.weight / (self.weight + 1)


def harmonic_mean(a: Scores, b: Scores) -> Scores:
    """2ab/(a + b) of non-negative numbers, 0 where both are 0; NaN where one is NaN."""
    total = a + b
    mean: Scores = np.where(total == 0, 0.0, 2 * a * b / np.where(total == 0, 1.0, total))
    return mean


_REASON = "PAC-S needs the weights of its authors, which come with no package"
_REMEDY = "metric.pacscore.checkpoint=clip_ViT-B-32.pth (address in aimagelab/pacscore's README)"


class PacScore(ClipScore):
    """PAC-S of each caption with its image, in [0, weight].

    Not a number where CLIPScore is not. The column is PAC-S for any file that is given: what it
    holds, the signature's checksum says.

    Parameters beyond those of `ClipScore`
    --------------------------------------
    checkpoint
        The file of the authors' weights, instead of `pretrained`; `None`: the metric is skipped.
    model
        open_clip's name of the architecture. OpenAI's networks were trained with "quickgelu", and a
        file does not say so: the name has to.
    """

    name = "pacscore"
    title: ClassVar[str] = "PAC-S"

    def __init__(
        self,
        checkpoint: str | None = None,
        model: str = "ViT-B-32-quickgelu",
        weight: float = 2.0,
        **options: Any,
    ) -> None:
        super().__init__(model=model, pretrained=checkpoint or "none", weight=weight, **options)
        self.checkpoint = checkpoint

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ClipScorer | Absent:
        if self.checkpoint is None:
            return Absent("clip", _REASON, _REMEDY)
        return super().bind(dataset, store)

    def column_of(self, located: ClipWeights) -> ScoreColumn:
        return ScoreColumn(
            self.title, bounds=(0.0, self.highest), precision=precision_of(self.dtype)
        )


class RefPacScore(PacScore, RefClipScore):
    """RefPAC-S: the harmonic mean of PAC-S and the best cosine with a reference."""

    name = "refpacscore"
    title: ClassVar[str] = "RefPAC-S"
