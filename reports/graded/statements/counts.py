"""What metrics counted beside their scores: what was cut, left out or not there."""

from __future__ import annotations

from metaeval.runs.records import Count
from reports.graded.run import GradedRun


def counts(run: GradedRun) -> list[tuple[str, list[str]]]:
    """Per metric that counted anything its first column and "48 of 5,000 images …", in order."""
    lines: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for record in run.metrics:
        phrases = [str(count) for entry in record["counts"] if (count := Count(**entry)).n]
        if phrases:  # the columns of one metric say the same
            lines.setdefault((record["family"], *phrases), (record["metric"], phrases))
    return list(lines.values())
