"""Alerts: what limits the validity of the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from metaeval.reports.graded.ranking import TIES_DECIDE, tie_width
from metaeval.reports.graded.run import GradedRun, Metric
from metaeval.reports.shared.elements import Alert
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    interval,
    listed,
    percent,
    plainly,
)
from metaeval.reports.shared.row_kind import kind_of


def alerts(run: GradedRun) -> list[Alert]:
    """All alerts, the gravest first, in the order of the table within each level."""
    every = [*_of_run(run), *_of_sets(run)]
    for metric in run.metrics:
        every += _of_scores(run, metric) if metric.ok else _of_absent(metric)
    return sorted(every, key=lambda a: ("error", "warn", "note").index(a.level))


def _of_run(run: GradedRun) -> Iterator[Alert]:
    git = run.info.git
    if fallback := run.dataset.fallback:
        yield Alert("error", "Dataset", capital(f"{fallback.rstrip('.')}."))
    if git and git.dirty:
        yield Alert(
            "warn",
            "Code",
            "The working tree had changes that no commit records: "
            f"commit {git.commit[:10]} alone does not reproduce this run.",
        )
    if not run.comparable:
        yield Alert("note", "Published values", f"Not comparable: {run.why_not_comparable}.")
    for note in run.dataset.notes:
        yield Alert("note", "Dataset", f"{capital(note.rstrip('.'))}.")


def _of_sets(run: GradedRun) -> Iterator[Alert]:
    for s in run.sets:
        if s.n_unapplied:
            share = s.n_unapplied / s.n
            yield Alert(
                "warn" if share >= 0.05 else "note",
                s.name,
                f"{count(s.n_unapplied)} of {count(s.n)} captions ({percent(share)}) "
                "came out unchanged; the table can omit them (“only applied corruptions”).",
            )
        if s.expected == "same":
            yield Alert(
                "warn",
                s.name,
                "These versions are as good as the original: a score should stay as it is. The "
                "order that this page calls right puts them below it, which is a fault.",
            )
    if len({s.n for s in run.sets}) > 1:
        sizes = [f"{s.name} {count(s.n)}" for s in run.sets]
        yield Alert("warn", "Sets", f"The sets differ in size: {listed(sizes)}.")


def _of_absent(metric: Metric) -> Iterator[Alert]:
    yield Alert(
        "error" if metric.status == "failed" else "warn",
        metric.name,
        f"{capital(metric.status)}: {(metric.reason or '').rstrip('.')}.",
        metric.remedy or "",
    )


def _of_scores(run: GradedRun, metric: Metric) -> Iterator[Alert]:
    kind, numbers = kind_of(metric), metric.numbers
    if kind == "random":
        yield Alert(
            "error",
            metric.name,
            "Its weights are random: the numbers are not a result of the metric. They are in a "
            "block of their own and never ranked.",
        )
    if numbers.n_nan:
        yield Alert(
            "warn",
            metric.name,
            f"{capital(amount(numbers.n_nan, 'caption'))} of {count(numbers.n)} could not be "
            f"scored and {'is' if numbers.n_nan == 1 else 'are'} left out.",
        )
    if tie_width(metric) >= TIES_DECIDE and kind != "random":
        value, share = run.commonest(metric.name)
        yield Alert(
            "warn",
            metric.name,
            f"Ties decide: ρ lies anywhere from {interval(numbers.rank_order_rho_bounds)} by "
            f"tie-breaking alone; {percent(share)} of its scores are {plainly(value)}.",
        )
