"""A sweep gathered from its jobs' files: `sweep.csv`, `sweep.html`, `sweep.svg` and `sweep.pdf`.

`callback.py` calls it after the last job. It reads files only, so that it does not matter where
the jobs ran. `python -m metaeval.gather DIR` does the same at any time.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.errors import InputError
from metaeval.reports.dose.section import dose_section
from metaeval.reports.shared import formatting, page
from metaeval.reports.shared.elements import Header
from metaeval.reports.shared.figure_style import as_data_uri
from metaeval.reports.shared.formatting import number
from metaeval.reports.shared.print_tables import PrintTable, bold_best, write_tables
from metaeval.reports.sweep.dose import dose_panels
from metaeval.reports.sweep.findings import findings
from metaeval.reports.sweep.groups import JobGroup, SeedSpread, constant, groups, swept
from metaeval.reports.sweep.jobs import SweepJob, read_jobs
from metaeval.reports.sweep.measures import values_of
from metaeval.results.run import Measure
from metaeval.runs import files
from metaeval.runs.csv_text import CsvWriter

CSV, HTML = "sweep.csv", "sweep.html"


class Sweep(NamedTuple):
    """A sweep as its page sees it: jobs, what varied and what did not, groups, measures."""

    jobs: Sequence[SweepJob]
    parameters: Sequence[str]
    constants: Mapping[str, str]
    gathered: Sequence[JobGroup]
    measures: Sequence[Measure]
    controls: frozenset[str]

    @property
    def shown(self) -> list[Measure]:
        """The measures that the page shows."""
        return [measure for measure in self.measures if measure.shown]


def read_sweep(directory: Path) -> Sweep:
    """Read the jobs; InputError for a directory without a finished job."""
    if not directory.is_dir():
        raise InputError("directory not found", file=directory)
    jobs = read_jobs(directory)
    done = [job for job in jobs if job.statistics]
    if not done:
        reasons = "; ".join(dict.fromkeys(job.error for job in jobs if job.error))
        reason = f" ({reasons})" if reasons else ""
        raise InputError(f"no job of this sweep has written its statistics{reason}", file=directory)
    overrides = [job.overrides for job in done]
    gathered = groups(done, parameters := swept(overrides))
    measures = list(dict.fromkeys(m for g in gathered for m in g.values))
    controls = frozenset(name for job in done for name in job.controls)
    return Sweep(jobs, parameters, constant(overrides), gathered, measures, controls)


def write_sweep(sweep_dir: Path | str) -> Path:
    """Write `sweep.csv` (one line per job and metric), `sweep.html`, the figure as SVG and PDF, and
    tables for print into a multirun.

    Jobs that differ in nothing but the seed are one group: mean and standard deviation (n − 1) over
    its seeds. Jobs that differ in the rates of one corruption make curves of dose and response.
    Raises InputError for a directory without a finished job.
    """
    directory = Path(sweep_dir)
    sweep = read_sweep(directory)
    files.atomic(directory / CSV, lambda p: p.write_text(_csv(sweep), encoding="utf-8"))
    write_tables(directory, [_print_table(sweep, measure) for measure in sweep.shown])
    image = ""
    if sweep.shown:
        from metaeval.reports.sweep.figure import (
            write_figure,  # matplotlib takes a second to import
        )

        drawn = write_figure(directory, sweep.gathered, sweep.shown, sweep.controls)
        image = as_data_uri(drawn[0])
    dose = dose_section(directory, dose_panels(directory, sweep.jobs), figures=True)
    return page.write_page(directory / HTML, _html(sweep, image, dose))


def _csv(sweep: Sweep) -> str:
    """One line per job and metric, every measure in full with its interval."""
    keys = sorted({key for job in sweep.jobs for key in job.overrides})
    out = io.StringIO()
    writer = CsvWriter(out)
    heads = [f"{m.key}{end}" for m in sweep.measures for end in ("", "_ci_low", "_ci_high")]
    writer.writerow(["job", *keys, "metric", "status", *heads])
    for job in sweep.jobs:
        values = values_of(job.statistics) if job.statistics else {}
        for metric, status, _ in job.columns:
            cells: list[float | None] = []
            for measure in sweep.measures:
                value = values.get(measure, {}).get(metric)
                cells += [value and value.value, *((value and value.ci) or (None, None))]
            given = (job.overrides.get(key, "") for key in keys)
            writer.writerow([job.name, *given, metric, status, *cells])
    return out.getvalue()


def _with(sweep: Sweep, measure: Measure) -> list[JobGroup]:
    """The groups that have the measure."""
    return [g for g in sweep.gathered if measure in g.values]


def _rows(sweep: Sweep, measure: Measure) -> list[tuple[str, list[SeedSpread | None]]]:
    """Metric and its value in every group that has the measure, controls last."""
    members = _with(sweep, measure)
    metrics = dict.fromkeys(m for g in members for m in g.values[measure])
    ordered = sorted(metrics, key=lambda metric: metric in sweep.controls)
    return [(m, [g.values[measure].get(m) for g in members]) for m in ordered]


def _cell(spread: SeedSpread | None) -> str:
    """0.646 ± 0.003 [0.601, 0.688]: mean, sd over seeds, interval over images."""
    if spread is None:
        return formatting.DASH
    text = number(spread.mean)
    if spread.sd is not None:
        text += f" ± {number(spread.sd)}"
    if spread.ci is not None:
        text += f" [{number(spread.ci[0])}, {number(spread.ci[1])}]"
    return text


def _print_table(sweep: Sweep, measure: Measure) -> PrintTable:
    """A table of a measure: a row per metric, a column a setting; the best of a column is bold."""
    rows, members = _rows(sweep, measure), _with(sweep, measure)
    parts = [[r for r in rows if (r[0] in sweep.controls) == c] for c in (False, True)]
    made = []
    for k, part in enumerate(parts):
        texts = [[metric, *map(_cell, spreads)] for metric, spreads in part]
        means = [[None, *(s.mean if s and not k else None for s in spreads)] for _, spreads in part]
        made.append(bold_best(texts, means, [True] * (1 + len(members))))
    return PrintTable(
        f"sweep-{measure.key}",
        f"{formatting.capital(measure.title)}: mean ± standard deviation over seeds, intervals "
        "over images.",
        ["Metric", *(g.label for g in members)],
        [group for group in made if group],
    )


def _html(sweep: Sweep, image: str, dose: Any) -> str:
    done = [job for job in sweep.jobs if job.statistics]
    experiments = dict.fromkeys(j.experiment_and_dataset[0] for j in done)
    datasets = dict.fromkeys(j.experiment_and_dataset[1] for j in done)
    return page.render(
        "sweep.html.j2",
        1,
        room="sweep",
        scripts="[01]-*.js",
        header=Header(
            f"Sweep over {len(sweep.jobs)} jobs",
            f"Sweep of {formatting.listed(list(experiments))}",
            "",
            [
                ("Dataset", ", ".join(datasets)),
                ("Swept", ", ".join(sweep.parameters) or "seed"),
                ("Finished", f"{len(done)} of {len(sweep.jobs)}"),
            ],
        ),
        findings=findings(sweep.jobs, sweep.gathered, sweep.shown, sweep.controls, sweep.constants),
        image=image,
        dose=dose,
        tables=[(m, f"sweep-{m.key}", _with(sweep, m), _rows(sweep, m)) for m in sweep.shown],
        cell=_cell,
        jobs=sweep.jobs,
        missing=[job.name for job in sweep.jobs if not job.statistics],
        failed=_absent(sweep.jobs),
    )


def _absent(jobs: Sequence[SweepJob]) -> list[tuple[str, str, str]]:
    """(metric, reason, jobs) of the metrics that did not run."""
    absent: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        for metric, status, reason in job.columns:
            if status != "ok":
                absent.setdefault((metric, f"{status}: {reason}"), []).append(job.name)
    return [
        (metric, reason, formatting.listed(names)) for (metric, reason), names in absent.items()
    ]
