"""The curves of an attack: success by calls and by changed words, and the best of n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.sweep.figure import write_figure
from metaeval.reports.sweep.jobs import JobGroup, SeedSpread, Value, spread
from metaeval.results.attack import AttackResult, AttackStatistics, BestOfN
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure

Metric = MetricResult[AttackStatistics]
SUCCESS = Measure("success", "images fooled")
TRUE, OTHERS = Measure("true", "true captions"), Measure("others", "gain by other metrics")


def write_figures(directory: Path, result: AttackResult) -> dict[str, tuple[Path, str]]:
    """Write all figures as SVG and PDF; returns stem → (the SVG file, its description)."""
    metrics = [m for m in result.metrics if m.ok]
    controls = frozenset(m.name for m in metrics if kind_of(m) == "control")
    drawn = {
        "calls": (_by_calls(metrics), [SUCCESS], "Images fooled by the number of calls"),
        "words": (_by_words(metrics), [SUCCESS], "Images fooled by the number of changed words"),
        "best-of-n": (_best_of_n(metrics), [TRUE, OTHERS], "What the best of n captions is"),
    }
    written = {}
    for stem, (groups, measures, alt) in drawn.items():
        if groups:
            written[stem] = write_figure(directory, groups, measures, controls, stem)[0], alt
    return written


def _by_calls(metrics: Iterable[Metric]) -> list[JobGroup]:
    """A column of axes with the fluency constraint and one without it."""
    values: dict[tuple[str, int], dict[str, Estimate]] = {}
    for metric in metrics:
        for constraint in dict.fromkeys((metric.numbers.main, "unconstrained")):
            for point in metric.numbers.success.get(constraint, ()):
                values.setdefault((constraint, point.at), {})[metric.name] = point.value
    return [
        JobGroup((("calls", str(at)), ("captions", constraint)), 1, {SUCCESS: _drawn(by_metric)})
        for (constraint, at), by_metric in values.items()
    ]


def _by_words(metrics: Iterable[Metric]) -> list[JobGroup]:
    values: dict[int, dict[str, Estimate]] = {}
    for metric in metrics:
        for point in metric.numbers.by_edits:
            values.setdefault(point.at, {})[metric.name] = point.value
    return [
        JobGroup((("changed words", str(at)),), 1, {SUCCESS: _drawn(by_metric)})
        for at, by_metric in values.items()
    ]


def _best_of_n(metrics: Iterable[Metric]) -> list[JobGroup]:
    points: dict[int, dict[str, BestOfN]] = {}
    for metric in metrics:
        for point in metric.numbers.best_of_n:
            points.setdefault(point.n, {})[metric.name] = point
    return [
        JobGroup(
            (("n", str(n)),),
            1,
            {
                TRUE: _drawn({m: p.true for m, p in by_metric.items()}),
                OTHERS: _drawn({m: p.others for m, p in by_metric.items()}),
            },
        )
        for n, by_metric in points.items()
    ]


def _drawn(estimates: Mapping[str, Estimate]) -> dict[str, SeedSpread]:
    return {
        metric: spread([Value(e.value, e.interval)])
        for metric, e in estimates.items()
        if e.value is not None
    }
