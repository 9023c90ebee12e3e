"""From findings to verdicts, by rules that are declared beforehand.

An item passes where the metric is significantly above the best control and its effect is at least
the minimal one; it fails where the metric is not above the best control, or the interval of its
effect lies below the minimal one; else it is undecided. "Yes" needs every counted item to pass, and
the metric to solve nearly every item that a control nearly solves; "partly" needs at least one that
passes, "no" that every item fails; else the verdict is "undecided".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from metaeval import installation
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.trust.findings import Finding, Outcome
from metaeval.options import did_you_mean
from metaeval.readers.files import user_path
from metaeval.readers.yaml_text import read_declared
from metaeval.results.base import Model
from metaeval.stats.significance.comparison import adjusted_in_family, is_significant

BATTERIES = ("quick", "standard", "full")
_Share = Annotated[float, Field(ge=0, lt=1)]


class Rules(Model):
    """What a verdict rests on.

    Attributes
    ----------
    minimal_effect
        The least effect that counts, on the scale from the best control (0) to the ceiling (1).
    alpha
        The level of significance, after Holm's correction over metrics × items of a use.
    least_room
        Where the ceiling is less than this above the best control, the item decides nothing.
    """

    minimal_effect: _Share
    alpha: Annotated[float, Field(gt=0, lt=1)]
    least_room: _Share


class Use(Model):
    """What a metric may be used for.

    `shows` says what a metric must do better than the best control on each item; `evidence` is
    source ("pairs.kinds") → the parts that count, `None` for all.
    """

    id: Annotated[str, Field(pattern="^[a-z0-9_]+$")]
    title: str
    shows: str
    evidence: Mapping[str, tuple[str, ...] | None]

    def asks(self, source: str, part: str) -> bool:
        """Whether a number is evidence for this use."""
        parts = self.evidence.get(source, ())
        return parts is None or part in parts


class Uses(Model):
    """conf/trust/uses.yaml."""

    rules: Rules
    uses: tuple[Use, ...]


class Battery(Model):
    """Item → the overrides of the command that runs it; `of` is a battery that this one adds to."""

    items: Mapping[Annotated[str, Field(pattern="^[a-z0-9_]+$")], tuple[str, ...]]
    of: str | None = None


def read_uses(file: str | None) -> Uses:
    """The declared uses: metaeval's, or those of a file."""
    path = user_path(file) if file else _own("uses")
    uses = read_declared(path, Uses)
    ids = [use.id for use in uses.uses]
    if len(set(ids)) != len(ids):
        raise InputError("two uses have the same id", file=path, field="uses")
    return uses


def read_battery(name: str) -> dict[str, tuple[str, ...]]:
    """Item → overrides, of a battery by name or file."""
    if name not in BATTERIES and not name.endswith((".yaml", ".yml")):
        meant = did_you_mean(name, BATTERIES)
        raise ConfigError(
            f"trust.battery: '{name}' is neither {', '.join(BATTERIES)} nor a .yaml file{meant}"
        )
    path = _own(name) if name in BATTERIES else user_path(name)
    battery = read_declared(path, Battery)
    return {**(read_battery(battery.of) if battery.of else {}), **battery.items}


def _own(name: str) -> Path:
    return installation.conf() / "trust" / f"{name}.yaml"


Verdict = Literal["yes", "partly", "no", "undecided", "no evidence"]


class Cell(NamedTuple):
    """One metric for one use.

    Attributes
    ----------
    verdict
        By the rules.
    evidence
        All findings, judged.
    unsolved
        Findings that do not count because a control nearly solves them, and the metric does not.
    more_data
        How many times as much data would decide, at the observed effects; only of "undecided".
    """

    verdict: Verdict
    evidence: tuple[Finding, ...] = ()
    unsolved: tuple[Finding, ...] = ()
    more_data: float | None = None

    @property
    def counted(self) -> list[Finding]:
        """The evidence that counts."""
        return [f for f in self.evidence if f.outcome != "not counted"]

    def names(self, outcome: Outcome) -> str:
        """The findings with this outcome."""
        return ", ".join(f.name for f in self.evidence if f.outcome == outcome)


def cells(found: Sequence[Finding], metrics: Sequence[str], rules: Rules) -> dict[str, Cell]:
    """Metric → its cell of one use. Holm's correction runs over all counted evidence."""
    judged = [_excused(finding, rules) for finding in found]
    counted = {k: 1.0 if f.p is None else f.p for k, f in enumerate(judged) if f.why_not is None}
    for k, p in adjusted_in_family(counted).items():
        finding = judged[k]._replace(p_adjusted=p)
        judged[k] = finding._replace(outcome=outcome(finding, rules))
    return {name: verdict([f for f in judged if f.metric == name], rules) for name in metrics}


def _excused(finding: Finding, rules: Rules) -> Finding:
    """The finding; where it does not count, with the reason."""
    why = finding.why_not
    if why is None and not _has_room(finding, rules):
        why = f"{finding.control} alone has {finding.control_value:.2f} of {finding.ceiling:.2f}"
    return finding if why is None else finding._replace(outcome="not counted", why_not=why)


def _has_room(finding: Finding, rules: Rules) -> bool:
    return finding.ceiling - finding.control_value >= rules.least_room


def outcome(finding: Finding, rules: Rules) -> Outcome:
    """What the rules make of a finding that counts, with its adjusted p-value."""
    effect, least = finding.effect, rules.minimal_effect
    if effect.value is None:
        return "undecided"
    if effect.value <= 0 or (effect.high is not None and effect.high < least):
        return "fails"
    p = finding.p_adjusted
    if effect.value >= least and p is not None and is_significant(p, rules.alpha):
        return "passes"
    return "undecided"


def verdict(evidence: Sequence[Finding], rules: Rules) -> Cell:
    """The cell of all evidence of a metric for a use.

    A test that a control nearly solves shows nothing by being passed. A metric that does not
    nearly solve it as well fails where even the control succeeds: its verdict is "partly" at best.
    """
    unsolved = tuple(
        f
        for f in evidence
        if f.outcome == "not counted"
        and not _has_room(f, rules)
        and (f.value.value is None or f.ceiling - f.value.value >= rules.least_room)
    )
    cell = Cell("no evidence", tuple(evidence), unsolved)
    outcomes = {f.outcome for f in cell.counted}
    if not outcomes:
        return cell
    if outcomes == {"passes"} and not unsolved:
        return cell._replace(verdict="yes")
    if "passes" in outcomes:
        return cell._replace(verdict="partly")
    if outcomes == {"fails"}:
        return cell._replace(verdict="no")
    more = [more_data(f, rules) for f in cell.counted if f.outcome == "undecided"]
    known = [m for m in more if m is not None]
    needed = max(known) if len(known) == len(more) else None  # of one test no amount is known
    return cell._replace(verdict="undecided", more_data=needed)


def more_data(finding: Finding, rules: Rules) -> float | None:
    """How many times as much data would put the interval on one side of the minimal effect.

    At the observed effect, for an interval whose width falls with the square root of the data;
    `None` where the effect is the minimal one, or has no interval.
    """
    effect = finding.effect
    if effect.value is None or effect.interval is None:
        return None
    low, high = effect.interval
    distance = abs(effect.value - rules.minimal_effect)
    return ((high - low) / 2 / distance) ** 2 if distance > 0 else None


Verdicts = Mapping[str, Mapping[str, Cell]]  # use → metric → cell


def robustness(
    judge: Callable[[Rules, str | None], Verdicts],
    rules: Rules,
    items: Sequence[str],
    other_seeds: Mapping[int, Verdicts] | None = None,
) -> list[dict[str, Any]]:
    """How many verdicts change under other thresholds, without each item, and with other seeds.

    `judge` gives all cells by rules and by an item that is left out. Empty without a verdict that
    could change.
    """
    now = judge(rules, None)
    known = [(u, m) for u, row in now.items() for m, c in row.items() if c.verdict != "no evidence"]

    def thresholds(factor: float) -> Verdicts:
        update = {"minimal_effect": rules.minimal_effect * factor, "alpha": rules.alpha * factor}
        return judge(rules.model_copy(update=update), None)

    others = {
        "thresholds a fifth lower": thresholds(0.8),
        "thresholds a fifth higher": thresholds(1.2),
        **{f"without {item}": judge(rules, item) for item in items},
        **{f"seed {seed}": then for seed, then in (other_seeds or {}).items()},
    }
    return [
        {
            "change": name,
            "verdicts": sum(then[u][m].verdict != now[u][m].verdict for u, m in known),
            "of": len(known),
        }
        for name, then in others.items()
        if known
    ]
