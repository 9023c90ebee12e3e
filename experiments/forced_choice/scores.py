"""Score both captions of every pair, with each number of references in each draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.data.judgments.pascal50s import VOTES, ForcedChoice, ScoringTable
from metaeval.experiments.base import ToScore
from metaeval.experiments.judgments.files import write_score_columns, write_table
from metaeval.experiments.scores import score_all
from metaeval.metrics.base import Metric
from metaeval.runs import files
from metaeval.runs.columns import CAPTION, IMAGE_ID, ITEM, RIVAL
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.items import Floats


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """The scores of the first draw of references, and how often each column chose as people did.

    `outcomes` is column → [pairs] for each number of references: 1 where the metric prefers the
    caption that most people preferred, 0 where it prefers the other, and 1/2 where metric or people
    are undecided, which is the expected value of random tie-breaking. `gaps` is of the same shape:
    the score of the first caption minus that of the second, higher is better. Both are averaged
    over the draws of references. `by_draw` has the outcomes of each draw, [draws, pairs].
    """

    results: list[MetricScores]
    outcomes: dict[str, list[Floats]]
    gaps: dict[str, list[Floats]] = field(default_factory=dict)
    by_draw: dict[str, list[Floats]] = field(default_factory=dict)


def score_choices(
    pairs: ForcedChoice, metrics: Sequence[Metric], config: DictConfig, out: Path
) -> ChoiceScores:
    """Score every pair with each number of references in each draw, and write scores.parquet."""
    people = np.sign(pairs.votes[:, 0] - pairs.votes[:, 1])
    outcomes: dict[str, list[Floats]] = {}
    gaps: dict[str, list[Floats]] = {}
    by_draw: dict[str, list[Floats]] = {}
    first: list[MetricScores] = []
    running, parts = list(metrics), []
    drawn: dict[str, list[int]] = {"n_references": [], "draw": []}
    for n_references in pairs.n_references:
        draws = 1 if n_references == VOTES else pairs.draws
        sums: dict[str, Floats] = {}
        summed_gaps: dict[str, Floats] = {}
        of_draws: dict[str, list[Floats]] = {}
        for draw in range(draws):
            of_column: dict[ScoreColumn, Floats] = {}
            for table in pairs.tables(n_references, draw, config.seed):
                results = score_all(running, table.documents, _captions(pairs, table), config)
                if not first:  # a metric that fails now fails with other references, too
                    first = results
                    running = [m for m, s in zip(running, results, strict=True) if s.status == "ok"]
                else:
                    first = _with_another_draw(first, results)
                _add_means(of_column, results, table, len(pairs))
            for column, values in of_column.items():
                upward = values if column.higher_is_better else -values
                gap = upward[: len(pairs)] - upward[len(pairs) :]
                right = choice_outcomes(gap, people, pairs.ties)
                of_draws.setdefault(column.name, []).append(right)
                sums[column.name] = sums.get(column.name, np.zeros(len(pairs))) + right / draws
                before = summed_gaps.get(column.name, np.zeros(len(pairs)))
                summed_gaps[column.name] = before + gap / draws
                # the first captions of all pairs, then the second ones
                parts.append((column.name, values))
                drawn["n_references"].append(n_references)
                drawn["draw"].append(draw)
        for name, outcome in sums.items():
            outcomes.setdefault(name, []).append(outcome)
            gaps.setdefault(name, []).append(summed_gaps[name])
            by_draw.setdefault(name, []).append(np.array(of_draws[name]))
    write_score_columns(out, "candidate", parts, **drawn)
    return ChoiceScores(first, outcomes, gaps, by_draw)


def pairs_to_score(pairs: ForcedChoice, seed: int) -> Iterator[ToScore]:
    """Both captions of every pair, against the references of each number and draw."""
    for n_references in pairs.n_references:
        for draw in range(1 if n_references == VOTES else pairs.draws):
            for table in pairs.tables(n_references, draw, seed):
                yield ToScore(table.documents, _captions(pairs, table))


def _captions(pairs: ForcedChoice, table: ScoringTable) -> pd.DataFrame:
    """The captions of a table, each with the other caption of its pair."""
    texts = (pairs.first, pairs.second)
    rivals = [texts[1 - s][p] for p, s in zip(table.pair, table.side, strict=True)]
    images = [pairs.image[p] for p in table.pair]
    columns = {IMAGE_ID: images, ITEM: table.items, CAPTION: table.captions, RIVAL: rivals}
    return pd.DataFrame(columns)


def _add_means(
    of_column: dict[ScoreColumn, Floats],
    results: Sequence[MetricScores],
    table: ScoringTable,
    n: int,
) -> None:
    """Put the mean score of every caption of the table at its place in [2n]: the first captions of
    all pairs, then the second ones."""
    place = table.side * n + table.pair
    times = np.bincount(place, minlength=2 * n)
    scored = times > 0
    for metric in results:
        if metric.scores is None:
            continue
        for column, values in zip(metric.columns, metric.scores.T, strict=True):
            target = of_column.setdefault(column, np.full(2 * n, np.nan))
            total = np.bincount(place, values, minlength=2 * n)
            target[scored] = total[scored] / times[scored]


def _with_another_draw(
    total: Sequence[MetricScores], draw: Sequence[MetricScores]
) -> list[MetricScores]:
    """The outcomes of the metrics, with the time and the counts of one more draw added."""
    more = {scored.family: scored for scored in draw}
    return [
        scored
        if (other := more.get(scored.family)) is None
        else replace(
            scored,
            status=other.status,
            reason=other.reason,
            remedy=other.remedy,
            n_scored=scored.n_scored + other.n_scored,
            n_cached=scored.n_cached + other.n_cached,
            seconds=scored.seconds + other.seconds,
        )
        for scored in total
    ]


def choice_outcomes(difference: Floats, people: Floats, ties: str = "half") -> Floats:
    """1 or 0 for each pair; NaN where a caption has no score.

    Where the metric (`difference` is 0) or people (`people` is 0) are undecided: 1/2, or 0 with
    `ties` "wrong".
    """
    undecided = (people == 0) | (difference == 0)
    tied = 0.5 if ties == "half" else 0.0
    agrees = np.where(undecided, tied, np.sign(difference) == people)
    return np.where(np.isnan(difference), np.nan, agrees)


def write_pairs(out: Path, pairs: ForcedChoice) -> None:
    """Write judgments.parquet: pair (its number), image_id, category, both captions and votes."""
    write_table(out / files.JUDGMENTS, pa.table(pair_columns(pairs)))


def pair_columns(pairs: ForcedChoice) -> dict[str, pa.Array]:
    """The columns of judgments.parquet."""
    return {
        "pair": pa.array(range(len(pairs)), pa.int64()),
        "image_id": pa.array(pairs.image, pa.string()),
        "category": pa.array(pairs.category, pa.string()),
        "first": pa.array(pairs.first, pa.string()),
        "second": pa.array(pairs.second, pa.string()),
        "votes_first": pa.array(pairs.votes[:, 0]),
        "votes_second": pa.array(pairs.votes[:, 1]),
    }
