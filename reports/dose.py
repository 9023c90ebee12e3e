"""Blocks of dose and response: how scores fall with the rate of a corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.reports.blocks import charts, tables
from metaeval.reports.blocks.texts import Block
from metaeval.results.measured import Extra
from metaeval.runs.files import csv_text

CHANGE = "change in sd within an image"
RHO = "ρ against the human caption"
NOTE = (
    "Left, how far scores are from those of the human captions, in standard deviations within an "
    "image; right, the rank-order ρ of the captions at a rate and the human ones. Bands are "
    "intervals over images, bars standard deviations over seeds, dashed are controls. A "
    "score of which lower is better is negated."
)
POINTS = "dose-points.csv"
Records = Sequence[Mapping[str, Any]]


def dose_blocks(points: Records, summary: Records) -> list[Block]:
    """The curves, and the table below them with every point as a CSV file.

    `points` and `summary` are rows of the extras "dose_points" and "dose", with the corruption that
    they are of; several corruptions have panels of their own.
    """
    if not any(point["n_images"] for point in points):
        return []
    corruptions = list(dict.fromkeys(point["corruption"] for point in points))
    curves = []
    for corruption in corruptions:
        for key, title in (("change", CHANGE), ("rho", RHO)):
            curves += [
                {
                    "panel": title if len(corruptions) == 1 else f"{corruption}: {title}",
                    "line": point["metric"],
                    "x": 100 * point["dose"],
                    "y": point[key],
                    "low": point[f"{key}_ci_low"],
                    "high": point[f"{key}_ci_high"],
                    "sd": point[f"{key}_seed_sd"],
                    "control": point["control"],
                    "x_title": f"{corruption}: requested share of words, %",
                }
                for point in points
                if point["corruption"] == corruption and point[key] is not None
            ]
    columns = list(points[0])
    rows = [[point[column] for column in columns] for point in points]
    made = [
        charts.curves(Extra.of("dose", "Dose and response", curves), NOTE)._replace(
            key="dose", data={POINTS: csv_text([columns, *rows])}
        )
    ]
    for corruption in corruptions:
        table = Extra.of(
            "dose" if len(corruptions) == 1 else f"dose-{corruption.lower()}",
            f"{corruption}, at the greatest rate: change from the human caption, in standard "
            "deviations within an image; the rate of half of the effect; whether scores get worse "
            "at every step; Page's trend test; ρ against the human captions",
            [row for row in summary if row["corruption"] == corruption],
            folded=True,
        )
        made.append(tables.extra_table(None, table, f"Dose in numbers: {corruption}"))
    return made
