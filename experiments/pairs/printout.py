"""What a run on true and false captions prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from metaeval.experiments.pairs.outcomes import TRUE
from metaeval.experiments.printout import not_run
from metaeval.experiments.text_table import text_table
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import AgainstControl, hypotheses, is_undecidable
from metaeval.results.metric import MetricResult
from metaeval.results.pairs import PairsResult, PairsStatistics
from metaeval.stats.significance.comparison import is_significant, replicates_needed

MEAN, SHOWN = "mean", "mean of shown"
_VERDICTS = {
    "nothing": "does not test metrics",
    "unsure": "may not test metrics",
    "undecidable": "cannot be decided with this number of permutations",
}


def printout(result: PairsResult, file: Path) -> str:
    """A table for each comparison, best metric first and controls last; then what to note."""
    lines = [line for comparison in result.comparisons for line in _table(result, comparison)]
    return "\n".join(
        [*lines, *_refinement(result), *_unscored(result), *_undecidable(result),
         *not_run(result), f"{file.stem}: {file}"]
    )  # fmt: skip


def _shown(result: PairsResult, comparison: str) -> list[MetricResult[PairsStatistics]]:
    """The metrics that ran, best first, then the controls."""
    done = [m for m in result.metrics if m.statistics is not None and m.column.part_of is None]

    def sort_key(metric: MetricResult[PairsStatistics]) -> tuple[bool, float]:
        value = metric.numbers.accuracy[comparison].mean.value
        return metric.column.control, 2.0 if value is None else -value

    return sorted(done, key=sort_key)


def _name(metric: MetricResult[PairsStatistics]) -> str:
    return f"({metric.name})" if metric.column.control else metric.name


def _table(result: PairsResult, comparison: str) -> Iterator[str]:
    confidence = f"{round(100 * result.settings.confidence, 6):g}% interval"
    lines = []
    for metric in _shown(result, comparison):
        accuracy = metric.numbers.accuracy[comparison]
        ends = accuracy.mean.interval
        line = {
            "metric": _name(metric),
            MEAN: percent(accuracy.mean.value),
            confidence: "" if ends is None else f"{100 * ends[0]:.1f} {100 * ends[1]:.1f}",
        }
        if accuracy.mean_of_shown is not None:
            line[SHOWN] = percent(accuracy.mean_of_shown.value)
        line |= {
            f"{kind} ({result.kinds[kind]:,})": percent(a.value)
            for kind, a in accuracy.kinds.items()
        }
        line["ties"] = percent(accuracy.mean.ties)
        if comparison == TRUE and (pooled := metric.numbers.pooled) is not None:
            line["pooled AP"] = _with_ends(pooled.average_precision)
            line["pooled AUROC"] = _with_ends(pooled.auroc)
        lines.append(line)
    yield from text_table(lines, comparison)
    if result.settings.ties == "wrong":
        yield "ties count as wrong, for metrics and controls"
    yield from _verdicts(result.controls[comparison])
    yield _differences(result, comparison)


def _with_ends(estimate: Estimate) -> str:
    ends = estimate.interval
    shown = "" if ends is None else f" {100 * ends[0]:.1f}–{100 * ends[1]:.1f}"
    return f"{percent(estimate.value)}{shown}"


def _verdicts(controls: Mapping[str, AgainstControl]) -> Iterator[str]:
    """A line for each kind on which no metric is significantly above the best control."""
    for kind, entry in controls.items():
        if entry.shows in _VERDICTS:
            yield (
                f"{kind} {_VERDICTS[entry.shows]}: {entry.control} alone gets "
                f"{percent(entry.control_value)}, the best metric ({entry.best}) "
                f"{percent(entry.best_value)}"
            )


def _differences(result: PairsResult, comparison: str) -> str:
    family = result.differences[comparison]
    methods = list(dict.fromkeys(test.method for pair in family.pairs for test in pair.tests))
    counts = ", ".join(
        f"{sum(_rejected(pair.tests, method, family.alpha) for pair in family.pairs)} by {method}"
        for method in methods
    )
    n = len(family.pairs)
    pairs = "1 pair" if n == 1 else f"{n} pairs"
    return f"{pairs} of metrics, significant at {family.alpha:g} after Holm: {counts or 'none'}"


def _rejected(tests: Iterable[Test], method: str, alpha: float) -> bool:
    return any(t.method == method and is_significant(t.p_adjusted, alpha) for t in tests)


def _refinement(result: PairsResult) -> Iterator[str]:
    refinement = result.refinement
    if refinement is None:
        return
    comparison, lines = result.comparisons[0], []
    for metric in _shown(result, comparison):
        refined = metric.numbers.refined
        if refined is None:
            continue
        before, after = metric.numbers.accuracy[comparison], refined[comparison]
        left = f"{MEAN} ({sum(refinement.kinds.values()):,})"
        line = {
            "metric": _name(metric),
            left: f"{percent(before.mean.value)} {percent(after.mean.value)}",
        }
        line |= {
            f"{kind} ({n:,})": f"{percent(before.kinds[kind].value)} "
            f"{percent(after.kinds[kind].value)}"
            for kind, n in refinement.kinds.items()
        }
        lines.append(line)
    yield from text_table(
        lines, f"{comparison}, before and after {refinement.control} is as often right as wrong"
    )


def _unscored(result: PairsResult) -> Iterator[str]:
    for metric in result.metrics:
        numbers = metric.statistics
        if numbers is not None and metric.column.part_of is None and numbers.n_nan:
            total = numbers.n + numbers.n_nan
            yield f"{metric.name}: no score for {numbers.n_nan:,} of {total:,} pairs"


def _undecidable(result: PairsResult) -> Iterator[str]:
    """Families that the permutation test drew too few arrangements to decide."""
    drawn, alpha = result.settings.permutations, result.settings.alpha
    pairs = max((len(d.pairs) for d in result.differences.values()), default=0)
    against = max((hypotheses(c) for c in result.controls.values()), default=0)
    for n, what in ((pairs, "pairs of metrics"), (against, "metrics × kinds against a control")):
        if n and drawn < (needed := replicates_needed(n, 1, alpha)):
            yield (
                f"{what}: cannot be decided with {drawn:,} permutations for {n:,} "
                f"hypothes{'is' if n == 1 else 'es'}; "
                f"set task.permutations={needed} or more"
            )
    if any(is_undecidable(c) for c in result.controls.values()) and drawn >= (
        replicates_needed(against, 1, alpha)
    ):
        yield "some kinds have too few images for any metric to be above a control"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
