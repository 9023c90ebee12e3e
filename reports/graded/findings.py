"""The part of the summary that looks beyond the ranking: corruptions, papers, absent metrics."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.runs.records import PaperValue
from reports.graded.ranking import NEAR_SD, against_paper, cause, paper_distance, ranked, rho
from reports.graded.run import GradedRun
from reports.graded.statements.controls import selection
from reports.shared.elements import Finding
from reports.shared.formatting import amount, capital, listed, number, percent, spelled
from reports.shared.row_kind import Record, row_kind

CLOSE = 0.02  # a difference in ρ that we call agreement with a published value


def unapplied(run: GradedRun, rows: Sequence[Record]) -> Finding:
    """How many captions came out unchanged, and what that does to ρ."""
    spared = [s for s in run.sets if s.get("n_unapplied")]
    if not spared:
        return Finding("Corruptions.", "Every corruption changed every caption it was given.")
    parts = [f"{percent(s['n_unapplied'] / s['n'])} of {s['name']}" for s in spared]
    text = f"{capital(listed(parts))} came out unchanged, and an unchanged caption cannot be told "
    text += "from the original by any metric."
    text += selection(run, rows)
    return Finding("Corruptions.", text)


def published(run: GradedRun) -> Finding | None:
    """How close ours come to the values that a paper printed."""
    papers = [(r, value) for r in ranked(run.metrics) if (value := run.paper(r)) is not None]
    if not papers:
        return None
    source = run.published["source"].rstrip(".")
    if not run.published.get("comparable", True):
        return Finding(
            "Published.",
            f"The published values ({source}) stand beside ours, but are "
            f"not comparable: {run.published.get('why_not') or 'other data'}.",
        )
    same = [(r, paper) for r, paper in papers if paper.same_model]
    others = [r["metric"] for r, paper in papers if not paper.same_model]
    sentences = [_closeness(same, source)] if same else []
    if others:
        sentences.append(
            f"{listed(others)} {'uses another model' if len(others) == 1 else 'use other models'} "
            "than the paper, whose value for the metric stands in the table and is not compared."
        )
    return Finding("Published.", " ".join(sentences))


def _closeness(papers: Sequence[tuple[Record, PaperValue]], source: str) -> str:
    """How many of ours lie close to the published values, and which do not."""
    distances = [(abs(r["rank_order_rho"] - paper.value), r, paper.value) for r, paper in papers]
    n_near = sum(distance <= CLOSE for distance, _, _ in distances)
    text = (
        f"{capital(spelled(n_near)) if n_near else 'None'} of {amount(len(papers), 'value')} "
        f"{'lies' if n_near < 2 else 'lie'} within {CLOSE} of those published ({source})."
    )
    parts = []
    for distance, r, value in sorted(distances, key=lambda entry: -entry[0]):
        if distance > CLOSE:
            why = _distance(r, value)
            parts.append(f"{r['metric']} {number(rho(r))} against {number(value)}{why}")
    return f"{text} Further off: {listed(parts)}." if parts else text


def _distance(record: Record, value: float) -> str:
    """How far off, in standard deviations of seeds and ties, where they are known."""
    distance = paper_distance(record, value)
    if distance is None:
        return " (ties can explain it)" if against_paper(record, value)[0] == "ties" else ""
    if abs(distance) <= NEAR_SD:
        return " (within what seeds and ties do)"
    where = "above" if distance > 0 else "below"
    return f" ({abs(distance):.0f} sd of seeds and ties {where}; {cause(record)})"


def absent(run: GradedRun) -> Finding | None:
    """What is not in the ranking, and why."""
    parts = []
    for status, words in (("skipped", "could not run"), ("failed", "failed")):
        names = [r["metric"] for r in run.metrics if r["status"] == status]
        if names:
            parts.append(f"{listed(names)} {words}; see the alerts for the remedy.")
    untrained = [r["metric"] for r in run.metrics if row_kind(r) == "random"]
    if untrained:
        parts.append(
            f"{listed(untrained)} ran on random weights and "
            f"{'is' if len(untrained) == 1 else 'are'} not ranked."
        )
    return Finding("Not in the ranking.", " ".join(capital(p) for p in parts)) if parts else None
