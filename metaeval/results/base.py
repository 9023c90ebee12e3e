"""The base of all results: frozen models, estimates with intervals, and tests."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from metaeval.stats.resampling.bootstrap import IntervalEstimate


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
        return cls(value=estimate.value, low=estimate.low, high=estimate.high)

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

    def in_percent(self, missing: str = "–", digits: int = 1) -> str:
        """A share as "41.5 [34.9, 48.4]", the interval with so many digits."""
        if self.value is None:
            return missing
        text = f"{100 * self.value:.1f}"
        if self.interval is None:
            return text
        low, high = (f"{100 * end:.{digits}f}" for end in self.interval)
        return f"{text} [{low}, {high}]"


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
