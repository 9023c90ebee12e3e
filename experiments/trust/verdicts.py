"""From tests to words, by rules that are declared beforehand (docs/trust.md).

A use is a set of named tests. The skill of a metric against a blind control is how far it gets,
over all tests of the use, from the control (0) to the ceiling (1); the word follows from its
interval against the control that is hardest to beat.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from metaeval import choices
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.measure import level_of
from metaeval.experiments.trust.findings import EXPERIMENTS, SOURCES, DeclaredTest
from metaeval.options import did_you_mean
from metaeval.overrides import require_listed
from metaeval.readers.files import user_path
from metaeval.readers.yaml_text import read_declared
from metaeval.results.base import Estimate, Model
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.files import CEILING, Resampled
from metaeval.stats.resampling.bootstrap import percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import resampled_difference

Word = Literal["shown", "not shown", "below", "cannot tell", "control"]
Outcome = Literal["above", "below", "neither", "not counted"]
BATTERIES = ("quick", "standard", "full")
CONSTANT = "a constant score"
LOWEST = -100.0  # the skill of a draw that leaves nothing to be gained
FEW = "{n:,} {unit}; a test needs {least}"
NO_CONTROL = "its run has no scores of {}"
NOT_ASKED = "metrics must contain all of metric_groups.controls"
NO_REPLICATES = "its run has no replicates.parquet: run it again with this version"
NO_ROOM = "{} alone has {:.2f} of {:.2f}"
_Share = Annotated[float, Field(ge=0, lt=1)]
_Level = Annotated[float, Field(gt=0, lt=1)]
_Count = Annotated[int, Field(ge=1)]


class Rules(Model):
    """What a word rests on; docs/trust.md says why.

    Attributes
    ----------
    minimal_skill
        The least skill that counts.
    least_room
        Where the ceiling is less than this above the best control, a test does not count.
    least_images, least_systems
        The fewest images of a test, and systems of one over systems.
    most_missing
        The largest share of a test's items without a score with which a metric is compared on it.
    confidence
        Of the intervals; 1 - confidence is the level of the tests between metrics.
    """

    minimal_skill: _Share
    least_room: _Share
    least_images: _Count
    least_systems: _Count
    most_missing: _Share
    confidence: _Level


class Use(Model):
    """What a metric may be used for.

    Attributes
    ----------
    shows
        What a metric must do better than every blind control.
    evidence
        Source ("pairs.kinds") → the parts that count, `None` for all.
    judges
        Blind controls that are metrics for this use → why.
    circular
        Metrics that are left out, as they are the rule by which captions are better → why.
    """

    id: Annotated[str, Field(pattern="^[a-z0-9_]+$")]
    title: str
    shows: str
    evidence: Mapping[str, tuple[str, ...] | None]
    judges: Mapping[str, str] = {}
    circular: Mapping[str, str] = {}

    def asks(self, source: str, part: str) -> bool:
        """Whether a number is evidence for this use."""
        parts = self.evidence.get(source, ())
        return parts is None or part in parts


class Uses(Model):
    """conf/trust/uses.yaml: `blind` are the controls that a test needs, `baselines` the controls
    that read image or references and are shown like metrics."""

    rules: Rules
    blind: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    uses: tuple[Use, ...]


_Item = Annotated[str, Field(pattern="^[a-z0-9_]+$")]


class Battery(Model):
    """What a battery runs.

    Attributes
    ----------
    items
        Item → the overrides of the command that runs it.
    of
        A battery that this one adds to.
    """

    items: Mapping[_Item, tuple[str, ...]]
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
    for field in ("blind", "baselines"):
        require_listed([f"metric=[{name}]" for name in getattr(uses, field)], path, field)
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
    if battery.of is None:
        return battery
    return Battery(items={**read_battery(battery.of, (*above, path)).items, **battery.items})


def _own(name: str) -> Path:
    return choices.conf() / "trust" / f"{name}.yaml"


class Evidence(NamedTuple):
    """A test and the numbers of its run.

    Attributes
    ----------
    rows
        (column, the metric on whose items) → its replicates.
    families
        Column → the metric that it belongs to, of all that ran.
    blind
        Its columns that are blind controls here and have a value.
    estimates
        Column → its value with the run's own interval: of systems, Fisher's.
    why_not
        Why the test does not count; `None` where it does.
    metric_why_not
        Metric → why this test does not count for it.
    """

    test: DeclaredTest
    rows: Mapping[tuple[str, str], Resampled]
    families: Mapping[str, str]
    blind: tuple[str, ...]
    estimates: Mapping[str, Estimate] = {}
    why_not: str | None = None
    metric_why_not: Mapping[str, str] = {}

    @property
    def of_systems(self) -> bool:
        """Whether its items are systems, which have chance, 0, in place of a control."""
        return self.test.unit == "systems"

    def ceiling(self, metric: str = "") -> Resampled:
        """What a perfect metric reaches, on the items of a column."""
        of_all = self.rows.get((CEILING, ""), _certain(1.0))
        return self.rows.get((CEILING, metric), of_all)

    def against(self, metric: str) -> dict[str, Resampled]:
        """The blind controls on the items of a column, without itself."""
        known = {
            name: self.rows.get((name, metric), self.rows[name, ""])
            for name in self.blind
            if name != metric
        }
        constant = self.test.constant
        return known if constant is None else {**known, CONSTANT: _certain(constant)}

    def is_whole(self, metric: str, most_missing: float) -> bool:
        """Whether a column has scores of nearly all items."""
        numbers = {name: row.n for (name, of), row in self.rows.items() if not of}
        return numbers.get(metric, 0) >= (1 - most_missing) * max(numbers.values(), default=1)


def _certain(value: float) -> Resampled:
    return Resampled("", "", "", value, 0, 0, np.array([value]))


def why_not_counted(made: Evidence, rules: Rules, blind: Mapping[str, str]) -> str | None:
    """Why a test does not count, if there is a reason. No metric is looked at. `blind` are the
    controls that it needs, each with why its run may have no scores of it."""
    if made.of_systems:
        n = max((e.n or 0 for e in made.estimates.values()), default=0)
        few = FEW.format(n=n, unit="systems", least=rules.least_systems)
        return few if n < rules.least_systems else None
    if not made.rows:
        return NO_REPLICATES
    missing = [f"{k} ({why})" for k, why in blind.items() if k not in made.families.values()]
    if missing or not made.blind:
        return NO_CONTROL.format(" and ".join(missing or ["control with a value"]))
    controls = {name: made.rows[name, ""] for name in made.blind}
    n = min(row.n_units for row in controls.values())
    if n < rules.least_images:
        return FEW.format(n=n, unit="images", least=rules.least_images)
    best = max(controls, key=lambda name: controls[name].value)
    value, ceiling = controls[best].value, made.ceiling().value
    return None if ceiling - value >= rules.least_room else NO_ROOM.format(best, value, ceiling)


class Finding(NamedTuple):
    """One metric on one test.

    Attributes
    ----------
    value, control, control_value, skill
        The metric's value; the control that is hardest to beat, its value, and the skill against
        it.
    outcome
        "above" where the metric is above every blind control, by intervals of differences; "below"
        where it is below one of them.
    why_not
        Why it does not count; `None` where it counts.
    """

    test: DeclaredTest
    value: Estimate
    control: str = ""
    control_value: float | None = None
    skill: Estimate = Estimate(value=None)
    ceiling: float = 1.0
    outcome: Outcome = "not counted"
    why_not: str | None = None


class Cell(NamedTuple):
    """One metric for one use.

    Attributes
    ----------
    word
        By the rules; "control" of a baseline.
    skill, control
        Over the tests that count and have the control, against the one that is hardest to beat.
    findings
        All tests that the metric has.
    rank
        1 + how many metrics with the same tests are above it, by a test; `None` where it has not
        all tests of the use, or is a baseline.
    whole
        Whether it has all tests of the use that count.
    """

    word: Word
    skill: Estimate = Estimate(value=None)
    control: str = ""
    findings: tuple[Finding, ...] = ()
    rank: int | None = None
    whole: bool = False

    @property
    def counted(self) -> list[Finding]:
        """The tests that count."""
        return [f for f in self.findings if f.outcome != "not counted"]

    def number(self, outcome: Outcome) -> int:
        """In how many tests it is above every control, or below one."""
        return sum(f.outcome == outcome for f in self.findings)


class UseCells(NamedTuple):
    """The cells of a use, and the tests between the metrics that have the same tests."""

    cells: Mapping[str, Cell]
    tests: tuple[Evidence, ...]
    comparisons: Comparisons
    others: tuple[Comparison, ...] = ()

    @property
    def counted(self) -> list[Evidence]:
        """The tests that count."""
        return [made for made in self.tests if made.why_not is None]


def judged(
    tests: Sequence[Evidence], metrics: Sequence[str], rules: Rules, unranked: Iterable[str] = ()
) -> UseCells:
    """All cells of a use from its tests; `unranked` are baselines."""
    cells = {name: cell(tests, name, rules) for name in metrics}
    baselines = set(unranked)
    main = [n for n, c in cells.items() if c.whole and n not in baselines]
    counted = [made for made in tests if made.why_not is None and not made.of_systems]
    pairs = dict.fromkeys(combinations(main, 2), counted)
    compared = _compared(pairs, rules, "metrics with the same tests")
    above = dict.fromkeys(main, 1)
    for pair in compared.pairs:
        if pair.is_significant(compared.alpha):
            above[pair.b if (pair.difference.value or 0) > 0 else pair.a] += 1
    ranked = {
        name: c._replace(word="control") if name in baselines else c._replace(rank=above.get(name))
        for name, c in cells.items()
    }
    lacking = {n: c for n, c in cells.items() if not c.whole and n not in baselines}
    others = _compared(_with_ends(lacking, counted, main, rules), rules, "metrics with other tests")
    return UseCells(ranked, tuple(tests), compared, others.pairs)


def cell(tests: Sequence[Evidence], metric: str, rules: Rules) -> Cell:
    """The cell of a metric."""
    having = [made for made in tests if _has(made, metric)]
    findings = tuple(_finding(made, metric, rules) for made in having)
    used = [made for made, f in zip(having, findings, strict=True) if f.why_not is None]
    # correlations over few systems show their interval all the same
    seen = used or [made for made in having if made.of_systems]
    if not seen:
        return Cell("cannot tell", findings=findings)
    control, skill = _over(seen, metric, rules.confidence)
    counted = [made for made in tests if made.why_not is None]
    whole = 0 < len(used) == len(counted) and all(
        made.is_whole(metric, rules.most_missing) for made in used
    )
    return Cell(
        word(skill, rules) if used else "cannot tell", skill, control, findings, whole=whole
    )


def _has(made: Evidence, metric: str) -> bool:
    known = made.estimates.get(metric) if made.of_systems else made.rows.get((metric, ""))
    return known is not None and known.value is not None and known.value == known.value


def _over(tests: Sequence[Evidence], metric: str, confidence: float) -> tuple[str, Estimate]:
    """The control that is hardest to beat over these tests, and the skill against it.

    Correlations over the same systems have one error, so their ends are averaged.
    """
    if not tests[0].of_systems:
        return hardest_control(tests, metric, confidence)
    value, low, high = (
        float(np.mean([getattr(made.estimates[metric], field) for made in tests]))
        for field in ("value", "low", "high")
    )
    return "chance", Estimate(value=value, low=low, high=high)


def _finding(made: Evidence, metric: str, rules: Rules) -> Finding:
    """One metric on one test, whether or not it counts."""
    why = made.metric_why_not.get(metric) or made.why_not
    if made.of_systems:
        value = made.estimates[metric]
        outcome = _outcome([value.interval or (0.0, 0.0)], why)
        return Finding(made.test, value, "chance", 0.0, value, 1.0, outcome, why)
    row = made.rows[metric, ""]
    if why is None and row.n_units < rules.least_images:
        why = FEW.format(n=row.n_units, unit="images", least=rules.least_images)
    value = Estimate.resampled(row.value, row.replicates, rules.confidence, row.n_units, row.n)
    controls = made.against(metric)
    if not controls:
        return Finding(made.test, value, ceiling=made.ceiling(metric).value, why_not=why)
    control, skill = hardest_control([made], metric, rules.confidence)
    gaps = [_added(np.zeros(1), row.replicates, c.replicates) for c in controls.values()]
    ends = [percentile_interval(gap, rules.confidence, row.n_units) for gap in gaps]
    outcome = _outcome(ends, why)
    return Finding(
        made.test,
        value,
        control,
        controls[control].value,
        skill,
        made.ceiling(metric).value,
        outcome,
        why,
    )


def _outcome(ends: Sequence[Sequence[float]], why: str | None) -> Outcome:
    """By the intervals of the differences from each control."""
    if why is not None:
        return "not counted"
    low, high = (min(each) for each in zip(*ends, strict=True))
    return "above" if low > 0 else "below" if high < 0 else "neither"


def hardest_control(
    tests: Sequence[Evidence], metric: str, confidence: float
) -> tuple[str, Estimate]:
    """The control with the lowest lower end of the skill against it, over the tests that have it,
    and that skill."""
    names = dict.fromkeys(name for made in tests for name in made.against(metric))
    skills = {name: skill(tests, metric, name, confidence) for name in names}
    known = [name for name in skills if skills[name].low is not None] or list(skills)
    hardest = min(known, key=lambda name: skills[name].low or 0.0)
    return hardest, skills[hardest]


def skill(tests: Sequence[Evidence], metric: str, control: str, confidence: float) -> Estimate:
    """Σ(metric − control) / Σ(ceiling − control) over the tests that have the control, with the
    percentile interval of the same ratio on each draw of images.

    A draw in which the control reaches the ceiling leaves nothing to be gained: `LOWEST`. Without a
    value where that is so on all images.
    """
    value = [0.0, 0.0]
    gain: Floats = np.zeros(1)
    room: Floats = np.zeros(1)
    n, units = 0, min(made.rows[metric, ""].n_units for made in tests)
    for made in tests:
        blind = made.against(metric).get(control)
        if blind is not None:
            own, best = made.rows[metric, ""], made.ceiling(metric)
            value[0] += own.value - blind.value
            value[1] += best.value - blind.value
            gain = _added(gain, own.replicates, blind.replicates)
            room = _added(room, best.replicates, blind.replicates)
            n += own.n
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(room > 0, gain / room, LOWEST)
    if value[1] <= 0 or np.isnan(ratio).all():
        return Estimate(value=None, n=n)
    return Estimate.resampled(value[0] / value[1], ratio, confidence, units, n)


def _added(total: Floats, plus: Floats, minus: Floats) -> Floats:
    """total + plus − minus on the draws that all have; one value stands for any number of draws."""
    several = [len(x) for x in (total, plus, minus) if len(x) > 1]
    draws = min(several, default=1)
    added: Floats = total[:draws] + plus[:draws] - minus[:draws]
    return added


def word(skill: Estimate, rules: Rules) -> Word:
    """What the interval of a skill shows."""
    if skill.low is None or skill.high is None:
        return "cannot tell"
    if skill.low > rules.minimal_skill:
        return "shown"
    return "below" if skill.high < rules.minimal_skill else "not shown"


def _compared(
    tests_of: Mapping[tuple[str, str], Sequence[Evidence]], rules: Rules, family: str
) -> Comparisons:
    """The differences of means over the tests of each pair, corrected over the pairs."""
    tested = {}
    for (a, b), tests in tests_of.items():
        of_a, of_b = ([made.rows[name, ""] for made in tests] for name in (a, b))
        draws = min(len(row.replicates) for row in (*of_a, *of_b))
        made = resampled_difference(
            float(np.mean([row.value for row in of_a])),
            float(np.mean([row.value for row in of_b])),
            np.mean([row.replicates[:draws] for row in of_a], axis=0),
            np.mean([row.replicates[:draws] for row in of_b], axis=0),
            min(row.n_units for row in (*of_a, *of_b)),
            confidence=rules.confidence,
        )
        tested[a, b] = made._replace(n=sum(row.n for row in of_a))
    return Comparisons.tested(tested, "mean over tests", family, level_of(rules.confidence))


def _with_ends(
    lacking: Mapping[str, Cell], counted: Sequence[Evidence], main: Sequence[str], rules: Rules
) -> dict[tuple[str, str], list[Evidence]]:
    """Each metric that lacks some tests, with the best and the worst metric of all tests → the
    tests that it has in full."""
    pairs = {}
    for name, of in lacking.items():
        having = {f.test.id for f in of.counted}
        tests = [m for m in counted if m.test.id in having and m.is_whole(name, rules.most_missing)]
        means = {o: float(np.mean([m.rows[o, ""].value for m in tests])) for o in main if tests}
        for end in (max, min) if means else ():
            pairs[name, end(means, key=means.__getitem__)] = tests
    return pairs


Cells = Mapping[str, UseCells]  # use → its cells


def robustness(
    made: Cells,
    rules: Rules,
    items: Mapping[str, bool],
    other_seeds: Mapping[int, Cells] | None = None,
) -> list[dict[str, Any]]:
    """How many words change under other thresholds, without each item, on drawn scenes alone, and
    with other seeds.

    `items` are those with a run, and whether they are of drawn scenes. Empty without a word that
    could change.
    """
    known = [
        (use, name)
        for use, of in made.items()
        for name, each in of.cells.items()
        if each.word not in ("cannot tell", "control")
    ]

    def threshold(factor: float, use: str, name: str) -> Word:
        other = rules.model_copy(update={"minimal_skill": rules.minimal_skill * factor})
        return word(made[use].cells[name].skill, other)

    def on(kept: Collection[str], use: str, name: str) -> Word:
        now = made[use].cells[name]
        ids = {f.test.id for f in now.counted if f.test.item in kept}
        if len(ids) == len(now.counted):
            return now.word
        tests = [t for t in made[use].tests if t.test.id in ids]
        return word(_over(tests, name, rules.confidence)[1], rules) if tests else "cannot tell"

    def of_seed(then: Cells, use: str, name: str) -> Word:
        return then[use].cells[name].word

    changes: dict[str, Callable[[str, str], Word]] = {
        "minimal skill a fifth lower": partial(threshold, 0.8),
        "minimal skill a fifth higher": partial(threshold, 1.2),
        **{f"without {item}": partial(on, set(items) - {item}) for item in items},
        **{f"seed {seed}": partial(of_seed, then) for seed, then in (other_seeds or {}).items()},
    }
    counts = {
        change: [then(u, m) != made[u].cells[m].word for u, m in known]
        for change, then in changes.items()
    }
    drawn = {item for item, is_drawn in items.items() if is_drawn}
    if drawn and len(drawn) < len(items):
        alone = {(u, m): on(drawn, u, m) for u, m in known}
        counts["on drawn scenes alone, where they say a word"] = [
            then != made[u].cells[m].word for (u, m), then in alone.items() if then != "cannot tell"
        ]
    return [
        {"change": change, "words": sum(changed), "of": len(changed)}
        for change, changed in counts.items()
        if known
    ]
