"""The printed summary of a run of forced choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from metaeval.results.forced_choice import ForcedChoiceResult


def printout(result: ForcedChoiceResult, file: Path) -> str:
    """A table for each number of references, best metric first; then what to open next."""
    settings = result.settings
    most = max((len(c.pairs) for c in result.differences.values()), default=0)
    closing = [
        *too_few_draws(most, settings.permutations, settings.replicates, settings.alpha),
        *not_run(result),
        f"{file.stem}: {file}",
    ]
    return "\n".join([*_tables(result), *closing])


def _tables(result: ForcedChoiceResult) -> Iterator[str]:
    if result.label_agreement is not None:
        shares = _shares(result.label_agreement, 1)
        yield f"labels: {result.labels}; direct and consensus agree on {shares} % of the pairs"
    if result.people is not None:
        yield f"one person with the majority of the others: {_shares(result.people, 2)}"
    for place, n in enumerate(result.n_references):
        rows = [(metric, metric.numbers.choice[place]) for metric in results_of(result)]
        rows.sort(key=lambda row: (row[0].column.control, -(row[1].mean.value or 0.0)))
        published = result.published.values if result.published.n_references == n else {}
        lines = []
        for metric, choice in rows:
            values = published.get(metric.name, {})
            lines.append(
                {
                    "metric": display_name(metric),
                    **{group: percent(choice.accuracy(group).value, 2) for group in result.groups},
                    "published": " ".join(f"{100 * v:.1f}" for v in values.values()),
                }
            )
        yield from text_table(lines, f"with {n} reference{'' if n == 1 else 's'}")
        yield from control_lines(result.controls[n])
        yield tests_line(result.differences[n])


def _shares(shares: Mapping[str, float], digits: int) -> str:
    return ", ".join(f"{name} {100 * share:.{digits}f}" for name, share in shares.items())
