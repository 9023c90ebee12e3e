"""The three sentences of a page: who leads, who is above the best control, and one caveat.

Every sentence comes from recorded comparisons: a metric is called best only where a test separates
it from all others, and above a control only where a test shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.results.base import Estimate
from metaeval.results.comparison import Comparisons
from metaeval.results.measured import Measured, MeasuredResult, ranked
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure

MOST_NAMES = 6  # of a group that a sentence lists


def sentences(result: MeasuredResult) -> list[str]:
    """At most three sentences on the measure that answers the question."""
    return [s for s in (leaders(result), above_control(result), result.caveat) if s]


def leaders(result: MeasuredResult, measure: Measure | None = None) -> str:
    """The metric with the best value, and those that no test separates from it."""
    measure = measure or result.declared[0]
    order = ranked(ranked_metrics(result), measure)
    if not order:
        return "No metric has a value."
    best = order[0]
    value = with_interval(measure, best.numbers[measure.key])
    if measure.group:
        value = f"{measure.full_title}: {value}"
    comparisons = result.comparisons.get(measure.key)
    if len(order) == 1:
        return f"{best.name}: {value}, the only metric with a value."
    if comparisons is None or not comparisons.is_tested:
        word = "lowest" if measure.best == "lowest" else "highest"
        return f"{best.name} has the {word} value ({value}); no test compares the metrics."
    others = [m.name for m in order[1:]]
    equal = comparisons.not_below(best.name, others)
    if not equal:
        return f"{best.name} leads ({value}): every other metric is significantly lower."
    if len(equal) == len(others):
        return f"No test separates {best.name} ({value}) from any other metric."
    return f"{best.name} leads ({value}), not separated from {names(equal)}."


def above_control(result: MeasuredResult, measure: Measure | None = None) -> str:
    """The metrics that are significantly above the best control; empty without a control."""
    measure = measure or result.declared[0]
    against = result.controls.get(measure.key)
    if against is None:
        return ""
    value = text_of(measure, Estimate(value=against.control_value))
    control = f"the best control, {against.control} ({value})"
    if against.shows == "undecidable":
        return (
            f"Whether a metric is above {control}, cannot be decided with so few images or draws."
        )
    if not against.above:
        return f"No metric is significantly above {control}."
    if len(against.above) == len(against.comparisons) > 1:
        return f"Every metric is significantly above {control}."
    return f"Significantly above {control}: {names(against.above)}."


def definition_of_bold(comparisons: Comparisons) -> str:
    """What bold means in a column with these comparisons."""
    methods = dict.fromkeys(pair.test.method for pair in comparisons.pairs if pair.test)
    if not methods:
        return ""
    n = sum(bool(pair.tests) for pair in comparisons.pairs)
    return (
        f"bold: the best, and those not separated from it at {comparisons.alpha:g} "
        f"(paired {' and '.join(methods)}, Holm over {n} pair{'' if n == 1 else 's'})"
    )


def bold_names(result: MeasuredResult, measure: Measure) -> frozenset[str]:
    """The names in bold in a measure's column; none where no test was made."""
    comparisons = result.comparisons.get(measure.key)
    order = [m.name for m in ranked(ranked_metrics(result), measure)]
    if comparisons is None or not comparisons.is_tested or measure.best == "neither" or not order:
        return frozenset()
    return frozenset([order[0], *comparisons.not_below(order[0], order)])


def ranked_metrics(result: MeasuredResult) -> list[MetricResult[Measured]]:
    """The metrics that are compared: no part, no untrained weights, no control."""
    return [m for m in result.metrics if m.ok and m.column.is_ranked]


def text_of(measure: Measure, estimate: Estimate) -> str:
    """A value in the unit of its measure: 61.2 of a share, 0.612 of a score.

    >>> text_of(Measure("a", "A", unit="share"), Estimate(value=0.612))
    '61.2'
    """
    return _text(measure, estimate.value)


def with_interval(measure: Measure, estimate: Estimate) -> str:
    """61.2 [60.1, 62.3].

    >>> with_interval(Measure("a", "A"), Estimate(value=0.5, low=-0.1, high=0.6))
    '0.500 [−0.100, 0.600]'
    """
    if estimate.interval is None:
        return _text(measure, estimate.value)
    low, high = (_text(measure, end) for end in estimate.interval)
    return f"{_text(measure, estimate.value)} [{low}, {high}]"


def names(items: Sequence[str]) -> str:
    """A; A and B; A, B and C; of many the first, and how many more.

    >>> names(["A", "B", "C"])
    'A, B and C'
    """
    if len(items) > MOST_NAMES + 1:
        return f"{', '.join(items[:MOST_NAMES])} and {len(items) - MOST_NAMES} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _text(measure: Measure, value: float | None) -> str:
    if value is None:
        return "–"
    if measure.unit == "count":
        return f"{value:,.0f}"
    scale, digits = {"share": (100, 1), "percent": (1, 1), "score": (1, 3)}[measure.unit]
    text = f"{scale * value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")
