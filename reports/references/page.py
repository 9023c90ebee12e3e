"""The report of `experiment=references`: agreement by the number of references."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.runs import files
from reports.paper.citations import citation
from reports.paper.links import save_links
from reports.shared import page
from reports.shared.elements import Finding, Header
from reports.shared.figure_style import as_data_uri
from reports.shared.formatting import amount, known, listed, number
from reports.shared.print_tables import PrintTable, bold_best, write_tables
from reports.shared.provenance import date_and_version, provenance
from reports.shared.row_kind import row_kind
from reports.shared.run import FinishedRun, read_run
from reports.sweep.figure import write_figure
from reports.sweep.groups import JobGroup, spread
from reports.sweep.measures import GRADED, Measure, Value

AXIS = "references"
CHOICE = Measure("agreement", "agreement with people")


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, the figure (SVG, PDF) and the tables into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = read_run(Path(run_dir))
    measures = [CHOICE] if run.statistics["kind"] == "choice" else list(GRADED[:3])
    groups = groups_of(run.statistics, measures)
    measures = [m for m in measures if any(m in g.values for g in groups)]
    controls = frozenset(r["metric"] for r in run.metrics if row_kind(r) == "control")
    tables = [_table(groups, m, controls) for m in measures]
    write_tables(run.directory, tables)
    image, drawn = "", []
    if measures:
        target = run.directory / files.FIGURES
        drawn = write_figure(target, groups, measures, controls, AXIS)
        image = as_data_uri(drawn[0])
    return page.write_page(
        run.directory / files.REPORT,
        page.render(
            "series.html.j2",
            1,
            room="references",
            scripts="[01]-*.js",
            run=run,
            header=_header(run),
            findings=[f for m in measures for f in findings(groups, m, controls)]
            or [Finding("References.", "No metric gave a result.")],
            image=image,
            alt="Agreement by the number of references",
            lead="Each metric by the number of references; bands are intervals over images. A "
            "metric without a point needs more references than that.",
            tables=[(table, save_links([table])) for table in tables],
            citation=citation(run),
            provenance=provenance(run),
            downloads={},
            beside=[f"{files.FIGURES}/{path.name}" for path in drawn],
            wide_times=False,
        ),
    )


def groups_of(statistics: Mapping[str, Any], measures: list[Measure]) -> list[JobGroup]:
    """A group a number of references, with the values of every metric that has one."""
    groups = []
    for k, n in enumerate(statistics["n_references"]):
        values: dict[Measure, dict[str, Any]] = {}
        for record in statistics["metrics"]:
            if row_kind(record) not in ("result", "control"):
                continue
            told = record["by_references"][k]
            for measure in measures:
                if known(value := told.get(measure.key)):
                    ci = told.get(f"{measure.key}_ci")
                    ends = (ci[0], ci[1]) if ci and all(map(known, ci)) else None
                    values.setdefault(measure, {})[record["metric"]] = spread([Value(value, ends)])
        groups.append(JobGroup(((AXIS, str(n)),), 1, values))
    return groups


def findings(groups: list[JobGroup], measure: Measure, controls: frozenset[str]) -> list[Finding]:
    """Who leads with the fewest and the most references, who gains most, who needs some."""
    there = [g for g in groups if set(g.values.get(measure, {})) - controls]
    if not there:
        return []
    sentences = []
    first, last = there[0], there[-1]
    for group in dict.fromkeys([groups.index(first), groups.index(last)]):
        values = {m: s.mean for m, s in groups[group].values[measure].items() if m not in controls}
        best = max(values, key=lambda m: values[m])
        n = int(groups[group].settings[0][1])
        sentences.append(
            f"With {amount(n, 'reference')} {best} is highest ({number(values[best])})."
        )
    gains = {
        m: last.values[measure][m].mean - s.mean
        for m, s in first.values[measure].items()
        if m not in controls and m in last.values[measure]
    }
    if first is not last and gains:
        most = max(gains, key=lambda m: gains[m])
        told = f"{most} gains most ({number(gains[most], sign=True)})"
        sentences.append(
            f"From {first.settings[0][1]} to {last.settings[0][1]} "
            f"{told if gains[most] > 0 else 'no metric gains'}."
        )
    needy = [m for m in last.values[measure] if m not in first.values[measure]
             and m not in controls]  # fmt: skip
    if needy:
        fewest = amount(int(first.settings[0][1]), "reference")
        sentences.append(f"With {fewest} {listed(needy)} cannot score.")
    return [Finding(f"{measure.title[0].upper()}{measure.title[1:]}.", " ".join(sentences))]


def _table(groups: list[JobGroup], measure: Measure, controls: frozenset[str]) -> PrintTable:
    """A row a metric, a column a number of references; the best of a column is bold."""
    metrics = list(dict.fromkeys(m for g in groups for m in g.values.get(measure, {})))
    made = []
    for control in (False, True):
        names = [m for m in metrics if (m in controls) == control]
        cells = [[g.values.get(measure, {}).get(m) for g in groups] for m in names]
        texts = [
            [m, *(number(s.mean if s else None) for s in row)]
            for m, row in zip(names, cells, strict=True)
        ]
        means = [[None, *(s.mean if s and not control else None for s in row)] for row in cells]
        made.append(bold_best(texts, means, [True] * (1 + len(groups))))
    return PrintTable(
        f"references-{measure.key}",
        f"{measure.title[0].upper()}{measure.title[1:]} by the number of references.",
        ["Metric", *(g.settings[0][1] for g in groups)],
        [rows for rows in made if rows],
    )


def _header(run: FinishedRun) -> Header:
    return Header(
        "Meta-evaluation of captioning metrics",
        run.title,
        run.question,
        [
            ("Dataset", run.statistics["dataset"]),
            ("References", ", ".join(map(str, run.statistics["n_references"]))),
            *date_and_version(run.info),
        ],
        fallback=run.dataset.get("fallback"),
    )
