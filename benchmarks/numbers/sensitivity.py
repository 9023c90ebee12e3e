"""The tables of experiment=sensitivity and of the corruptions' own pages."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import head, row, three
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.corruptions.base import KINDS
from metaeval.experiments.sensitivity.extras import PROFILE_CELLS
from metaeval.results.measured import SETS, MeasuredResult
from metaeval.results.metric import MetricResult

Metric = MetricResult

PROFILE = Command(
    "-m metaeval experiment=sensitivity dataset=coco_val2017 metric.spice.parser=perceptron"
)
AUDIT = "-m benchmarks.corruption_audit"
HARMFUL = KINDS[:-1]


def _ran(result: Result) -> tuple[list[Metric], MeasuredResult]:
    """The metrics that ran and are not parts, those that see most first, controls last."""
    run = result.read()
    ran = [m for m in run.metrics if m.ok and m.column.part_of is None]
    return sorted(ran, key=lambda m: (m.column.control, -(m.numbers.value("mean_auc") or 0.0))), run


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
    expected = {entry["set"]: entry["expected"] for entry in run.extra(SETS).records}
    cells = run.extra(PROFILE_CELLS).records
    for metric in ran:
        numbers = metric.numbers
        verdicts = {c["set"]: c["verdict"] for c in cells if c["metric"] == metric.name}
        undecided = [expected[name] for name, v in verdicts.items() if v == "unsure"]
        rewrites = numbers["hard_positives"]
        lines.append(
            row(
                _title(metric),
                three(numbers.value("mean_auc")),
                three(numbers.value("harmless")),
                three(numbers.value("severity_order")),
                f"{three(rewrites.value)} [{three(rewrites.low)}, {three(rewrites.high)}]",
                three(numbers.value("no_ops")),
                str(sum(v in ("blind", "prefers") for v in verdicts.values())),
                str(undecided.count("lower")),
                str(undecided.count("same")),
            )
        )
    return "\n".join(lines)


def kinds(results: Sequence[Result]) -> str:
    """Mean AUC by kind of change, of the kinds that occur."""
    ran, run = _ran(results[0])
    sets = run.extra(SETS).records
    made = {e["kind"] for e in sets if e["n_applied"] and not e["experimental"]}
    shown = [kind for kind in HARMFUL if kind in made]
    lines = head("metric", *shown)
    for metric in ran:
        means = (metric.numbers.value(f"kind_{kind}") for kind in shown)
        lines.append(row(_title(metric), *map(three, means)))
    return "\n".join(lines)


def as_printed(results: Sequence[Result]) -> str:
    return results[0].printed.strip()


TABLES = (
    Table("sensitivity-metrics", (PROFILE,), metrics),
    Table("sensitivity-kinds", (PROFILE,), kinds),
    Table("corruptions-second", (Command(f"{AUDIT} second"),), as_printed),
    Table("corruptions-made", (Command(f"{AUDIT} table"),), as_printed),
    Table("corruptions-audit", (Command(f"{AUDIT} report"),), as_printed),
)
