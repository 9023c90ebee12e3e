"""The measuring engine: from outcomes of items to estimates, all pairs and the best control.

An experiment says what the items are and what outcome each has by every column; here a `Statistic`
of the outcomes is taken, resampled by image, and tested. There is one test, the same for every
statistic and experiment: Student's t of the bootstrap's error (`paired_difference`), or what a
statistic declares as its `test`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig

from metaeval.results.base import Estimate, Measured
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.files import CEILING, Resampled
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    on_common_items,
    resampled_difference,
)

Units = npt.NDArray[np.integer]
Mask = npt.NDArray[np.bool_]
ROUNDING = 1e-12  # of sums over items
Made = TypeVar("Made")


class Items(NamedTuple):
    """The n things that outcomes are of.

    Attributes
    ----------
    image
        [n] The number of each item's image, from 0: what is resampled.
    counted
        [n] The number of what `n` counts, where several items are of one (votes on one pair).
    """

    image: Units
    counted: Units | None = None

    @property
    def n_images(self) -> int:
        """How many images there are."""
        return int(self.image.max(initial=-1)) + 1

    def number_of(self, rows: Mask) -> int:
        """How many things these rows are of."""
        return int(rows.sum()) if self.counted is None else len(np.unique(self.counted[rows]))

    def resamples(self, stats: DictConfig) -> Floats:
        """[replicates, images] How often each image is in each replicate of the run's settings."""
        counts = bootstrap_counts(self.n_images, stats.replicates, stats.seed)
        return counts.astype(np.float64)


class ResampledValue(NamedTuple):
    """A statistic, its replicates, and how many units and items took part.

    `shares` is what the outcomes of each unit add to the value: two columns differ in the units in
    which their shares do.
    """

    value: float
    replicates: Floats
    n_units: int
    n: int
    shares: Floats | None = None

    def estimate(self, confidence: float) -> Estimate:
        """With its percentile interval; without a value where nothing takes part."""
        if not self.n:
            return Estimate(value=None, n=0)
        return Estimate.resampled(self.value, self.replicates, confidence, self.n_units, self.n)


def once_each(
    compute: Callable[[Floats], Made], known: Iterable[tuple[Floats, Made]] = ()
) -> Callable[[Floats], Made]:
    """A function of columns that computes equal ones once, and none of the `known` ones."""

    def digest(column: Floats) -> bytes:
        return sha256(np.where(np.isnan(column), np.nan, column).tobytes()).digest()

    values = {digest(column): value for column, value in known}

    def compute_once(column: Floats) -> Made:
        if (key := digest(column)) not in values:
            values[key] = compute(column)
        return values[key]

    return compute_once


class Statistic(ABC):
    """A number of one column of outcomes, and the test of two columns.

    `span` is the greatest difference that is possible. `test` is how a legend names the test.
    """

    span = 2.0
    test = "bootstrap"

    @abstractmethod
    def of(self, column: Floats) -> ResampledValue:
        """The statistic of a column; NaN are left out."""

    def known(self, column: Floats) -> ResampledValue:
        """As `of`; equal columns are computed once."""
        if not hasattr(self, "_once"):
            self._once = once_each(self.of)
        return self._once(column)

    def estimate(self, column: Floats, confidence: float) -> Estimate:
        """The statistic with its interval."""
        return self.known(column).estimate(confidence)

    def difference(self, a: Floats, b: Floats, confidence: float) -> PairTest:
        """The test of two columns on the items of both, before any correction."""
        first, second = map(self.known, on_common_items(a, b))
        return self.tested(first, second, confidence)

    def gap(self, a: Floats, b: Floats) -> float:
        """What a column has above another on the items of both."""
        first, second = map(self.known, on_common_items(a, b))
        return first.value - second.value

    def tested(self, first: ResampledValue, second: ResampledValue, confidence: float) -> PairTest:
        """The test of two statistics of the same items; `n` counts these."""
        moved = None
        if first.shares is not None and second.shares is not None:
            moved = int((np.abs(first.shares - second.shares) > ROUNDING).sum())
        made = resampled_difference(
            first.value,
            second.value,
            first.replicates,
            second.replicates,
            first.n_units,
            moved=moved,
            span=self.span,
            confidence=confidence,
        )
        return made._replace(method=self.test, n=first.n)


class MeanOutcome(Statistic):
    """The mean outcome; with groups of items, the mean over the groups of the mean in each.

    Parameters
    ----------
    counts
        [replicates, images] from `Items.resamples`.
    groups
        bool [n] each. The test counts the images of the smallest group.
    span
        The greatest difference of two outcomes.
    """

    def __init__(
        self,
        items: Items,
        counts: Floats,
        groups: Sequence[Mask] | None = None,
        span: float = 1.0,
    ) -> None:
        self.items, self.counts, self.span = items, counts, span
        self.groups = [np.ones(len(items.image), np.bool_)] if groups is None else list(groups)

    def of(self, column: Floats) -> ResampledValue:
        masks = [~np.isnan(column) & group for group in self.groups]
        image, n_images = self.items.image, self.counts.shape[1]
        total, size = (
            np.stack([np.bincount(image[m], w[m], n_images) for m in masks], axis=1)
            for w in (column, np.ones(len(column)))
        )
        # one product: it takes as long as reading the counts does
        drawn = self.counts @ np.concatenate([total, size], axis=1)
        with np.errstate(invalid="ignore"):
            each = total.sum(axis=0) / size.sum(axis=0)
            replicates = (drawn[:, : len(masks)] / drawn[:, len(masks) :]).mean(axis=1)
        return ResampledValue(
            float(each.mean()),
            replicates,
            int((size > 0).sum(axis=0).min()),
            self.items.number_of(np.logical_or.reduce(masks)),
            (total / np.maximum(size.sum(axis=0), 1)).mean(axis=1),
        )


class Outcomes(NamedTuple):
    """The outcomes of all columns by one measure.

    Attributes
    ----------
    measure
        The measure that the statistic of the outcomes is a value of.
    columns
        Column → its outcomes; NaN without one. All arrays have one shape.
    statistic
        What is taken of them.
    family
        Measures of one family are corrected together when metrics are compared with controls;
        with "" they are not compared with controls.
    pairs
        Whether all pairs of metrics are compared.
    ceiling
        The outcomes of a perfect metric, where the value that it reaches is not certain.
    """

    measure: Measure
    columns: Mapping[str, Floats]
    statistic: Statistic
    family: str = ""
    pairs: bool = True
    ceiling: Floats | None = None

    def value(self, name: str) -> float:
        """The statistic of a column."""
        return self.statistic.known(self.columns[name]).value

    def test(self, a: str, b: str, confidence: float) -> PairTest:
        """The test of two columns, before any correction."""
        return self.statistic.difference(self.columns[a], self.columns[b], confidence)

    def gap(self, a: str, b: str) -> float:
        """What a column has above another on the items of both."""
        return self.statistic.gap(self.columns[a], self.columns[b])

    def has_gaps(self, name: str) -> bool:
        """Whether a column has no outcome of an item of which another one has."""
        known = np.logical_or.reduce([~np.isnan(column) for column in self.columns.values()])
        return bool((known & np.isnan(self.columns[name])).any())


class Measurements(NamedTuple):
    """What `measure` returns: column → key of a measure → estimate; by the measure's key all pairs
    of metrics, and every metric against the best control; and the replicates of the measures by
    which they are compared with controls."""

    values: dict[str, dict[str, Estimate]]
    comparisons: dict[str, Comparisons]
    controls: dict[str, AgainstControl]
    resampled: list[Resampled]

    def of(self, name: str, facts: Mapping[str, Any] | None = None) -> Measured | None:
        """The numbers of a column, with its facts; `None` where it has no outcomes."""
        values = self.values.get(name)
        return None if values is None else Measured(values=values, facts=facts or {})

    def result(
        self,
        scored: Iterable[MetricScores],
        facts_of: Mapping[str, Mapping[str, Any]] | None = None,
        left_out: Collection[str] = (),
        **fields: Any,
    ) -> MeasuredResult:
        """The result with these measurements: an entry a column of the metrics, with its facts;
        without the columns `left_out`. `fields` are the other ones of the result."""
        return MeasuredResult(
            metrics=tuple(
                of_metric.result(c, self.of(column.name, (facts_of or {}).get(column.name)))
                for of_metric in scored
                for c, column in enumerate(of_metric.columns)
                if column.name not in left_out
            ),
            comparisons=self.comparisons,
            controls=self.controls,
            resampled=tuple(self.resampled),
            **fields,
        )


def of_stats(stats: DictConfig) -> dict[str, Any]:
    """What every result's settings say of the run's statistics."""
    return {
        "replicates": stats.replicates,
        "confidence": stats.confidence,
        "seed": stats.seed,
    }


def level_of(confidence: float) -> float:
    """The level of tests at which intervals of this confidence do not contain 0.

    >>> level_of(0.95)
    0.05
    """
    return round(1 - confidence, 12)


def measure(
    outcomes: Iterable[Outcomes], columns: Iterable[ScoreColumn], confidence: float
) -> Measurements:
    """Estimates of all columns, all pairs of metrics, and the metrics against the best control.

    Metrics and controls are the ranked `columns` and the controls among them. A pair is compared
    on the items of both. Tests are two-sided, at the level of the intervals (`level_of`), and
    corrected by Holm's method, over the pairs of a measure, or over metrics times the measures of a
    family.
    """
    alpha = level_of(confidence)
    every, known = list(outcomes), list(columns)
    ranked = [c.name for c in known if c.is_ranked]
    controls = [c.name for c in known if c.is_control]
    made = Measurements({}, {}, {}, [])
    families: dict[str, list[Outcomes]] = {}
    for each in every:
        key = each.measure.key
        for name, column in each.columns.items():
            estimate = each.statistic.estimate(column, confidence)
            made.values.setdefault(name, {})[key] = estimate
        if each.pairs:
            names = [name for name in ranked if name in each.columns]
            tests = {(a, b): each.test(a, b, confidence) for a, b in combinations(names, 2)}
            made.comparisons[key] = Comparisons.tested(tests, key, "pairs of metrics", alpha)
        if each.family:
            families.setdefault(each.family, []).append(each)
            made.resampled.extend(_resampled(each, ranked, controls))
    for members in families.values():
        made.controls.update(_against_controls(members, ranked, controls, confidence))
    return made


def _resampled(
    outcomes: Outcomes, ranked: Sequence[str], controls: Sequence[str]
) -> Iterator[Resampled]:
    """The replicates of metrics and controls; of controls also on the items of each column that has
    gaps."""
    columns, known = outcomes.columns, outcomes.statistic.known

    def row(name: str, column: Floats, items_of: str = "") -> Resampled:
        of = known(column)
        return Resampled(
            outcomes.measure.key, name, items_of, of.value, of.n_units, of.n, of.replicates
        )

    if outcomes.ceiling is not None:
        yield row(CEILING, outcomes.ceiling)
    for name in (*ranked, *controls):
        if name in columns:
            yield row(name, columns[name])
    gapped = [n for n in (*ranked, *controls) if n in columns and outcomes.has_gaps(n)]
    for name in gapped:
        others = {c: columns[c] for c in controls if c in columns and c != name}
        if outcomes.ceiling is not None:
            others[CEILING] = outcomes.ceiling
        for other, column in others.items():
            yield row(other, on_common_items(column, columns[name])[0], name)


def _against_controls(
    family: Sequence[Outcomes],
    ranked: Sequence[str],
    controls: Sequence[str],
    confidence: float,
) -> dict[str, AgainstControl]:
    """Key of a measure → every metric against the best control; empty without either."""
    alpha = level_of(confidence)
    by_key = {each.measure.key: each for each in family}
    metrics, others = (
        [name for name in names if all(name in each.columns for each in family)]
        for names in (ranked, controls)
    )

    def test(key: str, a: str, b: str) -> PairTest:
        return by_key[key].test(a, b, confidence)

    several = ", over all groups" if len(family) > 1 else ""
    tested = against_best_control(
        {
            key: {name: each.value(name) for name in (*metrics, *others)}
            for key, each in by_key.items()
        },
        metrics,
        others,
        lambda hypotheses: [test(*each) for each in hypotheses],
        f"metrics against the best control{several}",
        alpha=alpha,
        gapped=[name for name in metrics if any(each.has_gaps(name) for each in family)],
        difference=lambda key, a, b: by_key[key].gap(a, b),
    )
    return {key: AgainstControl.of(each, key, alpha) for key, each in tested.items()}
