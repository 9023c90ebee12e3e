"""How well metrics agree with people, from judgement runs that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from metaeval.errors import InputError
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.sentences import with_interval
from metaeval.runs import files


def agreement(folders: Iterable[Path | str]) -> Mapping[str, tuple[str, ...]]:
    """Metric → a line a run and dimension: "thumb, total: τ-c 0.310 [0.280, 0.340]".

    Raises InputError for a folder that holds no run of experiment=judgments.
    """
    lines: dict[str, list[str]] = {}
    for folder in map(Path, folders):
        result = read_result(folder / files.STATISTICS)
        if not isinstance(result, MeasuredResult) or result.experiment != "judgments":
            raise InputError(
                f"is a run of experiment={result.experiment}; name runs of experiment=judgments",
                file=folder / files.STATISTICS,
                field="experiment",
            )
        for dimension, (quoted, *_) in result.groups().items():
            for metric in result.metrics:
                if metric.ok:
                    value = with_interval(quoted, metric.numbers[quoted.key])
                    line = f"{result.dataset}, {dimension}: {quoted.title} {value}"
                    lines.setdefault(metric.name, []).append(line)
    return {metric: tuple(of_metric) for metric, of_metric in lines.items()}
