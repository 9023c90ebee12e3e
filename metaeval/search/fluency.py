"""Fluency as a constraint: as likely as human captions of that length to a language model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.language_model.metric import LanguageModel
from metaeval.runs.store import Store
from metaeval.weights.pretrained import AUTO

CENTRAL = 0.95
COCO_WEIGHTS = "lm_karpathy_test"
_LEAST = 40  # human captions that an interval rests on


class Fluency:
    """Whether a caption lies within the central 95 % of human captions of its length.

    The measure is LM, 1 / perplexity under the shipped language model that has not seen the images.
    The interval for a length of n words comes from the dataset's captions of n words; where there
    are fewer than 40, from those of the nearest lengths as well.

    Raises ValueError, with the reason, where no language model can score the dataset.
    """

    def __init__(self, dataset: CaptionDataset, store: Store) -> None:
        drawn = not isinstance(dataset.part("scene_graphs"), Absent)
        scorer = LanguageModel(weights=COCO_WEIGHTS if drawn else AUTO).bind(dataset, store)
        if isinstance(scorer, Absent):
            raise ValueError(str(scorer))
        scorer.prepare()
        self._scorer = scorer
        # drawn scenes share ids with COCO images, not captions: none of them was trained on
        probe = scorer.score(["a"] * len(dataset), np.arange(len(dataset)))[:, 0]
        self._stand_in = int(np.flatnonzero(~np.isnan(probe))[0]) if drawn else None
        self._scores: dict[str, float] = {}
        humans = [
            (text, i)
            for i, (human, references) in enumerate(
                zip(dataset.human, dataset.references, strict=True)
            )
            for text in (human, *references)
        ]
        index = np.array([i for _, i in humans], dtype=np.intp)
        scores = self.scores([text for text, _ in humans], index)
        self.seen = np.isin(np.arange(len(dataset)), index[np.isnan(scores)])
        self._intervals = _intervals([text for text, _ in humans], scores)
        lengths = [len(text.split()) for text, _ in humans]
        low, high = np.quantile(lengths, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
        self.lengths = int(np.ceil(low)), int(np.floor(high))

    def scores(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.float64]:
        """[n] LM of each caption; NaN for images that the model was trained on."""
        new = {
            t: i
            for t, i in zip(captions, image_index.tolist(), strict=True)
            if t not in self._scores
        }
        if new:
            images = [i if self._stand_in is None else self._stand_in for i in new.values()]
            values = self._scorer.score(list(new), np.array(images, dtype=np.intp))
            self._scores |= {t: float(v) for t, v in zip(new, values[:, 0], strict=True)}
        return np.array([self._scores[t] for t in captions])

    def allowed(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.bool_]:
        """[n] Whether each caption is within the interval of its length and a length of people."""
        scores = self.scores(captions, image_index)
        fluent = np.zeros(len(captions), dtype=bool)
        for k, (text, score) in enumerate(zip(captions, scores.tolist(), strict=True)):
            n = len(text.split())
            if self.lengths[0] <= n <= self.lengths[1]:
                low, high = self.interval(n)
                fluent[k] = low <= score <= high
        return fluent

    def interval(self, length: int) -> tuple[float, float]:
        """The interval of LM for captions of that many words."""
        nearest = min(self._intervals, key=lambda n: (abs(n - length), n))
        return self._intervals[nearest]


def _intervals(
    captions: Sequence[str], scores: npt.NDArray[np.float64]
) -> dict[int, tuple[float, float]]:
    by_length: dict[int, list[float]] = defaultdict(list)
    for text, score in zip(captions, scores.tolist(), strict=True):
        if not np.isnan(score):
            by_length[len(text.split())].append(score)
    intervals = {}
    for n in by_length:
        values: list[float] = []
        for distance in range(len(by_length) + 1):
            for near in {n - distance, n + distance}:
                values += by_length.get(near, [])
            if len(values) >= _LEAST:
                break
        low, high = np.quantile(values, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
        intervals[n] = float(low), float(high)
    return intervals
