"""The result of `experiment=score`: how the scores of the captions of tables are distributed."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.results.base import Model, Number
from metaeval.results.run import RunResult


class Histogram(Model):
    """Counts in bins of equal width; the last bin includes its upper edge.

    Attributes
    ----------
    low, high
        The edges of the first and of the last bin.
    counts
        Captions in each bin.
    """

    low: float
    high: float
    counts: tuple[int, ...]


class ScoreStatistics(Model):
    """The numbers of one score column, exact and over all captions that have a score.

    Every number except the counts is in the unit of the score, and `None` without any score.

    Attributes
    ----------
    n, n_nan
        Captions with and without a score.
    sd
        Standard deviation, with n - 1; `None` for fewer than two scores.
    n_lowest
        Captions whose score equals `min`.
    p5, p25, median, p75, p95
        Quantiles, with linear interpolation.
    histogram
        From `min` to `max`; one bin of width 1 around the score where all scores are equal.
    """

    n: int
    n_nan: int
    mean: Number
    sd: Number
    min: Number
    max: Number
    n_lowest: int | None
    p5: Number
    p25: Number
    median: Number
    p75: Number
    p95: Number
    histogram: Histogram | None


class ExtremeRows(Model):
    """The rows of the lowest and of the highest scores of a column, the most extreme first."""

    lowest: tuple[int, ...]
    highest: tuple[int, ...]


class RowSample(Model):
    """The rows that the page shows; row 0 is the first row of the first table.

    Attributes
    ----------
    seed
        The seed of the random draw.
    random
        Rows drawn without replacement, in ascending order.
    extremes
        Column → its extreme rows; only columns that have scores.
    """

    seed: int
    random: tuple[int, ...]
    extremes: Mapping[str, ExtremeRows]


class ScoreResult(RunResult[ScoreStatistics]):
    """The result of a run on tables of captions.

    A metric that failed on some blocks only has the status "failed", and the statistics of the
    other blocks.

    Attributes
    ----------
    n_captions
        Rows of all tables.
    n_empty
        Rows whose caption is empty.
    shown
        The rows that the page shows.
    """

    n_captions: int
    n_empty: int
    shown: RowSample
