"""The printed summary of a run against human judgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.experiments.controls import control_lines
from metaeval.experiments.text_table import percent, text_table
from metaeval.results.base import Estimate
from metaeval.results.comparison import Comparisons
from metaeval.results.judgments import (
    Correlation,
    HumanAgreement,
    JudgmentsResult,
    JudgmentStatistics,
    has_few_values,
)
from metaeval.results.metric import MetricResult
from metaeval.results.run import RunResult
from metaeval.stats.significance.comparison import is_significant, replicates_needed

LONG = 1.5  # times the references' length, from which a line says so
FEW_PAIRS = 30  # below this an accuracy is shown with its number of pairs
NEARLY_ALL = 0.9  # the share of pairs made ties from which a tie calibration gets a warning

SYMBOL: Mapping[Correlation, str] = {
    "pearson": "r", "spearman": "ρ", "kendall_tau_b": "τ-b", "kendall_tau_c": "τ-c",
}  # fmt: skip

Metric = MetricResult[JudgmentStatistics]


def printout(result: JudgmentsResult, file: Path) -> str:
    """A line for each metric, best first by the protocol's statistic; then what to open next."""
    settings = result.settings
    most = max((len(c.pairs) for c in result.differences.values()), default=0)
    closing = [
        *too_few_draws(most, settings.permutations, settings.replicates, settings.alpha),
        *not_run(result),
        f"{file.stem}: {file}",
    ]
    return "\n".join([*_ratings(result), *closing])


def _ratings(result: JudgmentsResult) -> Iterator[str]:
    statistic = result.protocol.statistic
    done = results_of(result)
    for dimension in result.dimensions:

        def order(metric: Metric, dimension: str = dimension) -> tuple[bool, float]:
            """Controls last; then by the correlation on common rows."""
            value = metric.numbers.human[dimension].ranked_by(statistic)
            return metric.column.control, 2.0 if value is None else -value

        rows = sorted(done, key=order)
        yield from text_table([_rating_line(r, dimension, result) for r in rows], dimension)
        people = result.people[dimension]
        if people is not None:
            note = "; ratings are sorted within captions" if people.sorted_rows else ""
            yield (
                f"one rating with the {people.raters - 1} others (exchangeable raters{note}): "
                f"{SYMBOL[statistic]} {percent(people.value, 3)}"
            )
        yield from _views(result, rows, dimension)
        yield from _systems(result, rows, dimension)
        yield tests_line(result.differences[dimension])
        yield from _not_above(result, dimension)
        yield from _drawn_pairs(rows, dimension)
        yield from _nearly_all_tied(rows, dimension)
        yield from _few_values(rows, dimension, statistic)
    yield from result.outside_intervals()
    yield from _length(result)
    yield from (f"{name}: {text}" for name, text in result.counted())
    yield from _unscored(done)


def _length(result: JudgmentsResult) -> Iterator[str]:
    """A line where captions are much longer or shorter than their references."""
    ratio = result.facts.length_ratio
    if ratio is not None and not 1 / LONG <= ratio <= LONG:
        yield (
            f"captions have {result.facts.candidate_words:.1f} words on average, {ratio:.1f} times "
            "as many as their references: scores against references are about length, too"
        )


def results_of(result: RunResult[Any]) -> list[MetricResult[Any]]:
    """The metrics and controls that ran, without parts."""
    return [m for m in result.metrics if m.ok and m.column.part_of is None]


def display_name(metric: MetricResult[Any]) -> str:
    """A metric's name; a control's in brackets."""
    return f"({metric.name})" if metric.column.control else metric.name


def _rating_line(metric: Metric, dimension: str, result: JudgmentsResult) -> dict[str, str]:
    statistic = result.protocol.statistic
    agreement = metric.numbers.human[dimension]
    estimate, common = agreement.estimate(statistic), agreement.common
    published = result.published.values.get(dimension, {}).get(metric.name)
    confidence = f"{round(100 * result.settings.confidence, 6):g}% interval"
    ends = estimate.interval
    return {
        "metric": display_name(metric),
        SYMBOL[statistic]: percent(estimate.value, 3),
        confidence: "" if ends is None else " ".join(f"{100 * end:.2f}" for end in ends),
        **{
            symbol: percent(agreement.estimate(name).value, 2)
            for name, symbol in SYMBOL.items()
            if name != statistic
        },
        "accuracy": _accuracy(agreement),
        **_binary(agreement),
        "n": f"{agreement.n:,}",
        "on common rows": f"{percent(common.value, 3)} ({common.n:,})" if common else "",
        "published": "" if published is None else f"{100 * published:.1f}",
    }


def _accuracy(agreement: HumanAgreement) -> str:
    """The accuracy on pairs; with their number where they are few."""
    shown, n = percent(agreement.accuracy.accuracy.value, 2), agreement.accuracy.n_pairs
    return f"{shown} ({n} pair{'' if n == 1 else 's'})" if shown and n < FEW_PAIRS else shown


def _binary(agreement: HumanAgreement) -> dict[str, str]:
    """Average precision, its value by chance, and AUROC, of binary labels."""
    binary = agreement.binary
    if binary is None:
        return {}
    return {
        "AP": _with_ends(binary.average_precision),
        "by chance": percent(binary.positive, 1),
        "AUROC": _with_ends(binary.auroc),
    }


def _with_ends(estimate: Estimate) -> str:
    ends = estimate.interval
    shown = "" if ends is None else f" {100 * ends[0]:.1f}–{100 * ends[1]:.1f}"
    return f"{percent(estimate.value, 1)}{shown}"


def _few_values(rows: Sequence[Metric], dimension: str, statistic: Correlation) -> Iterator[str]:
    """Metrics with so few values that τ-c overstates them, with their τ-b."""
    if statistic != "kendall_tau_c":
        return
    few = [
        f"{m.name} ({m.numbers.n_distinct} values, τ-b "
        f"{percent(m.numbers.human[dimension].kendall_tau_b.value, 2)})"
        for m in rows
        if not m.column.control and has_few_values(m.numbers)
    ]
    if few:
        yield f"τ-c overstates metrics with few values; compare by τ-b: {', '.join(few)}"


def _views(result: JudgmentsResult, rows: Sequence[Metric], dimension: str) -> Iterator[str]:
    """The protocol's statistic on parts of the captions: without people's, by subset."""
    if not result.views:
        return
    statistic, published = result.protocol.statistic, result.published.views
    lines = []
    for metric in rows:
        line = {"metric": display_name(metric)}
        for view, of_view in metric.numbers.human[dimension].views.items():
            shown = percent(of_view.estimate(statistic).value, 3)
            line[f"{view} ({result.views[view]:,})"] = shown
            value = published.get(view, {}).get(dimension, {}).get(metric.name)
            line[f"published {view}"] = "" if value is None else f"{100 * value:.1f}"
        lines.append(line)
    yield from text_table(lines, f"{dimension}, {SYMBOL[statistic]}")


def _systems(result: JudgmentsResult, rows: Sequence[Metric], dimension: str) -> Iterator[str]:
    """Which metrics agree with people about the systems."""
    r: dict[str, float] = {}
    for metric in rows:
        system = metric.numbers.human[dimension].system
        if not metric.column.control and system is not None and system.pearson.value is not None:
            r[metric.name] = system.pearson.value
    if not r:
        return
    positive = sorted((name for name in r if r[name] > 0), key=lambda name: -r[name])
    shown = ", ".join(f"{name} {r[name]:.2f}" for name in positive) or "none"
    yield (
        f"{len(result.systems)} systems: r above 0 for {len(positive)} of {len(r)} metrics: {shown}"
    )


def _not_above(result: JudgmentsResult, dimension: str) -> Iterator[str]:
    """The metrics that are not significantly above the best control."""
    against = result.controls[dimension]
    if against is None:
        return
    if against.not_above:
        yield (
            f"not significantly above the best control ({against.control}, "
            f"{percent(against.control_value, 3)}): {', '.join(against.not_above)}"
        )
    else:
        yield from control_lines({dimension: against})


def _drawn_pairs(rows: Sequence[Metric], dimension: str) -> Iterator[str]:
    """A line where the accuracies are of pairs that were drawn."""
    accuracies = [m.numbers.human[dimension].accuracy for m in rows]
    most = max(accuracies, key=lambda a: a.total_pairs, default=None)
    if most is not None and most.n_pairs < most.total_pairs:
        yield (
            f"accuracy: of {most.n_pairs:,} of {most.total_pairs:,} pairs of captions of an image, "
            "drawn at random"
        )


def _nearly_all_tied(rows: Sequence[Metric], dimension: str) -> Iterator[str]:
    def tied(agreement: HumanAgreement) -> bool:
        return agreement.accuracy.tied is not None and agreement.accuracy.tied >= NEARLY_ALL

    names = [m.name for m in rows if not m.column.control and tied(m.numbers.human[dimension])]
    if names:
        yield (
            f"tie calibration ties at least {NEARLY_ALL:.0%} of the pairs of {', '.join(names)}: "
            "such an accuracy shows how often people tie captions, not what the metric measures"
        )


def _unscored(rows: Sequence[Metric]) -> Iterator[str]:
    for metric in rows:
        numbers = metric.numbers
        if n := numbers.n_nan:
            bare = numbers.n_nan_without_references
            verb = "has" if bare == 1 else "have"
            why = f" ({bare:,} of them {verb} no references)" if bare else ""
            yield f"{metric.name}: no score for {n:,} of {n + numbers.n:,} captions{why}"


def too_few_draws(pairs: int, permutations: int, replicates: int, alpha: float) -> Iterator[str]:
    """A line for each test with too few draws to find any of the pairs significant."""
    for test, sides, drawn, option in (
        ("permutation", 1, permutations, "task.permutations"),
        ("bootstrap", 2, replicates, "stats.replicates"),
    ):
        if pairs and drawn < (needed := replicates_needed(pairs, sides, alpha)):
            yield (
                f"no difference can be significant by {test}: {drawn:,} draws for {pairs:,} "
                f"pair{'' if pairs == 1 else 's'}; {option}={needed} or more"
            )


def tests_line(comparisons: Comparisons) -> str:
    """How many pairs each test that was made finds significant."""
    significant: dict[str, int] = {}
    for pair in comparisons.pairs:
        for test in pair.tests:
            if test.p is None:
                continue
            significant.setdefault(test.method, 0)
            significant[test.method] += is_significant(test.p_adjusted, comparisons.alpha)
    by_test = ", ".join(f"{n} by {method}" for method, n in significant.items())
    n = len(comparisons.pairs)
    what = "1 pair" if n == 1 else f"{n} pairs"
    return (
        f"{what} of metrics, significant at {comparisons.alpha:g} after Holm: {by_test or 'none'}"
    )


def not_run(result: RunResult[Any]) -> Iterator[str]:
    """The metrics that did not run; their reasons are on stderr and in the report."""
    missing = {m.family: m.status for m in result.metrics if not m.ok}
    if missing:
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in missing.items())
