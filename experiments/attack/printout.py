"""What a finished attack prints."""

from __future__ import annotations

from pathlib import Path

from metaeval.experiments.text_table import text_table
from metaeval.results.attack import AttackResult
from metaeval.results.base import Estimate, Number


def printout(result: AttackResult, file: Path) -> str:
    """One row per metric: how often a provably false caption is preferred, and the other goals."""
    settings = result.settings
    lines = []
    for metric in result.metrics:
        if metric.ok:
            numbers = metric.numbers
            lines.append(
                {
                    "metric": metric.name,
                    "n": f"{numbers.n_images:,}",
                    **{f"{p.at:,} calls": _percent(p.value) for p in numbers.success[numbers.main]},
                    "unconstrained": _percent(numbers.final("unconstrained")),
                    "copied": _percent(numbers.final("references copied")),
                    "same length": _percent(numbers.final("same length")),
                    "gain": _number(numbers.gain.value),
                    "inflation": _number(
                        numbers.inflation.known[-1].value.value if numbers.inflation else None
                    ),
                    "generic": _percent(numbers.generic.outranks) if numbers.generic else "",
                }
            )
        else:
            lines.append({"metric": metric.name, "n": metric.status})
    constraint = (
        f"fluent: within the central {100 * settings.fluent:.0f} % of human captions of that length"
        if settings.fluent is not None
        else f"no fluency constraint: {settings.no_fluency}"
    )
    return "\n".join(
        [
            "Share of images on which a provably false caption scores above the human one, in %",
            *text_table(lines, "metric"),
            f"false by: {settings.rule}; at most {settings.max_edits} words changed; {constraint}",
            "gain, inflation: in units of the spread between human captions of an image",
            *_controls(result),
            *_pairs(result),
            f"{file}",
        ]
    )


def _controls(result: AttackResult) -> list[str]:
    """The same search against uninformative scores."""
    values = [f"{name} {_percent(e)}" for name, e in result.controls.items()]
    return [f"controls, {values[0]}, " + ", ".join(values[1:])] if values else []


def _pairs(result: AttackResult) -> list[str]:
    """The pairs that were attacked."""
    pairs = [d for d in result.defences if d.searched is not None]
    values = [f"{' and '.join(d.metrics)} {_percent(d.searched)}" for d in pairs if d.searched]
    return ["both must prefer it: " + "; ".join(values)] if values else []


def _percent(estimate: Estimate) -> str:
    return estimate.in_percent("-", 0)


def _number(value: Number) -> str:
    return "-" if value is None else f"{value:.2f}"
