"""RefCLIPScore (Hessel et al., 2021): CLIPScore, and how well a caption fits the references.

The harmonic mean of CLIPScore (its factor of 2.5 included) and the highest cosine, if positive,
between CLIP's vectors of the caption and of a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.metrics.base import Scores
from metaeval.metrics.clipscore.metric import ClipScore, ClipScorer, dot_rows
from metaeval.runs.store import content_digest


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
