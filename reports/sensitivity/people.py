"""How well metrics agree with people, from judgement runs that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from metaeval.errors import InputError
from metaeval.reports.judgments.table import STATISTICS
from metaeval.reports.shared.formatting import with_interval
from metaeval.results.files import read_result
from metaeval.results.judgments import JudgmentsResult
from metaeval.runs import files


def agreement(folders: Iterable[Path | str]) -> Mapping[str, tuple[str, ...]]:
    """Metric → a line a run and dimension: "thumb, total: τ-c 0.310 [0.280, 0.340]".

    Raises InputError for a folder that holds no run of experiment=judgments.
    """
    lines: dict[str, list[str]] = {}
    for folder in map(Path, folders):
        result = read_result(folder / files.STATISTICS)
        if not isinstance(result, JudgmentsResult):
            raise InputError(
                f"is a run of experiment={result.experiment}; name runs of experiment=judgments",
                file=folder / files.STATISTICS,
                field="experiment",
            )
        quoted = result.protocol.statistic
        for metric in result.metrics:
            for dimension, human in metric.numbers.human.items() if metric.ok else ():
                estimate = human.estimate(quoted)
                value = with_interval(estimate.value, (estimate.low, estimate.high))
                line = f"{result.dataset}, {dimension}: {STATISTICS[quoted][0]} {value}"
                lines.setdefault(metric.name, []).append(line)
    return {metric: tuple(of_metric) for metric, of_metric in lines.items()}
