"""A sweep gathered from its jobs' files: `sweep.html`, `sweep.json`, `sweep.csv`, tables, figures.

`callback.py` calls it after the last job. It reads files only, so that it does not matter where
the jobs ran. `python -m metaeval report DIR` does the same at any time.
"""

from functools import partial
from pathlib import Path

from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.blocks.texts import Block, rendered
from metaeval.reports.measured import closing_blocks, write_blocks
from metaeval.reports.shared.run import LoadedRun
from metaeval.reports.sweep.jobs import Jobs, csv_of, read_jobs
from metaeval.reports.sweep.result import sweep_result
from metaeval.results.files import write_result
from metaeval.results.measured import SWEEP
from metaeval.results.run import DatasetInfo, ExperimentInfo, RunInfo
from metaeval.results.sentences import join_names
from metaeval.runs import files

CSV, HTML, JSON = "sweep.csv", "sweep.html", "sweep.json"
NOTE = (
    "Numbers make an axis, categories are points. Bands and thin lines are intervals over images, "
    "capped bars standard deviations over seeds, dashed are controls."
)


def write_sweep(sweep_dir: Path | str) -> Path:
    """Write `sweep.html`, its figures and tables, `sweep.json` (the result) and `sweep.csv` (one
    line per job and metric) into a multirun.

    Jobs that differ in nothing but the seed are one setting. Raises InputError for a directory
    without a finished job.
    """
    directory = Path(sweep_dir)
    jobs = read_jobs(directory)
    result = sweep_result(jobs)
    text = csv_of(jobs.finished)
    files.atomic(directory / CSV, partial(Path.write_text, data=text, encoding="utf-8"))
    write_result(directory / JSON, result)
    run = LoadedRun(directory, result, _info(jobs), "")
    (curves,) = result.extras
    blocks = [
        texts.answer(run),
        *([charts.curves(curves, NOTE)] if curves.rows else []),
        *tables.measures_tables(run),
        _jobs(jobs),
        *closing_blocks(run)[:-1],  # each job has its own command and environment
    ]
    return write_blocks(run, blocks, HTML)


def _info(jobs: Jobs) -> RunInfo:
    """The facts that a page shows of the last job, and the experiments of all."""
    last = jobs.finished[-1].info
    datasets = list(dict.fromkeys(job.result.dataset for job in jobs.finished))
    experiments = list(dict.fromkeys(job.result.experiment for job in jobs.finished))
    title = f"Sweep of {join_names(experiments)}"
    return RunInfo(
        status="finished",
        finished=last.finished,
        metaeval=last.metaeval,
        git=last.git,
        experiment=ExperimentInfo(name=SWEEP, title=title, question=""),
        dataset=DatasetInfo(name=", ".join(datasets)),
    )


def _jobs(jobs: Jobs) -> Block:
    """Each job with its settings, why some did not finish, and the metrics that did not run."""
    absent: dict[tuple[str, str], list[str]] = {}
    for job in jobs.finished:
        for metric in job.result.metrics:
            if not metric.ok:
                reason = f"{metric.status}: {metric.reason or ''}"
                absent.setdefault((metric.name, reason), []).append(job.name)
    failed = [
        (metric, reason, join_names(names, len(names)))
        for (metric, reason), names in absent.items()
    ]
    return Block("jobs", "Jobs", rendered("jobs.html.j2", jobs=jobs, failed=failed))
