"""The result of an experiment as measures and extras: what every page, table and sweep can read.

An experiment declares its measures, gives each metric its numbers, and adds the comparisons behind
every mark. What one page alone shows is an `Extra`: a plain table with a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import pandas as pd
from pydantic import Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from metaeval.options import unknown
from metaeval.results.base import Cell, Estimate, MetricResult, Model
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.run import SCHEMA, Measure

Entry = TypeVar("Entry")
SETS, EXAMPLES = "sets", "examples"  # extras of several experiments that other modules read
SWEEP = "sweep"  # the experiment of a result that has the measures of several runs, by settings


class Extra(Model):
    """A named table that only a page shows.

    Attributes
    ----------
    name
        Its name in statistics.json and, as a file, in `tables/`.
    title
        What it shows: the caption.
    kind
        How a page shows it: "table"; "matrix" (first column: names of rows; the others: numbers);
        "curves" (columns: line, x, y, low, high); "examples" (cards, a row each); "data" (not
        shown).
    columns, rows
        The cells. `NAME_low` and `NAME_high` are the ends of the interval of `NAME`.
    folded
        Whether the page shows it only on request.
    """

    name: str
    title: str
    kind: Literal["table", "matrix", "curves", "examples", "data"] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False

    @model_validator(mode="after")
    def _rectangular(self) -> Extra:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"rows of '{self.name}' do not have {len(self.columns)} cells each")
        return self

    @classmethod
    def of(
        cls, name: str, title: str, records: Iterable[Mapping[str, Any]], **options: Any
    ) -> Extra:
        """From records; the columns are all their keys, in the order of their first use.

        An `Estimate` under NAME becomes NAME, NAME_low and NAME_high.
        """
        flat = [_flat(record) for record in records]
        columns = tuple(dict.fromkeys(key for record in flat for key in record))
        rows = tuple(tuple(record.get(key) for key in columns) for record in flat)
        return cls(name=name, title=title, columns=columns, rows=rows, **options)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    @property
    def main_columns(self) -> list[str]:
        """The columns that are not the end of another column's interval."""
        ends = {f"{column}_{end}" for column in self.columns for end in ("low", "high")}
        return [column for column in self.columns if column not in ends]

    def frame(self) -> pd.DataFrame:
        """The rows as a table of pandas."""
        return pd.DataFrame(list(self.rows), columns=list(self.columns))


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Estimate):
            flat |= {key: value.value, f"{key}_low": value.low, f"{key}_high": value.high}
        else:
            flat[key] = value
    return flat


class PublishedValues(Model):
    """What a paper prints, next to the values of a run.

    Attributes
    ----------
    source
        The paper.
    values
        Metric → key of a measure → the printed value, in the measure's unit.
    why_not
        Why the values cannot be compared with those of this run; `None` where they can.
    """

    source: str
    values: Mapping[str, Mapping[str, float]] = {}
    why_not: str | None = None


class SystemRanking(Model):
    """The scores of systems by one metric, and the tests between them.

    Attributes
    ----------
    scores
        System → its score, best first; systems without a score come last. `n` counts its images.
    best
        Which value is better.
    digits
        Decimals of a score in print.
    comparisons
        All pairs of systems that have a score, the better one as `a`.
    baseline, against_baseline
        The system that every other one is tested against, and these tests; `None` without one.
    """

    scores: Mapping[str, Estimate]
    best: Literal["highest", "lowest"] = "highest"
    digits: int = 4
    comparisons: Comparisons
    baseline: str | None = None
    against_baseline: Comparisons | None = None

    @property
    def ranking(self) -> list[str]:
        """The systems that have a score, best first."""
        return [name for name, score in self.scores.items() if score.value is not None]

    @property
    def is_decidable(self) -> bool:
        """Whether some test of a pair could have been significant."""
        return any(test.decidable for pair in self.comparisons.pairs for test in pair.tests)

    @property
    def leaders(self) -> list[str]:
        """The best system and those that no test separates from it; none without such a test."""
        ranking = self.ranking
        if not ranking or not self.is_decidable:
            return []
        best, *others = ranking
        return [best, *self.comparisons.not_below(best, others, lowest=self.best == "lowest")]

    def letters(self) -> dict[str, str]:
        """System → its letters: two systems share a letter unless a test separates them."""
        if not self.is_decidable:
            return dict.fromkeys(self.scores, "")
        return dict.fromkeys(self.scores, "") | self.comparisons.letters(self.ranking)

    def against(self, system: str) -> Literal["better", "worse", ""]:
        """Whether a system is significantly better or worse than the baseline."""
        if self.baseline is None or self.against_baseline is None:
            return ""
        pair = self.against_baseline.between(system, self.baseline)
        if pair is None or not pair.is_significant(self.against_baseline.alpha):
            return ""
        sign = 1 if self.best == "highest" else -1
        return "better" if sign * (pair.difference.value or 0.0) > 0 else "worse"


class MeasuredResult(Model):
    """The result of an experiment; it declares what it measures.

    Attributes
    ----------
    schema_version
        The version of the file's schema; "schema" in the file.
    experiment, dataset
        Their names.
    metrics
        One entry for each score column, in the order of the configuration.
    title
        What a reader calls the data: "Flickr8k-Expert".
    facts
        The data in a few facts, as the head of a page shows them.
    settings
        What the statistics depend on, besides the data.
    declared
        The measures, the one that answers the question first.
    comparisons
        Key of a measure → all pairs of ranked metrics; the family of the correction.
    controls
        Key of a measure → every ranked metric against the best control.
    people, people_note
        Key of a measure → what people reach; and what that is, where a metric may be above it.
    own
        The columns that the user's code or scores give.
    published
        Printed values, one entry a source.
    systems
        Of an experiment that ranks systems: what they are ranked by → their scores; what answers
        the question first.
    extras
        Tables that only the page shows.
    notes
        What a reader may look up, in short: folded on the page.
    caveat
        The one fact that would change a reader's decision; empty where there is none.
    resampled
        The replicates behind the intervals, as `Resampled`; written to a file of their own.
    """

    schema_version: Literal[2] = SCHEMA
    experiment: str
    dataset: str
    metrics: tuple[MetricResult, ...]
    title: str = ""
    facts: Mapping[str, Cell] = {}
    settings: Mapping[str, Cell | tuple[Cell, ...]] = {}
    declared: tuple[Measure, ...]
    comparisons: Mapping[str, Comparisons] = {}
    controls: Mapping[str, AgainstControl] = {}
    people: Mapping[str, Estimate] = {}
    people_note: str = ""
    own: tuple[str, ...] = ()
    published: tuple[PublishedValues, ...] = ()
    systems: Mapping[str, SystemRanking] = {}
    extras: tuple[Extra, ...] = ()
    notes: tuple[str, ...] = ()
    caveat: str = ""
    resampled: SkipJsonSchema[tuple[Any, ...]] = Field(default=(), exclude=True, repr=False)

    @field_validator("metrics")
    @classmethod
    def _each_once(cls, metrics: tuple[Any, ...]) -> tuple[Any, ...]:
        seen = set()
        for entry in metrics:
            if entry.name in seen:
                raise ValueError(f"the metric {entry.name!r} occurs twice")
            seen.add(entry.name)
        return metrics

    def metric(self, name: str) -> MetricResult:
        """The entry of a column. Raises KeyError where the run has no such column."""
        return self._of_name("metric", {entry.name: entry for entry in self.metrics}, name)

    @property
    def visible(self) -> tuple[MetricResult, ...]:
        """The entries that a page shows, controls last: a part of a metric that did not run is left
        out."""
        shown = (m for m in self.metrics if m.ok or m.column.part_of is None)
        return tuple(sorted(shown, key=lambda m: m.column.control or m.column.untrained))

    @property
    def lower_is_better(self) -> frozenset[str]:
        """The columns of which a lower score is better."""
        return frozenset(m.name for m in self.metrics if not m.column.higher_is_better)

    def counted(self) -> list[tuple[str, str]]:
        """(metric, what it counted) of every metric whose counts are not all 0: captions that were
        cut, images that are not there. The columns of one metric have the same counts."""
        lines: dict[tuple[str, str], str] = {}
        for entry in self.metrics:
            if text := "; ".join(str(count) for count in entry.counts if count.n):
                lines.setdefault((entry.family, text), entry.name)
        return [(name, text) for (_, text), name in lines.items()]

    def measures(self, metric: MetricResult) -> Iterator[tuple[Measure, Estimate]]:
        """The declared measures that the metric has."""
        if metric.statistics is not None:
            for measure in self.declared:
                if measure.key in metric.statistics.values:
                    yield measure, metric.statistics.values[measure.key]

    def groups(self, shown: bool = True) -> dict[str, list[Measure]]:
        """Group → its measures, either the shown or the hidden ones."""
        groups: dict[str, list[Measure]] = {}
        for measure in self.declared:
            if measure.shown == shown:
                groups.setdefault(measure.group, []).append(measure)
        return groups

    def measure(self, key: str) -> Measure:
        """The declared measure of this key. Raises KeyError where it is not declared."""
        return self._of_name("measure", {measure.key: measure for measure in self.declared}, key)

    def extra(self, name: str) -> Extra:
        """The extra of this name. Raises KeyError where the result has none."""
        return self._of_name("extra", {extra.name: extra for extra in self.extras}, name)

    def _of_name(self, what: str, entries: Mapping[str, Entry], name: str) -> Entry:
        if name not in entries:
            raise KeyError(str(unknown(f"the result of {self.experiment}", what, name, entries)))
        return entries[name]

    def comparison(self, key: str, a: str, b: str) -> Comparison | None:
        """The comparison of two metrics by a measure, as a minus b; `None` if never made."""
        return self.comparisons[key].between(a, b) if key in self.comparisons else None

    def table(self) -> pd.DataFrame:
        """One row a score column: status, and every measure as NAME, NAME_low, NAME_high."""
        rows = []
        for entry in self.metrics:
            numbers: Mapping[str, Any] = {}
            if entry.statistics is not None:
                numbers = _flat({**entry.statistics.values, **entry.statistics.facts})
            rows.append({"metric": entry.name, "status": entry.status, **numbers})
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        """The table, for a notebook."""
        return self.table().to_html(index=False, float_format="{:.3f}".format, na_rep="")


def ranked(entries: Sequence[MetricResult], measure: Measure) -> list[MetricResult]:
    """Those of the metrics that have this measure, best first; equal ones in the given order, and
    all where no value is better."""
    sign = 1 if measure.best == "lowest" else -1
    known = [m for m in entries if m.statistics and m.statistics.value(measure.key) is not None]
    if measure.best == "neither":
        return known
    return sorted(known, key=lambda m: sign * (m.numbers.value(measure.key) or 0.0))


def in_order(entries: Sequence[MetricResult], measure: Measure) -> list[MetricResult]:
    """All metrics: those that have this measure best first, then the others as they were given."""
    known = ranked(entries, measure)
    return [*known, *(m for m in entries if m not in known)]
