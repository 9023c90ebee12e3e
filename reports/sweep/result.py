"""A sweep as a result: the measures of its jobs by settings, from the jobs' own tests.

A measure of the sweep is one of the jobs in one setting. Several jobs of a setting, which differ in
their seed, have their mean value and the mean of their interval's ends. Two metrics are separated
there if the test of every job separates them in the same direction: the weakest test decides.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kendalltau

from metaeval.reports.shared.formatting import known, number
from metaeval.reports.sweep.jobs import (
    DEFAULT,
    SEED,
    Jobs,
    Setting,
    SweepJob,
    as_number,
    is_axis,
    saved_scores,
    settings_of,
    swept,
)
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.measured import SWEEP, Extra, MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.results.sentences import ranked_metrics

MOST_ROWS, MOST_COLUMNS = 3, 8  # of panels: measures and settings; the tables have all
SD = "Standard deviation over seeds"
NOTES = (
    "A setting with several jobs (up to {jobs}) has the mean of their values and of the ends of "
    "their intervals over images; two metrics are separated there if every job separates them, in "
    "one direction.",
    "The least alike orders of the metrics by the first measure: {orders}.",
)


class SettingCell(NamedTuple):
    """A measure of the sweep, and what it is: the measure of the jobs, the setting and its jobs."""

    measure: Measure
    of_jobs: Measure
    setting: Setting
    results: list[MeasuredResult]


def sweep_result(jobs: Jobs) -> MeasuredResult:
    """The measures of the jobs by what was varied; "curves" are their values along it."""
    done = jobs.finished
    results = [job.result for job in done]
    parameters = swept([job.overrides for job in done])
    settings = settings_of(done, parameters)
    cells = list(_cells(settings, dict.fromkeys(m for r in results for m in r.declared)))
    metrics = dict.fromkeys(m.name for r in results for m in r.metrics)
    result = MeasuredResult(
        experiment=SWEEP,
        dataset=", ".join(dict.fromkeys(r.dataset for r in results)),
        title=", ".join(dict.fromkeys(r.title or r.dataset for r in results)),
        facts=_facts(jobs, parameters, settings),
        settings={
            name: value
            for name, value in results[0].settings.items()
            if all(r.settings.get(name) == value for r in results)
        },
        declared=(
            *(cell.measure for cell in cells),
            *(_spread(cell) for cell in cells if cell.measure.shown and len(cell.results) > 1),
        ),
        metrics=tuple(_metric(name, done, cells) for name in metrics),
        comparisons=dict(_comparisons(cells)),
        caveat=f"Without statistics: job {', '.join(names)}." if (names := jobs.unfinished) else "",
    )
    most = max(len(setting.jobs) for setting in settings)
    return result.model_copy(
        update={
            "extras": (_curves(result, cells),),
            "notes": tuple(
                fill_sentences(NOTES, jobs=most if most > 1 else None, orders=_orders(result))
            ),
        }
    )


def _cells(settings: Sequence[Setting], measures: Iterable[Measure]) -> Iterator[SettingCell]:
    """The measures of the sweep: those of a measure of the jobs are a group, if they are shown."""
    for of_jobs in measures:
        group = of_jobs.full_title if of_jobs.shown else ""
        for setting in settings:
            results = [job.result for job in setting.jobs if of_jobs in job.result.declared]
            if results:
                key = f"{of_jobs.key}, {setting.label}"
                shown, unit, best = of_jobs.shown, of_jobs.unit, of_jobs.best
                measure = Measure(key, setting.label, shown, unit, best, group)
                yield SettingCell(measure, of_jobs, setting, results)


def _spread(cell: SettingCell) -> Measure:
    """The measure of the standard deviation over the jobs of a cell, which the page folds."""
    measure, group = cell.measure, f"{SD}, {cell.of_jobs.full_title}"
    return Measure(f"{measure.key}, sd", measure.title, False, measure.unit, "neither", group)


def _values(cell: SettingCell, metric: str) -> list[Estimate]:
    """The values of a metric in the jobs of a cell."""
    found = [
        entry.statistics.values.get(cell.of_jobs.key)
        for result in cell.results
        for entry in result.metrics
        if entry.name == metric and entry.statistics is not None
    ]
    return [estimate for estimate in found if estimate is not None and estimate.value is not None]


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of values, and of the ends of their intervals where all have one."""
    if len(estimates) == 1:
        return estimates[0]

    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return math.fsum(known) / len(known) if len(known) == len(values) else None

    ends = zip(*(estimate.interval or (None, None) for estimate in estimates), strict=True)
    low, high = map(mean, ends)
    return Estimate(value=mean([estimate.value for estimate in estimates]), low=low, high=high)


def _metric(name: str, jobs: Sequence[SweepJob], cells: Sequence[SettingCell]) -> MetricResult:
    """The entry of a metric: that of the first job in which it ran, with the values of all."""
    entries = [(job.result, m) for job in jobs for m in job.result.metrics if m.name == name]
    first = next((m for _, m in entries if m.ok), entries[0][1])
    training = first.training
    for result, entry in entries:
        if entry.training is not None and entry.why_not_ranked(result.experiment):
            chosen = entry.training.chosen_on
            chosen = (*chosen, SWEEP) if result.experiment in chosen else chosen
            training = replace(entry.training, chosen_on=chosen)
    values = {}
    for cell in cells:
        if each := _values(cell, name):
            values[cell.measure.key] = mean_of(each)
        if len(each) > 1:
            sd = float(np.std([estimate.value or 0.0 for estimate in each], ddof=1))
            values[f"{cell.measure.key}, sd"] = Estimate(value=sd)
    signatures = {entry.signature for _, entry in entries if entry.ok}
    changes = {
        "training": training,
        "counts": (),
        "signature": first.signature if len(signatures) == 1 else None,
        "statistics": Measured(values=values) if first.ok else None,
    }
    return first.model_copy(update=changes)


def _comparisons(cells: Sequence[SettingCell]) -> Iterator[tuple[str, Comparisons]]:
    for cell in cells:
        each = [r.comparisons[k] for r in cell.results if (k := cell.of_jobs.key) in r.comparisons]
        if len(each) == len(cell.results):
            pairs = each[0].pairs if len(each) == 1 else tuple(weakest(each))
            yield cell.measure.key, each[0].model_copy(update={"pairs": pairs})


def weakest(of_jobs: Sequence[Comparisons]) -> Iterator[Comparison]:
    """Each pair that all jobs compared, with the mean difference and the test of the job that
    separates it least; p is 1 where jobs differ in the sign of the difference.

    A pair is then significant only where it is in every job (an intersection-union test).
    """
    for pair in of_jobs[0].pairs:
        each = [p for of in of_jobs if (p := of.between(pair.a, pair.b)) and p.test is not None]
        if len(each) < len(of_jobs):
            continue
        tests = [p.test for p in each if p.test is not None]
        test = max(tests, key=lambda t: 1.0 if t.p_adjusted is None else t.p_adjusted)
        if len({np.sign(p.difference.value or 0.0) for p in each}) > 1:
            test = test.model_copy(update={"p": 1.0, "p_adjusted": 1.0})
        difference = mean_of([p.difference for p in each])
        yield pair.model_copy(update={"difference": difference, "tests": (test,), "power": None})


def _facts(jobs: Jobs, parameters: Sequence[str], settings: Sequence[Setting]) -> dict[str, str]:
    done = jobs.finished
    varied = [
        f"{key} ({', '.join(dict.fromkeys(setting.values[k][1] for setting in settings))})"
        for k, key in enumerate(parameters)
    ]
    seeds = {job.overrides.get(SEED, DEFAULT) for job in done}
    if len(seeds) > 1:
        varied.append(f"seed ({len(seeds)} values)")
    same = set.intersection(*(set(job.overrides.items()) for job in done))
    constants = [f"{k}={v}" for k, v in done[0].overrides.items() if (k, v) in same]
    facts = {
        "Varied": "; ".join(varied) or "nothing",
        "In all jobs": ", ".join(constants),
        "Jobs": f"{len(done)} of {len(done) + len(jobs.unfinished)} jobs finished",
        "Scores": saved_scores(done),
    }
    return {name: text for name, text in facts.items() if text}


def _orders(result: MeasuredResult) -> str:
    """The two settings in which the orders of the metrics by the first measure are least alike, by
    Kendall's τ of the metrics that both have, if three; empty without such settings."""
    taus = []
    first = next(iter(result.groups().values()), [])
    for a, b in combinations(first, 2):
        numbers = [m.numbers for m in ranked_metrics(result)]
        pairs = [(n.value(a.key), n.value(b.key)) for n in numbers]
        common = [pair for pair in pairs if None not in pair]
        if len(common) > 2 and known(tau := float(kendalltau(*zip(*common, strict=True))[0])):
            taus.append((tau, f"τ {number(tau, 2)} ({a.title} and {b.title})"))
    return min(taus, default=(0.0, ""))[1]


def _curves(result: MeasuredResult, cells: Sequence[SettingCell]) -> Extra:
    """A panel for each measure and value of the further parameters, a line for each metric."""
    shown = [cell for cell in cells if cell.measure.shown]
    measures = list(dict.fromkeys(cell.of_jobs for cell in shown))[:MOST_ROWS]
    further = list(dict.fromkeys(cell.setting.values[1:] for cell in shown))[:MOST_COLUMNS]
    places = list(dict.fromkeys(value for c in shown for _, value in c.setting.values[:1]))
    metrics = [m for m in result.metrics if m.ok and (m.column.is_ranked or m.column.is_control)]
    records: list[dict[str, Any]] = []
    for cell in shown:
        key, place = cell.setting.values[0] if cell.setting.values else ("", "all jobs")
        if cell.of_jobs not in measures or cell.setting.values[1:] not in further:
            continue
        rest = "".join(f", {name}={value}" for name, value in cell.setting.values[1:])
        for metric in metrics:
            estimate = metric.numbers.values.get(cell.measure.key)
            if estimate is not None:
                records.append(
                    {
                        "panel": f"{cell.of_jobs.full_title}{rest}",
                        "line": metric.name,
                        "x": as_number(place) if len(places) > 1 and is_axis(places) else place,
                        "y": estimate.value,
                        "low": estimate.low,
                        "high": estimate.high,
                        "sd": metric.numbers.value(f"{cell.measure.key}, sd"),
                        "control": metric.column.control,
                        "x_title": key,
                    }
                )
    return Extra.of("curves", "By what was varied", records, kind="curves")
