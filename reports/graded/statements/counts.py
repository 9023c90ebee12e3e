"""What metrics counted besides their scores: what was cut, left out or missing."""

from __future__ import annotations

from metaeval.reports.graded.run import GradedRun


def counts(run: GradedRun) -> list[tuple[str, list[str]]]:
    """Per metric that counted anything its first column and "48 of 5,000 images …", in order."""
    lines: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for metric in run.metrics:
        phrases = [str(count) for count in metric.counts if count.n]
        if phrases:  # the columns of one metric have the same counts
            lines.setdefault((metric.family, *phrases), (metric.name, phrases))
    return list(lines.values())
