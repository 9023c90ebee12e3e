"""The printed summary of a run of battles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metaeval.experiments.controls import control_lines
from metaeval.experiments.judgments.printout import (
    display_name,
    not_run,
    results_of,
    tests_line,
    too_few_draws,
)
from metaeval.experiments.text_table import percent, text_table
from metaeval.results.arena import ALL, ArenaResult
from metaeval.results.base import Estimate


def printout(result: ArenaResult, file: Path) -> str:
    """A line for each metric, best first; the systems; then what to open next."""
    settings = result.settings
    closing = [
        *too_few_draws(
            len(result.differences.pairs), settings.permutations, settings.replicates,
            settings.alpha,
        ),
        *not_run(result),
        f"{file.stem}: {file}",
    ]  # fmt: skip
    return "\n".join([*_metrics(result), *_systems(result), *closing])


def _metrics(result: ArenaResult) -> Iterator[str]:
    facts, settings = result.facts, result.settings
    yield f"{facts.battles:,} battles judged by {settings.winner}, {facts.tied:,} of them ties"
    if result.people is not None:
        yield (
            f"two ratings of one battle agree: {percent(result.people.value)} "
            f"({result.people.pairs_of_ratings:,} pairs of ratings)"
        )
    rows = results_of(result)
    rows.sort(key=lambda m: (m.column.control, -(m.numbers.agreement[ALL].value or 0.0)))
    lines = []
    for metric in rows:
        numbers = metric.numbers
        systems = numbers.systems
        lines.append(
            {
                "metric": display_name(metric),
                ALL: numbers.agreement[ALL].in_percent(""),
                **{group: percent(numbers.agreement[group].value)
                   for group in result.groups if group != ALL},
                "decided": percent(numbers.decided.value),
                "equal length": percent(numbers.equal_length.value),
                "ties": percent(numbers.ties),
                "systems ρ": "" if systems is None else _rho(systems.spearman),
                "n": f"{numbers.agreement[ALL].n or 0:,}",
            }
        )  # fmt: skip
    yield from text_table(lines, "agreement")
    yield from control_lines(result.controls)
    yield tests_line(result.differences)


def _systems(result: ArenaResult) -> Iterator[str]:
    ranking = result.ranking
    if ranking is None:
        yield f"no ranking of systems: {result.unranked}"
        return
    lines = [
        {
            "metric": system.name,
            "rank": str(system.rank),
            "strength": _log_odds(system.strength),
            "at equal length": _log_odds(system.at_equal_length),
            "won": f"{system.won:,}",
            "tied": f"{system.tied:,}",
            "lost": f"{system.lost:,}",
            "words": "" if system.words is None else f"{system.words:.1f}",
        }
        for system in ranking.systems
    ]
    yield from text_table(lines, "system")
    yield f"log-odds per word more: {_log_odds(ranking.length, 4)}"


def _rho(estimate: Estimate) -> str:
    return "" if estimate.value is None else f"{estimate.value:.3f}"


def _log_odds(estimate: Estimate, digits: int = 2) -> str:
    if estimate.value is None:
        return ""
    ends = estimate.interval
    shown = f"{estimate.value:+.{digits}f}"
    return shown if ends is None else f"{shown} [{ends[0]:+.{digits}f}, {ends[1]:+.{digits}f}]"
