"""Computed values against printed ones: one row per cell, with a verdict."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from metaeval.papers.expected import PaperItem
from metaeval.results.base import MetricResult
from metaeval.results.measured import MeasuredResult

Verdict = Literal[
    "equal", "within", "differs", "other model", "other data", "not published", "not run"
]

# how a verdict is shown after the printed value and ours
MARKS: Mapping[str, str] = {"equal": "✓", "within": "✓ within", "differs": "✗", "not run": ""}
NEEDS = "missing, or cause"  # the last column of the overview
OWN, COMPARED = "own", "compared"  # metrics of a paper
_ROUNDING = 1e-9  # of a printed decimal number as a binary one
# column → cell → value; the cell is "" where a column has one value
Values = Mapping[str, Mapping[str, float | None]]


class ReproducedValue(NamedTuple):
    """One cell of a table.

    Attributes
    ----------
    paper, item, metric, cell
        Where the value was printed; `cell` is empty where a column has one value.
    published, ours
        Both on the scale of the paper; `published` is `None` where the printed value is not known,
        `ours` where nothing was computed.
    difference
        ours − published, in units of the declared uncertainty (of the rounding where none is).
    verdict
        "equal": the same printed digits. "within": inside the declared uncertainty. "differs":
        outside. "other model": the metric ran with another model than the paper's. "other data":
        on other images or references. "not published": no printed value is known. "not run".
    of
        "own": the metric is the paper's. "compared": the paper compares it.
    reason
        Why the value differs or was not computed, and what would help.
    """

    paper: str
    item: str
    metric: str
    cell: str
    published: float | None = None
    ours: float | None = None
    difference: float | None = None
    verdict: Verdict = "not run"
    of: str = ""
    reason: str = ""


def counted(values: Sequence[ReproducedValue]) -> dict[str, int]:
    """Verdict → how many values have it; verdicts without a value are left out."""
    counts = Counter(value.verdict for value in values)
    return {verdict: counts[verdict] for verdict in get_args(Verdict) if counts[verdict]}


def overview(
    values: Sequence[ReproducedValue], columns: Mapping[tuple[str, str, str], str]
) -> list[dict[str, str]]:
    """A row for each metric, a column for each benchmark: the printed value, ours, and a mark.

    `columns` is (paper, item, cell) → the title of its column; of several values of a place the
    first counts. The last column says what the first missing value needs, or why one differs.
    """
    rows: dict[str, dict[str, str]] = {}
    for value in values:
        title = columns.get((value.paper, value.item, value.cell))
        if title is None or value.published is None:
            continue
        row = rows.setdefault(value.metric, dict.fromkeys(dict.fromkeys(columns.values()), ""))
        if not row[title]:
            ours = "–" if value.ours is None else f"{value.ours:.4g}"
            mark = MARKS.get(value.verdict, value.verdict)
            row[title] = " ".join(filter(None, (f"{value.published:g}", ours, mark)))
            if value.verdict in ("differs", "not run"):
                where = f"{title}: " if value.verdict == "differs" else ""
                row.setdefault(NEEDS, f"{where}{value.reason}")
    return [{"metric": metric, **row, NEEDS: row.get(NEEDS, "")} for metric, row in rows.items()]


def compare_run(paper: str, item: PaperItem, *results: MeasuredResult) -> list[ReproducedValue]:
    """The rows of an item, from the result of its run; of several, with the means of the values."""
    keys = {cell: item.value.replace("{cell}", cell) for _, cell, _ in item.printed()}
    of_runs: dict[str, dict[str, list[float | None]]] = {}
    for result in results:
        for metric in result.metrics:
            if metric.ok:
                numbers = numbers_of(result, metric)
                of_metric = of_runs.setdefault(metric.name, {})
                for cell, key in keys.items():
                    if key in numbers:
                        of_metric.setdefault(cell, []).append(numbers[key])
    values = {
        name: {cell: _mean(numbers) for cell, numbers in of_metric.items()}
        for name, of_metric in of_runs.items()
    }
    return compare_values(paper, item, values, reasons_by_column(results[0]))


def _mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if len(known) == len(numbers) else None


def numbers_of(result: MeasuredResult, metric: MetricResult) -> dict[str, float | None]:
    """The numbers of a metric: "values.MEASURE", "facts.NAME" and, where it ranks systems,
    "systems.NAME"."""
    measured = metric.numbers
    numbers = {f"values.{key}": estimate.value for key, estimate in measured.values.items()}
    numbers |= {f"facts.{k}": v for k, v in measured.facts.items() if isinstance(v, int | float)}
    if metric.name in result.systems:
        scores = result.systems[metric.name].scores
        numbers |= {f"systems.{name}": score.value for name, score in scores.items()}
    return numbers


def compare_values(
    paper: str, item: PaperItem, values: Values, skipped: Mapping[str, str] | None = None
) -> list[ReproducedValue]:
    """The rows of an item whose values are known; `skipped` is column → why it has none."""
    return [_compared(row, item, values, skipped or {}) for row in not_run_values(paper, item, "")]


def not_run_values(paper: str, item: PaperItem, reason: str) -> list[ReproducedValue]:
    """The rows of an item of which nothing could be computed."""
    return [
        ReproducedValue(paper, item.item, column, cell, value, reason=reason)
        for column, cell, value in item.printed()
    ]


def _compared(
    row: ReproducedValue, item: PaperItem, values: Values, skipped: Mapping[str, str]
) -> ReproducedValue:
    """The row with its value and verdict, or with the reason why it has none."""
    name = stand_in(row.metric, values)
    if name is None:
        known = stand_in(row.metric, skipped)
        missing = item.absent.get(row.metric, "the run has no such column")
        return row._replace(reason=missing if known is None else skipped[known])
    if row.cell not in values[name]:
        missing = f"the run has no '{row.cell or item.value}'"
        return row._replace(reason=item.absent.get(row.cell, missing))
    value = values[name][row.cell]
    if value is None:
        return row._replace(reason="the value is undefined")
    row = _judged(row, item, item.scale * value)
    return row if name == row.metric else _of_model(row, name)


def reasons_by_column(result: MeasuredResult) -> dict[str, str]:
    """Column → why it did not run, and what helps."""
    return {
        metric.name: "; ".join(filter(None, (metric.reason, metric.remedy)))
        for metric in result.metrics
        if not metric.ok
    }


def stand_in(column: str, names: Iterable[str]) -> str | None:
    """The name that stands for a printed column: its own, or one with more words in brackets.

    Of several that of the fewest words, the first of these; `None` where there is none.

    >>> names = ["FAIEr (gold objects)", "FAIEr (gold objects, no references)", "SPICE (rules)"]
    >>> stand_in("FAIEr", names), stand_in("FAIEr (no references)", names), stand_in("BLEU", names)
    ('FAIEr (gold objects)', 'FAIEr (gold objects, no references)', None)
    """
    base, words = _parsed(column)
    fitting = [name for name in names if _parsed(name).base == base]
    fitting = [name for name in fitting if _parsed(name).words >= words]
    return min(fitting, key=lambda name: len(_parsed(name).words), default=None)


class _Parsed(NamedTuple):
    base: str
    words: frozenset[str]


def _parsed(name: str) -> _Parsed:
    base, _, rest = name.partition(" (")
    return _Parsed(base, frozenset(filter(None, rest.removesuffix(")").split(", "))))


def _judged(row: ReproducedValue, item: PaperItem, ours: float) -> ReproducedValue:
    """The row with our value: its verdict, and the difference in units of the uncertainty."""
    row = row._replace(ours=ours)
    if row.published is None:
        return row._replace(verdict="not published", reason=item.unpublished)
    gap, allowed = ours - row.published, item.rounding + _ROUNDING
    uncertainty = item.uncertainties.get(row.metric, item.uncertainty)
    unit = uncertainty.value if uncertainty is not None else item.rounding
    row = row._replace(difference=gap / unit if unit else None)
    if model := item.models.get(row.metric, item.models.get("*", "")):
        reason = "; ".join(filter(None, (model, item.data)))
        return row._replace(verdict="other model", reason=reason)
    if item.data:
        return row._replace(verdict="other data", reason=item.data)
    if abs(gap) <= allowed:
        return row._replace(verdict="equal")
    if uncertainty is not None and abs(gap) <= uncertainty.value + allowed:
        return row._replace(verdict="within", reason=uncertainty.source)
    return row._replace(verdict="differs", reason=item.causes.get(row.metric, "cause unknown"))


def _of_model(row: ReproducedValue, name: str) -> ReproducedValue:
    """The row of a variant: with its name, and never "equal"."""
    if row.verdict == "not published":
        return row._replace(reason=f"{row.reason}; here {name}")
    known = row.reason if row.verdict in ("other model", "other data") else ""
    reason = "; ".join(filter(None, (name, known)))
    return row._replace(verdict="other model", reason=reason)
