"""What a run of attacks shows, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    count,
    listed,
    percent,
    percent_with_interval,
    spelled,
)
from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.attack import AttackResult, AttackStatistics, BestOfN
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult

Metric = MetricResult[AttackStatistics]
MOST_NAMES = 5  # that a sentence lists
T = TypeVar("T")
_LEAST = 20  # captions that a share of the transfer rests on


def findings(result: AttackResult) -> list[Finding]:
    """All findings of a run, those without data left out."""
    metrics = scored(result)
    if not metrics:
        return [Finding("Success.", "No metric was attacked: none ran.")]
    return [
        Finding("Success.", " ".join(success(result, metrics))),
        *_found("Controls.", against_chance(result, metrics)),
        *_found("Without a call.", unasked(metrics)),
        *_found("Constraints.", constraints(metrics)),
        *_found("Transfer.", transfer(result)),
        *_found("Inflation.", inflation(metrics)),
        *_found("Generic captions.", generic(metrics)),
        *_found("Best of n.", best_of_n(metrics)),
        *_found("Two metrics.", defences(result)),
    ]


def _found(lead: str, sentences: Iterator[str]) -> Iterator[Finding]:
    if text := " ".join(sentences):
        yield Finding(lead, text)


def scored(result: AttackResult) -> list[Metric]:
    """The metrics that were attacked, controls left out, the most fooled first."""
    metrics = [m for m in result.metrics if kind_of(m) in ("result", "random")]
    metrics = [m for m in metrics if m.numbers.final().value is not None]
    return sorted(metrics, key=lambda m: -(m.numbers.final().value or 0.0))


def success(result: AttackResult, metrics: Sequence[Metric]) -> Iterator[str]:
    """On how many metrics the search succeeds more often than not, and the hardest to fool."""
    budget, edits = result.settings.budgets[-1], result.settings.max_edits
    fooled = [m for m in metrics if (m.numbers.final().low or 0.0) > 0.5]
    spent = f"with {count(budget)} calls an image and at most {amount(edits, 'changed word')}"
    subject = "a provably false caption scores above the human caption"
    if len(fooled) == len(metrics) > 1:
        every = f"each of the {spelled(len(metrics))} metrics"
        yield f"By {every}, {subject} on more than half of the images, {spent}."
    elif fooled:
        yield f"By {names(fooled)}, {subject} on more than half of the images, {spent}."
    else:
        yield f"By no metric {subject} on significantly more than half of the images, {spent}."
    if len(metrics) > 1:
        tied = lowest(metrics)
        verb = "is" if len(tied) == 1 else "are"
        also = "" if len(tied) == 1 else "; their intervals overlap with the lowest"
        yield f"Hardest to fool {verb} {listed([_rate(m) for m in tied[:MOST_NAMES]])}{also}."


def lowest(metrics: Sequence[Metric]) -> list[Metric]:
    """The metric with the lowest success rate, and those whose intervals overlap with its own."""
    order = sorted(metrics, key=lambda m: m.numbers.final().value or 0.0)
    high = order[0].numbers.final().high
    return [
        m for m in order if m is order[0] or high is None or (m.numbers.final().low or 0.0) <= high
    ]


def against_chance(result: AttackResult, metrics: Sequence[Metric]) -> Iterator[str]:
    """Which metrics are fooled no less often than a random score."""
    random = result.controls.get("random")
    if random is None or random.value is None or random.low is None:
        return
    weak = [m for m in metrics if (m.numbers.final().high or 1.0) >= random.low]
    text = f"a random score ({percent(random.value)})"
    if len(weak) == len(metrics):
        yield f"No metric is fooled less often than {text}."
    elif weak:
        yield f"Not fooled less often than {text}: {names(weak)}."
    else:
        yield f"Each metric is fooled less often than {text}."


def unasked(metrics: Sequence[Metric]) -> Iterator[str]:
    """The metrics that prefer the first false caption most often, before the search calls them."""
    first = [
        (m, point.value)
        for m in metrics
        if (point := m.numbers.success[m.numbers.main][0]).at == 0 and point.value.value is not None
    ]
    if not first:
        return
    text = "Before any call, the first false caption scores above the human one"
    if len(first) == 1:
        yield f"{text} by {first[0][0].name} on {percent(first[0][1].value)} of the images."
    else:
        top = leading(first)
        shown = [f"{m.name} (on {percent(e.value)} of the images)" for m, e in top]
        yield f"{text} most often by {_first(shown, 'metrics')}{_tied(top)}."


def constraints(metrics: Sequence[Metric]) -> Iterator[str]:
    """What fluency and the human caption's length cost the attacker."""
    for other, less, cause in (
        ("unconstrained", False, "Without the constraint of fluency"),
        ("same length", True, "With the human caption's number of words, give or take one,"),
    ):
        pairs = [
            (m, m.numbers.final(other))
            for m in metrics
            if other in m.numbers.success and m.numbers.main != other
        ]
        if not pairs:
            continue
        moved = [
            f"{m.name} ({percent(m.numbers.final().value)}, then {percent(value.value)})"
            for m, value in pairs
            if _apart(m.numbers.final(), value) and less == _below(value, m.numbers.final())
        ]
        word = "less" if less else "more"
        if moved:
            more = len(moved) - MOST_NAMES
            rest = [f"{spelled(more)} more"] if more > 0 else []
            against = listed([*moved[:MOST_NAMES], *rest])
            yield f"{cause} the search succeeds {word} often against {against}."
        else:
            yield f"{cause} no metric is fooled {word} often: the intervals overlap."


def transfer(result: AttackResult) -> Iterator[str]:
    """Between which two metrics captions pass on most often, and least often."""
    shown = {m.name for m in scored(result)}
    cells = [
        c for c in result.transfer
        if c.source != c.target and {c.source, c.target} <= shown
        and c.share.value is not None and (c.share.n or 0) >= _LEAST
    ]  # fmt: skip
    if len(cells) < 2:
        return
    rows = [(c, c.share) for c in cells]
    for top, which in ((leading(rows), "most"), (leading(rows, least=True), "least")):
        passed = [f"from {c.source} to {c.target} ({percent(e.value)})" for c, e in top]
        text = f"Captions that fool one metric fool another {which} often"
        if len(top) == 1:
            yield f"{text} {passed[0]}."
        elif len(top) < len(rows):
            yield f"{text} {_first(passed, 'pairs')}, which are not separated."
        elif which == "most":
            yield "No two metrics are separated in how often captions pass from one to the other."


def inflation(metrics: Sequence[Metric]) -> Iterator[str]:
    """The highest gain without regard to the truth, with the references known and unknown."""
    for known, cause in ((True, "knows the references"), (False, "does not know the references")):
        gains = []
        for m in metrics:
            if (inflation := m.numbers.inflation) is not None:
                gain = (inflation.known if known else inflation.unknown)[-1].value
                if gain.value is not None:
                    gains.append((m, gain))
        if not gains:
            continue
        raised = [(m, g) for m, g in gains if (g.low if g.low is not None else -1.0) > 0]
        subject = f"An attacker that {cause} raises the score above the human caption's"
        if len(raised) == len(gains):
            yield f"{subject} by every metric, on average."
        elif raised:
            yield f"{subject} by {names([m for m, _ in raised])}, on average."
        else:
            yield f"An attacker that {cause} raises no score above the human caption's, on average."


def generic(metrics: Sequence[Metric]) -> Iterator[str]:
    """The generic caption that outranks the human one most often."""
    rows = [
        (m, m.numbers.generic)
        for m in metrics
        if m.numbers.generic is not None and m.numbers.generic.outranks.value is not None
    ]
    if rows:
        top = leading([(row, row[1].outranks) for row in rows])
        shown = [f"“{g.caption}” by {m.name} ({percent(e.value)})" for (m, g), e in top]
        text = "A generic caption outranks the human caption on most images:"
        yield f"{text} {_first(shown, 'metrics')}{_tied(top)}."


def best_of_n(metrics: Sequence[Metric]) -> Iterator[str]:
    """Whether choosing by a metric raises or lowers the share of true captions."""
    rows = [(m, m.numbers.best_of_n) for m in metrics if len(m.numbers.best_of_n) > 1]
    if not rows:
        return
    n = rows[0][1][-1].n
    worse = [(m, p) for m, p in rows if _apart(p[0].true, p[-1].true)
             and _below(p[-1].true, p[0].true)]  # fmt: skip
    better = [(m, p) for m, p in rows if _apart(p[0].true, p[-1].true)
              and _below(p[0].true, p[-1].true)]  # fmt: skip
    drop = [m for m, p in rows if _apart(_peak(p), p[-1].true) and _below(p[-1].true, _peak(p))]
    if worse:
        by = names([m for m, _ in worse])
        yield f"The best of {n} by {by} is true less often than one caption drawn at random."
    if better:
        top = leading([(m, p[-1].true) for m, p in better])
        most = _first([f"{m.name} ({percent(e.value)})" for m, e in top], "metrics")
        by = names([m for m, _ in better])
        text = f"The best of {n} by {by} is true more often than one caption drawn at random"
        yield f"{text}; most often by {most}{_tied(top)}." if len(better) > 1 else f"{text}."
    if not worse and not better:
        yield f"By no metric the best of {n} is true more or less often than one at random."
    only = [m for m in drop if m not in [w for w, _ in worse]]
    if only:
        yield f"By {names(only)} the share of true captions falls again after its peak as n grows."


def _peak(points: Sequence[BestOfN]) -> Estimate:
    return max((p.true for p in points), key=lambda e: e.value or 0.0)


def defences(result: AttackResult) -> Iterator[str]:
    """The pair of metrics that resists best, and what its members do alone."""
    pairs = [p for p in result.defences if p.searched is not None and p.searched.value is not None]
    if not pairs:
        return
    top = leading([(p, p.searched) for p in pairs if p.searched is not None], least=True)
    shown = [f"{' and '.join(p.metrics)} ({_ends(e)})" for p, e in top]
    yield (
        f"Of {amount(len(pairs), 'pair')} of metrics, of which both must prefer a caption, the "
        f"search fools least often {_first(shown, 'pairs')}{_tied(top)}."
    )
    members = dict.fromkeys(name for p, _ in top for name in p.metrics)
    alone = [f"{m} alone on {percent(result.metric(m).numbers.final().value)}" for m in members]
    yield f"It fools {listed(alone)} of the images."


def leading(rows: Sequence[tuple[T, Estimate]], least: bool = False) -> list[tuple[T, Estimate]]:
    """The row with the highest value (or the lowest), and those that are not separated from it:
    whose intervals overlap with its own."""
    sign = 1.0 if least else -1.0
    order = sorted(rows, key=lambda row: sign * (row[1].value or 0.0))
    return [row for row in order if row is order[0] or not _apart(row[1], order[0][1])]


def _tied(top: Sequence[object]) -> str:
    return "" if len(top) == 1 else ", which are not separated"


def _first(shown: Sequence[str], noun: str) -> str:
    """A list in words, of many only the first."""
    more = len(shown) - MOST_NAMES
    rest = f"{spelled(more)} more {noun.removesuffix('s') if more == 1 else noun}"
    return listed([*shown[:MOST_NAMES], *([rest] if more > 0 else [])])


def names(metrics: Sequence[Metric]) -> str:
    """The names of metrics as a list in words, of many only the first."""
    more = len(metrics) - MOST_NAMES
    rest = [f"{spelled(more)} more"] if more > 0 else []
    return listed([*(m.name for m in metrics[:MOST_NAMES]), *rest])


def _rate(metric: Metric) -> str:
    return f"{metric.name} ({_ends(metric.numbers.final())})"


def _ends(estimate: Estimate) -> str:
    return percent_with_interval(estimate.value, estimate.interval)


def _apart(a: Estimate, b: Estimate | None) -> bool:
    """Whether the intervals of two estimates do not overlap."""
    if b is None or a.interval is None or b.interval is None:
        return False
    return a.interval[1] < b.interval[0] or b.interval[1] < a.interval[0]


def _below(a: Estimate, b: Estimate) -> bool:
    return (a.value or 0.0) < (b.value or 0.0)
