"""The result of a battery: for every use and metric a skill, and all that skills rest on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.experiments import ConfigError, Extra, MeasuredResult, Metric, fill_sentences
from metaeval.experiments.trust.findings import DeclaredTest, evidence_of
from metaeval.experiments.trust.verdicts import (
    NOT_ASKED,
    Cell,
    Cells,
    Evidence,
    Finding,
    Use,
    UseCells,
    Uses,
    judged,
    robustness,
    why_not_counted,
)
from metaeval.metrics.adapters.bank import BankMetric
from metaeval.metrics.adapters.own import ScoresFileMetric
from metaeval.results.base import Measured, MetricResult
from metaeval.results.comparison import Comparison
from metaeval.results.files import Resampled
from metaeval.results.run import FamilyInfo, RunInfo

DEMONSTRATION = "scenes"  # the model of columns that drawn scenes alone have trained
DRAWN = "All captions are of drawn scenes: this shows how it works, do not report it."
NOTES = (
    "Skill: how far a metric gets from a blind control (0) to the ceiling (1), over the tests of a "
    "use together, against the control that is hardest to beat. Blind controls see neither image "
    "nor references.",
    "Shown: the {rules.confidence:.0%} interval of the skill is above {rules.minimal_skill:g}; "
    "below: it ends under it; not shown: it contains it; cannot tell: no test counts.",
    "A test counts with {rules.least_images} images or more, all blind controls, and the best of "
    "them {rules.least_room:g} or more below the ceiling.",
    "Rank: 1 + how many metrics with the same tests are above by a test; no test separates those "
    "of rank 1.",
)


@dataclass(frozen=True, slots=True)
class ItemRun:
    """An item of the battery, and its finished run, where it has one.

    Attributes
    ----------
    id, experiment
        Its name, and the experiment that it runs.
    command
        What adds the item.
    result, info
        Of its run; `None` where its data are not on this machine, or it failed.
    directory
        The folder of its run, relative to this run's folder if inside it.
    reason
        Why it has no run.
    resampled
        The replicates of its run.
    """

    id: str
    experiment: str
    command: str
    result: MeasuredResult | None = None
    info: RunInfo | None = None
    directory: str | None = None
    reason: str | None = None
    resampled: tuple[Resampled, ...] = ()

    @property
    def metrics(self) -> Sequence[MetricResult]:
        """The score columns of its run; none without a run."""
        return () if self.result is None else self.result.metrics


def gathered(
    battery: str,
    uses: Uses,
    runs: Sequence[ItemRun],
    own_metrics: Sequence[str] = (),
    metrics: Mapping[str, Metric] | None = None,
    reruns: Mapping[int, Sequence[ItemRun]] | None = None,
) -> MeasuredResult:
    """The result of these runs; `metrics` say what they read, `reruns` are those of other seeds.
    The user has not asked for baselines: a run in which they alone have scores is not done.

    Its extras are "cells" (a row a use and metric), "evidence" (every test of a cell) and
    "examples", "uses", "others" (metrics that lack some tests), "silent" (tests that do not count),
    "robustness", and "items"; of the user's metrics "own".
    """
    rules = uses.rules
    columns = _columns(runs, uses)
    ran = [name for name, m in columns.items() if m.ok]
    own = [name for name in ran if columns[name].family in own_metrics]
    baselines = [name for name in ran if columns[name].family in uses.baselines]

    def judge(of: Sequence[ItemRun]) -> Cells:
        tests = [
            (run, test._replace(item=run.id))
            for run in of
            if run.result is not None
            for test in evidence_of(run.result)
        ]
        return {
            use.id: judged(
                _tests(use, tests, uses),
                [m.name for m in columns.values() if m.ok and _has_cell(m, uses, use)],
                rules,
                baselines,
            )
            for use in uses.uses
        }

    made = judge(runs)
    seeds = {seed: judge(again) for seed, again in (reruns or {}).items()}
    items = {r.id: r.result.dataset == DEMONSTRATION for r in runs if r.result is not None}
    changes = robustness(made, rules, items, seeds)
    datasets = sorted({run.result.dataset for run in runs if run.result is not None})
    return MeasuredResult(
        experiment="trust",
        dataset=", ".join(datasets),
        facts={"Battery": battery, "Experiments": len(items), "Metrics": len(ran) - len(baselines)},
        settings={
            "battery": battery,
            **rules.model_dump(),
            "highlight": tuple(own),
        },
        metrics=_entries(columns, metrics or {}),
        declared=(),
        extras=_extras([(use, made[use.id]) for use in uses.uses], runs, own, baselines, changes),
        notes=tuple(fill_sentences(NOTES, rules=rules)),
        caveat=DRAWN if datasets == [DEMONSTRATION] else "",
    )


def _extras(
    every: Every,
    runs: Sequence[ItemRun],
    own: Sequence[str],
    baselines: Sequence[str],
    changes: Sequence[Mapping[str, Any]],
) -> tuple[Extra, ...]:
    return (
        Extra.of("uses", "Answers", [_use(use, of, baselines) for use, of in every]),
        Extra.of("own", "Your metric", _own(every, own)),
        Extra.of("others", "On other tests", _others(every), folded=True),
        Extra.of("silent", "Tests that do not count", _silent(every), folded=True),
        Extra.of("robustness", "Words that change", changes, folded=True),
        Extra.of("items", "Battery", [_item(run) for run in runs], folded=True),
        Extra.of("cells", "Skills and tests", _cells(every), kind="data"),
        Extra.of("evidence", "Evidence", _evidence(every), kind="data"),
        Extra.of("examples", "Captions", _examples(every), kind="data"),
    )


# parts of a signature that differ between data sets, for one metric
_OF_DATA = frozenset({"file", "files", "read", "corpus", "objects", "answers"})


def require_one_identity(results: Iterable[tuple[str, MeasuredResult]]) -> None:
    """Raise ConfigError where two runs, given with their names, have two metrics of one name.

    They differ in direction or, where the code is not metaeval's, in code or options. metaeval's
    own metrics say in their names how they differ.
    """
    known: dict[str, tuple[str, tuple[str, ...]]] = {}
    for run, result in results:
        for metric in result.metrics:
            if metric.signature is None:
                continue
            parts = metric.signature.split("|")[1:]
            parts = [part for part in parts if part.partition(":")[0] not in _OF_DATA]
            code = parts if any(part.startswith("source:") for part in parts) else []
            better = "higher" if metric.column.higher_is_better else "lower"
            identity = (f"better:{better}", *code)
            other, before = known.setdefault(metric.name, (run, identity))
            if before != identity:
                apart = sorted(set(before) ^ set(identity))
                raise ConfigError(
                    f"trust.runs: '{metric.name}' of {other} and of {run} are two metrics "
                    f"({', '.join(apart)}); leave out one run, or give one metric another name"
                )


def _columns(runs: Sequence[ItemRun], uses: Uses) -> dict[str, MetricResult]:
    """Column → its entry in the first run in which it has numbers, else in any run: of metrics that
    ran in none. Without parts, scores that no run has as the headline of a metric, and controls
    that no use shows."""
    headlines = {m.name for run in runs for m in run.metrics if m.column.headline}
    ran = {m.family for run in runs for m in run.metrics if m.ok}
    known: dict[str, MetricResult] = {}
    for run in runs:
        for metric in run.metrics:
            column = metric.column
            if column.part_of is not None or column.model == DEMONSTRATION:
                continue
            if not metric.ok and metric.family in ran:  # skipped where its data lack references
                continue
            if metric.name not in headlines or not _has_cell(metric, uses, *uses.uses):
                continue
            if metric.name not in known or (metric.ok and not known[metric.name].ok):
                known[metric.name] = metric
    return known


def _entries(
    columns: Mapping[str, MetricResult], metrics: Mapping[str, Metric]
) -> tuple[MetricResult, ...]:
    """The columns, each with what its metric takes, as far as it is known."""
    entries = []
    for m in columns.values():
        metric = metrics.get(m.family)
        facts = {
            "reads": None if metric is None else " ".join(sorted(metric.reads)),
            "runs_network": None if metric is None else metric.runs_network,
        }
        entries.append(
            m.model_copy(
                update={
                    "statistics": Measured(values={}, facts=facts) if m.ok else None,
                    "counts": (),
                }
            )
        )
    return tuple(entries)


def work_of(runs: Sequence[ItemRun], metrics: Mapping[str, Metric]) -> list[FamilyInfo]:
    """What each metric has taken in all runs; nothing of one whose scores were read from a file."""
    work: dict[str, Counter[str]] = {}
    for family in (family for run in runs if run.info is not None for family in run.info.metrics):
        name = family.metric.partition(" (")[0]
        if not isinstance(metrics.get(name), BankMetric | ScoresFileMetric):
            work.setdefault(name, Counter()).update(
                family.model_dump(exclude={"metric", "note"}, exclude_none=True)
            )
    return [
        FamilyInfo.model_validate({"metric": name, **{k: round(v, 3) for k, v in sums.items()}})
        for name, sums in work.items()
    ]


def _has_cell(metric: MetricResult, uses: Uses, *of: Use) -> bool:
    """Whether a column is shown like a metric in one of these uses."""
    shown = {*uses.baselines}.union(*(use.judges for use in of))
    return not metric.column.control or metric.family in shown


def _tests(use: Use, given: Sequence[tuple[ItemRun, DeclaredTest]], uses: Uses) -> list[Evidence]:
    """All tests of a use, each with its numbers and whether it counts."""
    blind = {family: NOT_ASKED for family in uses.blind if family not in use.judges}
    asked = ((run, test) for run, test in given if use.asks(test.source, test.part))
    tests = []
    for run, test in asked:
        rows = {(r.column, r.items_of): r for r in run.resampled if r.measure == test.key}
        made = Evidence(
            test,
            rows,
            {m.name: m.family for m in run.metrics if m.ok},
            tuple(
                m.name
                for m in run.metrics
                if (m.name, "") in rows
                and not math.isnan(rows[m.name, ""].value)  # a constant has no correlation
                and m.column.is_control
                and not _has_cell(m, uses, use)
            ),
            {
                m.name: m.numbers.values[test.key]
                for m in run.metrics
                if m.statistics is not None and test.key in m.statistics.values
            },
            metric_why_not=_why_not(use, run, test.corrupted),
        )
        skipped = {m.family: m.reason for m in run.metrics if m.family in blind and m.reason}
        tests.append(made._replace(why_not=why_not_counted(made, uses.rules, blind | skipped)))
    return tests


def _why_not(use: Use, run: ItemRun, corrupted: bool) -> dict[str, str]:
    """Metric → why a test of this run does not count for it: it is the rule that decides there, or
    it was chosen, or trained, on such a test."""
    reasons = {}
    for metric in run.metrics:
        name, training = metric.name, metric.training
        if metric.family in use.circular:
            reasons[name] = use.circular[metric.family]
        elif training is not None and run.experiment in training.chosen_on:
            reasons[name] = f"{name} was chosen on experiment={run.experiment}"
        elif corrupted and metric.column.learned_from_corruptions:
            reasons[name] = f"{name} was trained on corrupted captions"
    return reasons


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def _sizes(findings: Sequence[Finding]) -> str | None:
    """ "9,300 pairs; 1,000 images": the items of tests."""
    sizes: Counter[str] = Counter()
    for f in findings:
        sizes[f.test.unit] += f.value.n or 0
    return "; ".join(f"{n:,} {unit}" for unit, n in sizes.items()) or None


def _best(of: UseCells) -> list[str]:
    """The metrics of rank 1, highest skill first."""
    first = [name for name, cell in of.cells.items() if cell.rank == 1]
    return sorted(first, key=lambda name: (-(of.cells[name].skill.value or 0.0), name))


def _listed(of: UseCells, names: Sequence[str]) -> str | None:
    """ "CIDEr 3/5, METEOR 2/5": with the tests in which each is above every blind control."""
    texts = (f"{n} {of.cells[n].number('above')}/{len(of.cells[n].counted)}" for n in names)
    return ", ".join(texts) or None


def _use(use: Use, of: UseCells, baselines: Sequence[str]) -> dict[str, Any]:
    """The answer for a use: the metrics that no test puts below another, and what it rests on."""
    best = _best(of)
    counted = of.counted
    shown = [
        name
        for name, cell in of.cells.items()
        if cell.word == "shown" and name not in (*best, *baselines)
    ]
    shown.sort(key=lambda name: (-(of.cells[name].skill.value or 0.0), name))
    first = of.cells[best[0]] if best else Cell("cannot tell")
    return {
        "use": use.title,
        "id": use.id,
        "rank 1": _listed(of, best),
        "shown, too": _listed(of, shown),
        "skill": first.skill,
        "tests": len(counted),
        "n": _sizes(first.counted),
        "judged by": _joined(made.test.judged for made in counted) or None,
        "hardest control": first.control or None,
        "what it takes": use.shows,
        "why": None if of.tests else "no test of the battery",
    }


Every = Sequence[tuple[Use, UseCells]]


def _cells(every: Every) -> Iterator[dict[str, Any]]:
    for use, of in every:
        for metric, cell in of.cells.items():
            yield {
                "use": use.id,
                "metric": metric,
                "word": cell.word,
                "rank": cell.rank,
                "above": cell.number("above"),
                "below": cell.number("below"),
                "tests": len(cell.counted),
                "of": len(of.counted),
                "skill": cell.skill,
                "control": cell.control or None,
                "n": _sizes(cell.counted),
                "judged by": _joined(f.test.judged for f in cell.counted) or None,
            }


def _silent(every: Every) -> Iterator[dict[str, Any]]:
    for use, of in every:
        for made in of.tests:
            if made.why_not is not None:
                yield {"use": use.title, "test": made.test.name, "reason": made.why_not}


def _others(every: Every) -> Iterator[dict[str, Any]]:
    """Metrics that lack some tests, on those that they have, against the best and the worst."""
    for use, of in every:
        for pair in of.others:
            yield {
                "use": use.title,
                "metric": pair.a,
                "tests": f"{len(of.cells[pair.a].counted)} of {len(of.counted)}",
                **_against(pair),
            }


def _against(pair: Comparison) -> dict[str, Any]:
    """A comparison as cells of a row."""
    outcome = "not separated"
    if pair.is_significant():
        outcome = "higher" if (pair.difference.value or 0.0) > 0 else "lower"
    return {
        "against": pair.b,
        "difference": pair.difference,
        "p after Holm": None if pair.test is None else pair.test.p_adjusted,
        "outcome": outcome,
    }


def _evidence(every: Every) -> Iterator[dict[str, Any]]:
    for use, of in every:
        for metric, cell in of.cells.items():
            for f in cell.findings:
                yield {
                    "use": use.id,
                    "metric": metric,
                    "word": cell.word,
                    "item": f.test.item,
                    "part": f.test.part,
                    "measure": f.test.measure,
                    "judged by": f.test.judged,
                    "value": f.value,
                    "n": f.value.n,
                    "unit": f.test.unit,
                    "control": f.control,
                    "control_value": f.control_value,
                    "ceiling": f.ceiling,
                    "ceiling_is": f.test.ceiling_is,
                    "skill": f.skill,
                    "outcome": f.outcome,
                    "why_not": f.why_not,
                }


def _examples(every: Every) -> Iterator[dict[str, Any]]:
    """The captions of each item, part and metric, once."""
    known = {
        (f.test.item, f.test.part, metric): f.test.examples.get(metric, ())
        for _, of in every
        for metric, cell in of.cells.items()
        for f in cell.findings
    }
    for (item, part, metric), examples in known.items():
        for example in examples:
            yield {"item": item, "part": part, "metric": metric, **example}


def _item(run: ItemRun) -> dict[str, Any]:
    data = None if run.info is None else run.info.dataset
    return {
        "item": run.id,
        "experiment": run.experiment,
        "status": "missing" if run.result is None else "found",
        "dataset": None if run.result is None else run.result.dataset,
        "images": None if data is None else data.n_images,
        "reason": run.reason,
        "command": run.command,
        "directory": run.directory,
    }


def _own(every: Every, own_metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The user's metrics, a row for each use that has evidence for them: against the best known
    metric of rank 1, or where it lacks tests against the best and the worst on those it has."""
    for name in own_metrics:
        for use, of in every:
            cell = of.cells[name]
            if not cell.counted:
                continue
            known = [other for other in _best(of) if other != name]
            pair = of.comparisons.between(name, known[0]) if known else None
            against = next((p for p in of.others if p.a == name), pair)
            yield {
                "metric": name,
                "use": use.title,
                "word": cell.word,
                "rank": cell.rank,
                "above controls": f"{cell.number('above')} of {len(cell.counted)}",
                "skill": cell.skill,
                "n": _sizes(cell.counted),
                **({} if against is None else _against(against)),
            }
