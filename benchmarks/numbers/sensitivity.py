"""The tables of experiment=sensitivity and of the corruptions' own pages."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import head, row, three
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.corruptions.base import KINDS
from metaeval.results.files import read_result
from metaeval.results.metric import MetricResult
from metaeval.results.sensitivity import SensitivityResult, SensitivityStatistics
from metaeval.runs import files

Metric = MetricResult[SensitivityStatistics]

PROFILE = Command(
    "-m metaeval experiment=sensitivity dataset=coco_val2017 metric.spice.parser=perceptron"
)
AUDIT = "-m benchmarks.corruption_audit"
HARMFUL = KINDS[:-1]


def _ran(result: Result) -> tuple[list[Metric], SensitivityResult]:
    """The metrics that ran and are not parts, those that see most first, controls last."""
    run = read_result(result.folder / files.STATISTICS)
    assert isinstance(run, SensitivityResult)
    ran = [m for m in run.metrics if m.ok and m.column.part_of is None]
    return sorted(ran, key=lambda m: (m.column.control, -(m.numbers.harm.value or 0.0))), run


def _title(metric: Metric) -> str:
    return metric.name + (" (control)" if metric.column.control else "")


def metrics(results: Sequence[Result]) -> str:
    """A line per metric: notices, punishes, severity, hard positives, misses."""
    ran, run = _ran(results[0])
    lines = head(
        "metric",
        "harm",
        "harmless",
        "milder above severer",
        "rewrite above near-copy",
        "no-op",
        "misses",
        "undecided: harm",
        "harmless",
    )
    expected = {entry.set: entry.expected for entry in run.sets}
    for metric in ran:
        numbers = metric.numbers
        positives = numbers.hard_positives
        verdicts = {name: cell.verdict for name, cell in numbers.profile.items()}
        undecided = [expected[name] for name, v in verdicts.items() if v == "unsure"]
        low, high = positives.rewrites.low, positives.rewrites.high
        lines.append(
            row(
                _title(metric),
                three(numbers.harm.value),
                three(numbers.harmless.value),
                three(numbers.severity_order.value),
                f"{three(positives.rewrites.value)} [{three(low)}, {three(high)}]",
                three(positives.no_ops.value),
                str(sum(v in ("blind", "prefers") for v in verdicts.values())),
                str(undecided.count("lower")),
                str(undecided.count("same")),
            )
        )
    return "\n".join(lines)


def kinds(results: Sequence[Result]) -> str:
    """Mean AUC by kind of change, of the kinds that occur."""
    ran, run = _ran(results[0])
    made = {entry.kind for entry in run.sets if entry.n_applied and not entry.experimental}
    shown = [kind for kind in HARMFUL if kind in made]
    lines = head("metric", *shown)
    for metric in ran:
        means = (metric.numbers.kinds.get(kind) for kind in shown)
        lines.append(row(_title(metric), *(three(m.value if m else None) for m in means)))
    return "\n".join(lines)


def as_printed(results: Sequence[Result]) -> str:
    return results[0].printed.strip()


TABLES = (
    Table("sensitivity-metrics", (PROFILE,), metrics),
    Table("sensitivity-kinds", (PROFILE,), kinds),
    Table("corruptions-second", (Command(f"{AUDIT} second"),), as_printed),
    Table("corruptions-made", (Command(f"{AUDIT} table"),), as_printed),
    Table("corruptions-audit", (Command(f"{AUDIT} report"),), as_printed),
    Table("corruptions-scenes", (Command(f"{AUDIT} scenes"),), as_printed),
)
