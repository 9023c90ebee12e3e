"""Length alone: a control that ignores a caption's content."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.tokenizers import base as tokenizers


class Length(Metric):
    """The number of words of a caption: longer is better.

    Parameters
    ----------
    tokenizer
        "ptb", "java" or "whitespace".
    """

    name = "length"
    needs = frozenset()
    columns = (ScoreColumn("Length", bounds=(0.0, float("inf")), control=True),)
    sign = 1

    def __init__(self, tokenizer: str = "ptb") -> None:
        self.tokenizer = tokenizers.get(tokenizer)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> LengthScorer | Absent:
        return self.tokenizer.missing() or LengthScorer(self)


class Brevity(Length):
    """Minus the number of words: shorter is better. Options as of `Length`."""

    name = "brevity"
    columns = (ScoreColumn("Brevity", bounds=(float("-inf"), 0.0), control=True),)
    sign = -1


class LengthScorer(Scorer):
    """The number of words, whatever the dataset; with the metric's sign."""

    batch_size = 50_000

    def __init__(self, metric: Length) -> None:
        super().__init__(metric.columns, {"tok": metric.tokenizer.signature, "v": 1})
        self._tokenizer, self._sign = metric.tokenizer, metric.sign

    def context(self, index: int) -> bytes:
        return b""

    def prepare(self) -> None:
        """Nothing depends on references or images."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        lengths = [self._sign * len(tokens) for tokens in self._tokenizer(captions)]
        return np.array(lengths, dtype=np.float64).reshape(-1, 1)
