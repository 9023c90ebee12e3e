"""What metrics counted besides their scores: what was cut, left out or missing."""

from __future__ import annotations

from metaeval.reports.graded.run import GradedRun


def counts(run: GradedRun) -> list[tuple[str, list[str]]]:
    """Per metric that counted anything its first column and "48 of 5,000 images …", in order."""
    return [(name, [text]) for name, text in run.result.counted()]
