"""Each experiment's result on each metric against the best control."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from metaeval.data.judgments.pascal50s import LABELS
from metaeval.experiments.arena.statistics import AGREEMENT, SYSTEMS
from metaeval.experiments.attack.statistics import CONTROLS, COPIED, fooled_key
from metaeval.experiments.forced_choice.statistics import MEAN, measure_of
from metaeval.experiments.judgments.statistics import MEAN_RATING
from metaeval.experiments.pairs.statistics import measure_key as pairs_key
from metaeval.experiments.sensitivity.extras import KIND, MEAN_AUC, POSITIVES
from metaeval.results.base import Estimate, MetricResult
from metaeval.results.comparison import Comparisons
from metaeval.results.measured import EXAMPLES, SETS, MeasuredResult
from metaeval.stats.significance.comparison import ALPHA

Word = Literal["shown", "not shown", "below", "cannot tell"]
Outcome = Literal[Word, "not counted"]
Test = tuple[str, str, str]  # item, source, part

GRADED = ("graded", "replace", "shuffle", "sample_size")  # experiments of graded corruption
BLIND = ("length", "random")  # of the scores that every attack runs on
LONG = 30  # words of a mean caption from which battles are about long captions
CHOICE = "agreement with people's choice"
RATED: Mapping[str, Any] = {"judged": "people's ratings"}
IN_ORDER: Mapping[str, Any] = {"ceiling_is": "every pair in order"}
MADE: Mapping[str, Any] = {"judged": "nobody: the captions were made worse", "corrupted": True}
# what a number is, who judged, and what the best value is: fields of findings, by source
SOURCES: Mapping[str, Mapping[str, Any]] = {
    "graded.order": {
        "measure": "share of pairs of versions of one caption in order", **MADE, **IN_ORDER
    },
    "pairs.kinds": {
        "measure": "share of pairs with the true caption higher",
        "judged": "the benchmark's authors",
    },
    "forced_choice.direct": {"measure": CHOICE},
    "forced_choice.consensus": {"measure": CHOICE},
    "forced_choice.one_reference": {"measure": CHOICE},
    "judgments.correlation": {**RATED, "ceiling_is": "the mean rating"},
    "judgments.with_people": {**RATED, "ceiling_is": "the mean rating"},
    "judgments.pairs": {
        "measure": "pairs of captions of an image in order, or tied as by people",
        **RATED, **IN_ORDER,
    },
    "judgments.systems": {"measure": "share of pairs of systems in order", **RATED, **IN_ORDER},
    "systems.correlation": {"measure": "r over systems", "ceiling_is": "a correlation of 1"},
    "sensitivity.rewrites": {
        "measure": "how often a rewrite scores above a harmful near-copy",
        "ceiling_is": "always", **MADE,
    },
    "sensitivity.kinds": {
        "measure": "how often the human caption scores higher", "ceiling_is": "always", **MADE
    },
    "arena.agreement": {"measure": "agreement with the winners of battles", "judged": "people"},
    "arena.long": {"measure": "agreement with the winners of battles", "judged": "people"},
    "attack.resists": {
        "measure": "share of images on which the search failed", **MADE,
        "ceiling_is": "never fooled", "corrupted": False,
    },
}  # fmt: skip
Example = Mapping[str, Any]  # image_id, better, worse, and the metric's score of both


class Finding(NamedTuple):
    """One number of one metric against the best blind control on the same items.

    Attributes
    ----------
    source, part
        What conf/trust/uses.yaml chooses by; the part is a kind, a dimension, a category.
    metric, measure
        The metric, and what `value` is, in words.
    judged
        Who says which caption is better.
    value, control, control_value
        The metric's value; the best control and its value.
    difference
        Value minus control, with its interval.
    of_control
        The control's value with its interval.
    ceiling, ceiling_is
        The value that would be best, and what it is.
    examples
        Up to three captions.
    corrupted
        Whether the captions were corrupted by this tool.
    why_not
        Why it does not count; `None` where it counts.
    item
        The item of the battery.
    detectable, outcome
        What the rules make of it.
    """

    source: str
    part: str
    metric: str
    measure: str
    judged: str
    value: Estimate
    control: str
    control_value: float
    difference: Estimate
    of_control: Estimate = Estimate(value=None)
    ceiling: float = 1.0
    ceiling_is: str = "always right"
    examples: tuple[Example, ...] = ()
    corrupted: bool = False
    why_not: str | None = None
    item: str = ""
    detectable: float | None = None
    outcome: Outcome = "cannot tell"

    @property
    def name(self) -> str:
        """ "sugarcrepe: replace_obj"."""
        return f"{self.item}: {self.part}" if self.part else self.item

    @property
    def test(self) -> Test:
        """What is the same for all metrics."""
        return self.item, self.source, self.part

    @property
    def skill(self) -> Estimate:
        """The difference on the scale from the control (0) to the ceiling (1)."""
        room, difference = self.ceiling - self.control_value, self.difference
        if room <= 0 or difference.value is None:
            return Estimate(value=None)
        low, high = difference.low, difference.high
        return Estimate(
            value=difference.value / room,
            low=None if low is None else low / room,
            high=None if high is None else high / room,
        )


class MetricTests(NamedTuple):
    """The tests between all pairs of metrics of a result, in one measure; `measure` in words."""

    measure: str
    pairs: Comparisons
    corrupted: bool = False


def between_metrics(result: MeasuredResult) -> Iterator[MetricTests]:
    """The tests between metrics that an experiment makes, in its main measure."""
    experiment, pairs = result.experiment, result.comparisons
    if experiment in GRADED and "pairwise_accuracy" in pairs:
        measure = "share of pairs of versions in order"
        yield MetricTests(measure, pairs["pairwise_accuracy"], corrupted=True)
    elif experiment == "sensitivity":
        measure = "how often the human caption scores higher, mean over kinds that harm"
        yield MetricTests(measure, pairs[MEAN_AUC], corrupted=True)
    elif experiment == "pairs" and (key := pairs_key("true > false")) in pairs:
        measure = "share of pairs with the true caption higher, mean over kinds"
        yield MetricTests(measure, pairs[key])
    elif experiment == "forced_choice":
        for n in _numbers_of_references(result):
            yield MetricTests(_agreement(n), pairs[measure_of(n, MEAN).key])
    elif experiment == "judgments":
        statistic = str(result.settings["statistic"])
        key = dimension_key(result, statistic, main_dimension(result))
        yield MetricTests(f"{statistic} with people", pairs[key])
    elif experiment == "arena":
        yield MetricTests("agreement with the winners of battles", pairs[AGREEMENT.key])


def findings(result: MeasuredResult) -> Iterator[Finding]:
    """All findings of a result that a use may need."""
    if result.experiment in _FINDINGS:
        yield from _FINDINGS[result.experiment](result)


def _against_control(
    result: MeasuredResult,
    key: str,
    source: str,
    part: str,
    examples: Mapping[str, Sequence[Example]] | None = None,
    **more: Any,
) -> Iterator[Finding]:
    """The comparison of every metric with the best control by a measure of a result.

    `examples` are those of each metric; `more` are fields besides those of the source.
    """
    against = result.controls.get(key)
    compared = {} if against is None else {c.a: c for c in against.comparisons}
    for metric in _metrics(result):
        if metric.name not in compared:
            continue
        value, one = metric.numbers[key], compared[metric.name]
        if value.value is None or one.difference.value is None:
            continue
        yield Finding(
            source=source,
            part=part,
            metric=metric.name,
            value=value,
            control=one.b,
            control_value=value.value - one.difference.value,
            difference=one.difference,
            of_control=result.metric(one.b).numbers[key],
            examples=tuple((examples or {}).get(metric.name, ())),
            **{**SOURCES[source], **more},
        )


def _graded(result: MeasuredResult) -> Iterator[Finding]:
    yield from _against_control(result, "pairwise_accuracy", "graded.order", result.experiment)


def _pairs(result: MeasuredResult) -> Iterator[Finding]:
    main = result.declared[0].key
    for key in result.controls:
        if key.startswith(f"{main}_"):
            kind = key.removeprefix(f"{main}_")
            yield from _against_control(result, key, "pairs.kinds", kind)


def _forced_choice(result: MeasuredResult) -> Iterator[Finding]:
    most = max(_numbers_of_references(result), default=0)
    votes = str(result.settings["labels"])
    judged = LABELS.get(votes, "people")
    for measure in result.declared:
        key, _, category = measure.key.removeprefix("agreement_").partition("_")
        if measure.key not in result.controls or not category:
            continue  # every category is evidence, so that their mean is none
        n = int(key)
        sources = ["consensus" if votes == "consensus" else "direct"] if n == most else []
        if n == 1 and votes != "consensus":
            sources.append("one_reference")
        for source in sources:
            yield from _against_control(
                result,
                measure.key,
                f"forced_choice.{source}",
                category,
                measure=_agreement(n),
                judged=judged,
            )


def _agreement(n: int) -> str:
    return f"{CHOICE}, {n} reference{'s' * (n != 1)}"


def _numbers_of_references(result: MeasuredResult) -> list[int]:
    """Of a forced choice."""
    numbers = result.settings["n_references"]
    return [int(str(n)) for n in numbers] if isinstance(numbers, tuple) else []


def _judgments(result: MeasuredResult) -> Iterator[Finding]:
    statistic = str(result.settings["statistic"])  # also the difference's and the ceiling's
    rows = (extra.records for extra in result.extras if extra.name == MEAN_RATING)
    reached = {one["key"]: one["value"] for records in rows for one in records}
    people = any("_without Human" in measure.key for measure in result.declared)
    for dimension in dimensions(result):
        key = dimension_key(result, statistic, dimension)
        yield from _against_control(
            result,
            key,
            f"judgments.{'with_people' if people else 'correlation'}",
            dimension,
            measure=f"{statistic} with people",
            ceiling=reached.get(key, 1.0),
        )
    main = main_dimension(result)
    for name, source in (("accuracy", "pairs"), ("system_accuracy", "systems")):
        key = dimension_key(result, name, main)
        for one in _against_control(result, key, f"judgments.{source}", main):
            few = _too_few_systems(one.value.n or 0) if source == "systems" else None
            yield one._replace(why_not="its captions are of people, too" if people else few)


def _systems(result: MeasuredResult) -> Iterator[Finding]:
    """Metrics without controls: chance is 0, as uncertain as r of so many systems is."""
    for measure in result.declared:
        if measure.key != f"pearson_{measure.group}":
            continue
        for metric in _metrics(result):
            value = metric.numbers[measure.key]
            half = 1.96 / math.sqrt(max(1, (value.n or 0) - 1))
            yield Finding(
                source="systems.correlation",
                part=str(measure.group),
                metric=metric.name,
                judged=f"people ({measure.group})",
                value=value,
                control="chance",
                control_value=0.0,
                difference=value,
                of_control=Estimate(value=0.0, low=-half, high=half, n=value.n),
                **SOURCES["systems.correlation"],
            )


def dimensions(result: MeasuredResult) -> list[str]:
    """What people rated, of a result of judgments."""
    given = result.settings["dimensions"]
    return list(map(str, given)) if isinstance(given, tuple) else []


def main_dimension(result: MeasuredResult) -> str:
    """ "total", where people rated it, else the first dimension."""
    known = dimensions(result)
    return "total" if "total" in known else known[0]


def dimension_key(result: MeasuredResult, name: str, dimension: str) -> str:
    return name if len(dimensions(result)) == 1 else f"{name}_{dimension}"


def _too_few_systems(n: int) -> str | None:
    """Whether a random order of this number of systems is correct too often to show anything.

    Resampled images cannot answer this: they are of the same systems.
    """
    by_chance = 1 / math.factorial(n)
    if by_chance < ALPHA:
        return None
    return f"a random order of {n} systems is right with probability {by_chance:.2f}"


def _sensitivity(result: MeasuredResult) -> Iterator[Finding]:
    kind_of = {one["set"]: one["kind"] for one in result.extra(SETS).records}
    worst: dict[str, dict[str, list[Example]]] = {}
    for one in result.extra(EXAMPLES).records:
        example = _example(one, "changed")
        worst.setdefault(kind_of[one["set"]], {}).setdefault(one["metric"], []).append(example)
    for of_kind in worst.values():  # the changed caption scored highest
        for metric, examples in of_kind.items():
            examples.sort(key=lambda e: (e["score_better"] or 0.0) - (e["score_worse"] or 0.0))
            of_kind[metric] = examples[:3]
    for key in result.controls:
        if key == POSITIVES:
            yield from _against_control(result, key, "sensitivity.rewrites", "", worst.get(""))
        elif key.startswith(KIND):
            kind = key.removeprefix(KIND)
            yield from _against_control(result, key, "sensitivity.kinds", kind, worst.get(kind))


def _example(record: Mapping[str, Any], what: str) -> Example:
    """A caption that people wrote, another one, and the metric's scores of both."""
    return {
        "image_id": record["image_id"],
        "better": record["human"],
        "worse": record[what],
        "score_better": record["score of the human caption"],
        "score_worse": record[f"score of the {what} caption"],
    }


def _arena(result: MeasuredResult) -> Iterator[Finding]:
    systems = [extra.records for extra in result.extras if extra.name == SYSTEMS]
    known = [s["words"] for records in systems for s in records if s["words"] is not None]
    is_long = bool(known) and sum(known) / len(known) >= LONG
    for source in ("arena.agreement", *(["arena.long"] if is_long else [])):
        yield from _against_control(result, AGREEMENT.key, source, "")


def _attack(result: MeasuredResult) -> Iterator[Finding]:
    gallery: dict[str, list[Example]] = {}
    for one in result.extra(EXAMPLES).records:
        gallery.setdefault(one["metric"], []).append(_example(one, "false"))
    for metric in _metrics(result):
        for search in (str(metric.numbers.facts["search"]), COPIED):
            key = fooled_key(search)
            controls = _resistance_of_controls(result, search, key)
            if not controls or key not in metric.numbers.values:
                continue
            best = max(controls, key=lambda name: controls[name].value or 0.0)
            value, control = _complement(metric.numbers[key]), controls[best]
            if value.value is None or control.value is None:
                continue
            yield Finding(
                source="attack.resists",
                part=search,
                metric=metric.name,
                value=value,
                control=best,
                control_value=control.value,
                difference=_unpaired(value, control),
                of_control=control,
                examples=tuple(gallery.get(metric.name, ())[:3]),
                **SOURCES["attack.resists"],
            )


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
            for one in result.extra(CONTROLS).records
            if one["score"] in BLIND
        }
    return {name: _complement(rate) for name, rate in rates.items() if rate.value is not None}


_FINDINGS: Mapping[str, Callable[[MeasuredResult], Iterator[Finding]]] = {
    "forced_choice": _forced_choice,
    "judgments": _judgments,
    "arena": _arena,
    "pairs": _pairs,
    **dict.fromkeys(GRADED, _graded),
    "sensitivity": _sensitivity,
    "attack": _attack,
    "systems": _systems,
}
EXPERIMENTS = tuple(_FINDINGS)  # whose results are evidence


def _metrics(result: MeasuredResult) -> Iterator[MetricResult]:
    """The metrics with numbers: no controls, no parts of others."""
    for metric in result.metrics:
        if metric.statistics is not None and not metric.column.control and metric.column.headline:
            yield metric


def _unpaired(value: Estimate, control: Estimate) -> Estimate:
    """A difference of two values by the widths of their intervals, as if they were independent.

    For values whose items are not available; too strict where both succeed on the same images, too
    lenient where one succeeds on those on which the other fails.
    """
    difference = (value.value or 0.0) - (control.value or 0.0)
    if value.interval is None or control.interval is None:
        return Estimate(value=difference)
    width = math.hypot(*(high - low for low, high in (value.interval, control.interval))) / 2
    return Estimate(value=difference, low=difference - width, high=difference + width)


def _complement(rate: Estimate) -> Estimate:
    def turned(number: float | None) -> float | None:
        return None if number is None else 1.0 - number

    return Estimate(
        value=turned(rate.value), low=turned(rate.high), high=turned(rate.low), n=rate.n
    )
