"""The tables of the report on attacks, for the page and for print."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metaeval.reports.shared.formatting import DASH, capital, count, number, percent, seconds
from metaeval.reports.shared.print_tables import PrintCell, PrintTable
from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.attack import AttackResult, AttackStatistics
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult
from metaeval.results.run import RunInfo

Metric = MetricResult[AttackStatistics]


def grouped(
    result: AttackResult, cells: Callable[[Metric], Sequence[str]]
) -> list[list[list[PrintCell]]]:
    """A row for each metric that ran, the most fooled first; controls in a group of their own."""
    metrics = [m for m in result.metrics if m.ok]
    metrics.sort(key=lambda m: -(m.numbers.final().value or 0.0))
    groups = []
    for control in (False, True):
        rows = [
            [PrintCell(text) for text in (m.name, *cells(m))]
            for m in metrics
            if (kind_of(m) == "control") == control
        ]
        if rows:
            groups.append(rows)
    return groups


def rate(estimate: Estimate | None) -> str:
    """A share of images in percent with its interval."""
    return DASH if estimate is None else estimate.in_percent()


def value(estimate: Estimate | None) -> str:
    """A number with its interval: "0.35 [0.30, 0.41]"."""
    if estimate is None or estimate.value is None:
        return "–"
    text = number(estimate.value, 2)
    if estimate.interval is None:
        return text
    low, high = estimate.interval
    return f"{text} [{number(low, 2)}, {number(high, 2)}]"


def success_tables(result: AttackResult) -> list[PrintTable]:
    """Success by constraint, by calls and by changed words, in percent of the images."""
    metrics = [m for m in result.metrics if m.ok]
    if not metrics:
        return []
    constraints = list(dict.fromkeys(c for m in metrics for c in m.numbers.success))
    budgets, edits = result.settings.budgets, range(result.settings.max_edits + 1)
    last = f"{count(budgets[-1])} calls"
    return [
        PrintTable(
            "success",
            f"Images on which a provably false caption scores above the human one, in percent, "
            f"after {last}, by constraint.",
            ["Metric", "n", *map(capital, constraints)],
            grouped(
                result,
                lambda m: [
                    count(m.numbers.n_images),
                    *(rate(m.numbers.final(c)) for c in constraints if c in m.numbers.success),
                ],
            ),
        ),
        PrintTable(
            "success-calls",
            "The same after each number of calls, by the main search.",
            ["Metric", *(f"{count(b)} calls" for b in budgets)],
            grouped(result, lambda m: [rate(p.value) for p in m.numbers.success[m.numbers.main]]),
        ),
        PrintTable(
            "success-words",
            f"The same after {last}, counting only captions with at most so many words changed by "
            "the search.",
            ["Metric", *(f"≤ {k}" for k in edits)],
            grouped(result, lambda m: [rate(p.value) for p in m.numbers.by_edits]),
        ),
    ]


def transfer_table(result: AttackResult) -> PrintTable:
    """Of the captions that fool the metric of the row, the percentage that fools the column's."""
    cells = {(c.source, c.target): c.share for c in result.transfer}
    names = list(dict.fromkeys(c.source for c in result.transfer))
    return PrintTable(
        "transfer",
        "Of the captions that fool the metric of the row, the percentage that fools that of the "
        "column as well.",
        ["Found against", *names],
        [[[PrintCell(s), *(PrintCell(rate(cells[s, t])) for t in names)] for s in names]],
    )


def goals_table(result: AttackResult) -> PrintTable:
    """Gain, harm, inflation and generic captions."""

    def cells(metric: Metric) -> list[str]:
        numbers = metric.numbers
        inflated, generic = numbers.inflation, numbers.generic
        words = "–"
        if inflated is not None and inflated.words[0] is not None:
            words = f"{number(inflated.words[0], 0)} ({number(inflated.words[1], 0)})"
        return [
            value(numbers.gain),
            percent(numbers.harm, 0),
            value(inflated.known[-1].value if inflated else None),
            words,
            value(inflated.unknown[-1].value if inflated else None),
            rate(generic.outranks if generic else None),
        ]

    return PrintTable(
        "goals",
        "Gain of the best false caption, the share of its statements that are false, inflation "
        "with the references known (and the words of the caption, of the human one in brackets) "
        "and unknown, and images on which a generic caption outranks the human one (percent). "
        "Gains are in units of the metric's spread between human captions of an image.",
        ["Metric", "Gain", "False", "References known", "Words", "Unknown", "Generic"],
        grouped(result, cells),
    )


def goodhart_table(result: AttackResult) -> PrintTable:
    """The best of the greatest n, next to one caption drawn at random."""
    metrics = [m for m in result.metrics if m.ok and m.numbers.best_of_n]
    n = metrics[0].numbers.best_of_n[-1].n if metrics else 0

    def cells(metric: Metric) -> list[str]:
        points = metric.numbers.best_of_n
        if not points:
            return ["–"] * 4
        return [
            value(points[-1].own),
            value(points[-1].others),
            rate(points[0].true),
            rate(points[-1].true),
        ]

    return PrintTable(
        "best-of-n",
        f"The best of {n} captions by each metric: its own gain over the human caption, the other "
        "metrics' mean gain, and the percentage of choices that say nothing false, next to that of "
        "one caption drawn at random.",
        ["Metric", "Own gain", "Other metrics", "True at random", f"True, best of {n}"],
        grouped(result, cells) if metrics else [],
    )


def defence_table(result: AttackResult) -> PrintTable:
    """The pairs of metrics that resist best, the attacked ones first."""
    ordered = sorted(result.defences, key=lambda d: d.searched is None)[:10]
    rows = [
        [
            PrintCell(" and ".join(d.metrics)),
            PrintCell(rate(d.searched)),
            PrintCell(rate(d.transferred)),
            *(PrintCell(rate(result.metric(m).numbers.final())) for m in d.metrics),
        ]
        for d in ordered
    ]
    return PrintTable(
        "defences",
        "Pairs of metrics of which both must prefer a caption: success rate of a search against "
        "the pair, of the captions found against either metric, and against each alone (percent).",
        ["Pair", "Searched", "Transferred", "First alone", "Second alone"],
        [rows] if rows else [],
    )


def cost_table(result: AttackResult, info: RunInfo) -> PrintTable:
    """What the searches cost: calls to the first success, captions scored, seconds."""
    spent = {family.metric: family.seconds for family in info.metrics}

    def cells(metric: Metric) -> list[str]:
        calls = metric.numbers.calls_to_success
        return [
            "–" if calls is None else number(calls, 1).removesuffix(".0"),
            count(metric.numbers.n_calls),
            seconds(spent.get(metric.family)),
        ]

    return PrintTable(
        "cost",
        "Median calls to the first success (over the images with one), captions scored in all "
        "searches, and the time that they took, cached scores included.",
        ["Metric", "Calls to success", "Captions scored", "Time"],
        grouped(result, cells),
    )
