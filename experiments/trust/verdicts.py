"""From findings to skills, by rules that are declared beforehand.

The skill of a metric for a use is the mean over the tests of the use of how far it gets from the
best blind control (0) to the ceiling (1). The word follows from its interval: "shown" above the
minimal skill, "below" under it, "not shown" where it contains it, "cannot tell" without a test that
counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field
from scipy import stats

from metaeval import installation
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.trust.findings import EXPERIMENTS, SOURCES, Finding, Test, Word
from metaeval.options import did_you_mean
from metaeval.overrides import require_listed
from metaeval.readers.files import user_path
from metaeval.readers.yaml_text import read_declared
from metaeval.results.base import Estimate, Model
from metaeval.scoring import FITTED

# why a finding does not count, in the order in which the reasons are looked for
WHY_NOT = (
    "it has no interval",
    "{finding.control} alone has {finding.control_value:.2f} of {finding.ceiling:.2f}",
    "a perfect metric could not be shown{needed}",
    "no metric is above {finding.control}, a regression that reads the caption alone",
)
NEEDED = " by {:,} items; {:,} would do"
BATTERIES = ("quick", "standard", "full")
_Share = Annotated[float, Field(ge=0, lt=1)]
_Level = Annotated[float, Field(gt=0, lt=1)]


class Rules(Model):
    """What a word rests on.

    Attributes
    ----------
    minimal_skill
        The least skill that counts.
    least_room
        Where the ceiling is less than this above the best control, a test does not count.
    confidence
        Of the intervals.
    power
        A test counts where it finds a perfect metric above the minimal skill with this probability.
    """

    minimal_skill: _Share
    least_room: _Share
    confidence: _Level
    power: _Level


class Use(Model):
    """What a metric may be used for.

    `shows` says what a metric must do better than the best blind control on each item; `evidence`
    is source ("pairs.kinds") → the parts that count, `None` for all.
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
    """conf/trust/uses.yaml; `baselines` are controls that are not blind: here they are metrics."""

    rules: Rules
    baselines: tuple[str, ...] = ()
    uses: tuple[Use, ...]


_Item = Annotated[str, Field(pattern="^[a-z0-9_]+$")]


class Battery(Model):
    """What a battery runs.

    Attributes
    ----------
    items
        Item → the overrides of the command that runs it.
    candidates
        Item → the controls that are metrics there.
    of
        A battery that this one adds to.
    """

    items: Mapping[_Item, tuple[str, ...]]
    candidates: Mapping[_Item, tuple[str, ...]] = {}
    of: str | None = None


def read_uses(file: str | None) -> Uses:
    """The declared uses: metaeval's, or those of a file."""
    path = user_path(file) if file else _own("uses")
    uses = read_declared(path, Uses)
    ids = [use.id for use in uses.uses]
    if len(set(ids)) != len(ids):
        raise InputError("two uses have the same id", file=path, field="uses")
    for use in uses.uses:
        for source in use.evidence:
            if source not in SOURCES:
                meant = did_you_mean(source, SOURCES) or f"; choose from {', '.join(SOURCES)}"
                problem = f"unknown source '{source}'{meant}"
                raise InputError(problem, file=path, field=f"uses.{use.id}.evidence")
    require_listed([f"metric=[{name}]" for name in uses.baselines], path, "baselines")
    return uses


def read_battery(name: str, above: tuple[Path, ...] = ()) -> Battery:
    """A battery by name or file, with what it adds to; `above` are those that add to it.

    Raises ConfigError and InputError.
    """
    if name not in BATTERIES and not name.endswith((".yaml", ".yml")):
        meant = did_you_mean(name, BATTERIES)
        raise ConfigError(
            f"trust.battery: '{name}' is neither {', '.join(BATTERIES)} nor a .yaml file{meant}"
        )
    path = _own(name) if name in BATTERIES else user_path(name).resolve()
    if path in above:
        raise InputError("adds to itself; name another battery", file=path, field="of")
    battery = read_declared(path, Battery)
    for item, overrides in battery.items.items():
        field = f"items.{item}"
        require_listed(overrides, path, field)
        first = next(iter(overrides), "")
        if first not in [f"experiment={each}" for each in EXPERIMENTS]:
            begin = f"begin with experiment=NAME, one of {', '.join(EXPERIMENTS)}"
            problem = f"begins with '{first:.60}', which gives no evidence; {begin}"
            raise InputError(problem, file=path, field=field)
    for item, controls in battery.candidates.items():
        require_listed([f"metric=[{name}]" for name in controls], path, f"candidates.{item}")
    if battery.of is None:
        return battery
    base = read_battery(battery.of, (*above, path))
    return Battery(
        items={**base.items, **battery.items}, candidates={**base.candidates, **battery.candidates}
    )


def _own(name: str) -> Path:
    return installation.conf() / "trust" / f"{name}.yaml"


class Cell(NamedTuple):
    """One metric for one use.

    Attributes
    ----------
    word
        By the rules.
    skill
        The mean over the tests that count.
    evidence
        All findings, judged.
    more_data
        How many times as much data would decide, at this skill; only of "not shown".
    """

    word: Word
    skill: Estimate = Estimate(value=None)
    evidence: tuple[Finding, ...] = ()
    more_data: float | None = None

    @property
    def counted(self) -> list[Finding]:
        """The evidence that counts."""
        return [f for f in self.evidence if f.outcome != "not counted"]


def cells(found: Sequence[Finding], metrics: Sequence[str], rules: Rules) -> dict[str, Cell]:
    """Metric → its cell of one use."""
    passed = {f.test for f in found if f.why_not is None and (f.skill.low or 0.0) > 0}
    judged = [_judged(finding, passed, rules) for finding in found]
    return {name: cell([f for f in judged if f.metric == name], rules) for name in metrics}


def _judged(finding: Finding, passed: Collection[Test], rules: Rules) -> Finding:
    """The finding with its outcome; where it does not count, with the reason."""
    need, why = detectable(finding, rules), finding.why_not
    holds = (
        finding.skill.interval is None,
        finding.ceiling - finding.control_value < rules.least_room,
        need > 1,
        finding.control == FITTED[0] and finding.test not in passed,
    )
    if why is None and any(holds):
        why = WHY_NOT[holds.index(True)]
        why = why.format(finding=finding, needed=_needed(finding, need, rules))
    outcome = "not counted" if why is not None else word(finding.skill, rules)
    return finding._replace(detectable=need, why_not=why, outcome=outcome)


def detectable(finding: Finding, rules: Rules) -> float:
    """The least skill that the test finds above the minimal one: with the probability
    `rules.power`, of a metric that is as certain as a perfect one.

    A perfect metric's own value is certain; what is left is the uncertainty of the control.
    """
    ends, room = finding.of_control.interval, finding.ceiling - finding.control_value
    if ends is None or room <= 0:
        return rules.minimal_skill if room > 0 else math.inf
    error = (ends[1] - ends[0]) / 2 / _z(rules) / room
    return rules.minimal_skill + (_z(rules) + float(stats.norm.ppf(rules.power))) * error


def _needed(finding: Finding, need: float, rules: Rules) -> str:
    """How many items it would take."""
    if not finding.value.n or need == math.inf:
        return ""
    least = rules.minimal_skill
    factor = ((need - least) / (1 - least)) ** 2
    return NEEDED.format(finding.value.n, math.ceil(factor * finding.value.n))


def _z(rules: Rules) -> float:
    return float(stats.norm.ppf((1 + rules.confidence) / 2))


def cell(evidence: Sequence[Finding], rules: Rules) -> Cell:
    """The cell of all evidence of a metric for a use."""
    counted = [f for f in evidence if f.outcome != "not counted"]
    if not counted:
        return Cell("cannot tell", evidence=tuple(evidence))
    skill = mean_skill([f.skill for f in counted], rules.confidence, [f.item for f in counted])
    verdict = word(skill, rules)
    more = more_data(skill, rules) if verdict == "not shown" else None
    return Cell(verdict, skill, tuple(evidence), more)


def mean_skill(skills: Sequence[Estimate], confidence: float, items: Sequence[str]) -> Estimate:
    """The mean of the skills of several tests, each with the same weight; one test is itself.

    Tests are a sample of those that could be made. The interval is the wider of two: the normal one
    by the errors of the k tests, as if no others could be made, and Student's by how the tests
    differ (k - 1 degrees of freedom), which is too narrow where they agree by chance. Tests of the
    same item can be of the same captions: their errors add up as if they were the same error.

    >>> half = Estimate(value=0.5, low=0.4, high=0.6)
    >>> pooled([half, half, half, half], 0.95, ["a", "b", "c", "d"])
    Estimate(value=0.5, low=0.45, high=0.55, n=None)
    >>> pooled([half, half, half, half], 0.95, ["a", "a", "a", "a"])
    Estimate(value=0.5, low=0.4, high=0.6, n=None)
    """
    if len(skills) == 1:
        return skills[0]
    k, level = len(skills), (1 + confidence) / 2
    values = np.array([skill.value for skill in skills], dtype=np.float64)
    widths = dict.fromkeys(items, 0.0)
    for item, skill in zip(items, skills, strict=True):
        widths[item] += ((skill.high or 0.0) - (skill.low or 0.0)) / 2
    within = math.hypot(*widths.values()) / k
    between = float(stats.t.ppf(level, k - 1) * values.std(ddof=1)) / math.sqrt(k)
    mean, half = float(values.mean()), max(within, between)
    return Estimate(value=mean, low=mean - half, high=mean + half)


def word(skill: Estimate, rules: Rules) -> Word:
    """What the interval of a skill shows."""
    if skill.interval is None:
        return "cannot tell"
    low, high = skill.interval
    if low > rules.minimal_skill:
        return "shown"
    return "below" if high < rules.minimal_skill else "not shown"


def more_data(skill: Estimate, rules: Rules) -> float | None:
    """How many times as much data would put the interval on one side of the minimal skill.

    At this skill, for an interval whose width falls with the square root of the data; `None` where
    the skill is the minimal one, or has no interval.
    """
    if skill.value is None or skill.interval is None:
        return None
    low, high = skill.interval
    distance = abs(skill.value - rules.minimal_skill)
    return ((high - low) / 2 / distance) ** 2 if distance > 0 else None


Cells = Mapping[str, Mapping[str, Cell]]  # use → metric → cell


def robustness(
    judge: Callable[[Rules, str | None], Cells],
    rules: Rules,
    items: Sequence[str],
    other_seeds: Mapping[int, Cells] | None = None,
) -> list[dict[str, Any]]:
    """How many words change under other thresholds, without each item, and with other seeds.

    `judge` gives all cells by rules and by an item that is left out. Empty without a word that
    could change.
    """
    now = judge(rules, None)
    known = [(u, m) for u, row in now.items() for m, c in row.items() if c.word != "cannot tell"]

    def thresholds(factor: float) -> Cells:
        update = {"minimal_skill": rules.minimal_skill * factor}
        return judge(rules.model_copy(update=update), None)

    others = {
        "minimal skill a fifth lower": thresholds(0.8),
        "minimal skill a fifth higher": thresholds(1.2),
        **{f"without {item}": judge(rules, item) for item in items},
        **{f"seed {seed}": then for seed, then in (other_seeds or {}).items()},
    }
    return [
        {
            "change": name,
            "words": sum(then[u][m].word != now[u][m].word for u, m in known),
            "of": len(known),
        }
        for name, then in others.items()
        if known
    ]
