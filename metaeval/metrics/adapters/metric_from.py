"""A metric from a user's object by name: a `Metric`, a function, a pycocoevalcap scorer."""

from __future__ import annotations

from typing import Any

from metaeval.errors import ConfigError
from metaeval.metrics.adapters.coco import CocoScorerMetric
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.base import Metric
from metaeval.options import options_of
from metaeval.runs.source import imported


def metric_from(what: Any, **options: Any) -> Metric:
    """The metric of an object, or of its path "my_module.MyMetric".

    Taken are a `Metric` or its class, a class with `compute_score(gts, res)` and any function of
    captions; of the last two, options that metaeval does not know are arguments of the class or
    function. Raises ConfigError for anything else, and for options that it has not.
    """
    thing = imported(what, "metric") if isinstance(what, str) else what
    if isinstance(thing, type) and issubclass(thing, Metric):
        try:
            return thing(**options)
        except TypeError as error:
            raise ConfigError(f"{thing.__name__}: {error}") from None
    if isinstance(thing, Metric):
        return thing
    if callable(thing):
        is_scorer = isinstance(thing, type) and hasattr(thing, "compute_score")
        maker = CocoScorerMetric if is_scorer else FunctionMetric
        known, _ = options_of(maker)
        given = {name: value for name, value in options.items() if name in known}
        own = {name: value for name, value in options.items() if name not in known}
        made: Metric = maker(thing, **{**given, "options": {**given.get("options", {}), **own}})
        return made
    raise ConfigError(f"{what!r:.60} is not a metric; give a Metric, a function or a scorer")
