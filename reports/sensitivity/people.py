"""How well metrics agree with people, from judgement runs that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from metaeval.errors import InputError
from metaeval.runs import files
from reports.judgments.table import STATISTICS
from reports.shared.formatting import with_interval
from reports.shared.run import read_statistics


def agreement(folders: Iterable[Path | str]) -> Mapping[str, tuple[str, ...]]:
    """Metric → a line a run and dimension: "thumb, total: τ-c 0.310 [0.280, 0.340]".

    Raises InputError for a folder that holds no run of experiment=judgments.
    """
    told: dict[str, list[str]] = {}
    for folder in map(Path, folders):
        statistics = read_statistics(folder)
        if statistics["experiment"] != "judgments" or "statistic" not in statistics.get(
            "protocol", {}
        ):
            raise InputError(
                "is no run of experiment=judgments on ratings",
                file=folder / files.STATISTICS,
                field="experiment",
            )
        quoted = statistics["protocol"]["statistic"]
        for record in statistics["metrics"]:
            for dimension, segment in (record.get("human") or {}).items():
                value = with_interval(segment[quoted], segment[f"{quoted}_ci"])
                line = f"{statistics['dataset']}, {dimension}: {STATISTICS[quoted][0]} {value}"
                told.setdefault(record["metric"], []).append(line)
    return {metric: tuple(lines) for metric, lines in told.items()}
