"""Two captions of an image, and which of them is preferred: what the experiments `pairs`,
`forced_choice` and `arena` share.

A *gap* is the score of the first caption minus that of the second, higher is better; NaN where one
has no score. `preferred` is above 0 where the first caption is preferred, below 0 where the second
one is, 0 where neither is, NaN where that is not known.
"""

from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from omegaconf import DictConfig

from metaeval.data.judgments.battles import Battles
from metaeval.data.judgments.pascal50s import CATEGORIES, VOTES, ForcedChoice, ScoringTable
from metaeval.experiments import (
    Extra,
    Floats,
    Metric,
    MetricExperiment,
    MetricScores,
    RunRecord,
    ToScore,
    score_all,
)
from metaeval.experiments.judgments.sample import write_score_columns
from metaeval.experiments.measure import Items, Mask, MeanOutcome
from metaeval.experiments.record import record_counts
from metaeval.experiments.scores import scored_columns
from metaeval.results.run import DatasetInfo
from metaeval.runs import files
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, RIVAL, SYSTEM, ScoreColumn
from metaeval.stats.resampling.items import Ints, encode

MEAN = "mean"  # over the categories, as a group of pairs


def credit(gap: Floats, tied: float = 0.5) -> Floats:
    """1 where the first caption has the higher score, 0 where the second one has, `tied` where the
    scores are equal; NaN stays.

    >>> credit(np.array([0.2, -0.1, 0.0, np.nan])).tolist()
    [1.0, 0.0, 0.5, nan]
    """
    return np.where(np.isnan(gap), np.nan, np.where(gap == 0, tied, gap > 0))


def choice_outcomes(gap: Floats, preferred: Floats, ties: str = "half") -> Floats:
    """1 where the metric prefers what is preferred, 0 where it prefers the other caption.

    Where the metric is undecided, or `preferred` is 0: 1/2, which is the expected value of random
    tie-breaking, or 0 with `ties` "wrong"; with "drop", NaN where `preferred` is 0, and 1/2 where
    only the metric is undecided. The gaps may have a dimension of draws in front.
    """
    outcomes = credit(gap * np.sign(preferred), 0.0 if ties == "wrong" else 0.5)
    return np.where((preferred == 0) & (ties == "drop"), np.nan, outcomes)


def over_draws(values: Floats) -> Floats:
    """[pairs] The mean over draws of references of values [draws, pairs]."""
    return np.asarray((values / len(values)).sum(axis=0))


def restricted(rows: Mask, columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """The outcomes of these pairs alone; NaN elsewhere."""
    return {name: np.where(rows, column, np.nan) for name, column in columns.items()}


def word_counts(captions: Iterable[str]) -> Floats:
    """[n] The number of words of each caption."""
    return np.array([len(caption.split()) for caption in captions], dtype=np.float64)


def equally_long(first: Sequence[str], second: Sequence[str], tolerance: float = 1) -> Mask:
    """[n] Whether two captions differ by at most this number of words: what is left of a metric
    when length decides nothing."""
    return np.asarray(np.abs(word_counts(first) - word_counts(second)) <= tolerance)


class PairSample(NamedTuple):
    """Pairs of captions as items, the resampled images [replicates, images], and group → bool [n],
    the pairs of each category: PASCAL-50S's in their usual order, others as they come."""

    items: Items
    counts: Floats
    groups: Mapping[str, Mask]

    @classmethod
    def of(
        cls,
        items: Items,
        category: Sequence[str],
        stats: DictConfig,
    ) -> "PairSample":
        """From the category of each pair."""
        of_pair = np.array(category, dtype=object)
        every = dict.fromkeys([*(name for name in CATEGORIES if name in category), *category])
        groups = {name: np.asarray(of_pair == name, np.bool_) for name in every}
        return cls(items, items.resamples(stats), groups)

    @property
    def categories(self) -> Mapping[str, Mask]:
        """The groups if there are several: one alone is all pairs."""
        return self.groups if len(self.groups) > 1 else {}

    def mean(self, *groups: str) -> MeanOutcome:
        """The mean over these groups of the mean outcome in each; without groups, over all pairs"""
        masks = [self.groups[name] for name in groups]
        return MeanOutcome(self.items, self.counts, masks or None)


def greatest_errors(
    columns: Iterable[ScoreColumn], gaps: Mapping[str, Floats], preferred: Floats, most: int
) -> Iterator[tuple[ScoreColumn, int]]:
    """Of each metric the pairs with the greatest gaps against what is preferred."""
    for column in columns:
        if column.is_ranked and column.headline:
            gap = gaps[column.name]
            against = np.nan_to_num(np.where(preferred * gap < 0, np.abs(gap), 0.0))
            order = np.argsort(-against, kind="stable")[:most]
            yield from ((column, k) for k in order[against[order] > 0].tolist())


# Forced choice and battles: the references of a pair may be drawn at random, several times.

EXAMPLES = 6  # pairs shown for each metric


class ChoiceScores(NamedTuple):
    """The outcomes of the metrics, and column → number of references → gaps [draws, pairs]."""

    metrics: list[MetricScores]
    gaps: dict[str, dict[int, Floats]]


class ChoiceExperiment(MetricExperiment[ForcedChoice, ChoiceScores], ABC):
    """Both captions of every pair are scored against the image's references."""

    def write_versions(self, data: ForcedChoice, record: RunRecord) -> None:
        """judgments.parquet: pair (its number), image_id, category, both captions and votes; of
        battles also the winner, the rater and the systems."""
        columns = {
            "pair": pa.array(range(len(data)), pa.int64()),
            "image_id": pa.array(data.image, pa.string()),
            "category": pa.array(data.category, pa.string()),
            "first": pa.array(data.first, pa.string()),
            "second": pa.array(data.second, pa.string()),
            "votes_first": pa.array(data.votes[:, 0]),
            "votes_second": pa.array(data.votes[:, 1]),
        }
        counts = data.n_references
        if isinstance(data, Battles):
            counts = tuple(sorted({len(references) for references in data.references}))
            systems = zip(
                ("first_system", "second_system"), zip(*data.systems, strict=True), strict=False
            )
            columns |= {
                "winner": pa.array(data.winner, pa.float64()),
                "rater": pa.array(data.raters, pa.string()),
                **{name: pa.array(of_side, pa.string()) for name, of_side in systems},
            }
        files.write_arrow(record.out / files.JUDGMENTS, pa.table(columns))
        record.update(
            dataset=DatasetInfo(
                name=data.name,
                n_images=len(set(data.image)),
                n_references=counts,
                sources=dict(data.sources),
                notes=tuple(data.notes),
                records=record_counts(data.records),
            )
        )

    def to_score(self, data: ForcedChoice, record: RunRecord) -> Iterator[ToScore]:
        return (to_score for *_, to_score in _tables(data, record.config.seed))

    def score(
        self, data: ForcedChoice, metrics: Mapping[str, Metric], record: RunRecord
    ) -> ChoiceScores:
        """Every pair with each number of references in each draw."""
        results: list[MetricScores] = []
        scores: dict[tuple[int, int, ScoreColumn], list[tuple[Ints, Floats]]] = {}
        for n, draw, table, to_score in _tables(data, record.config.seed):
            # a metric that fails now fails with other references, too
            failed = {scored.family for scored in results if scored.status != "ok"}
            running = [metric for metric in metrics.values() if metric.name not in failed]
            made = score_all(running, *to_score, record.config)
            results = _added(results, made) if results else made
            for column, values in scored_columns(made):
                place = table.side * len(data) + table.pair
                scores.setdefault((n, draw, column), []).append((place, values))
        means = {key: _means(placed, 2 * len(data)) for key, placed in scores.items()}
        gaps: dict[str, dict[int, Floats]] = {}
        for (n, _, column), values in means.items():
            first, second = np.split(values if column.higher_is_better else -values, 2)
            by_n = gaps.setdefault(column.name, {})
            by_n[n] = np.vstack([by_n.get(n, np.empty((0, len(data)))), first - second])
        write_score_columns(
            record.out,
            "candidate",  # the first captions of all pairs, then the second ones
            [(column.name, values) for (_, _, column), values in means.items()],
            n_references=[n for n, _, _ in means],
            draw=[draw for _, draw, _ in means],
        )
        return ChoiceScores(results, gaps)


def _tables(pairs: ForcedChoice, seed: int) -> Iterator[tuple[int, int, ScoringTable, ToScore]]:
    """Both captions of every pair, each with the other one, against the references of each number
    and draw; all references are drawn once."""
    texts, systems = (pairs.first, pairs.second), getattr(pairs, "systems", ())
    for n, draw in ((n, k) for n in pairs.n_references for k in range(pairs.draws)):
        for table in pairs.tables(n, draw, seed) if n != VOTES or not draw else ():
            places = list(zip(table.pair, table.side, strict=True))
            captions = pd.DataFrame(
                {
                    IMAGE_ID: [pairs.image[p] for p in table.pair],
                    ITEM: table.items,
                    CAPTION: table.captions,
                    RIVAL: [texts[1 - s][p] for p, s in places],
                    **({SYSTEM: [systems[p][s] for p, s in places]} if systems else {}),
                }
            )
            yield n, draw, table, ToScore(table.documents, captions)


def _means(placed: Sequence[tuple[Ints, Floats]], n: int) -> Floats:
    """[n] The mean of the values at each place; NaN where there is none."""
    place, values = (np.concatenate(each) for each in zip(*placed, strict=True))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(place, values, n) / np.bincount(place, minlength=n))


def _added(total: Sequence[MetricScores], made: Sequence[MetricScores]) -> list[MetricScores]:
    """The outcomes of the metrics, with the time and the counts of one more draw added."""
    more = {scored.family: scored for scored in made}
    return [
        replace(
            scored,
            status=other.status,
            reason=other.reason,
            remedy=other.remedy,
            scores=other.scores,
            n_scored=scored.n_scored + other.n_scored,
            n_cached=scored.n_cached + other.n_cached,
            seconds=scored.seconds + other.seconds,
        )
        if (other := more.get(scored.family))
        else scored
        for scored in total
    ]


def choice_items(pairs: ForcedChoice) -> Items:
    """The pairs as items; of battles every vote is an item, and what counts are the pairs."""
    image = encode(pairs.image)[1]
    if not isinstance(pairs, Battles):
        return Items(image)
    captions = zip(pairs.image, pairs.first, pairs.second, strict=True)
    battles = pd.Series([(i, *sorted((a, b))) for i, a, b in captions])
    return Items(image, pd.factorize(battles)[0])


def counted_facts(what: str, items: Items, rows: Mask) -> dict[str, int]:
    """How many things these rows are of, and how many votes where these are more."""
    n, votes = items.number_of(rows), int(rows.sum())
    return {what: n} if n == votes else {what: n, "Votes": votes}


def disagreements(
    pairs: ForcedChoice,
    columns: Iterable[ScoreColumn],
    gaps: Mapping[str, Floats],
    preferred: Floats,
) -> Extra:
    """The pairs on which each metric most clearly prefers what people do not; the gap is in
    standard deviations of the metric's gaps."""
    records = []
    for column, k in greatest_errors(columns, gaps, preferred, EXAMPLES):
        gap = gaps[column.name]
        spread = float(np.nanstd(gap)) or np.nan  # a metric with one gap has no unit for it
        sides = [(pairs.first[k], pairs.votes[k, 0]), (pairs.second[k], pairs.votes[k, 1])]
        (chosen, n), (other, n_other) = sides if gap[k] < 0 else sides[::-1]
        records.append(
            {
                "metric": column.name,
                "image_id": str(pairs.image[k]),
                "kind": pairs.category[k],
                "people prefer": chosen,
                "votes": f"{n:g} to {n_other:g}",
                "the metric prefers": other,
                "gap (sd)": round(abs(gap[k]) / spread, 6),
            }
        )
    return Extra.of(
        "examples",
        "Where a metric most clearly prefers the caption that people do not",
        records,
        kind="examples",
        folded=True,
    )
