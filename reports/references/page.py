"""The report of `experiment=references`: agreement by the number of references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from metaeval.reports.shared import page
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.figure_style import as_data_uri
from metaeval.reports.shared.formatting import amount, capital, listed, number, spelled
from metaeval.reports.shared.print_tables import PrintTable, bold_best
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import load_run_files
from metaeval.reports.sweep.figure import write_figure
from metaeval.reports.sweep.jobs import JobGroup, SeedSpread, Value, spread
from metaeval.results.graded import SWEEP_MEASURES
from metaeval.results.references import ReferenceMeasure, ReferencesResult
from metaeval.results.run import Measure
from metaeval.runs import files

AXIS = "references"
MOST_NAMES = 4  # that a sentence lists
CHOICE = Measure("agreement", "agreement with people")


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, the figure (SVG, PDF) and the tables into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = load_run_files(Path(run_dir), ReferencesResult)
    measures = list(SWEEP_MEASURES[:3]) if run.result.kind == "graded" else [CHOICE]
    groups = groups_of(run.result, measures)
    measures = [m for m in measures if any(m in g.values for g in groups)]
    controls = frozenset(m.name for m in run.result.metrics if kind_of(m) == "control")
    tables = [_table(groups, m, controls) for m in measures]
    image, drawn = "", []
    if measures:
        target = run.directory / files.FIGURES
        drawn = write_figure(target, groups, measures, controls, AXIS)
        image = as_data_uri(drawn[0])
    return page.write_series(
        run,
        [
            ("Dataset", run.result.dataset),
            ("References", ", ".join(map(str, run.result.n_references))),
        ],
        tables,
        room="references",
        findings=all_findings(groups, measures, controls),
        image=image,
        alt="Agreement by the number of references",
        lead="Each metric by the number of references; bands are intervals over images. A "
        "metric without a point needs more references than that.",
        further_files=[f"{files.FIGURES}/{path.name}" for path in drawn],
    )


_NAMES: Mapping[str, ReferenceMeasure] = {
    "rank_order_rho": "rank_order_rho",
    "rank_order_rho_within": "rank_order_rho_within",
    "pairwise_accuracy": "pairwise_accuracy",
    "agreement": "agreement",
}


def groups_of(result: ReferencesResult, measures: Sequence[Measure]) -> list[JobGroup]:
    """A group for each number of references, with the values of every metric that has one."""
    groups = []
    for k, n in enumerate(result.n_references):
        values: dict[Measure, dict[str, SeedSpread]] = {}
        for metric in result.metrics:
            if kind_of(metric) not in ("result", "control"):
                continue
            at = metric.numbers.by_references[k]
            for measure in measures:
                estimate = at.estimate(_NAMES[measure.key])
                if estimate is not None and estimate.value is not None:
                    value = Value(estimate.value, estimate.interval)
                    values.setdefault(measure, {})[metric.name] = spread([value])
        groups.append(JobGroup(((AXIS, str(n)),), 1, values))
    return groups


class Gain(NamedTuple):
    """What a metric gains from its first number of references that gives a value to its last."""

    metric: str
    first: int
    last: int
    gain: float
    separated: bool  # whether the intervals at both ends do not overlap


def gains(groups: Sequence[JobGroup], measure: Measure, controls: frozenset[str]) -> list[Gain]:
    """The gain of every metric with two values or more, greatest first."""
    points: dict[str, list[tuple[int, SeedSpread]]] = {}
    for group in groups:
        for name, value in group.values.get(measure, {}).items():
            if name not in controls:
                points.setdefault(name, []).append((int(group.settings[0][1]), value))
    made = []
    for name, values in points.items():
        (n_first, first), (n_last, last) = values[0], values[-1]
        if n_first != n_last:
            apart = (
                first.ci is not None
                and last.ci is not None
                and (first.ci[1] < last.ci[0] or last.ci[1] < first.ci[0])
            )
            made.append(Gain(name, n_first, n_last, last.mean - first.mean, apart))
    return sorted(made, key=lambda gain: -gain.gain)


def all_findings(
    groups: Sequence[JobGroup], measures: Sequence[Measure], controls: frozenset[str]
) -> list[Finding]:
    """The findings on every measure."""
    made = [f for m in measures for f in findings(groups, m, controls)]
    return made or [Finding("References.", "No metric gave a result.")]


def findings(
    groups: Sequence[JobGroup], measure: Measure, controls: frozenset[str]
) -> list[Finding]:
    """Which metrics lead with the fewest and the most references, and which gain."""
    there = [g for g in groups if set(g.values.get(measure, {})) - controls]
    if not there:
        return []
    sentences = []
    first, last = there[0], there[-1]
    for group in (first,) if first is last else (first, last):
        n = int(group.settings[0][1])
        sentences.append(f"With {amount(n, 'reference')} {_leaders(group, measure, controls)}.")
    made = gains(groups, measure, controls)
    if made:
        named = [_gain(gain) for gain in made if gain.gain > 0 and gain.separated]
        if named:
            more = len(named) - MOST_NAMES
            rest = [f"{spelled(more)} more"] if more > 0 else []
            sentences.append(
                "From the first number of references that gives a value to the last, with "
                f"intervals that do not overlap: {listed([*named[:MOST_NAMES], *rest])}."
            )
        else:
            sentences.append(
                "No metric gains from its first number of references to the last: the intervals "
                "at both ends overlap, or the value falls."
            )
    late = [m for m in last.values[measure] if m not in first.values[measure]
            and m not in controls]  # fmt: skip
    if late:
        fewest = amount(int(first.settings[0][1]), "reference")
        sentences.append(f"With {fewest} {listed(late)} cannot score.")
    return [Finding(f"{capital(measure.title)}.", " ".join(sentences))]


def _leaders(group: JobGroup, measure: Measure, controls: frozenset[str]) -> str:
    """The highest metric, and those whose intervals overlap with its own."""
    values = {m: s for m, s in group.values[measure].items() if m not in controls}
    order = sorted(values, key=lambda m: -values[m].mean)
    best, ends = order[0], values[order[0]].ci
    text = f"{best} is highest ({number(values[best].mean)})"
    if ends is None:
        return text
    near = [m for m in order[1:] if (ci := values[m].ci) is None or ci[1] >= ends[0]]
    if not near:
        return text
    more = len(near) - MOST_NAMES
    rest = [f"{spelled(more)} more"] if more > 0 else []
    return f"{text}; its interval overlaps with {listed([*near[:MOST_NAMES], *rest], 'and')}"


def _gain(gain: Gain) -> str:
    return f"{gain.metric} {number(gain.gain, sign=True)} (from {gain.first} to {gain.last})"


def _table(groups: list[JobGroup], measure: Measure, controls: frozenset[str]) -> PrintTable:
    """A row per metric, a column a number of references; the best of a column is bold."""
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
        f"{capital(measure.title)} by the number of references.",
        ["Metric", *(g.settings[0][1] for g in groups)],
        [rows for rows in made if rows],
    )
