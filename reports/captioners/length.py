"""What a captioners' page says of length: a sentence, alerts, and a table by length bins."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.shared.elements import Alert, Finding
from metaeval.reports.shared.formatting import DASH, count, listed, number, percent
from metaeval.results.captioners import LengthAnalysis, MetricLength, SystemLength

LONG, SHORT = 1.5, 1 / 1.5  # times the references' length
TREND = -0.1  # a metric whose scores fall with length within a system


def length_alerts(length: LengthAnalysis) -> list[Alert]:
    """One for each system whose captions are much longer or shorter than the references."""
    alerts = []
    for system in length.systems:
        if system.ratio is not None and not SHORT <= system.ratio <= LONG:
            text = (
                f"Its captions are {number(system.ratio, 1)} times as long as the references "
                f"({number(system.words, 1)} words); {percent(system.longer)} are longer than "
                "every reference of their image. Scores against references are about length, too."
            )
            alerts.append(Alert("warn", system.name, text))
    return alerts


def length_finding(length: LengthAnalysis, names: Sequence[str]) -> Finding | None:
    """Which orders of systems cannot be separated from length, and which change when it is fixed.

    `names` are the metrics that stand for their families; `None` where lengths are alike and no
    order changes.
    """
    metrics = [m for m in length.metrics if m.name in names]
    apart = [s for s in length.systems if not s.comparable and s.ratio is not None]
    parts = [_not_comparable(system, length, metrics) for system in apart]
    changed = [
        m.name
        for m in metrics
        if len(m.controlled) > 1
        and m.controlled_ranking != tuple(s for s in m.ranking if s in m.controlled)
    ]
    if changed:
        verb = "changes" if len(changed) == 1 else "change"
        parts.append(
            f"With length held fixed the ranking by {listed(changed)} {verb} (bins of the "
            "references' length, each with the same weight)."
        )
    return Finding("Length.", " ".join(parts)) if parts else None


def _not_comparable(
    system: SystemLength, length: LengthAnalysis, metrics: Sequence[MetricLength]
) -> str:
    others = [s for s in length.systems if s.name != system.name and s.ratio is not None]
    ratios = [s.ratio for s in others if s.ratio is not None]
    low, high = min(ratios, default=0.0), max(ratios, default=0.0)
    other = f"{number(low, 1)}" if low == high else f"{number(low, 1)} to {number(high, 1)}"
    text = (
        f"{system.name}'s captions are {number(system.ratio, 1)} times as long as the references, "
        f"the others' {other} times, and no length bin has {length.fewest} captions of both: what "
        f"metrics say of {system.name} against the others cannot be separated from length."
    )
    falling = [
        (m, places)
        for m in metrics
        if (m.trend.get(system.name) or 0.0) < TREND
        and len(places := [k for k, v in enumerate(m.by_bin[system.name]) if v is not None]) > 1
    ]
    if falling:
        metric, places = min(falling, key=lambda pair: pair[0].trend[system.name] or 0.0)
        means = metric.by_bin[system.name]
        rest = [m.name for m, _ in falling if m is not metric]
        also = f"; {listed(rest)} fall with length, too" if rest else ""
        text += (
            f" By {metric.name} its captions of length {length.bin_name(places[0])} the references "
            f"get {number(means[places[0]])}, those of length {length.bin_name(places[-1])} "
            f"{number(means[places[-1]])} (Spearman's ρ of length and score "
            f"{number(metric.trend[system.name], 2)}){also}."
        )
    return text


def length_table(length: LengthAnalysis) -> tuple[list[str], list[list[str]]]:
    """Heads, and a row for each metric and system: mean scores by bin, n above, and controlled."""
    used = [k for k in range(len(length.edges) + 1) if any(s.bins[k] for s in length.systems)]
    heads = ["Metric", "System", *(length.bin_name(k) for k in used), "length-controlled"]
    rows = [["captions", s.name, *(count(s.bins[k]) for k in used), DASH] for s in length.systems]
    for metric in length.metrics:
        for system in length.systems:
            means = metric.by_bin[system.name]
            controlled = number(metric.controlled.get(system.name))
            rows.append([metric.name, system.name, *(number(means[k]) for k in used), controlled])
    return heads, rows
