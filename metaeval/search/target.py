"""The metric under attack: a function from captions to scores, through the score cache."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, item_key
from metaeval.scoring import bind, checked_scores


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

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher score of that column is a better one."""
        return self.bound.columns[self.column].higher_is_better

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
        keys = {item: item_key(self._context(item[1]), item[0]) for item in unknown}
        width = 8 * len(scorer.columns)
        if scorer.cacheable:
            known = self._store.get_many(namespace, list(keys.values()))
            for item in unknown:
                value = known.get(keys[item], b"")
                if len(value) == width:
                    self._memory[item] = np.frombuffer(value)
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
                values = {keys[item]: row.tobytes() for item, row in zip(part, rows, strict=True)}
                self._store.put_many(namespace, values)
        sign = 1.0 if self.higher_is_better else -1.0
        return sign * np.array([self._memory[item][self.column] for item in items])

    def close(self) -> None:
        """Release what the metric holds."""
        self._memory.clear()
        if self.bound.scorer is not None:
            self.bound.scorer.close()

    def _context(self, index: int) -> bytes:
        if index not in self._contexts:
            assert self.bound.scorer is not None
            self._contexts[index] = self.bound.scorer.context(index)
        return self._contexts[index]
