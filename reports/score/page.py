"""The report of `experiment=score`: how each metric's scores are spread, and some captions.

Tables and histograms are of all captions; captions are shown of those rows that the run has chosen
(a random draw, and the extremes of each column), so that the page stays small whatever the number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from metaeval.runs import files
from reports.shared import page
from reports.shared.elements import Finding, Header
from reports.shared.formatting import amount, count, cut, listed, number, percent
from reports.shared.print_tables import PrintTable, plain_table, write_tables
from reports.shared.provenance import date_and_version, provenance
from reports.shared.run import FinishedRun, read_run

MOST_LETTERS = 300  # of a caption; the files have them in full
WIDTH, HEIGHT = 260, 90  # of a histogram
_FLOOR = 0.5  # a share of equal scores that is told


class ShownRow(NamedTuple):
    """A caption to show: where it stands, why it was chosen, and its scores, `None` for NaN."""

    row: int
    image_id: str
    caption: str
    why: str
    scores: Sequence[float | None]


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html` and the table into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = read_run(Path(run_dir))
    scored = [record for record in run.metrics if record.get("n") is not None]
    table = value_table(scored)
    write_tables(run.directory, [table])
    return page.write_page(
        run.directory / files.REPORT,
        page.render(
            "score.html.j2",
            1,
            room="score",
            scripts="[01]-*.js",
            run=run,
            header=Header(
                "Scores of captioning metrics",
                run.title,
                run.question,
                [
                    ("References", run.statistics["dataset"]),
                    ("Captions", count(run.statistics["n_captions"])),
                    *date_and_version(run.info),
                ],
            ),
            findings=findings(run.statistics),
            charts=[(record["metric"], histogram(record)) for record in scored if record["n"]],
            tables=[table],
            columns=[record["metric"] for record in scored],
            rows=shown_rows(run, [record["metric"] for record in scored]),
            drawn=len(run.statistics["shown"]["random"]),
            seed=run.statistics["shown"]["seed"],
            provenance=provenance(run),
            downloads={},
            beside=[f"{files.BLOCKS}/manifest.json", f"{files.BLOCKS}/part-*.parquet"],
            wide_times=False,
        ),
    )


def findings(statistics: Mapping[str, Any]) -> list[Finding]:
    """What the numbers of all captions say, in words."""
    n, records = statistics["n_captions"], statistics["metrics"]
    scored = [r for r in records if r.get("n") is not None]
    empty = statistics["n_empty"]
    text = f"{amount(n, 'caption')} of tables, {amount(len(scored), 'score')} each"
    text += f"; {amount(empty, 'caption')} empty." if empty else "."
    made = [Finding("Scored.", text)]
    if lacking := [f"{r['metric']} {count(r['n_nan'])}" for r in scored if r["n_nan"]]:
        made.append(Finding("Not scored.", f"Captions without a score: {listed(lacking)}."))
    floors = [
        f"{r['metric']} ({percent(r['n_lowest'] / r['n'])}: {number(r['min'])})"
        for r in scored
        if r["n"] and r["min"] < r["max"] and r["n_lowest"] / r["n"] >= _FLOOR
    ]
    if floors:
        told = f"The lowest score is that of most captions: {listed(floors)}."
        made.append(Finding("Floor.", f"{told} These scores tell few captions apart."))
    absent = {r["family"]: r for r in records if r["status"] != "ok"}
    for family, r in absent.items():
        remedy = f"; {r['remedy']}" if r["remedy"] else ""
        made.append(Finding(f"{family} {r['status']}.", f"{r['reason']}{remedy}"))
    return made


def value_table(records: Sequence[Mapping[str, Any]]) -> PrintTable:
    """A row a column of scores: all that is exact of all captions."""
    keys = ("mean", "sd", "min", "p5", "p25", "median", "p75", "p95", "max")
    heads = ["Score", "Captions", "Mean", "Sd", "Lowest", "5%", "25%", "Median", "75%", "95%",
             "Highest"]  # fmt: skip
    rows = [[r["metric"], count(r["n"]), *(number(r[k], 4) for k in keys)] for r in records]
    return plain_table("scores", "Scores of all captions.", heads, rows)


def histogram(record: Mapping[str, Any]) -> Markup:
    """The histogram of a column as a drawing; its height is the greatest bin."""
    told = record["histogram"]
    counts, most = told["counts"], max(told["counts"])
    width = WIDTH / len(counts)
    bars = "".join(
        f"M{k * width:.1f} {HEIGHT}V{HEIGHT - HEIGHT * c / most:.1f}h{width:.1f}V{HEIGHT}z"
        for k, c in enumerate(counts)
        if c
    )
    mean = WIDTH * (record["mean"] - told["from"]) / (told["to"] - told["from"])
    return Markup(
        '<svg class="order" viewBox="0 0 {} {}" role="img" aria-label="Histogram of {}">'
        '<g class="l0"><path d="{}"/></g><path class="base" d="M0 {}H{}"/>'
        '<path class="tick" d="M{} 0V{}"/>'
        '<text class="axis" x="0" y="{}">{}</text>'
        '<text class="axis" x="{}" y="{}" text-anchor="end">{}</text></svg>'
    ).format(
        WIDTH, HEIGHT + 18, record["metric"], Markup(bars), HEIGHT, WIDTH,
        f"{mean:.1f}", HEIGHT, HEIGHT + 15, number(told["from"]), WIDTH,
        HEIGHT + 15, number(told["to"]),
    )  # fmt: skip


def shown_rows(run: FinishedRun, columns: Sequence[str]) -> list[ShownRow]:
    """The captions of the rows that the run has chosen, read from the parts that hold them."""
    shown, reasons = run.statistics["shown"], dict[int, list[str]]()
    for row in shown["random"]:
        reasons[row] = []
    for column in columns:
        for end in ("lowest", "highest"):
            for row in shown["extremes"][column][end]:
                reasons.setdefault(row, []).append(f"{end} {column}")
    folder = run.directory / files.BLOCKS
    parts = files.read_json(folder / "manifest.json")["parts"]
    rows = []
    for part in parts:
        first, n = part["first_row"], part["rows"]
        inside = sorted(row for row in reasons if first <= row < first + n)
        if not inside:
            continue
        names = ["image_id", "caption", *columns]
        table = files.read_columns(folder / part["part"], names, names)
        chosen = table.iloc[[row - first for row in inside]].to_dict("records")
        for row, cells in zip(inside, chosen, strict=True):
            scores = [None if np.isnan(cells[c]) else float(cells[c]) for c in columns]
            image = "" if cells["image_id"] is None else str(cells["image_id"])
            why = ", ".join(reasons[row]) or "at random"
            rows.append(ShownRow(row, image, cut(cells["caption"], MOST_LETTERS), why, scores))
    return rows
