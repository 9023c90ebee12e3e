"""The report of `experiment=retrieval`: how often each metric finds the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.reports.shared import page
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import count, listed, percent_with_interval
from metaeval.reports.shared.print_tables import PrintTable, bold_best
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import load_run_files
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult
from metaeval.results.retrieval import RetrievalResult, RetrievalStatistics
from metaeval.runs import files

Metric = MetricResult[RetrievalStatistics]

WAYS = {
    "image-to-text": "An image's own caption among all captions",
    "text-to-image": "A caption's own image among all images",
}


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html` and the tables into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = load_run_files(Path(run_dir), RetrievalResult)
    ranked = [m for m in run.result.metrics if m.ok]
    tables = [recall_table(ranked, way, title) for way, title in WAYS.items()] if ranked else []
    return page.write_series(
        run,
        [("Dataset", run.result.dataset), ("Images", count(run.result.n_images))],
        tables,
        room="retrieval",
        findings=findings(ranked) or [Finding("", "No metric ran.")],
        lead="Shares of the queries whose own match is among the first k, with intervals by "
        "resampling the queries; equal scores count against the metric.",
        further_files=[files.SCORES],
    )


def recalls_of(metric: Metric, way: str) -> Mapping[str, Estimate]:
    """The recalls of a metric one way: "image-to-text" or "text-to-image"."""
    numbers = metric.numbers
    return numbers.image_to_text if way == "image-to-text" else numbers.text_to_image


def recall_table(metrics: Sequence[Metric], way: str, title: str) -> PrintTable:
    """A row a metric, controls last, best first by recall at 1."""
    groups = []
    for controls in (False, True):
        rows = [m for m in metrics if (kind_of(m) == "control") == controls]
        rows.sort(key=lambda m: -(recalls_of(m, way)["R@1"].value or 0.0))
        estimates = [list(recalls_of(m, way).values()) for m in rows]
        texts = [
            [m.name, *map(_cell, row), count(m.numbers.n)]
            for m, row in zip(rows, estimates, strict=True)
        ]
        values = [[None, *(None if controls else e.value for e in row), None] for row in estimates]
        if rows:
            groups.append(bold_best(texts, values, [True] * 5))
    heads = ["Metric", "R@1", "R@5", "R@10", "Images"]
    return PrintTable(f"retrieval-{way}", f"{title}, per cent.", heads, groups)


def findings(metrics: Sequence[Metric]) -> list[Finding]:
    """The metric with the highest recall at 1 each way, or those whose intervals overlap."""
    found = []
    for way, title in WAYS.items():
        ranked = [m for m in metrics if kind_of(m) != "control"]
        ranked = [m for m in ranked if recalls_of(m, way)["R@1"].value is not None]
        if not ranked:
            continue
        ranked.sort(key=lambda m: -(recalls_of(m, way)["R@1"].value or 0.0))
        best = recalls_of(ranked[0], way)["R@1"]
        near = [m.name for m in ranked[1:] if _overlap(recalls_of(m, way)["R@1"], best)]
        names = listed([ranked[0].name, *near], "and")
        verb = "have" if near else "has"
        text = f"{names} {verb} the highest recall at 1 (up to {_cell(best)})"
        text += "; their intervals overlap." if near else ", above all intervals of the others."
        if len(ranked) == 1:
            text = f"{names}: recall at 1 {_cell(best)}; no other metric ran."
        found.append(Finding(f"{title}.", text))
    return found


def _overlap(lower: Estimate, higher: Estimate) -> bool:
    """Whether the intervals overlap; without intervals they may."""
    if lower.high is None or higher.low is None:
        return True
    return lower.high >= higher.low


def _cell(estimate: Estimate) -> str:
    return percent_with_interval(estimate.value, estimate.interval)
