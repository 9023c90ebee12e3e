"""Statements on the controls, the ceiling, and what only the set of other images isolates."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.graded.ranking import ranked, results
from metaeval.reports.graded.run import GradedRun, Metric
from metaeval.reports.shared.elements import Finding
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
from metaeval.results.comparison import Comparison
from metaeval.results.graded import CEILING, Measure, SelectedStatistics

# the families of controls in a reader's words
WHAT_IT_IS = {
    "bigram_model": "a bigram language model of other images' captions, which sees neither image "
    "nor reference",
    "length": "the number of words alone",
    "random_score": "a random number",
    "longest_copy": "the longest run of words copied from a reference",
    "gold_labels": "the names of the annotated objects alone",
}


def controls_of(metrics: Sequence[Metric]) -> list[Metric]:
    """The controls to beat: all except the ceiling."""
    return [m for m in metrics if kind_of(m) == "control" and m.family != CEILING]


def ceiling_of(metrics: Sequence[Metric]) -> Metric | None:
    """The control that scores as a perfect metric would; `None` where the run has none."""
    return next((m for m in metrics if kind_of(m) == "control" and m.family == CEILING), None)


def against_controls(run: GradedRun) -> Finding | None:
    """How many metrics are significantly above the best control, pooled and within an image."""
    rows = ranked(run)
    explained: set[str] = set()
    sentences = []
    for measure, where in _WHERE:
        pairs = [c for m in rows if (c := run.result.control_comparison(m.name, measure))]
        if not pairs:
            return None
        best = run.result.metric(pairs[0].b)
        what = WHAT_IT_IS.get(best.family) if best.family not in explained else None
        explained.add(best.family)
        text = f"{where}, the best control is {best.name}{f' ({what})' if what else ''} with ρ "
        text += f"{number(best.numbers.estimate(measure).value)}: "
        untested = [m.name for m in rows if m.name not in {c.a for c in pairs}]
        rest = f" ({listed(untested)} not tested)" if untested else ""
        sentences.append(text + _above(pairs, run.result.alpha()) + rest)
    text = f"{capital(sentences[0])}; {sentences[1]}. Controls see no meaning, so a value that is "
    text += "not significantly above theirs does not show that a metric does."
    return Finding("Controls.", text + _limit(run))


_WHERE: tuple[tuple[Measure, str], ...] = (
    ("rank_order_rho", "pooled"),
    ("rank_order_rho_within", "within an image"),
)


def _above(pairs: Sequence[Comparison], alpha: float) -> str:
    """How many columns are above the control; that it cannot be decided, where that is so."""
    above = [c.a for c in pairs if is_above(c, alpha)]
    if not above and not any(c.test and c.test.decidable for c in pairs):
        return (
            "whether a metric is above it cannot be decided with so few images (the smallest "
            "p-value that they allow is not significant after correction)"
        )
    if not above:
        return "no metric is significantly above it"
    if len(above) == len(pairs):
        return f"{'every' if len(pairs) > 1 else 'the one'} metric is significantly above it"
    verb = "is" if len(above) == 1 else "are"
    return (
        f"{spelled(len(above))} of {amount(len(pairs), 'metric')} {verb} significantly above it "
        f"({listed(above)})"
    )


def is_above(pair: Comparison, alpha: float) -> bool:
    """Whether a is significantly above b."""
    return pair.is_significant(alpha) and (pair.difference.value or 0.0) > 0


def _limit(run: GradedRun) -> str:
    top = ceiling_of(run.metrics)
    if top is None:
        return ""
    pooled = top.numbers.rank_order_rho.value
    within = top.numbers.rank_order_rho_within.value
    if pooled is None or within is None or number(pooled) == number(within) == "1.000":
        return ""
    return (
        f" A perfect metric would get {number(pooled)} pooled and {number(within)} within an "
        "image, as some versions are equal."
    )


def floor_isolates(run: GradedRun) -> Finding | None:
    """Where a control keeps the order of the degrees but loses it with other images' captions."""
    metrics = [(m, part) for m in results(run) if (part := m.numbers.without_floor) is not None]
    controls = [
        (within, m, part)
        for m in controls_of(run.metrics)
        if (part := m.numbers.without_floor) is not None
        and (within := part.rank_order_rho_within.value) is not None
    ]
    if not metrics or not controls:
        return None
    on_degrees, best, degrees = max(controls, key=lambda entry: entry[0])
    low = _ends(degrees)[0]
    beaten = [m.name for m, part in metrics if _ends(part)[1] < low]
    whole = best.numbers.rank_order_rho_within.value
    if not beaten or whole is None or on_degrees - whole < 0.5 * on_degrees:
        return None
    floor = run.names[0]
    return Finding(
        f"Without {floor}.",
        f"On the degrees alone {best.name} gets ρ {number(degrees.rank_order_rho.value)} pooled "
        f"and {number(on_degrees)} within an image, above the interval of {listed(beaten)}; with "
        f"{floor} {number(best.numbers.rank_order_rho.value)} and {number(whole)}. So "
        f"{WHAT_IT_IS.get(best.family, f'what {best.name} sees')} is enough to order the degrees; "
        f"it does not order them above {floor}.",
    )


def _ends(part: SelectedStatistics) -> tuple[float, float]:
    """The interval of ρ within an image; without one, everything."""
    return part.rank_order_rho_within.interval or (float("-inf"), float("inf"))


def selection(run: GradedRun, rows: Sequence[Metric]) -> str:
    """How ρ within an image changes on the images in which every corruption was applied.

    The metric that is named is the first of the ranking on all images, with or without those.
    """
    if not rows or (part := rows[0].numbers.every_level_applied) is None:
        return ""
    value = part.rank_order_rho_within.value
    if value is None:
        return ""
    n, total = part.n_images, len(run.image_ids)
    return (
        f" In {count(n)} of {amount(total, 'image')} every version was changed "
        f"({percent(n / total)}). There the ρ within an image of {rows[0].name} is "
        f"{number(value)} ({number(rows[0].numbers.rank_order_rho_within.value)} on all images)."
    )
