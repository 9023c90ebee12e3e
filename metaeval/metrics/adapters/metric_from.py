"""A metric from a user's object by name: a `Metric`, a function, a pycocoevalcap scorer."""

from __future__ import annotations

from typing import Any

from metaeval.errors import ConfigError
from metaeval.metrics.adapters.coco import CocoScorerMetric
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.base import Metric
from metaeval.runs.source import imported


def metric_from(what: Any, **options: Any) -> Metric:
    """The metric of an object, or of its path "my_module.MyMetric".

    Taken are a `Metric` or its class, a class with `compute_score(gts, res)` and any function of
    captions. Raises ConfigError for anything else, and for options that it has not.
    """
    thing = imported(what, "metric") if isinstance(what, str) else what
    if isinstance(thing, type) and issubclass(thing, Metric):
        try:
            return thing(**options)
        except TypeError as error:
            raise ConfigError(f"{thing.__name__}: {error}") from None
    if isinstance(thing, Metric):
        return thing
    if isinstance(thing, type) and hasattr(thing, "compute_score"):
        return CocoScorerMetric(thing, **options)
    if callable(thing):
        return FunctionMetric(thing, **options)
    raise ConfigError(f"{what!r:.60} is not a metric; give a Metric, a function or a scorer")
