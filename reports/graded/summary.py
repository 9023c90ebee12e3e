"""The summary in words; every sentence is computed from the run's numbers."""

from __future__ import annotations

from metaeval.reports.graded.findings import absent, published, unapplied
from metaeval.reports.graded.ranking import TIES_DECIDE, ranked, results, rho, tie_width, trained
from metaeval.reports.graded.run import GradedRun, Metric
from metaeval.reports.graded.statements.controls import against_controls, floor_isolates
from metaeval.reports.graded.statements.differences import separated_pairs
from metaeval.reports.graded.statements.measures import by_within, leaders, offset
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
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
from metaeval.results.base import Estimate
from metaeval.results.graded import SATURATED

MARGIN = 0.05  # a ρ whose interval lies within this distance of 0 is not better than chance


def summary(run: GradedRun) -> list[Finding]:
    """The findings that apply, the most important first."""
    rows, every = ranked(run), results(run)
    findings = [
        _order(run, rows),
        _learned(run),
        saturation(run),
        offset(every),
        against_controls(run),
        floor_isolates(run),
        separated_pairs(run),
        _ties(run, every),
        summarize_steps(every),
        unapplied(run, rows),
        published(run),
        absent(run),
    ]
    return [f for f in findings if f is not None]


def _order(run: GradedRun, rows: list[Metric]) -> Finding:
    versions = f"{amount(len(run.sets), 'version')} of {amount(len(run.image_ids), 'caption')}"
    if run.result.unchanged:
        return Finding(
            "Order.",
            f"No corruption changed a caption: the {versions} are the same text within an image, "
            "and no metric can order them.",
        )
    if not rows:
        which = "Every metric that gave a result" if trained(run) else "No metric gave a result"
        rest = " was chosen or trained on this kind of test" if trained(run) else ""
        return Finding("Order.", f"{which}{rest} on the {versions}." if not rest else
                       f"{which} on the {versions}{rest}.")  # fmt: skip
    text = leaders(run, rows, versions, _level(run))
    text += " 1 is the perfect order, 0 (half of the pairs) is chance."
    if len(rows) > 1:
        text += f" Within an image: {_chain(by_within(rows))}."
    chance = [m.name for m in rows if is_chance(m)]
    if chance:
        text += (
            f" {listed(chance)} {'is' if len(chance) == 1 else 'are'} not better than chance here: "
            f"the intervals, pooled and within an image, lie within ±{MARGIN} of 0."
        )
    return Finding("Order.", text)


def saturation(run: GradedRun) -> Finding | None:
    """Which metrics reach the ceiling together; `None` for fewer than two."""
    names = run.result.saturated()
    if len(names) < 2:
        return None
    text = (
        f"{listed(names)} order nearly every version of an image (ρ within at least {SATURATED}): "
        "these corruptions leave little room between them. Lower rates or a subtler corruption "
        "leave more."
    )
    return Finding("Saturation.", text)


def _learned(run: GradedRun) -> Finding | None:
    """The results that were chosen or trained on this kind of test, with their values."""
    rows = trained(run)
    if not rows:
        return None
    named = [
        f"{m.name} (ρ {number(rho(m))} pooled, "
        f"{number(m.numbers.rank_order_rho_within.value)} within an image)"
        for m in rows
    ]
    verb = "was" if len(rows) == 1 else "were"
    return Finding(
        "Learned from this test.",
        f"{listed(named)} {verb} chosen on this experiment's dev images, or trained on corrupted "
        "captions like these (see the footnotes), and therefore not ranked with the others.",
    )


def _chain(rows: list[Metric]) -> str:
    """The first three and the last of a ranking, with their ρ within an image."""
    named = [f"{m.name} {number(m.numbers.rank_order_rho_within.value)}" for m in rows]
    return ", ".join([*named[:3], *(["…", named[-1]] if len(named) > 3 else [])])


def is_chance(metric: Metric) -> bool:
    """Whether both intervals lie within `MARGIN` of 0: equivalence, not an absence of evidence."""
    return all(
        _is_near_0(e) for e in (metric.numbers.rank_order_rho, metric.numbers.rank_order_rho_within)
    )


def _is_near_0(estimate: Estimate) -> bool:
    return estimate.interval is not None and all(abs(x) <= MARGIN for x in estimate.interval)


def _level(run: GradedRun) -> str:
    return f"{100 * run.result.settings.confidence:g}%"


def _ties(run: GradedRun, rows: list[Metric]) -> Finding | None:
    rows = [m for m in rows if known(m.numbers.rank_order_rho_bounds[0])]
    if not rows:
        return None
    tied = sorted((m for m in rows if tie_width(m) >= TIES_DECIDE), key=lambda m: -tie_width(m))
    if not tied:
        widest = max(tie_width(m) for m in rows)
        return Finding(
            "Ties.",
            f"Ties do not affect any ρ much: breaking all of them the best or the worst way moves "
            f"it by at most {number(widest)}.",
        )
    common = {m.name: run.commonest(m.name) for m in tied}
    parts = [
        f"{m.name} (anything from {interval(m.numbers.rank_order_rho_bounds, 2)}; "
        f"{percent(common[m.name][1], 0)} of its scores are {plainly(common[m.name][0])})"
        for m in tied
    ]
    return Finding(
        "Ties.",
        f"The rank-order ρ of {listed(parts)} depends on how ties are broken. The values here are "
        f"expectations under random breaking; read {'its' if len(tied) == 1 else 'their'} "
        f"Kendall τ-b next to it (“All columns”).",
    )


def summarize_steps(rows: list[Metric]) -> Finding | None:
    """The step seen least and the clearest, of the metrics for which a test says so."""
    n, rows = len(rows), [m for m in rows if m.column.headline]
    least = [(m.name, m.numbers.least_seen_step) for m in rows]
    clearest = [(m.name, m.numbers.clearest_step) for m in rows]
    parts = []
    for steps, words in ((least, "is seen least"), (clearest, "is the clearest")):
        by_step: dict[tuple[str, str], list[str]] = {}
        for name, step in steps:
            if step is not None:
                by_step.setdefault((step.lower, step.upper), []).append(name)
        for (lower, upper), names in sorted(by_step.items(), key=lambda entry: -len(entry[1])):
            parts.append(f"from {lower} to {upper} {words} by {_some(names, n)}")
    if not parts:
        return None
    return Finding(
        "Steps.",
        "Where a step is significantly different from all others (adjacent AUC, paired over "
        f"images, Holm), the step {'; the step '.join(parts)}.",
    )


def _some(names: list[str], n: int) -> str:
    return f"all {spelled(n)} metrics" if len(names) == n > 1 else listed(names)


def headline(run: GradedRun) -> str:
    """One line on the size of the run."""
    return (
        f"{amount(len(run.image_ids), 'image')} × {amount(len(run.sets), 'version')} = "
        f"{count(sum(s.n for s in run.sets))} captions"
    )
