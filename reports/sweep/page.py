"""A sweep gathered from its jobs' files: `sweep.csv`, `sweep.html`, `sweep.svg` and `sweep.pdf`.

`callback.py` calls it after the last job. It reads files only, so that it does not matter where
the jobs ran. `python -m metaeval report DIR` does the same at any time.
"""

import io
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import kendalltau

from metaeval.errors import InputError
from metaeval.reports.blocks import charts, tables
from metaeval.reports.blocks.texts import Block, rendered
from metaeval.reports.measured import dose_blocks
from metaeval.reports.paper.citations import save_links
from metaeval.reports.paper.figures import write_figure
from metaeval.reports.shared import formatting, page
from metaeval.reports.shared.formatting import known, number
from metaeval.reports.shared.print_tables import PrintCell, PrintTable, write_tables
from metaeval.reports.sweep.jobs import (
    SEED,
    JobGroup,
    SeedSpread,
    SweepJob,
    as_number,
    constant,
    dose_records,
    groups,
    is_axis,
    read_jobs,
    saved_scores,
    swept,
    values_of,
)
from metaeval.results.measured import Extra
from metaeval.results.run import Measure
from metaeval.runs import files
from metaeval.runs.files import CsvWriter

CSV, HTML, FIGURE = "sweep.csv", "sweep.html", "sweep"
MOST_ROWS, MOST_COLUMNS = 3, 8  # of panels: measures and settings; the tables have all
NOTE = (
    "Numbers make an axis, categories are points. Bands and thin lines are intervals over images, "
    "capped bars standard deviations over seeds, dashed are controls."
)


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
    dose = dose_blocks(*dose_records(directory, sweep.jobs))
    blocks = [
        _overview(sweep),
        *dose,
        *_charts(directory, sweep),
        *(_values(sweep, measure) for measure in sweep.shown),
        _jobs(sweep),
    ]
    write_tables(directory, [table for block in blocks for table in block.tables])
    for block in dose:
        for name, text in block.data.items():
            path = directory / files.TABLES / name
            files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8"))
        for stem, figure in block.figures.items():
            write_figure(figure, directory / files.FIGURES, stem, block.title)
    return page.write_page(directory / HTML, _html(sweep, blocks))


def _html(sweep: Sweep, blocks: Sequence[Block]) -> str:
    done = [job for job in sweep.jobs if job.statistics]
    experiments = dict.fromkeys(j.experiment_and_dataset[0] for j in done)
    datasets = dict.fromkeys(j.experiment_and_dataset[1] for j in done)
    seeds = {job.overrides.get(SEED) for job in done}
    varied = []
    for k, key in enumerate(sweep.parameters):
        seen = dict.fromkeys(group.settings[k][1] for group in sweep.gathered)
        varied.append(f"{key} ({', '.join(seen)})")
    if len(seeds) > 1:
        varied.append(f"seed ({len(seeds)} values)")
    facts = [
        ("Dataset", ", ".join(datasets)),
        ("Varied", "; ".join(varied) or "nothing"),
        ("In all jobs", ", ".join(f"{k}={v}" for k, v in sweep.constants.items())),
        ("Jobs", f"{len(done)} of {len(sweep.jobs)} jobs finished"),
        ("Scores", saved_scores(sweep.jobs)),
    ]
    return page.render(
        "sweep.html.j2",
        1,
        room="sweep",
        scripts="[01]-*.js",
        header=page.Header(
            f"Sweep over {len(sweep.jobs)} jobs",
            f"Sweep of {formatting.listed(list(experiments))}",
            "",
            [(name, text) for name, text in facts if text],
        ),
        blocks=blocks,
        missing=[job.name for job in sweep.jobs if not job.statistics],
    )


def _overview(sweep: Sweep) -> Block:
    """Which metric has the highest value where, how alike the orders are, and what seeds do."""
    extra = Extra.of(
        "sweep-overview",
        "Who has the highest value; in how many settings its interval is apart from all others; "
        "the least alike orders; the greatest standard deviation over seeds",
        [overview(sweep.gathered, measure, sweep.controls) for measure in sweep.shown],
    )
    return tables.extra_table(None, extra, "Overview")


def overview(
    gathered: Sequence[JobGroup], measure: Measure, controls: frozenset[str]
) -> dict[str, str | None]:
    """Of one measure: who leads in each setting, how orders differ, and what seeds do."""
    values = [(group, _means(group, measure, controls)) for group in gathered]
    several = [(group, means) for group, means in values if len(means) > 1]
    first: dict[str, list[JobGroup]] = {}
    apart = 0
    for group, means in several:
        leader = max(means, key=lambda metric: means[metric])
        first.setdefault(leader, []).append(group)
        apart += _is_apart(group, measure, leader, means)
    taus = []
    for (a, one), (b, two) in combinations(values, 2):
        common = [metric for metric in one if metric in two]
        tau = float("nan")
        if len(common) > 2:
            tau = float(kendalltau([one[m] for m in common], [two[m] for m in common])[0])
        if known(tau):
            taus.append((tau, f"{a.label} and {b.label}"))
    sds = [
        (spread.sd, f"{metric}, {group.label}")
        for group in gathered
        for metric, spread in group.values.get(measure, {}).items()
        if metric not in controls and spread.sd is not None
    ]
    least = min(taus, key=lambda entry: entry[0], default=None)
    most = max(sds, key=lambda entry: entry[0], default=None)
    return {
        "measure": measure.title,
        "highest value": "; ".join(f"{name} in {_named(of)}" for name, of in first.items()),
        "interval apart": f"{apart} of {len(several)}" if several else None,
        "least alike orders (τ)": least and f"{number(least[0], 2)} ({least[1]})",
        "greatest sd over seeds": most and f"{number(most[0], 4)} ({most[1]})",
    }


def _means(group: JobGroup, measure: Measure, controls: frozenset[str]) -> dict[str, float]:
    """Metric → mean over seeds, without controls."""
    values = group.values.get(measure, {})
    return {metric: spread.mean for metric, spread in values.items() if metric not in controls}


def _is_apart(group: JobGroup, measure: Measure, leader: str, means: Mapping[str, float]) -> bool:
    """Whether the leader's interval lies above that of every other metric."""
    spreads = group.values[measure]
    ends = {name: spreads[name].ci for name in means}
    own = ends.pop(leader)
    return own is not None and all(ci is not None and ci[1] < own[0] for ci in ends.values())


def _named(members: Sequence[JobGroup]) -> str:
    """Up to three settings by name, more by their number."""
    if len(members) <= 3:
        return formatting.listed([group.label for group in members])
    return formatting.amount(len(members), "setting")


def _charts(directory: Path, sweep: Sweep) -> list[Block]:
    """Every measure by what was varied, also as sweep.svg and sweep.pdf; nothing without values."""
    points = chart_points(sweep.gathered, sweep.shown, sweep.controls)
    if not points:
        return []
    block = charts.curves(Extra.of(FIGURE, "By what was varied", points), NOTE)
    write_figure(block.figures[FIGURE], directory, FIGURE, "By what was varied")
    return [block]


def chart_points(
    gathered: Sequence[JobGroup], measures: Sequence[Measure], controls: frozenset[str]
) -> list[dict[str, Any]]:
    """The points of the curves: a panel for each measure and value of the further parameters."""
    axis = len(gathered) > 1 and bool(gathered[0].settings) and is_axis(gathered, 0)
    further = list(dict.fromkeys(group.settings[1:] for group in gathered))[:MOST_COLUMNS]
    points = []
    for measure in measures[:MOST_ROWS]:
        for group in gathered:
            rest = ", ".join(f"{key}={value}" for key, value in group.settings[1:])
            key, label = group.settings[0] if group.settings else ("", "all jobs")
            for metric, spread in group.values.get(measure, {}).items():
                if group.settings[1:] in further:
                    low, high = spread.ci or (None, None)
                    points.append(
                        {
                            "panel": f"{measure.title}, {rest}" if rest else measure.title,
                            "line": metric,
                            "x": as_number(label) if axis else label,
                            "y": spread.mean,
                            "low": low,
                            "high": high,
                            "sd": spread.sd,
                            "control": metric in controls,
                            "x_title": key,
                        }
                    )
    return points


def _values(sweep: Sweep, measure: Measure) -> Block:
    """The table of a measure."""
    table = _print_table(sweep, measure)
    html = rendered(
        "values.html.j2",
        measure=measure,
        first=measure == sweep.shown[0],
        groups=_with(sweep, measure),
        rows=_rows(sweep, measure),
        cell=_cell,
        links=save_links([table]),
    )
    return Block(table.name, formatting.capital(measure.title), html, tables=(table,))


def _jobs(sweep: Sweep) -> Block:
    """Each job with its settings, why some did not finish, and the metrics that did not run."""
    html = rendered("jobs.html.j2", jobs=sweep.jobs, failed=_absent(sweep.jobs))
    return Block("jobs", "Jobs", html)


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


VALUES = "{}: mean ± standard deviation over seeds, intervals over images."


def _print_table(sweep: Sweep, measure: Measure) -> PrintTable:
    """A table of a measure: a row a metric, a column a setting, controls below a rule."""
    rows, members = _rows(sweep, measure), _with(sweep, measure)
    groups = [
        [
            [PrintCell(metric), *(PrintCell(_cell(spread)) for spread in spreads)]
            for metric, spreads in rows
            if (metric in sweep.controls) == is_control
        ]
        for is_control in (False, True)
    ]
    return PrintTable(
        f"sweep-{measure.key}",
        VALUES.format(formatting.capital(measure.title)),
        ["Metric", *(g.label for g in members)],
        [group for group in groups if group],
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
