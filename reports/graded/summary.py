"""The summary in words: every sentence is computed from the run's numbers."""

from __future__ import annotations

from reports.graded.findings import absent, mean, published, unapplied
from reports.graded.ranking import TIES_DECIDE, ranked, tie_width, undecided
from reports.graded.run import GradedRun
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
)
from reports.shared.row_kind import Record


def summary(run: GradedRun) -> list[Finding]:
    """The findings that apply, in the order in which a reader asks for them."""
    rows = ranked(run.metrics)
    findings = [
        _order(run, rows),
        offset(rows),
        _undecided(rows),
        _ties(run, rows),
        _steps(rows),
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
    blind = [r["metric"] for r in rows if _near_zero(r)]
    if blind:
        text += (
            f" {listed(blind)} {'is' if len(blind) == 1 else 'are'} no better than chance here: "
            f"the interval contains 0 or less."
        )
    return Finding("Order.", text)


def _chain(rows: list[Record]) -> str:
    """The first three and the last of a ranking, with their ρ within an image."""
    named = [f"{r['metric']} {number(r['rank_order_rho_within'])}" for r in rows]
    return ", ".join([*named[:3], *(["…", named[-1]] if len(named) > 3 else [])])


def _near_zero(record: Record) -> bool:
    ci = record.get("rank_order_rho_ci")
    return ci is not None and ci[0] is not None and ci[0] <= 0


def _level(run: GradedRun) -> str:
    confidence = run.statistics.get("settings", {}).get("confidence") or 0.95
    return f"{100 * confidence:g}%"


def _undecided(rows: list[Record]) -> Finding | None:
    if len(rows) < 2:
        return None
    if not any(known((r.get("rank_order_rho_ci") or (None,))[0]) for r in rows):
        return Finding("Intervals.", "None were computed, so claim no order among close metrics.")
    groups = undecided(rows)
    if not groups:
        return Finding("Intervals.", "No two intervals overlap: the order stands as given.")
    named = "; ".join(listed(group) for group in groups)
    each = "these metrics" if len(groups) == 1 else "each of these groups"
    return Finding(
        "Intervals.",
        f"The intervals overlap within {each}, so claim no order there: {named}. "
        f"All other pairs are apart.",
    )


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
        f"expectations under random breaking; read {'its' if len(tied) == 1 else 'their'} τ-b "
        f"beside it.",
    )


def _steps(rows: list[Record]) -> Finding | None:
    """Which step between neighbouring levels is the hardest to see."""
    steps = [a for r in rows for a in r.get("adjacent_auc") or () if known(a["auc"])]
    names = list(dict.fromkeys((a["lower"], a["upper"]) for a in steps))
    if len(names) < 2 or len(rows) < 2:
        return None
    means = {
        pair: mean([a["auc"] for a in steps if (a["lower"], a["upper"]) == pair]) for pair in names
    }
    hard, easy = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    return Finding(
        "Steps.",
        f"The step that metrics see least is from {hard[0]} to {hard[1]} (mean AUC "
        f"{number(means[hard], 2)}; 0.5 is chance); the clearest is from {easy[0]} to {easy[1]} "
        f"({number(means[easy], 2)}).",
    )


def headline(run: GradedRun) -> str:
    """One line on the size of the run."""
    return (
        f"{amount(len(run.image_ids), 'image')} × {amount(len(run.sets), 'version')} = "
        f"{count(sum(s['n'] for s in run.sets))} captions"
    )
