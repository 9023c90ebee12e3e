"""The report of `experiment=localisation`: how well scores and explanations find wrong words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metaeval.reports.shared import page
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import DASH, count, listed, percent, percent_with_interval
from metaeval.reports.shared.print_tables import PrintCell, PrintTable
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import load_run_files
from metaeval.results.base import Estimate
from metaeval.results.localisation import (
    EXPLANATIONS,
    WRONG_WORDS,
    LocalisationResult,
    LocalisationStatistics,
)
from metaeval.results.metric import MetricResult
from metaeval.runs import files

Metric = MetricResult[LocalisationStatistics]


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html` and the tables into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = load_run_files(Path(run_dir), LocalisationResult)
    result = run.result
    shown = [m for m in result.metrics if m.ok and m.column.part_of is None and m.numbers.n]
    tables = [localisation_table(result, shown)] if shown else []
    return page.write_series(
        run,
        [
            ("Dataset", result.dataset),
            ("Images", count(result.n_images)),
            ("Captions", count(result.n_captions)),
            ("Words", count(result.n_words)),
        ],
        tables,
        room="localisation",
        findings=findings(result, shown) or [Finding("", "No metric ran.")],
        lead="Each caption is scored without each of its words. AUC: how often the score is "
        "higher without a wrong word than without a right one of the same caption (50 by "
        "chance). First: how often the word without which the score is highest is wrong "
        f"({_chance(result)} by chance). Explained: the AUC of what the explanation of the "
        "score says of each word (50 by chance). Intervals by resampling images.",
        further_files=[files.SCORES],
    )


def localisation_table(result: LocalisationResult, metrics: Sequence[Metric]) -> PrintTable:
    """A row a metric, controls last, best first by AUC; whether it is above the best control."""
    above = {n for g, each in result.controls.items() if g == WRONG_WORDS for n in each.above}
    groups = []
    for controls in (False, True):
        rows = [m for m in metrics if (kind_of(m) == "control") == controls]
        rows.sort(key=lambda m: -(m.numbers.auc.value or 0.0))
        texts = [
            [
                m.name,
                _cell(m.numbers.auc),
                _cell(m.numbers.first),
                DASH if m.numbers.explained_auc is None else _cell(m.numbers.explained_auc),
                "control" if controls else _yes_or_no(m.name in above, result),
                count(m.numbers.n),
            ]
            for m in rows
        ]
        if rows:
            groups.append([[PrintCell(text, False) for text in row] for row in texts])
    heads = ["Metric", "AUC", "First", "Explained", "Above the best control", "Captions"]
    caption = (
        f"Wrong words found in {count(result.n_captions)} captions of {result.dataset}, per cent, "
        "with intervals."
    )
    return PrintTable("localisation", caption, heads, groups)


def findings(result: LocalisationResult, metrics: Sequence[Metric]) -> list[Finding]:
    """The metrics that find wrong words best, and whether any is above the best control."""
    ranked = [m for m in metrics if kind_of(m) != "control"]
    if not ranked:
        return []
    ranked.sort(key=lambda m: -(m.numbers.auc.value or 0.0))
    best = ranked[0]
    tied = result.differences.not_below(best.name, [m.name for m in ranked])
    names = listed([best.name, *tied], "and")
    if len(ranked) == 1:
        text = f"{names}: AUC {_cell(best.numbers.auc)}; no other metric ran."
    elif tied:
        text = f"{names} find wrong words best (AUC up to {_cell(best.numbers.auc)}); no test "
        text += "separates them."
    else:
        text = f"{names} finds wrong words best (AUC {_cell(best.numbers.auc)}), above all others."
    found = [Finding("Wrong words.", text)]
    for group, each in result.controls.items():
        explained = group == EXPLANATIONS
        head, what = ("Explanations.", "explanation") if explained else ("Controls.", "metric")
        control = f"{each.control} ({percent(each.control_value, 1)})"
        if each.above:
            text = f"Significantly above the best control, {control}: {listed(each.above, 'and')}."
        else:
            text = f"No {what} is significantly above the best control, {control}."
        found.append(Finding(head, text))
    return found


def _yes_or_no(above: bool, result: LocalisationResult) -> str:
    """Whether a metric is above the best control; nothing where no control ran."""
    return DASH if not result.controls else "yes" if above else "no"


def _chance(result: LocalisationResult) -> str:
    return "undefined" if result.chance is None else percent(result.chance, 1)


def _cell(estimate: Estimate) -> str:
    return percent_with_interval(estimate.value, estimate.interval)
