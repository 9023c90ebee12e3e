"""The page of `experiment=judgments`: the usual blocks, scores by rating, and the captions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.blocks.texts import NOTHING, Block, rendered
from metaeval.reports.measured import PageOptions, closing_blocks, extra_block
from metaeval.reports.shared.formatting import DASH, cut, number
from metaeval.reports.shared.page import fit_into_room, kept_of, photos_of
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.measured import Extra, ranked
from metaeval.runs import files
from metaeval.runs.records import IMAGE_ID, IMAGE_PATH, METRIC, REFERENCES, SCORE
from metaeval.stats.resampling.items import places, without_rounding

MOST_LINES = 12  # metrics in the chart of residuals
MOST_ROWS = 600  # captions in the table
GROUPS = 10  # of captions by their length
FURTHEST = (
    "{} captions, those first on which a metric is furthest from people. Under a metric: its place "
    "minus people's, in points (+100: people's last is its first), and the score. {}"
)
Floats = npt.NDArray[np.float64]


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The blocks of the page, in order."""
    extras = [e for e in run.result.extras if e.kind != "data" and e.rows]
    judged = _judged(run)
    return [
        texts.answer(run),
        charts.ranking(run),
        *tables.measures_tables(run),
        *_charts(run, *judged),
        _captions(run, options, *judged),
        *(extra_block(run, extra) for extra in extras),
        *closing_blocks(run),
    ]


def _judged(run: LoadedRun) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The judged captions, with people's mean rating as `people`; their scores, a column a ranked
    metric, best first; and how far their place by a score is above that by people, in points.

    A caption's place is the share of the rated captions with a lower value, ties half.
    """
    result = run.result
    needed = ("caption", IMAGE_ID, "candidate", REFERENCES)
    path = run.directory / files.JUDGMENTS  # an older run's has no paths
    captions = files.read_columns(path, needed, optional=(IMAGE_PATH,))
    scores = files.read_columns(run.directory / files.SCORES, ("caption", METRIC, SCORE))
    of_metric = scores.set_index("caption").groupby(METRIC)[SCORE]  # a pivot takes a gigabyte more
    metrics = ranked([m for m in result.metrics if m.ok and m.column.is_ranked], result.declared[0])
    columns = {m.name: m.column.higher_is_better for m in metrics if m.name in of_metric.groups}
    wide = pd.DataFrame(
        {name: of_metric.get_group(name).reindex(captions["caption"]) for name in columns}
    )
    dimension = next(c for c in map(str, captions) if c.startswith("human_"))
    people = [np.mean(r) if len(r) else np.nan for r in captions[dimension]]
    captions["people"] = without_rounding(people)
    gaps = pd.DataFrame(index=wide.index)
    for name, higher in columns.items():
        score = wide[name].to_numpy() * (1 if higher else -1)
        both = ~np.isnan(score) & ~captions["people"].isna().to_numpy()
        gap = np.full(len(score), np.nan)
        if both.any():
            gap[both] = 100 * (places(score[both]) - places(captions["people"][both]))
        gaps[name] = gap
    return captions, wide, gaps


def _charts(
    run: LoadedRun, captions: pd.DataFrame, scores: pd.DataFrame, gaps: pd.DataFrame
) -> list[Block]:
    """Scores by people's rating, and how far they are off by the caption's length."""
    words = np.array([len(text.split()) for text in captions["candidate"]])
    groups = pd.qcut(words, GROUPS, duplicates="drop") if len(set(words)) > 1 else words
    by_length = pd.DataFrame({"words": words, "group": np.asarray(groups, dtype=object)})
    records = [
        {
            "line": name,
            "x": float(of["words"].mean()),
            "x_title": "words of the caption",
            "y": float(of["gap"].mean()),
        }
        for name in scores.columns[:MOST_LINES]
        for _, of in by_length.assign(gap=gaps[name].to_numpy())
        .dropna(subset=["gap"])
        .groupby("group", sort=True)
    ]
    title = "Residuals by length: the place by a score minus that by people, in points"
    return [
        charts.by_rating(scores, captions["people"].to_numpy(), run.result.lower_is_better),
        charts.curves(Extra.of("residuals", title, records, folded=True)) if records else NOTHING,
    ]


def _captions(
    run: LoadedRun,
    options: PageOptions,
    captions: pd.DataFrame,
    scores: pd.DataFrame,
    gaps: pd.DataFrame,
) -> Block:
    """The captions on which some metric is furthest from people, the metrics taking turns."""
    turns = gaps.abs().rank(ascending=False, method="first").min(axis=1)
    order = np.argsort(turns.fillna(np.inf).to_numpy(), kind="stable")
    order = order[: min(MOST_ROWS, int(turns.notna().sum()))]
    if not len(order):
        return NOTHING
    chosen = captions.iloc[order]
    ids, paths = chosen[IMAGE_ID].tolist(), chosen[IMAGE_PATH].tolist()
    photos, note = photos_of(ids, paths, options.photos)
    rows = [
        _row(row, scores.iloc[k], gaps.iloc[k])
        for k, row in zip(order, chosen.to_dict("records"), strict=True)
    ]

    def html(kept: int) -> Markup:
        return rendered(
            "judged_captions.html.j2",
            caption=FURTHEST.format(kept_of(kept, len(captions)), note).strip(),
            heads=["Image", "Caption", "People", *gaps.columns],
            rows=rows[:kept],
            photos=photos,
            shown=options.examples,
        )

    _, content = fit_into_room(len(rows), html, lambda text: len(text.encode()), options.max_bytes)
    return Block("captions", "Captions", content)


def _row(record: Any, scores: pd.Series[float], gaps: pd.Series[float]) -> Any:
    people = record["people"]
    cells: list[tuple[float | None, str, str]] = [(people, number(people), "")]
    for gap, score in zip(gaps, scores, strict=True):
        known = not np.isnan(gap)
        text = number(gap, 0, sign=True) if known else DASH
        cells.append((gap if known else None, text, number(score) if known else ""))
    return {
        "image": str(record[IMAGE_ID]),
        "system": system if isinstance(system := record.get("system"), str) else "",
        "caption": cut(record["candidate"]),
        "references": [cut(text) for text in record[REFERENCES]],
        "cells": cells,
    }
