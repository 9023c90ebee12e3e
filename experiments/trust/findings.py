"""Each experiment's result on each metric against the best control."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from scipy import stats

from metaeval.results.attack import AttackResult
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.graded import GradedResult
from metaeval.results.judgments import PAIRS, SYSTEMS, HumanAgreement, JudgmentsResult
from metaeval.results.measured import MeasuredResult
from metaeval.results.metric import MetricResult
from metaeval.results.run import RunResult
from metaeval.results.sensitivity import REWRITES, SensitivityResult, SensitivityStatistics
from metaeval.results.trust import CaptionExample
from metaeval.stats.significance.comparison import ALPHA

COPIED = "references copied"  # the search that starts from a reference
BLIND = ("length", "random")  # of the scores that every attack runs on
LONG = 30  # words of a mean caption from which battles are about long captions


class ControlledFinding(NamedTuple):
    """One number of one metric against the best control on the same items.

    `source` and `part` are what conf/trust/uses.yaml chooses by; `difference` is value minus
    control with its interval.
    """

    source: str
    part: str
    metric: str
    measure: str
    value: Estimate
    control: str
    control_value: float
    difference: Estimate
    p: float | None
    test: str
    ceiling: float = 1.0
    ceiling_is: str = "always right"
    examples: tuple[CaptionExample, ...] = ()
    corrupted: bool = False  # whether the captions were corrupted by this tool
    why_not: str | None = None  # why it does not count, whatever the metric


class MetricTests(NamedTuple):
    """The tests between all pairs of metrics of a result, in one measure; `measure` in words."""

    measure: str
    pairs: Comparisons
    corrupted: bool = False


def between_metrics(result: RunResult[Any]) -> Iterator[MetricTests]:
    """The tests between metrics that an experiment makes, in its main measure."""
    if isinstance(result, GradedResult):
        pairs = result.differences.get("pairwise_accuracy")
        if pairs is not None:
            yield MetricTests("share of pairs of versions in order", pairs, corrupted=True)
    elif isinstance(result, SensitivityResult):
        measure = "how often the human caption scores higher, mean over kinds that harm"
        yield MetricTests(measure, result.differences, corrupted=True)
    elif isinstance(result, MeasuredResult) and result.experiment == "pairs":
        if (pairs := result.comparisons.get("accuracy_true___false")) is not None:
            measure = "share of pairs with the true caption higher, mean over kinds"
            yield MetricTests(measure, pairs)
    elif isinstance(result, MeasuredResult) and result.experiment == "forced_choice":
        for n in _numbers_of_references(result):
            measure = f"agreement with people's choice, {n} reference{'s' * (n != 1)}"
            yield MetricTests(measure, result.comparisons[f"agreement_{n}"])
    elif isinstance(result, JudgmentsResult):
        pairs = result.differences[_main_dimension(result)]
        yield MetricTests(f"{result.protocol.statistic} with people", pairs)
    elif isinstance(result, MeasuredResult) and result.experiment == "arena":
        yield MetricTests("agreement with the winners of battles", result.comparisons["agreement"])


def findings(result: RunResult[Any]) -> Iterator[ControlledFinding]:
    """All findings of a result that a use may need."""
    for kind, read in _READERS.items():
        if isinstance(result, kind):
            yield from read(result)
    if isinstance(result, MeasuredResult) and result.experiment in _MEASURED:
        yield from _MEASURED[result.experiment](result)


def _graded(result: GradedResult) -> Iterator[ControlledFinding]:
    for metric in _metrics(result):
        compared = result.control_comparison(metric.name, "pairwise_accuracy")
        value = metric.numbers.pairwise_accuracy
        if compared is not None and (tested := _tested(compared, value)):
            yield ControlledFinding(
                "graded.order", result.experiment, metric.name,
                "share of pairs of versions of one caption in order", *tested,
                ceiling_is="every pair in order", corrupted=True,
            )  # fmt: skip


def _pairs(result: MeasuredResult) -> Iterator[ControlledFinding]:
    main = result.declared[0].key
    kinds = {
        key.removeprefix(f"{main}_"): key for key in result.controls if key.startswith(f"{main}_")
    }
    for metric in _metrics(result):
        for kind, key in kinds.items():
            if tested := _from(result.controls[key], metric.name, metric.numbers[key]):
                measure = "share of pairs with the true caption higher"
                yield ControlledFinding("pairs.kinds", kind, metric.name, measure, *tested)


def _forced_choice(result: MeasuredResult) -> Iterator[ControlledFinding]:
    numbers = _numbers_of_references(result)
    most = max(numbers, default=0)
    for measure in result.declared:
        key, _, category = measure.key.removeprefix("agreement_").partition("_")
        against = result.controls.get(measure.key)
        if against is None or not category:
            continue  # every category is evidence, so that their mean is none
        n = int(key)
        for metric in _metrics(result):
            if not (tested := _from(against, metric.name, metric.numbers[measure.key])):
                continue
            what = f"agreement with people's choice, {n} reference{'s' * (n != 1)}"
            if n == most and n != 1:
                yield ControlledFinding(
                    "forced_choice.categories", category, metric.name, what, *tested
                )
            if n == 1:
                yield ControlledFinding(
                    "forced_choice.one_reference", category, metric.name, what, *tested
                )


def _numbers_of_references(result: MeasuredResult) -> list[int]:
    """Of a forced choice."""
    numbers = result.settings["n_references"]
    return list(map(int, numbers)) if isinstance(numbers, tuple) else []


def _judgments(result: JudgmentsResult) -> Iterator[ControlledFinding]:
    metrics = list(_metrics(result))
    for dimension, against in result.controls.items():
        people = result.people.get(dimension)
        ceiling, is_what = 1.0, "a correlation of 1"
        if people is not None and people.value is not None:
            ceiling, is_what = people.value, "the agreement of one rating with the others"
        for metric in metrics:
            numbers = metric.numbers.human[dimension]
            statistic = result.protocol.statistic  # also the difference's and the ceiling's
            if against and (tested := _from(against, metric.name, numbers.estimate(statistic))):
                yield ControlledFinding(
                    "judgments.correlation", dimension, metric.name,
                    f"{statistic} with people", *tested, ceiling, is_what,
                )  # fmt: skip
        if dimension == _main_dimension(result):
            yield from _accuracies(result, dimension)


def _main_dimension(result: JudgmentsResult) -> str:
    return "total" if "total" in result.dimensions else result.dimensions[0]


def _accuracies(result: JudgmentsResult, dimension: str) -> Iterator[ControlledFinding]:
    measures = {
        PAIRS: "pairs of captions of an image in order, or tied as by people",
        SYSTEMS: "share of pairs of systems in order",
    }
    for of, by_dimension in result.accuracy_controls.items():
        if (against := by_dimension[dimension]) is None:
            continue
        for metric in _metrics(result):
            agreement: HumanAgreement = metric.numbers.human[dimension]
            value = agreement.accuracy.accuracy
            if of == SYSTEMS and agreement.system is not None:
                value = agreement.system.accuracy
            if tested := _from(against, metric.name, value):
                yield ControlledFinding(
                    f"judgments.{of}", dimension, metric.name, measures[of], *tested,
                    ceiling_is="every pair in order",
                    why_not=_too_few_systems(agreement) if of == SYSTEMS else None,
                )  # fmt: skip


def _too_few_systems(agreement: HumanAgreement) -> str | None:
    """Whether a random order of this number of systems is correct too often to show anything.

    Resampled images cannot answer this: they are of the same systems.
    """
    means = agreement.system.means.values() if agreement.system is not None else ()
    n = sum(mean.score is not None and mean.human is not None for mean in means)
    by_chance = 1 / math.factorial(n)
    if by_chance < ALPHA:
        return None
    return f"a random order of {n} systems is right with probability {by_chance:.2f}"


def _sensitivity(result: SensitivityResult) -> Iterator[ControlledFinding]:
    by_kind: dict[str, list[str]] = {}
    for one in result.sets:
        by_kind.setdefault(one.kind, []).append(one.set)
    for group, against in result.controls.items():
        for metric in _metrics(result):
            numbers: SensitivityStatistics = metric.numbers
            if group == REWRITES:
                value, examples = numbers.hard_positives.rewrites, _examples(metric, [])
                source, part = "sensitivity.rewrites", ""
                measure = "how often a rewrite scores above a harmful near-copy"
            else:
                value, examples = numbers.kinds[group], _examples(metric, by_kind[group])
                source, part = "sensitivity.kinds", group
                measure = "how often the human caption scores higher"
            if tested := _from(against, metric.name, value):
                yield ControlledFinding(
                    source, part, metric.name, measure, *tested,
                    ceiling_is="always", examples=examples, corrupted=True,
                )  # fmt: skip


def _arena(result: MeasuredResult) -> Iterator[ControlledFinding]:
    against = result.controls.get("agreement")
    systems = [extra.records for extra in result.extras if extra.name == "systems"]
    known = [s["words"] for records in systems for s in records if s["words"] is not None]
    is_long = bool(known) and sum(known) / len(known) >= LONG
    for metric in _metrics(result):
        tested = against and _from(against, metric.name, metric.numbers["agreement"])
        if tested:
            measure = "agreement with the winners of battles"
            yield ControlledFinding("arena.agreement", "", metric.name, measure, *tested)
            if is_long:
                yield ControlledFinding("arena.long", "", metric.name, measure, *tested)


def _attack(result: AttackResult) -> Iterator[ControlledFinding]:
    gallery: dict[str, list[CaptionExample]] = {}
    for one in result.gallery:
        gallery.setdefault(one.metric, []).append(
            CaptionExample(
                image_id=one.image_id, better=one.human, worse=one.false, scores=one.scores
            )
        )
    for metric in _metrics(result):
        for search in (metric.numbers.main, COPIED):
            controls = _resistance_of_controls(result, search)
            if not controls or search not in metric.numbers.success:
                continue
            best = max(controls, key=lambda name: controls[name].value or 0.0)
            value = _complement(metric.numbers.final(search))
            if (tested := _unpaired(value, best, controls[best])) is not None:
                yield ControlledFinding(
                    "attack.resists", search, metric.name,
                    "share of images on which the search failed",
                    *tested, ceiling_is="never fooled",
                    examples=tuple(gallery.get(metric.name, ())[:3]),
                )  # fmt: skip


def _resistance_of_controls(result: AttackResult, search: str) -> dict[str, Estimate]:
    """Control → the share of images on which this search failed against it.

    Its columns, and for the main search the scores that every run attacks.
    """
    rates = {
        metric.name: metric.numbers.final(search)
        for metric in result.metrics
        if metric.statistics is not None
        and metric.column.control
        and search in metric.numbers.success
    }
    if search != COPIED:
        rates |= {name: result.controls[name] for name in BLIND if name in result.controls}
    return {name: _complement(rate) for name, rate in rates.items() if rate.value is not None}


_READERS: Mapping[type[RunResult[Any]], Callable[[Any], Iterator[ControlledFinding]]] = {
    GradedResult: _graded,
    JudgmentsResult: _judgments,
    SensitivityResult: _sensitivity,
    AttackResult: _attack,
}

_MEASURED: Mapping[str, Callable[[MeasuredResult], Iterator[ControlledFinding]]] = {
    "forced_choice": _forced_choice,
    "arena": _arena,
    "pairs": _pairs,
}


def _metrics(result: RunResult[Any]) -> Iterator[MetricResult[Any]]:
    """The metrics with numbers: no controls, no parts of others."""
    for metric in result.metrics:
        if metric.statistics is not None and not metric.column.control and metric.column.headline:
            yield metric


_Found = tuple[Estimate, str, float, Estimate, float | None, str]


def _from(against: AgainstControl, metric: str, value: Estimate) -> _Found | None:
    """The metric's comparison with the best control, as a `ControlledFinding` holds it."""
    for compared in against.comparisons:
        if compared.a == metric:
            return _tested(compared, value)
    return None


def _tested(compared: Comparison, value: Estimate) -> _Found | None:
    difference, test = compared.difference, compared.test
    if value.value is None or difference.value is None:
        return None
    control = value.value - difference.value
    p = None if test is None else test.p
    return value, compared.b, control, difference, p, "" if test is None else test.method


def _unpaired(value: Estimate, name: str, control: Estimate) -> _Found | None:
    """A difference of two values by the widths of their intervals, as if they were independent.

    For values whose items are not available; too strict where both succeed on the same images, too
    lenient where one succeeds on those on which the other fails.
    """
    if value.value is None or control.value is None:
        return None
    difference = value.value - control.value
    if value.interval is None or control.interval is None:
        return value, name, control.value, Estimate(value=difference), None, ""
    width = math.hypot(*(high - low for low, high in (value.interval, control.interval))) / 2
    sd = width / stats.norm.ppf(0.975)
    p = float(2 * stats.norm.sf(abs(difference) / sd)) if sd > 0 else None
    interval = Estimate(value=difference, low=difference - width, high=difference + width)
    return value, name, control.value, interval, p, "normal, as if independent"


def _complement(rate: Estimate) -> Estimate:
    def turned(number: float | None) -> float | None:
        return None if number is None else 1.0 - number

    return Estimate(
        value=turned(rate.value), low=turned(rate.high), high=turned(rate.low), n=rate.n
    )


def _examples(metric: MetricResult[Any], sets: list[str]) -> tuple[CaptionExample, ...]:
    """The metric's worst examples of these sets: the changed caption scored highest."""
    examples = [
        CaptionExample(image_id=e.image_id, better=e.human, worse=e.changed, scores=e.scores)
        for name in sets
        if name in metric.numbers.profile
        for e in metric.numbers.profile[name].examples
    ]
    examples.sort(key=lambda e: (e.scores[0] or 0.0) - (e.scores[1] or 0.0))
    return tuple(examples[:3])
