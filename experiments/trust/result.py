"""The result of a battery: for every use and metric a skill, and all that skills rest on."""

from __future__ import annotations

import statistics as median_of
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metaeval.errors import ConfigError
from metaeval.experiments.trust.findings import (
    Finding,
    Word,
    between_metrics,
    dimension_key,
    findings,
    main_dimension,
)
from metaeval.experiments.trust.verdicts import Cell, Cells, Rules, Use, cells, robustness
from metaeval.metrics.adapters.bank import BankMetric
from metaeval.metrics.adapters.own import ScoresFileMetric
from metaeval.metrics.base import Metric
from metaeval.results.base import Measured, MetricResult
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.run import RunInfo
from metaeval.stats.agreement.across_benchmarks import average_rank, rank_clusters

NAMED: tuple[Word, ...] = ("shown", "not shown", "below")  # whose metrics a use lists
DEMONSTRATION = "scenes"  # the model of columns that drawn scenes alone have trained
NOTES = (
    "Skill: how far a metric gets from the best blind control on the same items (0) to the ceiling "
    "(1), the mean over the tests of a use. Blind controls see neither image nor references: "
    "length, brevity, a random score, a language model, a regression on the caption alone.",
    "Shown: the {rules.confidence:.0%} interval of the skill is above {rules.minimal_skill:g}; "
    "below: it is under it; not shown: it contains it; cannot tell: no test counts.",
    "A test does not count where the best control alone comes within {rules.least_room:g} of the "
    "ceiling, where a perfect metric could not be shown, where no metric is above a regression on "
    "the caption alone, or where the metric was chosen or trained on such a test.",
    "Skills of two metrics are not compared by a test.",
)
CONCORDANCE = "Benchmarks of ratings: Kendall's W {:.2f}, p = {:.3f}"
Metrics = Sequence[MetricResult]


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
    """

    id: str
    experiment: str
    command: str
    result: MeasuredResult | None = None
    info: RunInfo | None = None
    directory: str | None = None
    reason: str | None = None

    @property
    def metrics(self) -> Metrics:
        """The score columns of its run; none without a run."""
        return () if self.result is None else self.result.metrics


def gathered(
    battery: str,
    uses: Sequence[Use],
    rules: Rules,
    runs: Sequence[ItemRun],
    own_metrics: Sequence[str] = (),
    metrics: Mapping[str, Metric] | None = None,
    reruns: Mapping[int, Sequence[ItemRun]] | None = None,
    highlight: Sequence[str] = (),
    baselines: Sequence[str] = (),
) -> MeasuredResult:
    """The result of these runs; `metrics` say what they read, `reruns` are those of other seeds.
    The user has not asked for `baselines`: a run in which they alone have scores is not done.

    Its extras are "cells" (a row a use and metric), "evidence" (every finding behind them) and
    "examples", "uses", "robustness", "items" and "missing" ones; of the user's metrics "own" and
    "known"; and with several benchmarks of ratings "across" and "benchmarks".
    """
    columns = _columns(runs)
    ran = [name for name, m in columns.items() if m.ok]
    found = {use.id: _found(use, runs, columns) for use in uses}

    def judge(rules: Rules, without: str | None) -> Cells:
        return {
            use: cells([f for f in several if f.item != without], ran, rules)
            for use, several in found.items()
        }

    made = judge(rules, None)
    seeds = {
        seed: {use.id: cells(_found(use, again, columns), ran, rules) for use in uses}
        for seed, again in (reruns or {}).items()
    }
    items = [run.id for run in runs if run.result is not None]
    own = [name for name in ran if columns[name].family in own_metrics]
    extras = [
        Extra.of("uses", "Answers", _uses(uses, made)),
        Extra.of("own", "Your metric", _own(uses, made, own)),
        Extra.of("known", "Your metric and the best known one", _known(runs, own)),
        Extra.of("silent", "Tests that cannot tell", _silent(made), folded=True),
        *across_benchmarks({run.id: run.result for run in runs if run.result is not None}),
        Extra.of(
            "robustness",
            "Words that change",
            robustness(judge, rules, items, seeds),
            folded=True,
        ),
        Extra.of("items", "Battery", [_item(run) for run in runs], folded=True),
        Extra.of("cells", "Skills and tests", _cells(made), kind="data"),
        Extra.of("evidence", "Evidence", _evidence(made), kind="data"),
        Extra.of("examples", "Captions", _examples(found), kind="data"),
    ]
    return MeasuredResult(
        experiment="trust",
        dataset=", ".join(sorted({run.result.dataset for run in runs if run.result is not None})),
        facts={"Battery": battery, "Experiments": len(items), "Metrics": len(ran)},
        settings={
            "battery": battery,
            **rules.model_dump(),
            "highlight": tuple(dict.fromkeys([*own, *highlight])),
        },
        metrics=_entries(runs, columns, metrics or {}, baselines),
        declared=(),
        extras=tuple(extras),
        notes=tuple(fill_sentences(NOTES, rules=rules)),
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


def _columns(runs: Sequence[ItemRun]) -> dict[str, MetricResult]:
    """Column → its entry in the first run in which it has numbers, else in any run."""
    known: dict[str, MetricResult] = {}
    for run in runs:
        for metric in run.metrics:
            column = metric.column
            if column.control or column.part_of is not None or not column.headline:
                continue
            if column.model == DEMONSTRATION:
                continue
            if metric.name not in known or (metric.ok and not known[metric.name].ok):
                known[metric.name] = metric
    return known


def _entries(
    runs: Sequence[ItemRun],
    columns: Mapping[str, MetricResult],
    metrics: Mapping[str, Metric],
    baselines: Sequence[str],
) -> tuple[MetricResult, ...]:
    """The columns, each with its cost and with what its metric takes, as far as it is known.

    The cost is the median over the runs that computed at least 100 scores; to read scores from a
    file is none.
    """
    rates: dict[str, list[float]] = {}
    scored: dict[str, int] = {}
    for run in runs:
        for family in run.info.metrics if run.info is not None else ():
            name = family.metric.partition(" (")[0]
            scored[name] = scored.get(name, 0) + family.n_scored
            if family.seconds is not None and family.n_scored >= 100:
                rates.setdefault(name, []).append(1000 * family.seconds / family.n_scored)
    entries = []
    for m in columns.values():
        metric = metrics.get(m.family)
        known = None if isinstance(metric, BankMetric | ScoresFileMetric) else rates.get(m.family)
        facts = {
            "seconds_per_1000": median_of.median(known) if known else None,
            "n_scored": scored.get(m.family, 0),
            "reads": None if metric is None else " ".join(sorted(metric.reads)),
            "runs_network": None if metric is None else metric.runs_network,
        }
        numbers = Measured(values={}, facts=facts) if m.ok else None
        column = replace(m.column, control=m.family in baselines)
        update = {"column": column, "statistics": numbers, "counts": ()}
        entries.append(m.model_copy(update=update))
    return tuple(entries)


def _found(use: Use, runs: Sequence[ItemRun], columns: Mapping[str, MetricResult]) -> list[Finding]:
    """All findings for a use, before the rules."""
    collected = []
    for run in runs:
        if run.result is None:
            continue
        data = None if run.info is None else run.info.dataset
        too_few = None if data is None else data.too_few
        for finding in findings(run.result):
            if finding.metric in columns and use.asks(finding.source, finding.part):
                metric = run.result.metric(finding.metric)
                learned = _why_learned(metric, finding.corrupted, run.result.experiment)
                why = finding.why_not or too_few or learned
                collected.append(finding._replace(item=run.id, why_not=why))
    return collected


def _why_learned(metric: MetricResult, corrupted: bool, experiment: str) -> str | None:
    """Why a metric's evidence does not count: it was chosen, or trained, on such a test."""
    training = metric.training
    if training is not None and experiment in training.chosen_on:
        return f"{metric.name} was chosen on experiment={experiment}"
    if corrupted and metric.column.learned_from_corruptions:
        return f"{metric.name} was trained on corrupted captions"
    return None


def _uses(uses: Sequence[Use], made: Cells) -> Iterator[dict[str, Any]]:
    """The metrics with each word, best first, and the best one."""
    for use in uses:
        row = made[use.id]
        ranked = sorted(
            (name for name in row if row[name].skill.value is not None),
            key=lambda name: (row[name].word != "shown", -(row[name].skill.value or 0.0), name),
        )
        best = row[ranked[0]] if ranked else Cell("cannot tell")
        yield {
            "use": use.title,
            "id": use.id,
            "best": ranked[0] if ranked else None,
            "skill": best.skill,
            "judged by": _joined(f.judged for f in best.counted) or None,
            "n": _n(best),
            **{
                word: ", ".join(name for name in ranked if row[name].word == word) or None
                for word in NAMED
            },
            "what it takes": use.shows,
        }


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def _n(cell: Cell) -> int | None:
    """The items of the tests that count."""
    return sum(f.value.n or 0 for f in cell.counted) or None


def _cells(made: Cells) -> Iterator[dict[str, Any]]:
    for use, row in made.items():
        for metric, cell in row.items():
            yield {
                "use": use,
                "metric": metric,
                "word": cell.word,
                "skill": cell.skill,
                "n": _n(cell),
                "judged by": _joined(f.judged for f in cell.counted) or None,
                "tests": len(cell.counted),
                "more data": cell.more_data,
            }


def _silent(made: Cells) -> Iterator[dict[str, Any]]:
    """The tests that count for no metric, whatever it was trained on, with the reason."""
    seen = set()
    for use, row in made.items():
        every = [f for cell in row.values() for f in cell.evidence]
        counted = {f.test for f in every if f.outcome != "not counted"}
        for f in every:
            if f.test not in counted and (use, f.test) not in seen:
                seen.add((use, f.test))
                yield {"use": use, "test": f.name, "reason": f.why_not, "best control": f.control}


def _evidence(made: Cells) -> Iterator[dict[str, Any]]:
    for use, row in made.items():
        for metric, cell in row.items():
            for f in cell.evidence:
                yield {
                    "use": use,
                    "metric": metric,
                    "word": cell.word,
                    "item": f.item,
                    "part": f.part,
                    "measure": f.measure,
                    "judged by": f.judged,
                    "value": f.value,
                    "n": f.value.n,
                    "control": f.control,
                    "control_value": f.control_value,
                    "ceiling": f.ceiling,
                    "ceiling_is": f.ceiling_is,
                    "skill": f.skill,
                    "detectable": f.detectable,
                    "outcome": f.outcome,
                    "why_not": f.why_not,
                }


def _examples(found: Mapping[str, Sequence[Finding]]) -> Iterator[dict[str, Any]]:
    """The captions of each item, part and metric, once."""
    every = {(f.item, f.part, f.metric): f for several in found.values() for f in several}
    for (item, part, metric), finding in every.items():
        for example in finding.examples:
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


def _own(uses: Sequence[Use], made: Cells, own_metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The user's metrics, a row for each use that has evidence for them."""
    for name in own_metrics:
        for use in uses:
            row = made[use.id]
            if row[name].counted:
                shown = [n for n in row if row[n].word == "shown" and n not in own_metrics]
                yield {
                    "metric": name,
                    "use": use.title,
                    "word": row[name].word,
                    "skill": row[name].skill,
                    "n": _n(row[name]),
                    "others shown": ", ".join(shown),
                }


def _known(runs: Sequence[ItemRun], own_metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The user's metrics against the best known metric of each item, by the item's own tests.

    The best is the one that the user's metric is least above; those that were chosen on the
    experiment, or trained on such captions, are left out.
    """
    for run in runs:
        if run.result is None or not own_metrics:
            continue
        for tested in between_metrics(run.result):
            usable = {
                m.name
                for m in run.result.metrics
                if _why_learned(m, tested.corrupted, run.result.experiment) is None
            }
            usable -= set(own_metrics)
            for name in own_metrics:
                pairs = [
                    pair if pair.a == name else pair.reversed()
                    for pair in tested.pairs.pairs
                    if name in (pair.a, pair.b) and pair.difference.value is not None
                ]
                pairs = [pair for pair in pairs if pair.b in usable]
                if pairs:
                    best = min(pairs, key=lambda pair: (pair.difference.value or 0.0, pair.b))
                    outcome = "not separated"
                    if best.is_significant(tested.pairs.alpha):
                        outcome = "higher" if (best.difference.value or 0.0) > 0 else "lower"
                    yield {
                        "metric": name,
                        "item": run.id,
                        "measure": tested.measure,
                        "best known": best.b,
                        "difference": best.difference,
                        "p after Holm": None if best.test is None else best.test.p_adjusted,
                        "n": best.n,
                        "outcome": outcome,
                    }


def across_benchmarks(results: Mapping[str, MeasuredResult]) -> list[Extra]:
    """Metrics that every benchmark of ratings ranks, by their average rank (as WMT's metrics task):
    a table of ranks, and one of benchmarks; nothing for fewer than two of either.

    A rank is that of a cluster, within which no test separates neighbours. A benchmark on which no
    test separates two of these metrics ranks nothing and is left out. On a benchmark with several
    dimensions the last one stands for it where it is their "total", else the first.
    """
    ranks: dict[str, Mapping[str, int]] = {}
    for item, result in results.items():
        if result.experiment != "judgments":
            continue
        statistic, dimension = str(result.settings["statistic"]), main_dimension(result)
        key = dimension_key(result, statistic, dimension)
        on_common = dimension_key(result, f"{statistic}_common", dimension)
        family = result.comparisons[key]
        values = {}
        for m in result.metrics:
            if m.ok and m.column.headline and not m.column.control:
                name = on_common if on_common in m.numbers.values else key
                if (value := m.numbers.value(name)) is not None:
                    values[m.name] = value
        order = sorted(values, key=lambda name: (-values[name], name))
        apart = [(c.a, c.b) for c in family.pairs if c.is_significant(family.alpha)]
        ranks[item] = rank_clusters(order, apart)
    common = set.intersection(*map(set, ranks.values())) if ranks else set()
    silent = [item for item, of in ranks.items() if len({of[name] for name in common}) < 2]
    ranks = {item: of for item, of in ranks.items() if item not in silent}
    if len(ranks) < 2 or len(common) < 2:
        return []
    made = average_rank(ranks)
    rows = [
        {"metric": name, "average rank": mean, **{item: of[name] for item, of in ranks.items()}}
        for name, mean in zip(made.names, made.average.tolist(), strict=True)
    ]
    benchmarks: list[dict[str, Any]] = [
        *(
            {"benchmark": item, "τ-b of the order without it": made.stability[item]}
            for item in ranks
        ),
        *({"benchmark": item, "status": "separates no two metrics"} for item in silent),
    ]
    title = CONCORDANCE.format(made.concordance, made.p)
    return [
        Extra.of("across", "Ratings, over benchmarks", rows, folded=True),
        Extra.of("benchmarks", title, benchmarks, folded=True),
    ]
