"""The captions on which a metric and people disagree most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from metaeval.errors import InputError
from metaeval.reports.shared.formatting import cut, number, percent
from metaeval.reports.shared.print_tables import PrintTable, plain_table
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.judgments import JudgmentsResult
from metaeval.runs import files
from metaeval.runs.columns import CAPTION, METRIC, SCORE
from metaeval.stats.resampling.items import without_rounding

SHOWN = 3  # examples of each kind for each metric
HEADS = ("Metric", "The score is", "Image", "Caption", "People", "above", "Score", "above")
_SCORES = ("caption", "metric", "score")

Floats = npt.NDArray[np.float64]


class Examples(NamedTuple):
    """The examples of one group: for each metric, a row an example."""

    dimension: str
    heads: Sequence[str]
    rows: list[tuple[str, list[list[str]]]]

    def table(self, name: str) -> PrintTable:
        """All of them in one table."""
        rows = [[metric, *row] for metric, listed in self.rows for row in listed]
        caption = f"Where metrics and people disagree most ({self.dimension})."
        return plain_table(name, caption, self.heads, rows)


def examples(run: LoadedRun[JudgmentsResult]) -> list[Examples]:
    """For each dimension and metric, the captions whose score is furthest from people's rating.

    A caption's place is the share of the rated captions with a lower value (ties half), by people's
    mean rating and by the metric; the captions whose places differ most are shown, in either
    direction. Raises InputError for a file that is missing or damaged.
    """
    dimensions = run.result.dimensions
    judged = files.read_columns(
        run.directory / files.JUDGMENTS,
        ["image_id", "candidate", *(f"human_{name}" for name in dimensions)],
    )
    scores = files.read_columns(run.directory / files.SCORES, _SCORES)
    if len(scores) and len(judged) <= int(scores[CAPTION].max()):
        raise InputError("has fewer captions than scores", file=run.directory / files.JUDGMENTS)
    metrics = [m for m in run.result.visible if kind_of(m) == "result" and m.column.headline]
    by_dimension = []
    for dimension in dimensions:
        ratings = without_rounding(
            judged[f"human_{dimension}"].map(_mean).to_numpy(dtype=np.float64)
        )
        rows = []
        for metric in metrics:
            part = scores[scores[METRIC] == metric.name]
            values = np.full(len(judged), np.nan)
            values[part[CAPTION]] = part[SCORE]
            higher = metric.column.higher_is_better
            rows.append((metric.name, list(_rated(judged, ratings, values, higher))))
        by_dimension.append(Examples(dimension, HEADS, rows))
    return by_dimension


def _mean(ratings: Sequence[float]) -> float:
    return float(np.mean(ratings)) if len(ratings) else float("nan")


def _rated(
    judged: pd.DataFrame, ratings: Floats, values: Floats, higher: bool
) -> Iterator[list[str]]:
    both = np.flatnonzero(~np.isnan(ratings) & ~np.isnan(values))
    if len(both) < 2:
        return
    people = places(ratings[both])
    metric = places(values[both] if higher else -values[both])
    gap = metric - people
    order = np.argsort(-gap, kind="stable")
    high = [k for k in order[:SHOWN] if gap[k] > 0]
    low = [k for k in order[::-1][:SHOWN] if gap[k] < 0]
    for word, chosen in (("too high", high), ("too low", low)):
        for k in chosen:
            row = judged.iloc[both[k]]
            yield [
                word, str(row["image_id"]), cut(row["candidate"], 200),
                number(ratings[both[k]], 2), percent(people[k], 0), number(values[both[k]]),
                percent(metric[k], 0),
            ]  # fmt: skip


def places(values: Floats) -> Floats:
    """The share of the values [n] below each one, ties counting half: float64 [n] in (0, 1)."""
    ranks: Floats = rankdata(values)
    return (ranks - 0.5) / len(values)
