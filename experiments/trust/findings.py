"""Each experiment's result on each metric against the best control."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from scipy import stats

from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.measured import MeasuredResult
from metaeval.results.metric import MetricResult
from metaeval.results.run import RunResult
from metaeval.results.trust import CaptionExample
from metaeval.stats.significance.comparison import ALPHA

GRADED = ("graded", "replace", "shuffle", "sample_size")  # experiments of graded corruption
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
    if isinstance(result, MeasuredResult) and result.experiment in GRADED:
        pairs = result.comparisons.get("pairwise_accuracy")
        if pairs is not None:
            yield MetricTests("share of pairs of versions in order", pairs, corrupted=True)
    elif isinstance(result, MeasuredResult) and result.experiment == "sensitivity":
        measure = "how often the human caption scores higher, mean over kinds that harm"
        yield MetricTests(measure, result.comparisons["mean_auc"], corrupted=True)
    elif isinstance(result, MeasuredResult) and result.experiment == "pairs":
        if (pairs := result.comparisons.get("accuracy_true___false")) is not None:
            measure = "share of pairs with the true caption higher, mean over kinds"
            yield MetricTests(measure, pairs)
    elif isinstance(result, MeasuredResult) and result.experiment == "forced_choice":
        for n in _numbers_of_references(result):
            measure = f"agreement with people's choice, {n} reference{'s' * (n != 1)}"
            yield MetricTests(measure, result.comparisons[f"agreement_{n}"])
    elif isinstance(result, MeasuredResult) and result.experiment == "judgments":
        key = key_of(result, str(result.settings["statistic"]), main_dimension(result))
        yield MetricTests(f"{result.settings['statistic']} with people", result.comparisons[key])
    elif isinstance(result, MeasuredResult) and result.experiment == "arena":
        yield MetricTests("agreement with the winners of battles", result.comparisons["agreement"])


def findings(result: RunResult[Any]) -> Iterator[ControlledFinding]:
    """All findings of a result that a use may need."""
    if isinstance(result, MeasuredResult) and result.experiment in _MEASURED:
        yield from _MEASURED[result.experiment](result)


def _graded(result: MeasuredResult) -> Iterator[ControlledFinding]:
    if (against := result.controls.get("pairwise_accuracy")) is None:
        return
    for metric in _metrics(result):
        if tested := _from(against, metric.name, metric.numbers["pairwise_accuracy"]):
            yield ControlledFinding(
                "graded.order",
                result.experiment,
                metric.name,
                "share of pairs of versions of one caption in order",
                *tested,
                ceiling_is="every pair in order",
                corrupted=True,
            )


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
    return [int(str(n)) for n in numbers] if isinstance(numbers, tuple) else []


def _judgments(result: MeasuredResult) -> Iterator[ControlledFinding]:
    statistic = str(result.settings["statistic"])  # also the difference's and the ceiling's
    for dimension in dimensions(result):
        key = key_of(result, statistic, dimension)
        people, against = result.people.get(key), result.controls.get(key)
        ceiling, is_what = 1.0, "a correlation of 1"
        if people is not None and people.value is not None:
            ceiling, is_what = people.value, "the agreement of one rating with the others"
        for metric in _metrics(result):
            if against and (tested := _from(against, metric.name, metric.numbers[key])):
                yield ControlledFinding(
                    "judgments.correlation", dimension, metric.name,
                    f"{statistic} with people", *tested, ceiling, is_what,
                )  # fmt: skip
        if dimension == main_dimension(result):
            yield from _accuracies(result, dimension)


def dimensions(result: MeasuredResult) -> list[str]:
    """What people rated, of a result of judgments."""
    given = result.settings["dimensions"]
    return list(map(str, given)) if isinstance(given, tuple) else []


def main_dimension(result: MeasuredResult) -> str:
    """ "total", where people rated it, else the first dimension."""
    known = dimensions(result)
    return "total" if "total" in known else known[0]


def key_of(result: MeasuredResult, name: str, dimension: str) -> str:
    return name if len(dimensions(result)) == 1 else f"{name}_{dimension}"


def _accuracies(result: MeasuredResult, dimension: str) -> Iterator[ControlledFinding]:
    for of, name, measure in (
        ("pairs", "accuracy", "pairs of captions of an image in order, or tied as by people"),
        ("systems", "system_accuracy", "share of pairs of systems in order"),
    ):
        key = key_of(result, name, dimension)
        if (against := result.controls.get(key)) is None:
            continue
        for metric in _metrics(result):
            value = metric.numbers[key]
            if tested := _from(against, metric.name, value):
                yield ControlledFinding(
                    f"judgments.{of}", dimension, metric.name, measure, *tested,
                    ceiling_is="every pair in order",
                    why_not=_too_few_systems(value.n or 0) if of == "systems" else None,
                )  # fmt: skip


def _too_few_systems(n: int) -> str | None:
    """Whether a random order of this number of systems is correct too often to show anything.

    Resampled images cannot answer this: they are of the same systems.
    """
    by_chance = 1 / math.factorial(n)
    if by_chance < ALPHA:
        return None
    return f"a random order of {n} systems is right with probability {by_chance:.2f}"


def _sensitivity(result: MeasuredResult) -> Iterator[ControlledFinding]:
    kind_of = {one["set"]: one["kind"] for one in result.extra("sets").records}
    examples = [(kind_of[one["set"]], one) for one in result.extra("examples").records]
    for key, against in result.controls.items():
        if key == "hard_positives":
            source, kind = "sensitivity.rewrites", ""
            measure = "how often a rewrite scores above a harmful near-copy"
        elif key.startswith("kind_"):
            source, kind = "sensitivity.kinds", key.removeprefix("kind_")
            measure = "how often the human caption scores higher"
        else:
            continue
        for metric in _metrics(result):
            worst = [one for of, one in examples if (of, one["metric"]) == (kind, metric.name)]
            if tested := _from(against, metric.name, metric.numbers[key]):
                yield ControlledFinding(
                    source, kind, metric.name, measure, *tested,
                    ceiling_is="always", examples=_examples(worst), corrupted=True,
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


def _attack(result: MeasuredResult) -> Iterator[ControlledFinding]:
    gallery: dict[str, list[CaptionExample]] = {}
    for one in result.extra("examples").records:
        gallery.setdefault(one["metric"], []).append(
            CaptionExample(
                image_id=one["image_id"],
                better=one["human"],
                worse=one["false"],
                scores=(one["score of the human caption"], one["score of the false caption"]),
            )
        )
    for metric in _metrics(result):
        for search in (str(metric.numbers.facts["search"]), COPIED):
            key = f"fooled_{search.replace(' ', '_')}"
            controls = _resistance_of_controls(result, search, key)
            if not controls or key not in metric.numbers.values:
                continue
            best = max(controls, key=lambda name: controls[name].value or 0.0)
            value = _complement(metric.numbers[key])
            if (tested := _unpaired(value, best, controls[best])) is not None:
                yield ControlledFinding(
                    "attack.resists", search, metric.name,
                    "share of images on which the search failed",
                    *tested, ceiling_is="never fooled",
                    examples=tuple(gallery.get(metric.name, ())[:3]),
                )  # fmt: skip


def _resistance_of_controls(result: MeasuredResult, search: str, key: str) -> dict[str, Estimate]:
    """Control → the share of images on which this search failed against it.

    Its columns, and for the main search the scores that every run attacks.
    """
    rates = {
        metric.name: metric.numbers[key]
        for metric in result.metrics
        if metric.statistics is not None and metric.column.control and key in metric.numbers.values
    }
    if search != COPIED:
        rates |= {
            one["score"]: Estimate(
                value=one["images fooled"],
                low=one["images fooled_low"],
                high=one["images fooled_high"],
                n=one["n"],
            )
            for one in result.extra("controls").records
            if one["score"] in BLIND
        }
    return {name: _complement(rate) for name, rate in rates.items() if rate.value is not None}


_MEASURED: Mapping[str, Callable[[MeasuredResult], Iterator[ControlledFinding]]] = {
    "forced_choice": _forced_choice,
    "judgments": _judgments,
    "arena": _arena,
    "pairs": _pairs,
    **dict.fromkeys(GRADED, _graded),
    "sensitivity": _sensitivity,
    "attack": _attack,
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


def _examples(records: list[dict[str, Any]]) -> tuple[CaptionExample, ...]:
    """The worst examples: the changed caption scored highest."""
    examples = [
        CaptionExample(
            image_id=one["image_id"],
            better=one["human"],
            worse=one["changed"],
            scores=(one["score of the human caption"], one["score of the changed caption"]),
        )
        for one in records
    ]
    examples.sort(key=lambda e: (e.scores[0] or 0.0) - (e.scores[1] or 0.0))
    return tuple(examples[:3])
