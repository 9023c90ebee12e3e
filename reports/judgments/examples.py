"""The captions on which a metric and people disagree most: rated captions, and pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from metaeval.errors import InputError
from metaeval.runs import files
from reports.shared.formatting import cut, number, percent
from reports.shared.print_tables import PrintTable, plain_table
from reports.shared.row_kind import row_kind
from reports.shared.run import FinishedRun

SHOWN = 3  # of each sort, of each metric
RATED = ("Metric", "The score is", "Image", "Caption", "People", "above", "Score", "above")
_PAIR = ("image_id", "category", "first", "second", "votes_first", "votes_second")
_SCORES, _CHOICES = ("caption", "metric", "score"), ("candidate", "metric", "n_references", "score")
CHOSEN = ("Metric", "Kind", "Image", "People prefer", "Votes", "The metric prefers", "Gap (sd)")

Floats = npt.NDArray[np.float64]


class Examples(NamedTuple):
    """The examples of one dimension (or, of pairs, of all): a row an example, by metric."""

    dimension: str
    heads: Sequence[str]
    rows: list[tuple[str, list[list[str]]]]

    def table(self, name: str) -> PrintTable:
        """All of them in one table."""
        rows = [[metric, *row] for metric, listed in self.rows for row in listed]
        caption = f"Where metrics and people disagree most ({self.dimension})."
        return plain_table(name, caption, self.heads, rows)


def examples(run: FinishedRun) -> list[Examples]:
    """Of every metric in the table the captions, or pairs, on which it is furthest from people.

    A rated caption's place is the share of the rated captions with a lower value (ties half), by
    people's mean rating and by the metric; shown are the captions whose places differ most, in
    either direction. Of pairs, those of which people prefer one caption and the metric clearly the
    other, by the difference of its scores in standard deviations of such differences.
    Raises InputError for a file that is missing or broken.
    """
    choice = run.statistics["kind"] == "forced_choice"
    dimensions = [] if choice else list(run.statistics["dimensions"])
    judged = files.read_columns(
        run.directory / files.JUDGMENTS,
        _PAIR if choice else ["image_id", "candidate", *(f"human_{name}" for name in dimensions)],
    )
    scores = files.read_columns(run.directory / files.SCORES, _CHOICES if choice else _SCORES)
    metrics = [r["metric"] for r in run.metrics if row_kind(r) == "result" and r["headline"]]
    upward = {r["metric"]: bool(r["higher_is_better"]) for r in run.metrics}
    if choice:
        return [_pairs(judged, scores, metrics, upward)]
    if len(scores) and len(judged) <= int(scores["caption"].max()):
        raise InputError("has fewer captions than scores", file=run.directory / files.JUDGMENTS)
    found = []
    for dimension in dimensions:
        ratings = judged[f"human_{dimension}"].map(_mean).to_numpy(dtype=np.float64)
        rows = []
        for metric in metrics:
            part = scores[scores["metric"] == metric]
            values = np.full(len(judged), np.nan)
            values[part["caption"]] = part["score"]
            rows.append((metric, list(_rated(judged, ratings, values, upward[metric]))))
        found.append(Examples(dimension, RATED, rows))
    return found


def _mean(ratings: Sequence[float]) -> float:
    return float(np.mean(ratings)) if len(ratings) else float("nan")


def _rated(
    judged: pd.DataFrame, ratings: Floats, values: Floats, higher: bool
) -> Iterator[list[str]]:
    known = np.flatnonzero(~np.isnan(ratings) & ~np.isnan(values))
    if len(known) < 2:
        return
    people = places(ratings[known])
    metric = places(values[known] if higher else -values[known])
    gap = metric - people
    order = np.argsort(-gap, kind="stable")
    high = [k for k in order[:SHOWN] if gap[k] > 0]
    low = [k for k in order[::-1][:SHOWN] if gap[k] < 0]
    for word, chosen in (("too high", high), ("too low", low)):
        for k in chosen:
            row = judged.iloc[known[k]]
            yield [
                word, str(row["image_id"]), cut(row["candidate"], 200),
                number(ratings[known[k]], 2), percent(people[k], 0), number(values[known[k]]),
                percent(metric[k], 0),
            ]  # fmt: skip


def places(values: Floats) -> Floats:
    """The share of the values [n] below each one, ties counting half: float64 [n] in (0, 1)."""
    ranks: Floats = rankdata(values)
    return (ranks - 0.5) / len(values)


def _pairs(
    judged: pd.DataFrame, scores: pd.DataFrame, metrics: Sequence[str], upward: dict[str, bool]
) -> Examples:
    n = len(judged)
    votes = judged["votes_first"].to_numpy(np.float64) - judged["votes_second"].to_numpy(np.float64)
    rows = []
    for metric in metrics:
        part = scores[scores["metric"] == metric]
        part = part[part["n_references"] == part["n_references"].max()]
        means = part.groupby("candidate")["score"].mean().reindex(range(2 * n)).to_numpy()
        gap = (means[:n] - means[n:]) * (1 if upward[metric] else -1)
        spread = float(np.nanstd(gap))
        against = np.where(votes * gap < 0, np.abs(gap), np.nan)
        order = np.argsort(np.nan_to_num(-against, nan=np.inf), kind="stable")
        chosen = [k for k in order[: 2 * SHOWN] if not np.isnan(against[k])]
        rows.append((metric, [_pair(judged.iloc[k], gap[k] / spread) for k in chosen]))
    return Examples("pairs", CHOSEN, rows)


def _pair(row: pd.Series, gap: float) -> list[str]:
    """`gap` is the metric's, above 0 where it prefers the first caption."""
    first, second = cut(row["first"], 200), cut(row["second"], 200)
    votes = f"{row['votes_first']:g} to {row['votes_second']:g}"
    people, metric = (second, first) if gap > 0 else (first, second)
    if gap > 0:
        votes = f"{row['votes_second']:g} to {row['votes_first']:g}"
    return [str(row["category"]), str(row["image_id"]), people, votes, metric, number(abs(gap), 2)]
