"""The base of all results: frozen models, estimates with intervals, and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from metaeval.runs.records import ScoreColumn, Tally, TrainingFacts
from metaeval.stats.resampling.bootstrap import IntervalEstimate, percentile_interval


def undefined_as_none(value: Any) -> Any:
    """NaN and infinities as `None`: JSON has no other way to write "undefined"."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


# A number that may be undefined: NaN when it is computed, `None` in the result and null in JSON.
Number = Annotated[float | None, BeforeValidator(undefined_as_none)]
# A single value of a table.
Cell = Annotated[bool | int | float | str | None, BeforeValidator(undefined_as_none)]


class Model(BaseModel):
    """A frozen record with named fields; a field that it does not declare is an error.

    NumPy scalars and arrays are accepted where Python's numbers and tuples are declared.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")

    @model_validator(mode="before")
    @classmethod
    def _without_numpy(cls, data: Any) -> Any:
        return {k: _plain(v) for k, v in data.items()} if isinstance(data, dict) else data


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


class Estimate(Model):
    """A statistic with its confidence interval.

    Attributes
    ----------
    value
        The statistic; `None` where it is undefined.
    low, high
        The ends of the interval, at the run's confidence; `None` without an interval.
    n
        The number of items behind the value; `None` where the result gives it elsewhere.
    """

    value: Number
    low: Number = None
    high: Number = None
    n: int | None = None

    @classmethod
    def of(cls, estimate: IntervalEstimate) -> Estimate:
        """From a statistic with its interval."""
        return cls(**estimate._asdict())

    @classmethod
    def resampled(
        cls, value: Any, replicates: Any, confidence: float, n_units: int, n: int | None = None
    ) -> Estimate:
        """A statistic of n items with the `percentile_interval` of its replicates."""
        low, high = percentile_interval(replicates, confidence, n_units)
        return cls(value=value, low=low, high=high, n=n)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, or `None` where one is missing."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def is_inside(self) -> bool:
        """Whether the interval, where there is one, contains the value (to 1e-9)."""
        if self.value is None or self.interval is None:
            return True
        low, high = self.interval
        return low - 1e-9 <= self.value <= high + 1e-9


class Test(Model):
    """A test of a difference.

    Attributes
    ----------
    p, p_adjusted
        The p-value, and the same corrected over the family; `None` where it is undefined.
    method
        The method: "bootstrap", "permutation", "williams" …
    family
        The hypotheses of the correction, in words: "17 metrics, each pair".
    decidable
        False where no test was made, or no data could have given a significant result with so few
        replicates.
    """

    __test__ = False  # pytest should not collect it

    p: Number
    p_adjusted: Number
    method: str
    family: str = ""
    decidable: bool = True


Status = Literal["ok", "skipped", "failed"]
NEW = "new"  # of a version in `TrainingFacts.versions`: the training drew nothing like it
CHOSEN, TRAINED = "chosen on this experiment", "trained on captions corrupted like these"


class Measured(Model):
    """The numbers of one metric.

    Attributes
    ----------
    values
        Key of a measure → its estimate; a measure that is not defined for the metric is left out.
    facts
        Other single values by name: how many ties, which direction.
    """

    values: Mapping[str, Estimate]
    facts: Mapping[str, Cell] = {}

    def __getitem__(self, key: str) -> Estimate:
        return self.values[key]

    def value(self, key: str) -> float | None:
        """The value of a measure; `None` where the metric has none."""
        return self.values[key].value if key in self.values else None


class MetricResult(Model):
    """One score column of a run.

    Attributes
    ----------
    column
        What the score is.
    family
        The metric that it belongs to, as the configuration calls it.
    citation
        Keys of what a paper that uses it cites; empty where it is not known.
    signature
        Its exact identity; `None` where the metric did not run.
    status, reason, remedy
        "ok", "skipped" (an input is missing) or "failed" (it raised an error), why, and what helps.
    on_request
        Whether it was skipped as the user asked for no scores (a dry run).
    counts
        What the metric counted besides its scores.
    training
        What its models have learned from; `None` where it has none, or nothing is known.
    statistics
        The numbers of the experiment; `None` where the metric did not run.
    """

    column: ScoreColumn
    family: str
    citation: tuple[str, ...] = ()
    signature: str | None = None
    status: Status = "ok"
    reason: str | None = None
    remedy: str | None = None
    on_request: bool = False
    counts: tuple[Tally, ...] = ()
    training: TrainingFacts | None = None
    statistics: Measured | None = None

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def ok(self) -> bool:
        """Whether the metric ran."""
        return self.status == "ok"

    def why_not_ranked(self, experiment: str) -> str:
        """How it has learned from the test, so that its value is not comparable with those of other
        metrics: it was chosen on this experiment, or trained on captions corrupted like those of
        the run. Empty where it was not."""
        if self.training is None:
            return ""
        if experiment in self.training.chosen_on:
            return CHOSEN
        return TRAINED if set((self.training.versions or {}).values()) - {NEW} else ""

    @property
    def numbers(self) -> Measured:
        """The statistics of a metric that ran; a ValueError where it did not."""
        if self.statistics is None:
            raise ValueError(f"'{self.name}' has no statistics; its status is {self.status}")
        return self.statistics
