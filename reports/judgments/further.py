"""The folded part of a judgement page: what further statistics show, and the curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from metaeval.reports.paper.figures import BLUE, INK, RULE, SOFT
from metaeval.reports.shared.figure_style import STYLE
from metaeval.reports.shared.formatting import amount, interval, listed, number
from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.base import Estimate
from metaeval.results.judgments import FurtherAgreement, JudgmentsResult, PreferredShare

Of = tuple[str, FurtherAgreement]
_ACROSS, _WIDE, _HIGH, _TEXT = 4, 1.85, 1.35, 9  # curves in a row; inches each; points
_MOST = 5  # names that a sentence lists


def further_of(result: JudgmentsResult, dimension: str) -> list[Of]:
    """The further statistics of every metric that is ranked, in the order of the run."""
    return [
        (m.name, further)
        for m in result.visible
        if m.ok and kind_of(m) == "result"
        and (further := m.numbers.human[dimension].further) is not None
    ]  # fmt: skip


def sentences(result: JudgmentsResult, dimension: str) -> list[str]:
    """What the further statistics of a dimension show."""
    metrics = further_of(result, dimension)
    return [
        *labels_worth(metrics),
        *noticed(metrics),
        *cross_fitted(result, dimension),
        *replaces_rater(metrics),
    ]


def labels_worth(metrics: Sequence[Of]) -> Iterator[str]:
    """With which metric 100 labels are worth most."""
    rows = [(name, f.labels_worth) for name, f in metrics if f.labels_worth.value is not None]
    if not rows:
        return
    top = _leading(rows)
    shown = [f"{name} ({number(e.value, 0)}, {interval(e.interval, 0)})" for name, e in top]
    tied = "" if len(top) == 1 else "; their intervals overlap"
    yield f"100 labels are worth most with {listed(shown[:_MOST])}{_more(shown)}{tied}."


def noticed(metrics: Sequence[Of]) -> Iterator[str]:
    """Of which metrics no difference is known that people notice."""
    known = [(name, f.noticed) for name, f in metrics if f.noticed is not None]
    never = [name for name, e in known if e.value is None]
    unsure = [name for name, e in known if e.value is not None and e.high is None]
    if never:
        yield (
            f"No score difference of {listed(never[:_MOST])}{_more(never)} is preferred in 75 % of "
            "the pairs: the curve does not rise."
        )
    if unsure:
        yield f"Of {listed(unsure[:_MOST])}{_more(unsure)} it is not certain that the curve rises."
    if known and not never and not unsure:
        yield "The higher score of every metric is preferred more often the larger the difference."


def cross_fitted(result: JudgmentsResult, dimension: str) -> Iterator[str]:
    """How much of the accuracy the calibration of ties owes to the captions it was fitted on."""
    losses = []
    for m in result.visible:
        if m.ok and kind_of(m) == "result":
            agreement = m.numbers.human[dimension]
            fitted, further = agreement.accuracy.accuracy.value, agreement.further
            other = None if further is None else further.cross_fitted_accuracy.value
            if fitted is not None and other is not None:
                losses.append(fitted - other)
    if losses:
        yield (
            "With ε fitted on other images, accuracies are lower by at most "
            f"{number(100 * max(0.0, *losses), 1)} points."
        )


def replaces_rater(metrics: Sequence[Of]) -> Iterator[str]:
    """The alt-test in one line; nothing where raters are not known."""
    tests = [(name, f.replaces_rater) for name, f in metrics if f.replaces_rater is not None]
    if not tests:
        return
    first = tests[0][1]
    assert first is not None
    passing = [name for name, test in tests if test is not None and test.passes]
    with_what = f"{amount(first.raters, 'rater')}, ε {number(first.epsilon, 1)}"
    if passing:
        verb = "may replace a rater"
        yield f"By the alt-test ({with_what}) {listed(passing[:_MOST])}{_more(passing)} {verb}."
    else:
        yield f"By the alt-test ({with_what}) no metric may replace a rater."


def _leading(rows: Sequence[tuple[str, Estimate]]) -> list[tuple[str, Estimate]]:
    """The row with the highest value, and those whose intervals overlap with its own."""
    order = sorted(rows, key=lambda row: -(row[1].value or 0.0))
    low = order[0][1].low
    return [
        row for row in order
        if row is order[0] or low is None or row[1].high is None or row[1].high >= low
    ]  # fmt: skip


def _more(names: Sequence[object]) -> str:
    return f" and {len(names) - _MOST} more" if len(names) > _MOST else ""


def curves(result: JudgmentsResult, dimension: str) -> Figure | None:
    """P(people prefer the higher score) by the difference, axes a metric; `None` without any."""
    drawn = [(name, f.preferred) for name, f in further_of(result, dimension) if f.preferred]
    drawn = [(name, points) for name, points in drawn if points[-1].difference > 0]
    if not drawn:
        return None
    rows = -(-len(drawn) // _ACROSS)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_ACROSS * _WIDE, rows * _HIGH), layout="constrained")
        FigureCanvasAgg(figure)
        figure.patch.set_alpha(0)
        for k, (name, points) in enumerate(drawn):
            _axes(figure.add_subplot(rows, _ACROSS, k + 1), name, points, k % _ACROSS == 0)
    return figure


def _drawn(value: float | None) -> float:
    return float("nan") if value is None else value


def _axes(axes: Axes, name: str, points: Sequence[PreferredShare], labelled: bool) -> None:
    x = [p.difference for p in points]
    axes.patch.set_alpha(0)
    axes.fill_between(
        x, [p.logistic.low or 0.0 for p in points], [p.logistic.high or 1.0 for p in points],
        color=BLUE, alpha=0.18, linewidth=0,
    )  # fmt: skip
    axes.plot(x, [_drawn(p.logistic.value) for p in points], color=BLUE, linewidth=1.3)
    axes.plot(x, [_drawn(p.isotonic) for p in points], "o", color=INK, markersize=1.8)
    axes.axhline(0.75, color=RULE, linewidth=0.7, zorder=0)
    axes.set_ylim(0.35, 1.02)
    axes.set_xlim(0, x[-1])
    axes.set_yticks([0.5, 0.75, 1.0], ["50 %", "75 %", "100 %"] if labelled else ["", "", ""])
    axes.tick_params(labelsize=_TEXT - 0.7, colors=SOFT, length=2)
    axes.set_title(name, fontsize=_TEXT, color=INK, pad=3)
