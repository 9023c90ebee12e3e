"""The findings of a run against people who rated captions, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from metaeval.reports.judgments.table import STATISTICS, equal_as_printed
from metaeval.reports.shared.elements import Finding, Row
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.comparison import Comparisons
from metaeval.results.judgments import JudgmentsResult, JudgmentStatistics, has_few_values
from metaeval.results.metric import MetricResult
from metaeval.stats.significance.comparison import replicates_needed

NEARLY_ALL = 0.9  # the share of pairs made ties from which a tie calibration gets a warning


def findings(result: JudgmentsResult, table: MetricsTable) -> list[Finding]:
    """The first sentence is set large; the others follow."""
    sentences: list[str] = []
    name_of = STATISTICS[result.protocol.statistic][0]
    for dimension, rows in table.bodies:
        ranked = _comparable(result, [row.metric for row in rows if row.kind == "result"])
        if not ranked:
            continue
        where = f"by {dimension}, " if len(table.bodies) > 1 else ""
        numbers = result.metric(ranked[0]).numbers.human[dimension]
        value = f"{name_of} {number(numbers.ranked_by(result.protocol.statistic))}"
        best, comparisons = result.metric(ranked[0]), result.differences[dimension]
        sentences.append(capital(where + leader(best, value, ranked, comparisons)))
        sentences += _controls(result, dimension, rows, where)
    sentences += _few_values(result)
    sentences += [f"{sentence}." for sentence in result.outside_intervals()]
    sentences += _systems(result)
    sentences += _without_people(result)
    sentences += _control_without_people(result)
    sentences += _ceiling(result)
    sentences += _published(result)
    sentences += _calibration(result)
    sentences += [f"{name}: {text}." for name, text in result.counted()]
    settings = result.settings
    sentences += too_few(
        result.differences.values(), settings.permutations, settings.replicates, settings.alpha
    )
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def _comparable(result: JudgmentsResult, ranked: list[str]) -> list[str]:
    """The metrics that a leading sentence compares: by τ-c not those with few values, if others
    are left."""
    if result.protocol.statistic != "kendall_tau_c":
        return ranked
    many = [name for name in ranked if not has_few_values(result.metric(name).numbers)]
    return many or ranked


def leader(
    best: MetricResult[Any], value: str, ranked: Sequence[str], comparisons: Comparisons
) -> str:
    """Who agrees best with people: one metric only where every test puts all others below it.

    A metric whose model saw captions of benchmark images is named with that fact.
    """
    head = f"{best.name}{disclosure(best)} agrees best with people: {value}"
    if len(ranked) < 2:
        return f"{head}."
    others = comparisons.not_below(best.name, ranked)
    above = [
        name
        for name in others
        if (pair := comparisons.between(best.name, name)) and pair.is_significant(comparisons.alpha)
    ]
    tied = [name for name in others if name not in above]
    if others:
        open_ = f", not separated from {listed(tied, 'or')}" if tied else ""
        return f"{head}{open_}{f', but the test puts {listed(above)} above it' if above else ''}."
    return f"{head}, higher than {'the other' if len(ranked) == 2 else 'every other metric'}."


def disclosure(metric: MetricResult[Any]) -> str:
    """What a metric's model has seen of benchmark captions, in brackets; empty for nothing."""
    if metric.training is None or not metric.training.caption_models:
        return ""
    seen = [
        f"{model.model} was trained on {listed([f'{count(n)} of {data}' for data, n in pairs])}"
        for model in metric.training.caption_models
        for pairs in [list(model.pairs.items())]
    ]
    return f" (built on a model that saw captions of benchmark images: {'; '.join(seen)} pairs)"


def _controls(
    result: JudgmentsResult, dimension: str, rows: Sequence[Row], where: str
) -> list[str]:
    """The metrics that do not agree significantly better with people than the best control."""
    against = result.controls[dimension]
    if against is None:
        return []
    control = f"the best control, {against.control} ({number(against.control_value)})"
    ranked, above = [row.metric for row in rows if row.kind == "result"], against.above
    below = [metric for metric in ranked if metric in against.not_above]
    if not set(ranked).difference(above):
        return [capital(f"{where}every metric is above {control}.")]
    if not below:
        which = "another metric" if above else "a metric"
        return [
            capital(
                f"{where}whether {which} is above {control} cannot be decided with so few "
                "replicates or images."
            )
        ]
    if len(below) == len(ranked):
        return [capital(f"{where}no metric is significantly above {control}.")]
    verb = "is" if len(below) == 1 else "are"
    return [capital(f"{where}{listed(below)} {verb} not significantly above {control}.")]


def _published(result: JudgmentsResult) -> list[str]:
    """How many of the values that a paper printed for these captions come out, to its digit."""
    published, statistic = result.published, result.protocol.statistic
    gaps = [
        (m.numbers.human[dimension].estimate(statistic).value, values[m.name])
        for dimension, values in published.values.items()
        for m in result.metrics
        if m.ok and m.name in values
    ]
    if not gaps:
        return []
    same = sum(v is not None and equal_as_printed(v, paper, published.digits) for v, paper in gaps)
    return [
        f"Of {amount(len(gaps), 'value')} that {published.source} printed, "
        f"{spelled(same) if same else 'none'} come{'s' if same < 2 else ''} out equal to the last "
        "printed digit."
    ]


def _ceiling(result: JudgmentsResult) -> list[str]:
    """One rating against the others of its caption, where single ratings exist."""
    statistic, sentences = STATISTICS[result.protocol.statistic][0], []
    for name, people in result.people.items():
        if people is None:
            continue
        sentence = (
            f"One rating of a caption, taken at random, agrees with the {count(people.raters - 1)} "
            f"others by {statistic} {number(people.value)} ({name})"
        )
        if people.sorted_rows:
            sentence += (
                "; the ratings are sorted within every caption, so nothing is known of single "
                "raters"
            )
        sentences.append(f"{sentence}.")
    return sentences


def _few_values(result: JudgmentsResult) -> list[str]:
    """Metrics with so few different scores that τ-c overstates them, in the first dimension."""
    if result.protocol.statistic != "kendall_tau_c":
        return []
    dimension = result.dimensions[0]
    few = [
        f"{m.name} ({m.numbers.n_distinct} values, τ-b "
        f"{number(m.numbers.human[dimension].kendall_tau_b.value)})"
        for m in _metrics(result)
        if has_few_values(m.numbers)
    ]
    return [f"τ-c overstates metrics with few values: compare {listed(few)} by τ-b."] if few else []


def _metrics(result: JudgmentsResult) -> list[MetricResult[JudgmentStatistics]]:
    return [m for m in result.metrics if m.ok and m.column.part_of is None and not m.column.control]


def _without_people(result: JudgmentsResult) -> list[str]:
    """How much of a metric's agreement is people's captions against machines'."""
    view = "without Human"
    if view not in result.views:
        return []
    statistic, dimension = result.protocol.statistic, result.dimensions[0]
    changes = []
    for m in _metrics(result):
        agreement = m.numbers.human[dimension]
        whole = agreement.estimate(statistic).value
        part = agreement.views[view].estimate(statistic).value
        if whole is not None and part is not None:
            changes.append((whole - part, m.name, whole, part))
    if not changes:
        return []
    gap, metric, whole, part = max(changes, key=lambda change: abs(change[0]))
    verb = "falls" if gap > 0 else "rises"
    return [
        f"Without people's captions {metric}'s {STATISTICS[statistic][0]} {verb} from "
        f"{number(whole)} to {number(part)} ({dimension}), the greatest change of all metrics."
    ]


def _control_without_people(result: JudgmentsResult) -> list[str]:
    """What the best control gets with people's captions and without, in each dimension."""
    view, sentences = "without Human", []
    name = STATISTICS[result.protocol.statistic][0]
    for dimension, against in result.controls.items():
        if against is None or view not in result.views:
            continue
        agreement = result.metric(against.control).numbers.human[dimension]
        whole = agreement.estimate(result.protocol.statistic).value
        part = agreement.views[view].estimate(result.protocol.statistic).value
        sentences.append(
            f"The best control by {dimension}, {against.control}, has {name} {number(whole)} with "
            f"people's captions and {number(part)} without them."
        )
    return sentences


def _systems(result: JudgmentsResult) -> list[str]:
    """Which metrics agree with people about systems, in the first dimension."""
    if len(result.systems) < 2:
        return []
    dimension = result.dimensions[0]
    r: dict[str, float] = {}
    for m in result.metrics:
        system = m.numbers.human[dimension].system if kind_of(m) == "result" else None
        if system is not None and system.pearson.value is not None:
            r[m.name] = system.pearson.value
    if not r:
        return []
    positive = sorted((name for name in r if r[name] > 0), key=lambda name: -r[name])
    over = f"Over the {count(len(result.systems))} systems ({dimension})"
    if not positive:
        return [f"{over} no metric's mean scores follow people's mean ratings: every r is below 0."]
    best = f"{positive[0]} (r {number(r[positive[0]], 2)})"
    if len(positive) == len(r):
        return [f"{over} {best} follows people's mean ratings best."]
    if len(positive) == 1:
        return [f"{over} only {best} has a positive correlation with people's mean ratings."]
    others = listed([f"{name} ({number(r[name], 2)})" for name in positive[1:]])
    return [
        f"{over} {best} follows people's mean ratings best; of the other {count(len(r) - 1)} "
        f"metrics only {others} {'has' if len(positive) == 2 else 'have'} a positive r."
    ]


def too_few(
    families: Iterable[Comparisons], permutations: int, replicates: int, alpha: float
) -> list[str]:
    """The tests with too few draws to find any difference between this many pairs significant.

    With m pairs, the smallest p-value after Holm's correction is m/(R + 1) for R arrangements of
    the permutation test and 2m/(R + 1) for R replicates of the two-sided bootstrap.
    """
    pairs, sentences = max((len(family.pairs) for family in families), default=0), []
    for sides, drawn, option, test in (
        (1, permutations, "task.permutations", "permutation test"),
        (2, replicates, "stats.replicates", "bootstrap"),
    ):
        if pairs and drawn < (needed := replicates_needed(pairs, sides, alpha)):
            sentences.append(
                f"{count(drawn)} draws are too few for the {test} to call any of {count(pairs)} "
                f"differences significant: set {option} to {count(needed)} or more."
            )
    return sentences


def _calibration(result: JudgmentsResult) -> list[str]:
    gains = [
        (a.accuracy.value - a.uncalibrated, m.name, a)
        for m in _metrics(result)
        for a in [m.numbers.human[result.dimensions[0]].accuracy]
        if a.accuracy.value is not None and a.uncalibrated is not None
    ]
    if not gains:
        return []
    _, metric, accuracy = max(gains, key=lambda gain: gain[0])
    sentence = (
        f"Tie calibration does most for {metric}: its pairwise accuracy goes from "
        f"{percent(accuracy.uncalibrated)} to {percent(accuracy.accuracy.value)}"
    )
    if accuracy.tied is not None and accuracy.tied >= NEARLY_ALL:
        sentence += (
            f", by tying {percent(accuracy.tied)} of the pairs: that says how often people tie "
            "captions, not what the metric sees"
        )
    return [f"{sentence}."]
