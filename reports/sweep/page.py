"""A Hydra multirun gathered from its jobs' files: `sweep.csv`, `sweep.html` and `sweep.svg`.

`python -m reports.sweep.page SWEEP_DIR` gathers a finished sweep again. Hydra calls `SweepReport`
after the last job; it reads files only, so that it does not matter where the jobs ran.
"""

from __future__ import annotations

import argparse
import csv
import io
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.experimental.callback import Callback
from omegaconf import OmegaConf

from metaeval.errors import InputError, MetaevalError
from metaeval.runs import files as results
from reports.shared import formatting, page
from reports.sweep.drawing import line_chart
from reports.sweep.figure import write_figure
from reports.sweep.groups import Group, groups, swept

log = logging.getLogger(__name__)

CSV, HTML = "sweep.csv", "sweep.html"
STATISTICS = (
    "rank_order_rho", "rank_order_rho_ci_low", "rank_order_rho_ci_high", "spearman_rho",
    "kendall_tau_b", "tie_fraction", "pairwise_accuracy", "monotone_rate", "inversion_rate",
)  # fmt: skip


class Job(NamedTuple):
    """One job: its folder's name, its overrides, and its statistics (None: it did not finish)."""

    name: str
    overrides: Mapping[str, str]
    statistics: Mapping[str, Any] | None


def read_jobs(sweep_dir: Path) -> list[Job]:
    """The jobs below a sweep's directory, in the order of their numbers."""
    found = []
    for folder in sorted((p for p in sweep_dir.iterdir() if p.is_dir()), key=_by_number):
        listed = folder / ".hydra" / "overrides.yaml"
        finished = (folder / results.STATISTICS).is_file()
        if not listed.is_file() and not finished:
            continue
        texts = list(OmegaConf.load(listed)) if listed.is_file() else []
        overrides = dict(str(text).lstrip("+").partition("=")[::2] for text in texts)
        statistics = results.read_json(folder / results.STATISTICS) if finished else None
        found.append(Job(folder.name, overrides, statistics))
    return found


def _by_number(folder: Path) -> tuple[int, str]:
    return (int(folder.name) if folder.name.isdigit() else sys.maxsize, folder.name)


def write_sweep(sweep_dir: Path | str) -> Path:
    """Write `sweep.csv` (one line a job and metric), `sweep.html` and `sweep.svg` into a multirun.

    Jobs that differ in nothing but the seed are one group: the page gives mean and standard
    deviation (n − 1) over its seeds, and draws ρ by the swept parameter.

    Raises
    ------
    InputError
        The directory holds no finished job.
    """
    directory = Path(sweep_dir)
    if not directory.is_dir():
        raise InputError("no such directory", file=directory)
    jobs = read_jobs(directory)
    if not any(job.statistics for job in jobs):
        raise InputError("no job of this sweep has written its statistics", file=directory)
    done = [job for job in jobs if job.statistics]
    parameters = swept([job.overrides for job in done])
    gathered = groups([(job.overrides, job.statistics or {}) for job in done], parameters)
    metrics = _ranked(done)
    path = directory / HTML
    results.atomic(directory / CSV, lambda p: p.write_text(_csv(jobs), encoding="utf-8"))
    html = _html(directory, jobs, parameters, gathered, metrics)
    results.atomic(path, lambda p: p.write_text(html, encoding="utf-8"))
    if metrics:
        write_figure(directory, gathered, metrics)
    return path


def _csv(jobs: Sequence[Job]) -> str:
    keys = sorted({key for job in jobs for key in job.overrides})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["job", *keys, "metric", "status", *STATISTICS])
    for job in jobs:
        for record in (job.statistics or {}).get("metrics", ()):
            low, high = record.get("rank_order_rho_ci") or (None, None)
            flat = {**record, "rank_order_rho_ci_low": low, "rank_order_rho_ci_high": high}
            writer.writerow(
                [job.name, *(job.overrides.get(key, "") for key in keys), record["metric"],
                 record["status"], *(flat.get(name) for name in STATISTICS)]
            )  # fmt: skip
    return out.getvalue()


def _ranked(done: Sequence[Job]) -> list[str]:
    """The metrics that some job has a result of; random weights give none."""
    return list(dict.fromkeys(
        record["metric"] for job in done for record in (job.statistics or {})["metrics"]
        if record["status"] == "ok" and "weights:random" not in (record["signature"] or "")
    ))  # fmt: skip


def _html(
    directory: Path,
    jobs: Sequence[Job],
    parameters: Sequence[str],
    gathered: Sequence[Group],
    metrics: Sequence[str],
) -> str:
    done = [job for job in jobs if job.statistics]
    first = done[0].statistics or {}
    return page.render(
        "sweep.html.j2",
        max(1, len({tuple(g.settings[1:]) for g in gathered})),
        room="sweep",
        scripts="[01]-*.js",
        title=f"Sweep of {first.get('experiment', 'a run')}",
        dataset=first.get("dataset", ""),
        parameters=parameters,
        groups=gathered,
        rows=[(metric, [g.values.get(metric) for g in gathered]) for metric in metrics],
        charts=[(metric, line_chart(gathered, parameters, metric)) for metric in metrics],
        jobs=jobs,
        missing=[job.name for job in jobs if not job.statistics],
        failed=_absent(done),
    )


def _absent(jobs: Sequence[Job]) -> list[tuple[str, str, str]]:
    """(metric, reason, jobs) of what did not run."""
    found: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        for record in (job.statistics or {})["metrics"]:
            if record["status"] != "ok":
                reason = f"{record['status']}: {record['reason'] or ''}"
                found.setdefault((record["metric"], reason), []).append(job.name)
    return [(metric, reason, formatting.listed(names)) for (metric, reason), names in found.items()]


class SweepReport(Callback):
    """Hydra's hook: gather the sweep when its last job has ended."""

    def on_multirun_end(self, config: Any, **_: Any) -> None:
        try:
            path = write_sweep(Path(config.hydra.sweep.dir))
        except MetaevalError as error:
            log.warning("the sweep could not be gathered: %s", error)
        else:
            print(path)


def main(arguments: list[str] | None = None) -> int:
    """The command: gather a sweep, print the page's path."""
    parser = argparse.ArgumentParser(prog="python -m reports.sweep.page", description=__doc__)
    parser.add_argument("sweep_dir", type=Path, help="directory of a multirun")
    try:
        print(write_sweep(parser.parse_args(arguments).sweep_dir))
    except MetaevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
