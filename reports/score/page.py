"""The report of `experiment=score`: the distribution of each metric's scores, and some captions.

Tables and histograms cover all captions. The page shows only the captions of the rows that the run
has chosen (a random draw, and the extremes of each column), so that its size has a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from metaeval.reports.shared import page
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    cut,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.reports.shared.print_tables import PrintTable, plain_table, write_tables
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.files import read_manifest
from metaeval.results.metric import MetricResult
from metaeval.results.score import ScoreResult, ScoreStatistics
from metaeval.runs import files
from metaeval.runs.columns import CAPTION, IMAGE_ID

MOST_LETTERS = 300  # of a caption; the files have them in full
WIDTH, HEIGHT = 260, 90  # of a histogram
_FLOOR = 0.5  # a greater share of equal scores is reported

Column = MetricResult[ScoreStatistics]


class ShownRow(NamedTuple):
    """A caption to show: its place, why it was chosen, and its scores, `None` for NaN."""

    row: int
    image_id: str
    caption: str
    why: str
    scores: Sequence[float | None]


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html` and the table into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = load_run_files(Path(run_dir), ScoreResult)
    result = run.result
    scored = with_statistics(result)
    columns = [metric.name for metric in scored]
    table = value_table(scored)
    write_tables(run.directory, [table])
    return page.write_page(
        run.directory / files.REPORT,
        page.render_run(
            "score.html.j2",
            run,
            [("References", result.dataset), ("Captions", count(result.n_captions))],
            {},
            kicker="Scores of captioning metrics",
            room="score",
            findings=findings(result),
            charts=[(metric.name, histogram(metric)) for metric in scored if metric.numbers.n],
            tables=[table],
            columns=columns,
            rows=shown_rows(run, columns),
            drawn=len(result.shown.random),
            seed=result.shown.seed,
            further_files=[f"{files.BLOCKS}/{files.MANIFEST}", f"{files.BLOCKS}/part-*.parquet"],
        ),
    )


def with_statistics(result: ScoreResult) -> list[Column]:
    """The columns that the page shows and that have statistics."""
    return [metric for metric in result.visible if metric.statistics is not None]


def findings(result: ScoreResult) -> list[Finding]:
    """The findings on all captions, in words."""
    scored = [metric for metric in result.metrics if metric.statistics is not None]
    empty = result.n_empty
    text = f"{capital(amount(result.n_captions, 'caption'))} of tables"
    text += f" ({spelled(empty)} empty), " if empty else ", "
    made = [Finding("Scored.", f"{text}{amount(len(scored), 'column')} of scores.")]
    unscored = {m.name: result.n_captions - m.numbers.n for m in scored}
    if missing := [f"{name} {count(n)}" for name, n in unscored.items() if n]:
        made.append(Finding("Not scored.", f"Captions without a score: {listed(missing)}."))
    if floors := [sentence for metric in scored if (sentence := _floor(metric))]:
        sentence = f"Most captions have the lowest score: {listed(floors)}."
        made.append(Finding("Floor.", f"{sentence} These scores distinguish few captions."))
    for family, metric in {m.family: m for m in result.metrics if not m.ok}.items():
        remedy = f"; {metric.remedy}" if metric.remedy else ""
        made.append(Finding(f"{family} {metric.status}.", f"{metric.reason}{remedy}"))
    return made


def _floor(metric: Column) -> str:
    """The share of captions with the lowest score; empty where that is a minority, or all."""
    numbers = metric.numbers
    low, high, n_lowest = numbers.min, numbers.max, numbers.n_lowest
    if low is None or high is None or n_lowest is None or low == high:
        return ""
    share = n_lowest / numbers.n
    return f"{metric.name} ({percent(share)}: {number(low)})" if share > _FLOOR else ""


def value_table(metrics: Sequence[Column]) -> PrintTable:
    """One row per column of scores: its statistics over all captions."""
    heads = ["Score", "Captions", "Mean", "Sd", "Lowest", "5%", "25%", "Median", "75%", "95%",
             "Highest"]  # fmt: skip
    rows = [_row(metric.name, metric.numbers) for metric in metrics]
    return plain_table("scores", "Scores of all captions.", heads, rows)


def _row(name: str, of: ScoreStatistics) -> list[str]:
    values = (of.mean, of.sd, of.min, of.p5, of.p25, of.median, of.p75, of.p95, of.max)
    return [name, count(of.n), *(number(value, 4) for value in values)]


def histogram(metric: Column) -> Markup:
    """The histogram of a column with scores as a drawing; the highest bin has the full height."""
    bins, average = metric.numbers.histogram, metric.numbers.mean
    if bins is None or average is None:
        raise ValueError(f"'{metric.name}' has no scores")
    counts, most = bins.counts, max(bins.counts)
    width = WIDTH / len(counts)
    bars = "".join(
        f"M{k * width:.1f} {HEIGHT}V{HEIGHT - HEIGHT * c / most:.1f}h{width:.1f}V{HEIGHT}z"
        for k, c in enumerate(counts)
        if c
    )
    mean = WIDTH * (average - bins.low) / (bins.high - bins.low)
    return Markup(
        '<svg class="order" viewBox="0 0 {} {}" role="img" aria-label="Histogram of {}">'
        '<g class="l0"><path d="{}"/></g><path class="base" d="M0 {}H{}"/>'
        '<path class="tick" d="M{} 0V{}"/>'
        '<text class="axis" x="0" y="{}">{}</text>'
        '<text class="axis" x="{}" y="{}" text-anchor="end">{}</text></svg>'
    ).format(
        WIDTH, HEIGHT + 18, metric.name, Markup(bars), HEIGHT, WIDTH,
        f"{mean:.1f}", HEIGHT, HEIGHT + 15, number(bins.low), WIDTH,
        HEIGHT + 15, number(bins.high),
    )  # fmt: skip


def shown_rows(run: LoadedRun[ScoreResult], columns: Sequence[str]) -> list[ShownRow]:
    """The captions of the rows that the run has chosen, read from the parts that hold them."""
    shown = run.result.shown
    reasons: dict[int, list[str]] = {row: [] for row in shown.random}
    for column in columns:
        ends = shown.extremes[column]
        for end, rows_of_end in (("lowest", ends.lowest), ("highest", ends.highest)):
            for row in rows_of_end:
                reasons.setdefault(row, []).append(f"{end} {column}")
    folder = run.directory / files.BLOCKS
    parts = read_manifest(folder / files.MANIFEST).parts
    rows = []
    for part in parts:
        first, n = part.first_row, part.rows
        inside = sorted(row for row in reasons if first <= row < first + n)
        if not inside:
            continue
        names = [IMAGE_ID, CAPTION, *columns]
        table = files.read_columns(folder / part.part, names, names)
        chosen = table.iloc[[row - first for row in inside]].to_dict("records")
        for row, cells in zip(inside, chosen, strict=True):
            scores = [None if np.isnan(cells[c]) else float(cells[c]) for c in columns]
            image = "" if cells[IMAGE_ID] is None else str(cells[IMAGE_ID])
            why = ", ".join(reasons[row]) or "at random"
            rows.append(ShownRow(row, image, cut(cells[CAPTION], MOST_LETTERS), why, scores))
    return rows
