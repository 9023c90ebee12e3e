"""Statements on corruptions, published values and absent metrics."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.graded.ranking import (
    NEAR_SD,
    against_paper,
    cause,
    paper_distance,
    results,
    rho,
)
from metaeval.reports.graded.run import GradedRun, Metric
from metaeval.reports.graded.statements.controls import selection
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import amount, capital, listed, number, percent, spelled
from metaeval.reports.shared.row_kind import kind_of
from metaeval.runs.records import PaperValue

CLOSE = 0.02  # a difference in ρ that we call agreement with a published value


def unapplied(run: GradedRun, rows: Sequence[Metric]) -> Finding:
    """How many captions came out unchanged, and what that does to ρ."""
    spared = [s for s in run.sets if s.n_unapplied]
    if not spared:
        return Finding("Corruptions.", "Every corruption changed every caption it was given.")
    parts = [f"{percent(s.n_unapplied / s.n)} of {s.name}" for s in spared]
    text = f"{capital(listed(parts))} came out unchanged; no metric can "
    text += "distinguish these from the original."
    text += selection(run, rows)
    return Finding("Corruptions.", text)


def published(run: GradedRun) -> Finding | None:
    """How close our values are to the published ones."""
    papers = [(r, value) for r in results(run) if (value := run.paper(r)) is not None]
    if not papers:
        return None
    source = run.info.published.source.rstrip(".") if run.info.published else ""
    if not run.comparable:
        return Finding(
            "Published.",
            f"The published values ({source}) are in the table next to ours, but are "
            f"not comparable: {run.why_not_comparable}.",
        )
    same = [(r, paper) for r, paper in papers if paper.same_model]
    others = [r.name for r, paper in papers if not paper.same_model]
    sentences = [_closeness(same, source)] if same else []
    if others:
        sentences.append(
            f"{listed(others)} {'uses another model' if len(others) == 1 else 'use other models'} "
            "than the paper, whose value for the metric is in the table and is not compared."
        )
    return Finding("Published.", " ".join(sentences))


def _closeness(papers: Sequence[tuple[Metric, PaperValue]], source: str) -> str:
    """How many values are close to the published ones, and which are not."""
    distances = [(abs((rho(r) or 0.0) - paper.value), r, paper.value) for r, paper in papers]
    n_near = sum(distance <= CLOSE for distance, _, _ in distances)
    text = (
        f"{capital(spelled(n_near)) if n_near else 'None'} of {amount(len(papers), 'value')} "
        f"{'lies' if n_near < 2 else 'lie'} within {CLOSE} of those published ({source})."
    )
    parts = []
    for distance, r, value in sorted(distances, key=lambda entry: -entry[0]):
        if distance > CLOSE:
            why = _distance(r, value)
            parts.append(f"{r.name} {number(rho(r))} against {number(value)}{why}")
    return f"{text} Further off: {listed(parts)}." if parts else text


def _distance(metric: Metric, value: float) -> str:
    """How far off, in standard deviations of seeds and ties, where they are known."""
    distance = paper_distance(metric.numbers.seeds, value)
    if distance is None:
        return " (ties can explain it)" if against_paper(metric, value)[0] == "ties" else ""
    if abs(distance) <= NEAR_SD:
        return " (within what seeds and ties do)"
    where = "above" if distance > 0 else "below"
    return f" ({abs(distance):.0f} sd of seeds and ties {where}; {cause(metric)})"


def absent(run: GradedRun) -> Finding | None:
    """The metrics that are not in the ranking, and why."""
    parts = []
    for status, words in (("skipped", "could not run"), ("failed", "failed")):
        names = [m.name for m in run.metrics if m.status == status]
        if names:
            parts.append(f"{listed(names)} {words}; see the alerts for the remedy.")
    untrained = [m.name for m in run.metrics if kind_of(m) == "random"]
    if untrained:
        parts.append(
            f"{listed(untrained)} ran on random weights and "
            f"{'is' if len(untrained) == 1 else 'are'} not ranked."
        )
    return Finding("Not in the ranking.", " ".join(capital(p) for p in parts)) if parts else None
