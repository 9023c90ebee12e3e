"""Your own function as a metric: `metric=[callable] metric.callable.function=module.name`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.coco import CocoScorerMetric
from metaeval.metrics.adapters.own import (
    OwnMetric,
    OwnScorer,
)
from metaeval.metrics.base import FOREIGN_BATCH, Metric, Scores
from metaeval.options import PositiveInt, checked, options_of
from metaeval.runs.source import UNSAVED, imported
from metaeval.runs.store import Store

# the names of parameters → what they are given, for many captions at once or for one
GIVEN = {
    "references": "references",
    "images": "images",
    "image": "images",
    "objects": "objects",
    "image_ids": "ids",
    "image_id": "ids",
}


class FunctionMetric(OwnMetric):
    """Any Python function that scores captions.

    The first parameter is given the captions. Further ones are recognised by their names:
    `references` (a list of strings a caption), `images` (the path of an image file), `objects`
    (`metaeval.data.dataset.Objects`), `image_ids`. Others come from `options`. So

        def my_score(captions, references): ...           # lists of n
        def my_score(caption, references, image): ...     # with batched=false, of one caption

    are both fine, and a function without `references` is a reference-free metric. It returns n
    numbers (or one), or with several `columns` a mapping from their names. `None` and NaN mean "not
    scored"; a caption whose references or image file are missing is not scored.

    Parameters
    ----------
    function
        "my_module.my_score", found in the current folder or installed; or the function itself. A
        class whose objects can be called is made with `options`.
    batched
        Whether it takes many captions at once.
    batch_size
        How many. Calls do not depend on how long they take. A smaller number shows progress more
        often, and less is lost with a run that is killed.
    workers
        How many calls are made at once, in threads.
    name, columns, bounds, higher_is_better, tokenizer, options, files, on_error, retries, timeout
        See `OwnMetric`; the name is by default the function's.
    """

    @checked
    def __init__(
        self,
        function: str | Callable[..., Any] | None = None,
        name: str | None = None,
        batched: bool = True,
        batch_size: PositiveInt = FOREIGN_BATCH,
        workers: PositiveInt = 1,
        **own: Any,
    ) -> None:
        option = "metric.callable.function"
        if function is None:
            raise ConfigError(f"give the function: {option}=my_module.my_score")
        self.function = imported(function, option) if isinstance(function, str) else function
        if not callable(self.function):
            raise ConfigError(f"{option}: '{function}' is {type(self.function).__name__}")
        super().__init__(name or str(getattr(self.function, "__name__", "callable")), **own)
        self.batched = batched
        self.batch_size = batch_size
        self.workers = workers
        self.is_class = inspect.isclass(self.function)
        # of an object, or a function within one, the source does not contain all that it depends on
        plain = self.is_class or inspect.isfunction(self.function)
        closure = getattr(self.function, "__closure__", None)
        self.has_state = not isinstance(function, str) and (not plain or bool(closure))
        self.title = str(getattr(self.function, "__name__", self.name))
        called: Any = self.function
        if self.is_class:
            called = inspect.getattr_static(self.function, "__call__", None)
            if called is None or "__call__" not in dir(self.function):
                raise ConfigError(f"{option}: objects of the class {self.title} cannot be called")
        self.parameters = _parameters(called, {} if self.is_class else self.options, self.title)
        self.given = frozenset(self.parameters.values())
        self.needs = self.given & {"references", "images", "objects"}  # type: ignore[misc]

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> FunctionScorer | Absent:
        if (absent := self.missing_part(dataset) or self.missing_tokenizer()) is not None:
            return absent
        settings = self.settings(self.function, store)
        if self.batched:
            settings["batch"] = str(self.batch_size)
        scorer = FunctionScorer(self, settings, dataset, store, self.function, self.given)
        if self.has_state:
            scorer.add_source(UNSAVED)
        return scorer


class FunctionScorer(OwnScorer):
    """A function that scores a dataset's captions."""

    metric: FunctionMetric

    def __init__(self, metric: FunctionMetric, *bound: Any) -> None:
        super().__init__(metric, *bound)
        self.batch_size = metric.batch_size * metric.workers

    def prepare(self) -> None:
        super().prepare()
        self._function: Any = self.metric.function
        self._options = self.metric.options
        if self.metric.is_class:
            self._function, self._options = self._function(**self._options), {}

    def values(self, captions: list[str], image_index: npt.NDArray[np.intp]) -> Scores:
        metric, index = self.metric, image_index.tolist()
        given = {name: self._looked_up(what, index) for name, what in metric.parameters.items()}
        n, size = len(captions), metric.batch_size if metric.batched else 1
        parts = [list(range(k, min(k + size, n))) for k in range(0, n, size)]

        def scores_of(part: list[int]) -> Scores:
            def call() -> Any:
                these = {name: [values[k] for k in part] for name, values in given.items()}
                texts = [captions[k] for k in part]
                if not metric.batched:
                    one = {name: values[0] for name, values in these.items()}
                    return self._function(texts[0], **one, **self._options)
                returned = self._function(texts, **these, **self._options)
                if returned is None:
                    raise TypeError(f"{metric.title} returned nothing")
                return returned

            return self.call(part, call)

        if metric.workers == 1:
            return np.concatenate([scores_of(part) for part in parts])
        with ThreadPoolExecutor(metric.workers) as pool:
            return np.concatenate(list(pool.map(scores_of, parts)))

    def _looked_up(self, what: str, index: Sequence[int]) -> list[Any]:
        if what == "references":
            return [list(self.references[i]) for i in index]
        if what == "images":
            return [self.paths[i] for i in index]
        if what == "objects":
            return [self.objects(i) for i in index]
        return [self.dataset.image_ids[i] for i in index]


def _parameters(
    function: Callable[..., Any], options: Mapping[str, object], name: str
) -> dict[str, str]:
    """The function's parameters that metaeval fills, except the first → with what.

    Raises ConfigError for a parameter without a value, and for an unknown option.
    """
    try:
        parameters = dict(inspect.signature(function).parameters)
        parameters.pop("self", None)
    except (TypeError, ValueError):
        raise ConfigError(
            f"{name}: its parameters cannot be read; wrap it in a function of your own"
        ) from None
    kinds = {p.kind for p in parameters.values()}
    if not parameters or next(iter(parameters.values())).kind is inspect.Parameter.KEYWORD_ONLY:
        raise ConfigError(f"{name}: its first parameter must take the captions")
    parameters.pop(next(iter(parameters)))
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for option in options:
            if option not in parameters:
                raise ConfigError(f"{name} has no parameter '{option}'")
    filled = {p: GIVEN[p] for p in parameters if p in GIVEN and p not in options}
    for p, parameter in parameters.items():
        variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        missing = parameter.default is parameter.empty and not variable
        if missing and p not in filled and p not in options:
            raise ConfigError(
                f"{name}: parameter '{p}' has no value; metaeval fills {', '.join(GIVEN)}; "
                f"anything else comes from options: metric.callable.options={{{p}: …}}"
            )
    return filled


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
        return maker(thing, **{**given, "options": {**given.get("options", {}), **own}})
    raise ConfigError(f"{what!r:.60} is not a metric; give a Metric, a function or a scorer")
