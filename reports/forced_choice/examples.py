"""The pairs of which people prefer one caption and a metric clearly the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.errors import InputError
from metaeval.reports.judgments.examples import SHOWN, Examples
from metaeval.reports.shared.formatting import capital, cut, number
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import LoadedRun
from metaeval.runs import files
from metaeval.runs.columns import METRIC

_PAIR = ("image_id", "category", "first", "second", "votes_first", "votes_second")
_SCORES = ("candidate", "metric", "n_references", "score")


def examples(run: LoadedRun[Any], winner: str | None = None) -> Examples:
    """For each metric the pairs with the greatest difference of scores against people's choice.

    The difference is in standard deviations of the metric's differences, with the most references
    of the run. `winner` is a column whose choices replace people's. Raises InputError for a
    file that is missing or damaged.
    """
    pairs = files.read_columns(run.directory / files.JUDGMENTS, _PAIR)
    scores = files.read_columns(run.directory / files.SCORES, _SCORES)
    n = len(pairs)
    if len(scores) and 2 * n <= int(scores["candidate"].max()):
        raise InputError("has fewer captions than scores", file=run.directory / files.JUDGMENTS)
    first, second = (pairs[f"votes_{side}"].to_numpy(np.float64) for side in ("first", "second"))
    votes = first - second if winner is None else _gap(scores, winner, n)
    rows = []
    for metric in run.result.visible:
        if kind_of(metric) != "result" or not metric.column.headline:
            continue
        gap = _gap(scores, metric.name, n) * (1 if metric.column.higher_is_better else -1)
        spread = float(np.nanstd(gap)) or np.nan  # a metric with one gap has no unit for it
        against = np.where(votes * gap < 0, np.abs(gap), np.nan)
        order = np.argsort(np.nan_to_num(-against, nan=np.inf), kind="stable")
        chosen = [k for k in order[: 2 * SHOWN] if not np.isnan(against[k])]
        rows.append(
            (metric.name, [_pair(pairs.iloc[k], gap[k] > 0, abs(gap[k]) / spread) for k in chosen])
        )
    unit = capital(getattr(run.result, "unit", "image"))
    heads = ("Metric", "Kind", unit, "People prefer", "Votes", "The metric prefers", "Gap (sd)")
    return Examples("pairs", heads, rows)


def _gap(scores: pd.DataFrame, metric: str, n: int) -> npt.NDArray[np.float64]:
    """[n] The score of the first caption minus that of the second."""
    part = scores[scores[METRIC] == metric]
    part = part[part["n_references"] == part["n_references"].max()]
    means = part.groupby("candidate")["score"].mean().reindex(range(2 * n)).to_numpy()
    return np.asarray(means[:n] - means[n:], dtype=np.float64)


def _pair(row: pd.Series, first_preferred: bool, gap: float) -> list[str]:
    """The metric's preference and its size; people prefer the other caption."""
    first, second = cut(row["first"], 200), cut(row["second"], 200)
    votes = f"{row['votes_first']:g} to {row['votes_second']:g}"
    people, metric = (second, first) if first_preferred else (first, second)
    if first_preferred:
        votes = f"{row['votes_second']:g} to {row['votes_first']:g}"
    return [str(row["category"]), str(row["image_id"]), people, votes, metric, number(gap, 2)]
