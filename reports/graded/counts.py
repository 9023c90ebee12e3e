"""What metrics counted beside their scores: what was cut, left out or not there."""

from __future__ import annotations

from metaeval.runs.files import Count
from reports.graded.run import Run


def counts(run: Run) -> list[tuple[str, list[str]]]:
    """Per metric with anything to tell its first column and "48 of 5,000 images …", in order."""
    found: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for record in run.metrics:
        told = [Count(**count) for count in record.get("counts") or ()]
        said = [str(count) for count in told if count.n]
        if said:  # the columns of one metric say the same
            found.setdefault((record["family"], *said), (record["metric"], said))
    return list(found.values())
