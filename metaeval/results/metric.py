"""A run's record of one score column: its description, its status, and its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from metaeval.results.base import Cell, Estimate, Model, Number
from metaeval.runs.records import CaptionModel, DrawnCorruption, ScoreColumn, Tally

Status = Literal["ok", "skipped", "failed"]
NEW = "new"  # of a version in `TrainingRecord.versions`: the training drew nothing like it


class Spread(Model):
    """Mean and standard deviation of a statistic over training seeds."""

    mean: Number
    sd: Number


class TrainingSpread(Model):
    """What trainings that differ only in their seed gave on this run."""

    seeds: tuple[int, ...]
    rank_order_rho: Spread
    rank_order_rho_within: Spread | None = None


class TrainingRecord(Model):
    """What the models behind a metric have learned from.

    Attributes
    ----------
    caption_models
        Models that the metric is built on, trained on captions of benchmark images.
    chosen_on
        The experiments by whose results the recipe of the training was chosen.
    drawn
        The corrupted captions that the training drew.
    versions
        Version of this run → whether the training drew captions like it.
    seeds
        Results of other training seeds on this run, where they were measured.
    own
        The metric's own training in one line, by the card of its weights.
    """

    caption_models: tuple[CaptionModel, ...] = ()
    chosen_on: tuple[str, ...] = ()
    drawn: tuple[DrawnCorruption, ...] = ()
    versions: Mapping[str, str] | None = None
    seeds: TrainingSpread | None = None
    own: str | None = None


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
    training: TrainingRecord | None = None
    statistics: Measured | None = None

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def ok(self) -> bool:
        """Whether the metric ran."""
        return self.status == "ok"

    def has_learned_from(self, experiment: str) -> bool:
        """Whether it was chosen on this experiment, or trained on captions like those of the run.

        Its value is then not comparable with those of metrics that have not learned from the test.
        """
        if self.training is None:
            return False
        seen = set((self.training.versions or {}).values()) - {NEW}
        return experiment in self.training.chosen_on or bool(seen)

    @property
    def numbers(self) -> Measured:
        """The statistics of a metric that ran; a ValueError where it did not."""
        if self.statistics is None:
            raise ValueError(f"'{self.name}' has no statistics; its status is {self.status}")
        return self.statistics
