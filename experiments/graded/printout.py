"""What a finished run prints: one line per metric, best first, and where the report is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from metaeval.results.graded import SATURATED, GradedResult, GradedStatistics
from metaeval.results.metric import MetricResult
from metaeval.runs.records import PaperValue, paper_value

Metric = MetricResult[GradedStatistics]
NAN = float("nan")


def printout(result: GradedResult, published: Mapping[str, float], file: Path) -> str:
    """A plain table of rank-order ρ with its interval, ρ within an image, pairwise accuracy, the
    share of images all in order, ties, and the published value.

    Below it, what metrics counted (captions that were cut, images without objects, …).
    `file` is what to open next: the report, or the statistics of a run without one.
    """
    return "\n".join([*_rows(result, published), f"{file.stem}: {file}"])


def _rows(result: GradedResult, published: Mapping[str, float]) -> Iterator[str]:
    done = [m for m in result.metrics if m.ok]
    done.sort(key=lambda m: (m.column.control, -_number(m.numbers.rank_order_rho.value)))
    width = max((len(m.name) for m in done), default=0)
    head = (
        f"{'':<{width}}  rank-order ρ  {'95% interval':<16} "
        f"{'within':>7} {'pairs':>6} {'all':>6} {'ties':>6}"
    )
    confidence = round(100 * result.settings.confidence, 6)
    yield head.replace("95%", f"{confidence:g}%") + ("  published" if published else "")
    metrics = [m for m in done if not m.column.control]
    for m in metrics:
        yield _row(m, width, paper_value(published, m.name, m.column.variant_of))
    if len(metrics) < len(done):
        yield "controls (not metrics)"
        for m in done[len(metrics) :]:
            yield _row(m, width, None)
    if result.unchanged:
        yield (
            "no corruption changed a caption: all versions of an image are the same, and these "
            "numbers say nothing about the metrics"
        )
    if len(saturated := result.saturated()) > 1:
        yield (
            f"{len(saturated)} of {len(metrics)} metrics order nearly every version of an image (ρ "
            f"within ≥ {SATURATED}), which leaves little room between them: "
            f"{', '.join(saturated)}; use lower rates (corruption.rates=[0.05,0.1]) or a subtler "
            "corruption"
        )
    yield from _spreads(metrics)
    yield from (f"{name}: {text}" for name, text in result.counted())
    missing = {m.family: m.status for m in result.metrics if not m.ok}
    if missing:  # the reasons went to stderr, and are in the report
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in missing.items())


def _spreads(metrics: list[Metric]) -> Iterator[str]:
    """The standard deviations over corruption seeds and over training seeds."""
    if spread := [(m.name, m.numbers.seeds) for m in metrics if m.numbers.seeds]:
        sds = ", ".join(
            f"{name} {_number(seeds.rank_order_rho.sd):.4f} ({seeds.n})" for name, seeds in spread
        )
        yield f"sd of rank-order ρ over corruption seeds: {sds}"
        once = [m.name for m in metrics if not m.numbers.seeds and not m.column.part_of]
        if once:
            yield f"with one corruption seed only (corruption.reseeded): {', '.join(once)}"
    trained = [(m.name, m.training.seeds) for m in metrics if m.training and m.training.seeds]
    if trained:
        sds = ", ".join(
            f"{name} {_number(seeds.rank_order_rho.sd):.3f} ({len(seeds.seeds)})"
            for name, seeds in trained
        )
        yield f"sd of rank-order ρ over training seeds: {sds}"


def _row(m: Metric, width: int, paper: PaperValue | None) -> str:
    s = m.numbers
    ends = s.rank_order_rho.interval
    interval = f"{ends[0]:.4f} {ends[1]:.4f}" if ends else ""
    line = (
        f"{m.name:<{width}}  {_cell(s.rank_order_rho.value, '.4f'):>12}  {interval:<16} "
        f"{_cell(s.rank_order_rho_within.value, '.3f'):>7} "
        f"{_cell(s.pairwise_accuracy.value, '.1%'):>6} "
        f"{_cell(s.monotone_rate.value, '.1%'):>6} {_cell(s.tie_fraction, '.1%'):>6}"
    )
    other = "" if paper is None or paper.same_model else " (another model)"
    return line if paper is None else f"{line}  {paper.value:>9.4f}{other}"


def _cell(value: float | None, form: str) -> str:
    return "–" if value is None or math.isnan(value) else format(value, form)


def _number(value: float | None) -> float:
    return NAN if value is None else value
