"""Your own function as a metric: `metric=[callable] metric.callable.function=module.name`."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.own import (
    OwnMetric,
    OwnScorer,
    check_returned_scores,
)
from metaeval.metrics.base import FOREIGN_BATCH, Metric, Scores, reference_digests
from metaeval.options import PositiveInt, checked, options_of
from metaeval.runs.source import UNSAVED, imported
from metaeval.runs.store import Store

_GIVEN = frozenset({"references"})


class CocoScorerMetric(OwnMetric):
    """Any object with `compute_score(gts, res)`, as in pycocoevalcap.

    `gts` maps image ids to references and `res` to lists of one candidate; what comes back is the
    corpus score and the scores of the images, in the order of `gts` (BLEU: a list of them for each
    column). Three things make such a scorer's numbers wrong in silence, and all are seen to here:

    - texts are tokenised first (`tokenizer`, by default "ptb", as pycocoevalcap's own script does);
    - an id stands for one image and one candidate. Several candidates of an image are scored one
      after the other;
    - what the scorer takes from the corpus (CIDEr's document frequencies) comes from *all* images
      of the dataset, each once for each set of references that it has, or as often as the protocol
      of judgments counts it: for any captions to score, every image is included, with its
      first reference in the place of a candidate where there is none to score. So the signature
      holds the number of images and a digest of all references.

    Images without a reference are left out, and their captions not scored.

    Parameters
    ----------
    scorer
        "pycocoevalcap.cider.cider.Cider", or the class; `options` are the arguments it is made
        with.
    name, columns, bounds, higher_is_better, options, files
        See `OwnMetric`; the name is by default the class's.
    """

    def __init__(
        self,
        scorer: str | type | None = None,
        name: str | None = None,
        tokenizer: str | None = "ptb",
        **options: Any,
    ) -> None:
        option = "metric.coco.scorer"
        if scorer is None:
            raise ConfigError(f"give the scorer's class: {option}=my_module.MyScorer")
        self.scorer_class = imported(scorer, option) if isinstance(scorer, str) else scorer
        if not inspect.isclass(self.scorer_class):
            raise ConfigError(f"{option}: '{scorer}' is not a class")
        if not callable(getattr(self.scorer_class, "compute_score", None)):
            raise ConfigError(f"{option}: {self.scorer_class.__name__} has no compute_score")
        super().__init__(name or self.scorer_class.__name__, tokenizer=tokenizer, **options)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> CocoScorer | Absent:
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        settings = self.settings(self.scorer_class, store)
        documents = sorted(reference_digests(dataset)[i] for i in _documents(dataset))
        digest = hashlib.sha256(b"".join(documents)).hexdigest()[:8]
        settings["corpus"] = f"{len(documents)}-images-{digest}"
        return CocoScorer(self, settings, dataset, store, self.scorer_class, _GIVEN)


class CocoScorer(OwnScorer):
    """A scorer that is called with all images at once."""

    metric: CocoScorerMetric
    batch_size = 50_000
    fixed_cost = True  # each call is a pass over all images

    def prepare(self) -> None:
        super().prepare()
        try:
            self._scorer = self.metric.scorer_class(**self.metric.options)
        except TypeError as error:
            raise ConfigError(f"metric.coco.options: {error}") from None
        groups = ((i, self.references[place]) for i, place in enumerate(_documents(self.dataset)))
        self._gts = {i: group for i, group in groups if group}
        parameters = inspect.signature(self._scorer.compute_score).parameters
        self._quiet = {"verbose": 0} if "verbose" in parameters else {}  # BLEU's prints

    def values(self, captions: list[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), len(self.columns)), np.nan)
        rounds: list[dict[int, int]] = []  # image → the place of its caption, one of each a round
        turns: dict[int, int] = {}
        for place, image in enumerate(image_index.tolist()):
            turn = turns[image] = turns.get(image, -1) + 1
            if turn == len(rounds):
                rounds.append({})
            rounds[turn][image] = place
        for references in rounds:
            res = {
                i: [captions[references[i]] if i in references else group[0]]
                for i, group in self._gts.items()
            }

            def compute(res: dict[int, list[str]] = res) -> Any:
                return self._scorer.compute_score(self._gts, res, **self._quiet)

            try:
                table = self._table(self.metric.calls.repeated(compute))
            except Exception as error:
                self.note_failure(list(references.values()), error)
                continue
            for row, i in enumerate(self._gts):
                if i in references:
                    scores[references[i]] = table[row]
        return scores

    def _table(self, returned: Any) -> Scores:
        """The scores [images, columns] in what `compute_score` returned."""
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"compute_score returned {type(returned).__name__}, not (corpus score, scores)"
            )
        each, n = returned[1], len(self._gts)
        if isinstance(each, Mapping) and not any(name in each for name in self.metric.names):
            each = [each[i] for i in self._gts]
        # as BLEU gives them: for each column the scores of the images
        if (
            isinstance(each, list | tuple)
            and len(each) > 0
            and all(isinstance(s, Sequence | np.ndarray) and len(s) == n for s in each)
        ):
            if len(each) != len(self.columns):
                raise ValueError(
                    f"gives {len(each)} scores a caption: name them, metric.coco.columns=[A,B,…]"
                )
            each = dict(zip(self.metric.names, each, strict=True))
        return check_returned_scores(each, n, self.metric.names)


def _documents(dataset: CaptionDataset) -> list[int]:
    """The positions of the dataset, and behind them again those that count several times."""
    n, times = len(dataset), np.array(dataset.documents or (), dtype=np.intp)
    return [*range(n), *np.repeat(np.arange(len(times)), times - 1).tolist()]


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
        if (absent := self.missing_part(dataset)) is not None:
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
        others = {name: value for name, value in options.items() if name not in known}
        return maker(thing, **{**given, "options": {**given.get("options", {}), **others}})
    raise ConfigError(f"{what!r:.60} is not a metric; give a Metric, a function or a scorer")
