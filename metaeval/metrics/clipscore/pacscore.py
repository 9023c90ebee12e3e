"""PAC-S and RefPAC-S (Sarto et al., 2023): CLIPScore's formula over a CLIP of their own.

Their CLIP is OpenAI's ViT-B/32 (or open_clip's ViT-L/14), its projections fine-tuned on captions
and images that were generated in addition to the real ones; the factor is 2 instead of 2.5, the
prefix the same (`evaluation/pac_score/pac_score.py` of aimagelab/pacscore).
"""

from __future__ import annotations

from typing import Any, ClassVar

from metaeval.compute.device import precision_of
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.clipscore.metric import ClipScore, ClipScorer
from metaeval.metrics.clipscore.refclipscore import RefClipScore
from metaeval.metrics.clipscore.weights import ClipWeights
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store

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
