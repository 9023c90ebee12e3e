"""From findings to verdicts, by rules that are declared beforehand.

An item passes where the metric is significantly above the best control and its effect is at least
the minimal one; it fails where the metric is not above the best control, or the interval of its
effect lies below the minimal one; else it is undecided. "Yes" needs every counted item to pass, and
the metric to solve nearly every item that a control nearly solves; "partly" needs at least one that
passes, "no" that every item fails; else the verdict is "undecided".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from metaeval.results.base import Estimate
from metaeval.results.trust import Evidence, Outcome, Rules, TrustCell, VerdictRobustness
from metaeval.stats.significance.comparison import adjusted_in_family, is_significant


class UnjudgedEvidence(NamedTuple):
    """Evidence of a metric, before the rules; `why_not` says why it does not count."""

    metric: str
    evidence: Evidence
    why_not: str | None


def effect_of(difference: Estimate, control: float, ceiling: float) -> Estimate:
    """A difference from the control on the scale from control (0) to ceiling (1)."""
    room = ceiling - control
    if room <= 0 or difference.value is None:
        return Estimate(value=None)
    low, high = difference.low, difference.high
    return Estimate(
        value=difference.value / room,
        low=None if low is None else low / room,
        high=None if high is None else high / room,
        n=difference.n,
    )


def cells(
    found: Sequence[UnjudgedEvidence], metrics: Sequence[str], rules: Rules
) -> dict[str, TrustCell]:
    """Metric → its cell of one use. Holm's correction runs over all counted evidence."""
    judged = [_excused(f, rules) for f in found]
    counted = [k for k, (_, why) in enumerate(judged) if why is None]
    for k, p in adjusted_in_family({k: _p(judged[k][0]) for k in counted}).items():
        evidence = judged[k][0].model_copy(update={"p_adjusted": p})
        judged[k] = evidence.model_copy(update={"outcome": outcome(evidence, rules)}), None
    by_metric: dict[str, list[Evidence]] = {name: [] for name in metrics}
    for one, (evidence, _) in zip(found, judged, strict=True):
        by_metric[one.metric].append(evidence)
    return {name: verdict(evidence, rules) for name, evidence in by_metric.items()}


def _excused(unjudged: UnjudgedEvidence, rules: Rules) -> tuple[Evidence, str | None]:
    evidence, why = unjudged.evidence, unjudged.why_not
    if why is None and not _has_room(evidence, rules):
        why = f"{evidence.control} alone has {evidence.control_value:.2f} of {evidence.ceiling:.2f}"
    update = {"outcome": "not counted", "why_not": why}
    return (evidence if why is None else evidence.model_copy(update=update)), why


def _has_room(evidence: Evidence, rules: Rules) -> bool:
    return evidence.ceiling - evidence.control_value >= rules.least_room


def _p(evidence: Evidence) -> float:
    return 1.0 if evidence.p is None else evidence.p


def outcome(evidence: Evidence, rules: Rules) -> Outcome:
    """What the rules make of counted evidence with an adjusted p-value."""
    effect, least = evidence.effect, rules.minimal_effect
    if effect.value is None:
        return "undecided"
    if effect.value <= 0 or (effect.high is not None and effect.high < least):
        return "fails"
    p = evidence.p_adjusted
    if effect.value >= least and p is not None and is_significant(p, rules.alpha):
        return "passes"
    return "undecided"


def verdict(evidence: Sequence[Evidence], rules: Rules) -> TrustCell:
    """The cell of all evidence of a metric for a use.

    A test that a control nearly solves shows nothing by being passed. A metric that does not
    nearly solve it as well fails where even the control succeeds: its verdict is "partly" at best.
    """
    by: dict[Outcome, list[Evidence]] = {}
    for one in evidence:
        by.setdefault(one.outcome, []).append(one)
    passed, failed, open_ = (by.get(o, []) for o in ("passes", "fails", "undecided"))
    counted, shown = len(passed) + len(failed) + len(open_), tuple(evidence)
    if not counted:
        reason = "nothing here tests it"
        if evidence:
            reason = f"no evidence counts: {evidence[0].name}: {evidence[0].why_not}"
        return TrustCell(verdict="no evidence", reason=reason, evidence=shown)
    missed = [e for e in by.get("not counted", []) if not _has_room(e, rules)]
    missed = [e for e in missed if not _nearly_solves(e, rules)]
    if len(passed) == counted and not missed:
        reason = f"above the best control on {_parts(counted)}"
        return TrustCell(verdict="yes", reason=reason, evidence=shown)
    if passed:
        reason = f"above the best control on {_named(passed)}"
        if failed or open_:
            reason += f"; not shown: {_named([*failed, *open_])}"
        if missed:
            reason += f"; not solved, though a control nearly does: {_named(missed)}"
        return TrustCell(verdict="partly", reason=reason, evidence=shown)
    if not open_:
        reason = f"on none of {counted} clearly above the best control: {_named(failed)}"
        return TrustCell(verdict="no", reason=reason, evidence=shown)
    more = [m for e in open_ if (m := more_data(e, rules)) is not None]
    needed = max(more) if len(more) == len(open_) else None  # of one test no amount is known
    reason = f"{len(open_)} of {counted} not decided: {_named(open_)}"
    return TrustCell(verdict="undecided", reason=reason, more_data=needed, evidence=shown)


def _nearly_solves(evidence: Evidence, rules: Rules) -> bool:
    value = evidence.value.value
    return value is not None and evidence.ceiling - value < rules.least_room


def _parts(n: int) -> str:
    return "the one test" if n == 1 else f"all {n} tests"


def _named(evidence: Sequence[Evidence]) -> str:
    return ", ".join(e.name for e in evidence)


def more_data(evidence: Evidence, rules: Rules) -> float | None:
    """How many times as much data would put the interval on one side of the minimal effect.

    At the observed effect, for an interval whose width falls with the square root of the data;
    `None` where the effect is the minimal one, or has no interval.
    """
    effect = evidence.effect
    if effect.value is None or effect.interval is None:
        return None
    low, high = effect.interval
    distance = abs(effect.value - rules.minimal_effect)
    return ((high - low) / 2 / distance) ** 2 if distance > 0 else None


Verdicts = Mapping[str, Mapping[str, TrustCell]]  # use → metric → cell


def robustness(
    judge: Callable[[Rules, str | None], Verdicts],
    rules: Rules,
    items: Sequence[str],
    other_seeds: Mapping[int, Verdicts] | None = None,
) -> VerdictRobustness:
    """How many verdicts change under other thresholds, without each item, and with other seeds.

    `judge` gives all cells by rules and by an item that is left out.
    """
    now = judge(rules, None)
    known = [(u, m) for u, row in now.items() for m, c in row.items() if c.verdict != "no evidence"]

    def changed(then: Verdicts) -> int:
        return sum(then[u][m].verdict != now[u][m].verdict for u, m in known)

    def moved(factor: float) -> Rules:
        return rules.model_copy(update={
            "minimal_effect": rules.minimal_effect * factor, "alpha": rules.alpha * factor,
        })  # fmt: skip

    return VerdictRobustness(
        cells=len(known),
        lower=changed(judge(moved(0.8), None)),
        higher=changed(judge(moved(1.2), None)),
        without={item: changed(judge(rules, item)) for item in items},
        seeds={seed: changed(then) for seed, then in (other_seeds or {}).items()},
    )
