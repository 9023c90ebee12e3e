"""How many references a metric needs: `python -m metaeval experiment=references`.

The experiment for the dataset (graded, judgments or forced_choice) is repeated with ever more
references; each repetition has a folder `references_N` with the files of that experiment.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from omegaconf import DictConfig

from metaeval.compute.device import keep_networks
from metaeval.config import load_dataset
from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.pascal50s import VOTES, ForcedChoice
from metaeval.experiments import (
    CaptionDataset,
    ConfigError,
    Extra,
    Measure,
    MeasuredResult,
    Metric,
    MetricExperiment,
    Pass,
)
from metaeval.experiments.forced_choice.task import ForcedChoiceAgreement
from metaeval.experiments.graded.task import Graded
from metaeval.experiments.judgments.task import HumanCorrelation
from metaeval.experiments.measure import of_stats
from metaeval.experiments.record import RunRecord, counted_noun
from metaeval.experiments.stored_results import statistics_of
from metaeval.options import NonNegativeInt
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.files import write_result
from metaeval.runs import files

CHOICE_COUNTS = [0, 1, 2, 5, 10, 20, VOTES]
_NONE = (
    "experiment=references: {:,} of {:,} images without references, and by default a run compares "
    "the numbers that all images have; give the numbers (task.n_references=[0,1,2]), or leave such "
    "images out"
)
_TOO_MANY = "task.n_references: {} is more than the {} there are"
_FIXED = "experiment=references cannot vary the references of {}: its protocol fixes them"


class Repeated(NamedTuple):
    """Data, the experiment that is repeated on it, and the numbers of references, ascending."""

    data: Any
    base: MetricExperiment[Any, Any]
    counts: Sequence[int]


class AtCount(NamedTuple):
    """What the experiment gave with `n` references."""

    n: int
    passes: Sequence[Pass]
    result: MeasuredResult


class ByReferences(
    MetricExperiment[Repeated, list[AtCount]],
    name="references",
    title="How many references does a metric need?",
    question="How does a metric's agreement grow with the number of references?",
):
    """Every metric with ever more references.

    Parameters
    ----------
    n_references
        The numbers of references; always an image's first ones. By default from none to all that an
        image has, on PASCAL-50S CHOICE_COUNTS.
    floor
        Put another image's caption below the strongest corruption.
    """

    def __init__(
        self, n_references: list[NonNegativeInt] | None = None, floor: bool = True
    ) -> None:
        self.n_references = None if n_references is None else sorted(set(n_references))
        self.floor = floor

    def load(self, config: DictConfig) -> Repeated:
        data, base, references = self._base(load_dataset(config), config)
        there = [len(of_item) for of_item in references]
        usual = CHOICE_COUNTS if isinstance(data, ForcedChoice) else list(range(min(there) + 1))
        if self.n_references is None and usual == [0]:
            raise ConfigError(_NONE.format(there.count(0), len(there)))
        if self.n_references is not None and max(self.n_references, default=0) > max(there):
            raise ConfigError(_TOO_MANY.format(max(self.n_references), max(there)))
        return Repeated(data, base, usual if self.n_references is None else self.n_references)

    def _base(
        self, data: object, config: DictConfig
    ) -> tuple[Any, MetricExperiment[Any, Any], Sequence[Sequence[str]]]:
        """The data, the experiment for it, and its references. A test of permutations between
        metrics is not made on ratings, where it takes longer than everything else."""
        if isinstance(data, CaptionDataset):
            graded = Graded(self.floor)
            graded.check(config)
            data = graded.corruptible(data, config)
            return data, graded, data.references
        if isinstance(data, Judgments):
            return data, HumanCorrelation(fitted=False), data.dataset.references
        if isinstance(data, ForcedChoice):
            if data.fixed_references:
                raise ConfigError(_FIXED.format(data.title))
            return data, ForcedChoiceAgreement(), data.references
        raise ConfigError(
            "experiment=references needs captions with references (coco_val2017, scenes, own) "
            "or captions that people judged (pascal50s, composite, flickr8k_expert …)"
        )

    def describe(self, data: Repeated) -> str:
        numbers = ", ".join(map(str, data.counts))
        return f"{data.base.describe(data.data)}; with {numbers} references"

    def write_versions(self, data: Repeated, record: RunRecord) -> None:
        data.base.write_versions(data.data, record)

    @keep_networks()  # each number of references is a run
    def score(
        self, data: Repeated, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[AtCount]:
        made = []
        for n in data.counts:
            inside, fewer = record.inside(f"{files.BY_REFERENCES}{n}"), _with(data.data, n)
            data.base.write_versions(fewer, inside)
            scores = data.base.score(fewer, metrics, inside)
            result = statistics_of(data.base, fewer, scores, inside)
            # the ceiling of graded captions does not depend on references
            kept = tuple(metric for metric in result.metrics if metric.family != "ceiling")
            result = result.model_copy(update={"metrics": kept})
            write_result(inside.out / files.STATISTICS, result)
            made.append(AtCount(n, data.base.passes(scores), result))
        return made

    def passes(self, scores: list[AtCount]) -> Sequence[Pass]:
        """A metric that runs with some number of references has run; its record has the others."""
        best: dict[str, Pass] = {}
        for at in scores:
            for scored, _ in at.passes:
                if scored.family not in best or scored.status == "ok":
                    best[scored.family] = Pass(scored, f"{at.n} references")
        return list(best.values())

    def statistics(
        self, data: Repeated, scores: list[AtCount], record: RunRecord
    ) -> MeasuredResult:
        declared: list[Measure] = []
        values: dict[str, dict[str, Estimate]] = {}
        comparisons: dict[str, Comparisons] = {}
        controls: dict[str, AgainstControl] = {}
        for at in reversed(scores):  # most references first: they answer the question
            keys = _keys(at, of_choice=isinstance(data.data, ForcedChoice))
            declared += keys.values()
            for metric in at.result.metrics:
                of_metric = values.setdefault(metric.name, {})
                for base, estimate in at.result.measures(metric) if metric.ok else ():
                    if base in keys:
                        of_metric[keys[base].key] = estimate
            for base, measure in keys.items():
                tested = at.result.comparisons.get(base.key)
                if tested and any(p.test and p.test.decidable for p in tested.pairs):
                    comparisons[measure.key] = tested
                if base.key in at.result.controls:
                    controls[measure.key] = at.result.controls[base.key]
        first = next(iter(dict.fromkeys(m.group for m in declared)), "")
        # of people's judgements the first measure is a table; the others are folded
        every = isinstance(data.data, CaptionDataset)
        shown = [replace(m, shown=every or m.group == first) for m in declared]
        return MeasuredResult(
            experiment="references",
            dataset=data.data.name,
            title=str(getattr(data.data, "title", "")),
            facts={"References": ", ".join(map(str, data.counts))},
            settings={
                **of_stats(record.config.stats),
                "repeats": data.base.name,
                "n_references": tuple(data.counts),
            },
            declared=tuple(sorted(shown, key=lambda m: not m.shown)),
            metrics=tuple(
                metric.model_copy(
                    update={"statistics": Measured(values=values[metric.name])}
                    if metric.ok
                    else {"statistics": None}
                )
                for metric in _columns(scores)
            ),
            comparisons=comparisons,
            controls=controls,
            extras=(
                _curves(scores, shown, values),
                _gains(scores, [m for m in shown if m.group == first], values),
                Extra.of("states", "Without a value", _states(scores), folded=True),
            ),
            notes=("A metric without a value needs more references than that.",),
        )


def _with(data: Any, n: int) -> Any:
    """The data with the first n references of each item, of pairs with n that are drawn."""
    if isinstance(data, ForcedChoice):
        return replace(data, n_references=(n,), draws=data.draws if n else 1)
    if isinstance(data, Judgments):
        judged = [replace(j, references=j.references[:n]) for j in data.judged]
        return replace(data, judged=tuple(judged), dataset=_with(data.dataset, n))
    return replace(data, references=tuple(r[:n] for r in data.references))


def _keys(at: AtCount, of_choice: bool) -> dict[Measure, Measure]:
    """Shown measure of the repeated experiment → the measure of this run. Those of a forced choice
    have the number in their key already, and their group is the number."""
    shown = dict.fromkeys(
        measure
        for metric in at.result.metrics
        if metric.ok
        for measure, _ in at.result.measures(metric)
        if measure.shown
    )
    number = counted_noun(at.n, "reference")
    return {
        measure: replace(
            measure,
            key=measure.key if of_choice else f"{measure.key}_{at.n}",
            title=number,
            group=measure.title if of_choice else measure.full_title,
            primary=False,
        )
        for measure in shown
    }


def _columns(scores: Sequence[AtCount]) -> list[MetricResult]:
    """The columns that ran with some number of references, and those of metrics that never ran.

    A metric that cannot be bound has the names of its options, which may be others than those it
    has where it runs: "BERTScore", and "BERTScore (MiniLM)" with the model that is there.
    """
    entries = [metric for at in scores for metric in at.result.metrics]
    ran = {metric.name: metric for metric in entries if metric.ok}
    families = {metric.family for metric in ran.values()}
    never = {m.name: m for m in entries if not m.ok and m.family not in families}
    place = {family: k for k, family in enumerate(dict.fromkeys(m.family for m in entries))}
    return sorted([*ran.values(), *never.values()], key=lambda metric: place[metric.family])


def _states(scores: Sequence[AtCount]) -> Iterator[dict[str, object]]:
    """Why a column has no value with some number of references."""
    for column in _columns(scores):
        for at in scores:
            of_family = {m.name: m for m in at.result.metrics if m.family == column.family}
            entry = of_family.get(column.name) or next(iter(of_family.values()))
            status, reason = entry.status, entry.reason or ""
            if column.name not in of_family and any(m.ok for m in of_family.values()):
                status, reason = "skipped", f"its columns are then {', '.join(of_family)}"
            if status != "ok":
                yield {
                    "metric": column.name, "references": at.n, "status": status, "reason": reason
                }  # fmt: skip


def _gains(
    scores: Sequence[AtCount],
    measures: Sequence[Measure],
    values: Mapping[str, Mapping[str, Estimate]],
) -> Extra:
    """What each metric gains from its fewest references that give a value to its most."""
    records: list[dict[str, Any]] = []
    for column in _columns(scores):
        known = [
            (measure, estimate)
            for measure in reversed(measures)
            if (estimate := values[column.name].get(measure.key)) and estimate.value is not None
        ]
        if column.ok and column.column.is_ranked and len(known) > 1:
            (few, first), (most, last) = known[0], known[-1]
            a, b = first.interval, last.interval
            records.append(
                {
                    "metric": column.name,
                    "from": few.title,
                    "to": most.title,
                    "gain": (last.value or 0.0) - (first.value or 0.0),
                    "intervals overlap": a and b and a[0] <= b[1] and b[0] <= a[1],
                }
            )
    records.sort(key=lambda record: -record["gain"])
    return Extra.of("gains", "Gain from more references", records)


def _curves(
    scores: Sequence[AtCount],
    declared: Sequence[Measure],
    values: Mapping[str, Mapping[str, Estimate]],
) -> Extra:
    """The shown measures of metrics and controls by the number of references."""
    records = []
    for group in dict.fromkeys(m.group for m in declared if m.shown):
        of_group = [m for m in reversed(declared) if m.group == group]
        for column in _columns(scores):
            if not (column.ok and (column.column.is_ranked or column.column.is_control)):
                continue
            for measure in of_group:
                estimate = values[column.name].get(measure.key)
                if estimate is not None and estimate.value is not None:
                    scale = 100 if measure.unit == "share" else 1
                    low, high = estimate.interval or (np.nan, np.nan)
                    records.append(
                        {
                            "panel": group,
                            "line": column.name,
                            "control": column.column.is_control,
                            "x": int(measure.title.split()[0]),
                            "x_title": "references",
                            "y": scale * estimate.value,
                            "low": scale * low,
                            "high": scale * high,
                        }
                    )
    return Extra.of("by_references", "By the number of references", records, kind="curves")
