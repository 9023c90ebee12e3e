"""Dose and response as tables: one for print, and every number of the curves."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from metaeval.reports.dose.curves import Panel
from metaeval.reports.dose.findings import half_text, steps_text
from metaeval.reports.shared.formatting import count, number, p_value, with_interval
from metaeval.reports.shared.print_tables import PrintCell, PrintTable, write_tables
from metaeval.results.base import Estimate
from metaeval.results.graded import DoseCurve
from metaeval.runs import files
from metaeval.runs.csv_text import CsvWriter

POINTS = "dose-points.csv"


def print_table(panel: Panel, name: str) -> PrintTable:
    """The table of one corruption: results, and below a rule the controls."""
    last = f"{100 * panel.doses[-1]:g}%"
    heads = [
        "Metric", f"Change at {last}", *([f"Change to {panel.floor}"] if panel.floor else []),
        "Half-effect dose", "Steps", "Trend p", f"ρ at {100 * panel.doses[1]:g}%", f"ρ at {last}",
        f"Within at {last}", "Images",
    ]  # fmt: skip
    groups = [
        [_row(m, panel.curves[m], panel) for m in panel.curves if (m in panel.controls) == control]
        for control in (False, True)
    ]
    seeds = f", mean of {panel.n_seeds} seeds" if panel.n_seeds > 1 else ""
    return PrintTable(
        name,
        f"{panel.title}: scores by the share of words{seeds}. Changes from the human caption in "
        "standard deviations within an image, with intervals over images; ρ of the versions at a "
        "rate and the human captions, pooled and within an image.",
        heads,
        [group for group in groups if group],
    )


def _row(metric: str, curve: DoseCurve, panel: Panel) -> list[PrintCell]:
    floor = [_with_interval(curve.floor)] if panel.floor else []
    texts = [
        metric,
        _with_interval(curve.change[-1]),
        *floor,
        half_text(curve.half_effect, panel),
        steps_text(curve, panel),
        p_value(curve.trend_p, 3),
        _with_interval(curve.rho[0]),
        _with_interval(curve.rho[-1]),
        _with_interval(curve.within[-1]),
        count(curve.n),
    ]
    return [PrintCell(text) for text in texts]


def _with_interval(estimate: Estimate | None) -> str:
    return number(None) if estimate is None else with_interval(estimate.value, estimate.interval)


def table_name(panel: Panel, panels: Sequence[Panel]) -> str:
    """The name of a panel's files: dose, or dose-replace where there are several."""
    words = "".join(c if c.isalnum() else "-" for c in panel.title.lower())
    return "dose" if len(panels) == 1 else f"dose-{words}"


def write_dose_tables(directory: Path, panels: Sequence[Panel]) -> None:
    """Write `tables/dose*.{tex,md,csv}`, and every point of every curve to dose-points.csv."""
    write_tables(directory, [print_table(p, table_name(p, panels)) for p in panels])
    path = directory / files.TABLES / POINTS
    files.atomic(path, partial(Path.write_text, data=_points(panels), encoding="utf-8"))


def _points(panels: Sequence[Panel]) -> str:
    """One line per corruption, metric and dose, in full."""
    out = io.StringIO()
    writer = CsvWriter(out)
    writer.writerow([
        "corruption", "metric", "control", "dose", "realised", "n_images", "n_seeds", "change",
        "change_ci_low", "change_ci_high", "change_seed_sd", "rho", "rho_ci_low", "rho_ci_high",
        "rho_seed_sd", "within", "within_ci_low", "within_ci_high",
    ])  # fmt: skip
    for panel in panels:
        for metric, curve in panel.curves.items():
            for k, dose in enumerate(panel.doses):
                against_0: list[float | None] = [None] * 7
                if k:
                    against_0 = [
                        *_three(curve.rho[k - 1]), curve.rho_seed_sd[k - 1],
                        *_three(curve.within[k - 1]),
                    ]  # fmt: skip
                writer.writerow([
                    panel.title, metric, metric in panel.controls, dose, panel.realised[k],
                    curve.n, curve.n_seeds, *_three(curve.change[k]),
                    curve.seed_sd[k] if curve.seed_sd else None, *against_0,
                ])  # fmt: skip
    return out.getvalue()


def _three(estimate: Estimate) -> list[float | None]:
    """The value and both ends of the interval."""
    return [estimate.value, estimate.low, estimate.high]
