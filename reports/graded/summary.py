"""The summary in words: every sentence is computed from the run's numbers."""

from __future__ import annotations

from reports.graded.findings import absent, published, unapplied
from reports.graded.ranking import TIES_DECIDE, ranked, tie_width
from reports.graded.run import GradedRun
from reports.graded.statements.controls import against_controls, floor_isolates
from reports.graded.statements.differences import told_apart
from reports.graded.statements.measures import by_within, leaders, offset
from reports.shared.elements import Finding
from reports.shared.formatting import (
    amount,
    count,
    interval,
    known,
    listed,
    number,
    percent,
    plainly,
    spelled,
)
from reports.shared.row_kind import Record

MARGIN = 0.05  # a ρ that is surely no further from 0 is no better than chance


def summary(run: GradedRun) -> list[Finding]:
    """The findings that apply, in the order in which a reader asks for them."""
    rows = ranked(run.metrics)
    findings = [
        _order(run, rows),
        offset(rows),
        against_controls(run),
        floor_isolates(run),
        told_apart(run),
        _ties(run, rows),
        summarize_steps(rows),
        unapplied(run, rows),
        published(run),
        absent(run),
    ]
    return [f for f in findings if f is not None]


def _order(run: GradedRun, rows: list[Record]) -> Finding:
    versions = f"{amount(len(run.sets), 'version')} of {amount(len(run.image_ids), 'caption')}"
    if not rows:
        return Finding("Order.", f"No metric gave a result on the {versions}.")
    text = leaders(rows, versions, _level(run))
    text += " 1 is the perfect order, 0 (half of the pairs) is chance."
    if len(rows) > 1:
        text += f" Within an image: {_chain(by_within(rows))}."
    blind = [r["metric"] for r in rows if is_chance(r)]
    if blind:
        text += (
            f" {listed(blind)} {'is' if len(blind) == 1 else 'are'} no better than chance here: "
            f"the intervals, pooled and within an image, lie within ±{MARGIN} of 0."
        )
    return Finding("Order.", text)


def _chain(rows: list[Record]) -> str:
    """The first three and the last of a ranking, with their ρ within an image."""
    named = [f"{r['metric']} {number(r['rank_order_rho_within'])}" for r in rows]
    return ", ".join([*named[:3], *(["…", named[-1]] if len(named) > 3 else [])])


def is_chance(record: Record) -> bool:
    """Whether both intervals lie within `MARGIN` of 0: equivalence, not an absence of evidence."""
    ends = [record.get(f"{measure}_ci") for measure in ("rank_order_rho", "rank_order_rho_within")]
    return all(ci and all(known(x) and abs(x) <= MARGIN for x in ci) for ci in ends)


def _level(run: GradedRun) -> str:
    confidence = run.statistics.get("settings", {}).get("confidence") or 0.95
    return f"{100 * confidence:g}%"


def _ties(run: GradedRun, rows: list[Record]) -> Finding | None:
    tied = sorted((r for r in rows if tie_width(r) >= TIES_DECIDE), key=lambda r: -tie_width(r))
    common = {r["metric"]: run.commonest(r["metric"]) for r in tied}
    if not tied:
        widest = max((tie_width(r) for r in rows), default=0.0)
        return Finding(
            "Ties.",
            f"No metric's ρ hangs on ties: breaking all of them the best or the worst way moves "
            f"it by at most {number(widest)}.",
        )
    parts = [
        f"{r['metric']} (anything from {interval(r['rank_order_rho_bounds'], 2)}; "
        f"{percent(common[r['metric']][1], 0)} of its scores are {plainly(common[r['metric']][0])})"
        for r in tied
    ]
    return Finding(
        "Ties.",
        f"The rank-order ρ of {listed(parts)} depends on how ties are broken. The values here are "
        f"expectations under random breaking; read {'its' if len(tied) == 1 else 'their'} "
        f"Kendall τ-b beside it (“All columns”).",
    )


def summarize_steps(rows: list[Record]) -> Finding | None:
    """The step seen least and the clearest, of the metrics for which a test says so."""
    rows = [r for r in rows if r["headline"]]
    parts = []
    for key, words in (("least_seen_step", "is seen least"), ("clearest_step", "is the clearest")):
        by_step: dict[tuple[str, str], list[str]] = {}
        for r in rows:
            if step := r.get(key):
                by_step.setdefault((step["lower"], step["upper"]), []).append(r["metric"])
        for (lower, upper), names in sorted(by_step.items(), key=lambda entry: -len(entry[1])):
            parts.append(f"from {lower} to {upper} {words} by {_some(names, len(rows))}")
    if not parts:
        return None
    return Finding(
        "Steps.",
        f"Where tests tell a step from all others (adjacent AUC, paired over images, Holm), the "
        f"step {'; the step '.join(parts)}.",
    )


def _some(names: list[str], n: int) -> str:
    return f"all {spelled(n)} metrics" if len(names) == n > 1 else listed(names)


def headline(run: GradedRun) -> str:
    """One line on the size of the run."""
    return (
        f"{amount(len(run.image_ids), 'image')} × {amount(len(run.sets), 'version')} = "
        f"{count(sum(s['n'] for s in run.sets))} captions"
    )
