"""chrF, chrF++ and TER: sacrebleu's own, with the references of an image looked at once.

sacrebleu's metrics share a base class whose hooks return the information on references, a segment's
statistics, and the score of statistics (also of their sums). Those are called here; no arithmetic
is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Scores
from metaeval.metrics.summable import Statistics, SummableMetric, SummableScorer


class SegmentMetric(SummableMetric):
    """One or more of sacrebleu's metrics, a column each; 100 there is 1 here."""

    def __init__(self, libraries: Sequence[Any], widths: Sequence[int]) -> None:
        """sacrebleu's metric objects, in the order of the columns, and how many statistics each of
        them has."""
        self.libraries, self.widths = tuple(libraries), tuple(widths)
        for library in self.libraries:
            library.num_refs = -1  # needed for its signature

    def settings(self) -> dict[str, object]:
        """sacrebleu's own signatures, without the number of references, which is in the key of
        every cached score."""
        settings: dict[str, object] = {}
        for library in self.libraries:
            pairs = [pair.split(":", 1) for pair in library.get_signature().format().split("|")]
            settings |= {key: value for key, value in pairs if key != "nrefs"}
        return settings

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """The scores of captions; of a corpus too, which is the same arithmetic on the sums."""
        scores = np.full((len(statistics), len(self.libraries)), np.nan)
        for row in np.flatnonzero(~np.isnan(statistics).any(axis=1)):
            begin = 0
            for column, (library, width) in enumerate(
                zip(self.libraries, self.widths, strict=True)
            ):
                part = statistics[row, begin : begin + width].tolist()
                scores[row, column] = library._compute_score_from_stats(part).score / 100
                begin += width
        return scores


class SegmentScorer(SummableScorer):
    """sacrebleu's statistics of captions against the references of a dataset."""

    metric: SegmentMetric
    batch_size = 5000

    def __init__(
        self, metric: SegmentMetric, settings: Mapping[str, object], dataset: CaptionDataset
    ) -> None:
        super().__init__(metric, settings, dataset)
        self._known: dict[int, list[dict[str, object]]] = {}

    def prepare(self) -> None:
        """Nothing: an image's references are looked at when its first caption comes."""

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        rows = np.full((len(captions), sum(self.metric.widths)), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            if self.dataset.references[image]:
                rows[row] = [
                    number
                    for library, known in zip(
                        self.metric.libraries, self._references(image), strict=True
                    )
                    for number in library._compute_segment_statistics(
                        library._preprocess_segment(caption), known
                    )
                ]
        return rows

    def _references(self, image: int) -> list[dict[str, object]]:
        """What each library keeps of an image's references."""
        if image not in self._known:
            group = self.dataset.references[image]
            self._known[image] = [
                library._extract_reference_info([library._preprocess_segment(r) for r in group])
                for library in self.metric.libraries
            ]
        return self._known[image]

    def close(self) -> None:
        self._known.clear()
