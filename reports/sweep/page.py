"""A Hydra multirun gathered from its jobs' files: `sweep.csv`, `sweep.html` and `sweep.svg`.

Hydra calls `SweepReport` after the last job; it reads files only, so that it does not matter where
the jobs ran.
"""

from __future__ import annotations

import csv
import io
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.experimental.callback import Callback

from metaeval.errors import InputError, MetaevalError
from metaeval.runs import files
from reports.shared import formatting, page
from reports.shared.elements import Header
from reports.shared.row_kind import Record
from reports.shared.run import read_statistics
from reports.sweep.drawing import line_chart
from reports.sweep.figure import write_figure
from reports.sweep.groups import JobGroup, groups, swept

log = logging.getLogger(__name__)

CSV, HTML = "sweep.csv", "sweep.html"
STATISTICS = (
    "rank_order_rho", "rank_order_rho_ci_low", "rank_order_rho_ci_high", "spearman_rho",
    "kendall_tau_b", "tie_fraction", "pairwise_accuracy", "monotone_rate", "inversion_rate",
)  # fmt: skip


class SweepJob(NamedTuple):
    """One job: its folder's name, its overrides, and its statistics.

    `statistics` is `None` of a job that did not finish; `error` says why, if it could be told.
    """

    name: str
    overrides: Mapping[str, str]
    statistics: Mapping[str, Any] | None
    error: str = ""

    @property
    def records(self) -> Sequence[Record]:
        """The records of its metrics; none of a job that did not finish."""
        return self.statistics["metrics"] if self.statistics else ()


def read_jobs(sweep_dir: Path) -> list[SweepJob]:
    """The jobs below a sweep's directory, in the order of their numbers."""
    jobs = []
    for folder in sorted((p for p in sweep_dir.iterdir() if p.is_dir()), key=_by_number):
        told = folder / files.RUN
        if not told.is_file() and not folder.name.isdigit():
            continue
        info = files.read_json(told) if told.is_file() else {}  # else killed before it could tell
        pairs = dict(
            str(text).lstrip("+").partition("=")[::2] for text in info.get("overrides", ())
        )
        finished = info.get("status", files.FINISHED) == files.FINISHED
        finished = finished and (folder / files.STATISTICS).is_file()
        statistics = read_statistics(folder) if finished else None
        jobs.append(SweepJob(folder.name, pairs, statistics, info.get("error") or ""))
    return jobs


def _by_number(folder: Path) -> tuple[int, str]:
    return (int(folder.name) if folder.name.isdigit() else sys.maxsize, folder.name)


def write_sweep(sweep_dir: Path | str) -> Path:
    """Write `sweep.csv` (one line a job and metric), `sweep.html` and `sweep.svg` into a multirun.

    Jobs that differ in nothing but the seed are one group: the page gives mean and standard
    deviation (n − 1) over its seeds, and draws ρ by the swept parameter. Raises InputError for a
    directory without a finished job.
    """
    directory = Path(sweep_dir)
    if not directory.is_dir():
        raise InputError("no such directory", file=directory)
    jobs = read_jobs(directory)
    done = [(job.overrides, job.statistics) for job in jobs if job.statistics]
    if not done:
        raise InputError("no job of this sweep has written its statistics", file=directory)
    parameters = swept([overrides for overrides, _ in done])
    gathered, metrics = groups(done, parameters), _ranked(jobs)
    files.atomic(directory / CSV, lambda p: p.write_text(_csv(jobs), encoding="utf-8"))
    if metrics:
        write_figure(directory, gathered, metrics)
    html = _html(jobs, done[0][1], parameters, gathered, metrics)
    return page.write_page(directory / HTML, html)


def _csv(jobs: Sequence[SweepJob]) -> str:
    keys = sorted({key for job in jobs for key in job.overrides})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["job", *keys, "metric", "status", *STATISTICS])
    for job in jobs:
        for record in job.records:
            low, high = record.get("rank_order_rho_ci") or (None, None)
            flat = {**record, "rank_order_rho_ci_low": low, "rank_order_rho_ci_high": high}
            writer.writerow(
                [job.name, *(job.overrides.get(key, "") for key in keys), record["metric"],
                 record["status"], *(flat.get(name) for name in STATISTICS)]
            )  # fmt: skip
    return out.getvalue()


def _ranked(jobs: Sequence[SweepJob]) -> list[str]:
    """The metrics that some job has a ρ of; random weights and controls give none, and neither do
    experiments that ask another question."""
    return list(dict.fromkeys(
        record["metric"] for job in jobs for record in job.records
        if record.get("rank_order_rho") is not None
        and not record["untrained"] and not record.get("control")
    ))  # fmt: skip


def _html(
    jobs: Sequence[SweepJob],
    first: Mapping[str, Any],
    parameters: Sequence[str],
    gathered: Sequence[JobGroup],
    metrics: Sequence[str],
) -> str:
    missing = [job.name for job in jobs if not job.statistics]
    return page.render(
        "sweep.html.j2",
        max(1, len({tuple(g.settings[1:]) for g in gathered})),
        room="sweep",
        scripts="[01]-*.js",
        header=Header(
            f"Sweep over {len(jobs)} jobs",
            f"Sweep of {first.get('experiment', 'a run')}",
            "",
            [
                ("Dataset", first.get("dataset", "")),
                ("Swept", ", ".join(parameters) or "seed"),
                ("Finished", f"{len(jobs) - len(missing)} of {len(jobs)}"),
            ],
        ),
        parameters=parameters,
        groups=gathered,
        rows=[(metric, [g.values.get(metric) for g in gathered]) for metric in metrics],
        charts=[(metric, line_chart(gathered, parameters, metric)) for metric in metrics],
        jobs=jobs,
        missing=missing,
        failed=_absent(jobs),
    )


def _absent(jobs: Sequence[SweepJob]) -> list[tuple[str, str, str]]:
    """(metric, reason, jobs) of what did not run."""
    absent: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        for record in job.records:
            if record["status"] != "ok":
                reason = f"{record['status']}: {record['reason'] or ''}"
                absent.setdefault((record["metric"], reason), []).append(job.name)
    return [
        (metric, reason, formatting.listed(names)) for (metric, reason), names in absent.items()
    ]


class SweepReport(Callback):
    """Hydra's hook: gather the sweep when its last job has ended."""

    def on_multirun_end(self, config: Any, **_: Any) -> None:
        try:
            path = write_sweep(Path(config.hydra.sweep.dir))
        except MetaevalError as error:
            log.warning("the sweep could not be gathered: %s", error)
        else:
            print(path)
