"""What a finished profile prints: each metric with what it misses, and the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult
from metaeval.results.sensitivity import Combination, SensitivityResult, SensitivityStatistics

_MOST = 4  # missed sets that are named


def printout(result: SensitivityResult, file: Path) -> str:
    """Mean AUC over kinds that harm and kinds that do not, hard positives, and what is missed."""
    return "\n".join([*_rows(result), f"{file.stem}: {file}"])


def _rows(result: SensitivityResult) -> Iterator[str]:
    done = [m for m in result.metrics if m.statistics is not None and m.column.part_of is None]
    done.sort(key=lambda m: (m.column.control, -(m.numbers.harm.value or 0.0)))
    width = max((len(m.name) for m in done), default=0)
    sets = [entry for entry in result.sets if entry.n_applied]
    harmful = sum(entry.expected == "lower" for entry in sets)
    experimental = sum(entry.experimental for entry in sets)
    left_out = f"; experimental, not in the means: {experimental}" if experimental else ""
    yield (
        f"sets that harm: {harmful}, that do not: {len(sets) - harmful}; AUC within images, "
        f"mean over kinds, 0.5 = chance{left_out}"
    )
    yield (
        f"{'':<{width}}  harm seen  harmless punished  milder above severer  "
        "rewrite above near-copy (no-op)  misses"
    )
    for metric in done:
        numbers = metric.numbers
        blind = missed(metric, result)
        named = ", ".join(blind[:_MOST]) + (" …" if len(blind) > _MOST else "")
        above = numbers.hard_positives
        positives = f"{_percent(above.rewrites)} ({_percent(above.no_ops)})"
        yield (
            f"{metric.name:<{width}}  {_three(numbers.harm):>9}  {_three(numbers.harmless):>17}  "
            f"{_three(numbers.severity_order):>20}  {positives:>31}  "
            f"{len(blind)}{': ' if blind else ''}{named}"
            f"{' (control)' if metric.column.control else ''}"
        )
    if (pair := result.together) is not None:
        yield (
            f"{name_of(pair.metrics)}, chosen on half of the images: mean AUC "
            f"{_three(pair.metrics.held_out)} on the other half, {_signed(pair.over_single)} "
            f"against {name_of(pair.single)}"
            + (
                f", {_signed(pair.over_control)} against {name_of(pair.with_control)}"
                if pair.with_control is not None and pair.over_control is not None
                else ""
            )
        )
    missing = {m.family: m.status for m in result.metrics if not m.ok}
    if missing:
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in missing.items())


def name_of(combination: Combination) -> str:
    """ "CIDEr + Length (sum of z-scores)", or the name of a metric alone."""
    if len(combination.columns) == 1:
        return combination.columns[0]
    return f"{' + '.join(combination.columns)} ({combination.rule})"


def missed(metric: MetricResult[SensitivityStatistics], result: SensitivityResult) -> list[str]:
    """Harmful sets that the metric is blind to or whose changed captions it prefers, the least
    seen first."""
    cells = [(metric.numbers.profile[entry.set], entry.set) for entry in result.sets]
    names = [
        (cell.auc.value or 0.0, name)
        for cell, name in cells
        if cell.verdict in ("blind", "prefers")
    ]
    return [name for _, name in sorted(names)]


def _three(estimate: Estimate) -> str:
    return "–" if estimate.value is None else f"{estimate.value:.3f}"


def _percent(estimate: Estimate) -> str:
    return "–" if estimate.value is None else f"{100 * estimate.value:.1f}%"


def _signed(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "–"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
