"""The contract of an experiment: what it supplies to the life of a run (`experiments/run.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import pandas as pd
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.errors import ConfigError
from metaeval.experiments.printout import printout
from metaeval.experiments.record import RunRecord, describe_dataset
from metaeval.metrics.base import Metric
from metaeval.metrics.judge.diagnostics import RatedCaption
from metaeval.results.measured import MeasuredResult
from metaeval.scoring import MetricScores

Data = TypeVar("Data")
Scores = TypeVar("Scores")


class Pass(NamedTuple):
    """One metric over one set of captions and references; `label` distinguishes several passes."""

    scored: MetricScores
    label: str = ""


class ToScore(NamedTuple):
    """Captions, and the dataset whose references they are compared with: as `score_all` has them"""

    dataset: CaptionDataset
    captions: pd.DataFrame


class Experiment(ABC):
    """A question, and what it takes to answer it. A subclass is an experiment of metrics
    (`MetricExperiment`, `Streaming`) or trains a network (`Training`).

    The head of a class gives its `name` in the configuration, its `title` and its `question`:
    `class Retrieval(MetricExperiment[…], name="retrieval", title="Retrieval", question="…?")`; and
    with the class of its `data` what it `needs`, which a user reads who gives it other data.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    question: ClassVar[str]
    data: ClassVar[type]
    needs: ClassVar[str]
    stored: ClassVar[bool]

    def __init_subclass__(cls, **facts: object) -> None:
        super().__init_subclass__()
        for fact, value in {"stored": False, **facts}.items():  # `stored` is not inherited
            setattr(cls, fact, value)

    def check(self, config: DictConfig) -> None:  # noqa: B027  (most have nothing to add)
        """Refuse, before any data is read, a configuration that makes no sense (ConfigError)."""

    def also_named(self, config: DictConfig) -> Collection[str] | None:
        """What `highlight` may name besides the metrics; `None` where that is not known yet."""
        return ()

    def load(self, config: DictConfig) -> Any:
        """The data; InputError or ConfigError where it is broken, or not for this experiment."""
        data = load_dataset(config)
        if not isinstance(data, self.data):
            raise ConfigError(self.needs)
        return data

    def printout(self, summary: Any, out: Path, file: Path) -> str:
        """What the finished run prints: of its result, and of its folder, `file` being what to open
        next."""
        return printout(summary, file)


class MetricExperiment(Experiment, Generic[Data, Scores]):
    """Versions of captions, scored by every metric, and the statistics of the scores.

    The stages are called in this order, each once. `Data` is what `load`
    gives, `Scores` what `score` gives. Nothing is written before `write_versions`.

    With `stored=True` in the head of the class, a run looks the value of `statistics` up where an
    earlier run of the same data, scores, options and code of metaeval has computed it. That is only
    right of statistics that write no files, and that depend on nothing except the options, the
    objects of the dataset, and the tables (`*.parquet`) and `run.json` of the run.
    """

    def describe(self, data: Data) -> str:
        """The data in a line: the first that a run prints; here of a dataset of captions."""
        return describe_dataset(cast(CaptionDataset, data))

    @abstractmethod
    def write_versions(self, data: Data, record: RunRecord) -> None:
        """Make the versions of the captions and write them, with their references, into the run.

        Facts of the data for `run.json` go into `record.update(dataset=…)`.
        """

    def to_score(self, data: Data, record: RunRecord) -> Iterable[ToScore]:
        """The captions that `score` would pass to metrics: written to a file with `metrics=[]`,
        for scores to be computed elsewhere."""
        raise ConfigError(f"experiment={self.name} does not run without metrics")

    @abstractmethod
    def score(self, data: Data, metrics: Mapping[str, Metric], record: RunRecord) -> Scores:
        """Score the versions with the metrics, by their names in the configuration, and write
        scores.parquet."""

    def passes(self, scores: Scores) -> Sequence[Pass]:
        """The outcome of each metric, for `run.json` and for `strict`; here of a list of them, or
        of those in `scores.metrics`."""
        given: Any = scores
        return [Pass(scored) for scored in getattr(given, "metrics", given)]

    @abstractmethod
    def statistics(self, data: Data, scores: Scores, record: RunRecord) -> MeasuredResult:
        """The result, which is written to `statistics.json`."""

    def rated_captions(self, data: Data) -> Sequence[RatedCaption]:
        """The captions that people have rated, for the diagnostics of judges."""
        return ()

    def explained(self, data: Data) -> CaptionDataset | None:
        """The images whose scores can be explained, from `captions.parquet`; `None` for none."""
        return None

    def explained_images(self, summary: Any, images: int) -> Mapping[str, Sequence[ImageId]]:
        """Column → the images to explain, at most `images` for each reason to show one."""
        return {}


class Streaming(Experiment):
    """Scores more captions than memory holds: files of scores, and what they look like."""

    @abstractmethod
    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> MeasuredResult:
        """Score, write the scores into the run, and return the result (`statistics.json`)."""


class Training(Experiment):
    """Trains a network and writes its weights, with their card, into the run's folder."""

    @abstractmethod
    def train(self, config: DictConfig, out: Path) -> dict[str, object]:
        """Train, and return the card."""
