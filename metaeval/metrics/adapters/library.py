"""Metrics of libraries, one caption at a time: torchmetrics, Hugging Face evaluate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.own import OwnMetric, OwnScorer, check_returned_scores
from metaeval.metrics.base import FOREIGN_BATCH, Scores
from metaeval.options import checked
from metaeval.readers.files import user_path
from metaeval.runs.source import imported
from metaeval.runs.store import Store

_GIVEN = frozenset({"references"})

OneScore = Callable[[str, list[str]], Any]


class LibraryMetric(OwnMetric):
    """A metric that is called for one caption and its references at a time.

    One at a time, because such metrics add up over all that they have seen: a corpus score is not
    the score of a caption.

    Parameters
    ----------
    library
        The package that has to be there.
    code
        What enters the signature with its source, as soon as the library is there.
    references
        "all": the caption is given with all references. "each": with one after the other, for
        metrics that know only one; the best counts.
    own
        See `OwnMetric`.
    """

    library: str

    @checked
    def __init__(self, name: str, references: Literal["all", "each"] = "all", **own: Any) -> None:
        super().__init__(name, **own)
        self.references = references

    @abstractmethod
    def one_score(self) -> OneScore:
        """The function that scores a caption, made when captions are to be scored."""

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> LibraryScorer | Absent:
        absent = missing_packages(self.library, self.library) or self.missing_part(dataset)
        if absent is not None:
            return absent
        code = self.code()
        settings = {**self.settings(code, store), "refs": self.references}
        return LibraryScorer(self, settings, dataset, store, code, _GIVEN)

    @abstractmethod
    def code(self) -> Any:
        """The class of the library's metric; ConfigError where it is none."""


class LibraryScorer(OwnScorer):
    """A library's metric over a dataset's captions."""

    metric: LibraryMetric
    batch_size = FOREIGN_BATCH  # between two writes to the cache: each call has one caption

    def prepare(self) -> None:
        super().prepare()
        self._score = self.metric.one_score()

    def values(self, captions: list[str], image_index: npt.NDArray[np.intp]) -> Scores:
        rows = [
            self.call([k], partial(self._best, caption, self.references[i]))
            for k, (caption, i) in enumerate(zip(captions, image_index.tolist(), strict=True))
        ]
        return np.concatenate(rows)

    def _best(self, caption: str, references: list[str]) -> Scores:
        names = self.metric.names
        if self.metric.references == "all":
            return check_returned_scores(self._score(caption, references), 1, names)
        each = [check_returned_scores(self._score(caption, [one]), 1, names) for one in references]
        best = np.max if self.metric.higher_is_better else np.min
        return best(np.concatenate(each), axis=0, keepdims=True)


class TorchmetricsMetric(LibraryMetric):
    """A text metric of torchmetrics: `metric.torchmetrics.metric=torchmetrics.text.CHRFScore`.

    It is given `update([caption], [references])`; with `references: each` `update([caption],
    [reference])`, as word error rates expect. Where `compute` gives a mapping (ROUGEScore), its
    keys are chosen as `columns`. `higher_is_better` is by default what the class says.

    Parameters
    ----------
    metric
        The class, by name or itself; `options` are the arguments that it is made with.
    name, references, columns, bounds, tokenizer, options, files
        See `LibraryMetric` and `OwnMetric`; the name is by default the class's.
    """

    library = "torchmetrics"

    def __init__(
        self,
        metric: str | type | None = None,
        name: str | None = None,
        higher_is_better: bool | None = None,
        **own: Any,
    ) -> None:
        option = "metric.torchmetrics.metric"
        if metric is None:
            raise ConfigError(f"give the metric's class: {option}=torchmetrics.text.CHRFScore")
        self.metric_class: Any = metric
        if isinstance(metric, str) and find_spec(metric.partition(".")[0]) is not None:
            self.metric_class = imported(metric, option)
        if not isinstance(self.metric_class, str):
            if not all(hasattr(self.metric_class, method) for method in ("update", "compute")):
                raise ConfigError(f"{option}: {metric} has no update and compute")
            if higher_is_better is None:
                higher_is_better = getattr(self.metric_class, "higher_is_better", None)
        title = str(getattr(self.metric_class, "__name__", metric)).rpartition(".")[2]
        super().__init__(name or title, higher_is_better=higher_is_better is not False, **own)

    def code(self) -> Any:
        return self.metric_class

    def one_score(self) -> OneScore:
        try:
            metric = self.metric_class(**self.options)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"metric.torchmetrics.options: {error}") from None

        def score(caption: str, references: list[str]) -> Any:
            metric.reset()
            metric.update([caption], references if self.references == "each" else [references])
            return _flat(metric.compute())

        return score


class EvaluateMetric(LibraryMetric):
    """A module of Hugging Face evaluate, from a local path: `metric.evaluate.module=FOLDER`.

    It is given `compute(predictions=[caption], references=[references])`. The result's keys are
    chosen as `columns`, by default the one that is called as the module is. Nothing is fetched: a
    name without a folder is refused.

    Parameters
    ----------
    module
        The folder or the .py file of the metric's module. `options` are arguments of `compute`.
    name, references, columns, bounds, higher_is_better, tokenizer, options, files
        See `LibraryMetric` and `OwnMetric`.
    """

    library = "evaluate"

    def __init__(
        self,
        module: str | Path | None = None,
        name: str | None = None,
        columns: list[str] | None = None,
        files: Sequence[str] = (),
        **own: Any,
    ) -> None:
        option = "metric.evaluate.module"
        if module is None:
            raise ConfigError(f"give the folder of the metric's module: {option}=FOLDER")
        self.module = user_path(module).resolve()
        if not self.module.exists():
            raise ConfigError(
                f"{option}: module {module} not found (nothing is downloaded); give its folder"
            )
        script = self.module / f"{self.module.name}.py" if self.module.is_dir() else self.module
        if not script.is_file():
            raise ConfigError(f"{option}: {script} not found")
        modules = sorted(str(path) for path in script.parent.glob("*.py"))
        name = name or script.stem
        super().__init__(name, columns=columns or [name], files=[*modules, *files], **own)

    def code(self) -> Any:
        return EvaluateMetric  # the module's files are in the signature

    def one_score(self) -> OneScore:
        import evaluate

        loaded = evaluate.load(str(self.module), keep_in_memory=True)

        def score(caption: str, references: list[str]) -> Any:
            given = references if self.references == "each" else [references]
            return _flat(loaded.compute(predictions=[caption], references=given, **self.options))

        return score


def _flat(value: Any) -> Any:
    """A result of one caption: lists and tensors of one number as that number."""
    if isinstance(value, Mapping):
        return {key: _flat(each) for key, each in value.items()}
    if np.ndim(value) == 1 and len(value) == 1:
        return value[0]
    return value
