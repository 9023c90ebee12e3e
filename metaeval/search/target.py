"""The metric under attack: a function from captions to scores, through the score cache."""

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric
from metaeval.metrics.language_model.metric import LanguageModel
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, item_key
from metaeval.scoring import bind, checked_scores
from metaeval.weights.pretrained import AUTO


def headline_column(columns: Sequence[ScoreColumn]) -> int:
    """The column that stands for a metric: its first headline that is not part of another column
    (BLEU-4, FAIEr)."""
    headlines = [i for i, c in enumerate(columns) if c.headline and c.part_of is None]
    return headlines[0] if headlines else 0


class Target:
    """A metric bound to a dataset for as long as a search lasts.

    Every score is in the cache before the next batch is computed, so that a search that was killed
    goes on where it stopped: its requests are the same, and their answers are known.

    Attributes
    ----------
    bound
        The metric's status; `score` may be called only where it is "ok".
    calls
        How many distinct captions were computed, those from the cache left out.
    """

    def __init__(self, metric: Metric, dataset: CaptionDataset, store: Store) -> None:
        self.bound = bind(metric, dataset, store, fetch=True)
        self.calls = 0
        self._store = store
        self._prepared = False
        self._contexts: dict[int, bytes] = {}
        self._memory: dict[tuple[str, int], npt.NDArray[np.float64]] = {}

    @property
    def column(self) -> int:
        """The column that stands for the metric."""
        return headline_column(self.bound.columns)

    def score(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.float64]:
        """[n] The column's score of n captions, with its sign turned where lower is better."""
        scorer = self.bound.scorer
        if scorer is None:
            raise ValueError(f"{self.bound.family} cannot be attacked: {self.bound.reason}")
        items = list(zip(captions, image_index.tolist(), strict=True))
        unknown = [item for item in dict.fromkeys(items) if item not in self._memory]
        namespace = "search:" + json.dumps(scorer.signatures)
        new = {index for _, index in unknown} - self._contexts.keys()
        self._contexts |= {index: scorer.context(index) for index in new}
        keys = {(text, index): item_key(self._contexts[index], text) for text, index in unknown}
        width = 8 * len(scorer.columns)
        if scorer.cacheable:
            known = self._store.get_many(namespace, list(keys.values()))
            values = {item: known.get(key, b"") for item, key in keys.items()}
            self._memory |= {i: np.frombuffer(v) for i, v in values.items() if len(v) == width}
        todo = [item for item in unknown if item not in self._memory]
        if todo and not self._prepared:
            scorer.prepare()
            self._prepared = True
        for start in range(0, len(todo), scorer.batch_size):
            part = todo[start : start + scorer.batch_size]
            rows = checked_scores(
                scorer, [text for text, _ in part], np.array([i for _, i in part], dtype=np.intp)
            )[:, : len(scorer.columns)]
            self.calls += len(part)
            self._memory |= dict(zip(part, rows, strict=True))
            if scorer.cacheable:
                fresh = {keys[item]: row.tobytes() for item, row in zip(part, rows, strict=True)}
                self._store.put_many(namespace, fresh)
        sign = 1.0 if self.bound.columns[self.column].higher_is_better else -1.0
        return sign * np.array([self._memory[item][self.column] for item in items])

    def close(self) -> None:
        """Release what the metric holds."""
        self._memory.clear()
        if self.bound.scorer is not None:
            self.bound.scorer.close()


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
        groups = [(h, *r) for h, r in zip(dataset.human, dataset.references, strict=True)]
        humans = [text for group in groups for text in group]
        index = np.repeat(np.arange(len(dataset)), [len(group) for group in groups])
        scores = self.scores(humans, index)
        self.seen = np.isin(np.arange(len(dataset)), index[np.isnan(scores)])
        self._intervals = _intervals(humans, scores)
        lengths = [len(text.split()) for text in humans]
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
        lengths = [len(text.split()) for text in captions]
        low, high = np.array([self.interval(n) for n in lengths]).reshape(-1, 2).T
        human = np.array([self.lengths[0] <= n <= self.lengths[1] for n in lengths], dtype=bool)
        return human & (low <= scores) & (scores <= high)

    def interval(self, length: int) -> tuple[float, float]:
        """The interval of LM for captions of that many words."""
        nearest = min(self._intervals, key=lambda n: (abs(n - length), n))
        return self._intervals[nearest]


def _intervals(
    captions: Sequence[str], scores: npt.NDArray[np.float64]
) -> dict[int, tuple[float, float]]:
    scored = ~np.isnan(scores)
    lengths = np.array([len(text.split()) for text in captions])[scored]
    intervals = {}
    for n in np.unique(lengths).tolist():
        distance = abs(lengths - n)
        farthest = np.sort(distance)[:_LEAST][-1]
        values = scores[scored][distance <= farthest]
        low, high = np.quantile(values, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
        intervals[n] = float(low), float(high)
    return intervals
