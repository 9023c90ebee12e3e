"""The scores of systems, with intervals, and the tests between all pairs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig
from scipy.stats import rankdata

from metaeval.experiments import CaptionDataset, Estimate, Floats, score_all
from metaeval.experiments.graded.statistics import image_by_set
from metaeval.experiments.measure import level_of
from metaeval.metrics.base import Metric, StatisticsAdapter, SummableMetric
from metaeval.results.comparison import Comparisons
from metaeval.results.measured import Extra, SystemRanking
from metaeval.runs.records import SET, SYSTEM, ScoreColumn
from metaeval.scoring import MetricScores, SystemScores, system_scores
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.significance.comparison import PairTest
from metaeval.stats.significance.paired_bootstrap import (
    OfSums,
    SystemDifference,
    compare_systems,
    difference_of,
    mean_of_sums,
    parts_of_means,
    resampled_scores,
    system_score,
)

Aggregate = Literal["mean of sentences", "corpus"]
MEAN: Aggregate = "mean of sentences"
CORPUS: Aggregate = "corpus"


def with_all_references(dataset: CaptionDataset) -> CaptionDataset:
    """The dataset with the Human caption among the references, before the others: five on COCO."""
    pairs = zip(dataset.human, dataset.references, strict=True)
    return replace(
        dataset,
        references=tuple((human, *others) if human else others for human, others in pairs),
    )


def score_families(
    metrics: Sequence[Metric], dataset: CaptionDataset, captions: pd.DataFrame, config: DictConfig
) -> list[SystemScores]:
    """Score all captions with all metrics, through the cache.

    Of BLEU, SacreBLEU and METEOR the statistics are computed and kept; the scores of sentences are
    made of them, to the last bit what the metrics' `score` gives.
    """
    adapted = [StatisticsAdapter(m) if isinstance(m, SummableMetric) else m for m in metrics]
    results = score_all(adapted, dataset, captions.assign(**{SYSTEM: captions[SET]}), config)
    return [system_scores(metric, scored) for metric, scored in zip(metrics, results, strict=True)]


class ScoredSystems(NamedTuple):
    """One score of systems.

    Attributes
    ----------
    scored, place
        The metric, and the index of its column that the score is made of.
    column
        The score under its name in tables. `headline` is true of the scores that stand for their
        metrics where rankings are counted: no parts and no controls; the corpus score where there
        is one; of several orders what the metric declares.
    aggregate
        "corpus": the counts of all captions are added up first; or "mean of sentences".
    points, drawn
        float64 [systems] and [systems, replicates of the images]: the scores.
    ranking
        The scores with their intervals and tests.
    differences
        Pair of systems → its permutation and its bootstrap test, before any correction.
    """

    scored: MetricScores
    place: int
    column: ScoreColumn
    aggregate: Aggregate
    points: Floats
    drawn: Floats
    ranking: SystemRanking
    differences: Mapping[tuple[str, str], SystemDifference]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the statistics of systems depend on; `counts` is [replicates, images]."""

    systems: list[str]
    counts: Counts
    confidence: float
    permutations: int
    seed: int
    baseline: str | None = None

    def estimates(
        self, order: Sequence[int], points: Floats, drawn: Floats, n: Sequence[int]
    ) -> dict[str, Estimate]:
        """The scores of systems with their intervals, those in `order` first."""
        others = [s for s in range(len(self.systems)) if s not in order]
        return {
            self.systems[s]: Estimate.resampled(
                points[s], drawn[s], self.confidence, int(n[s]), int(n[s])
            )
            for s in [*order, *others]
        }

    def comparisons(
        self, measure: str, tests: Mapping[tuple[str, str], PairTest]
    ) -> dict[str, Any]:
        """The fields of `SystemRanking` for these tests; those against the baseline are a family of
        their own."""

        alpha = level_of(self.confidence)
        every = Comparisons.tested(tests, measure, "pairs of systems", alpha)
        if self.baseline is None:
            return {"comparisons": every}
        chosen = {pair: test for pair, test in tests.items() if self.baseline in pair}
        family = "systems against the baseline"
        return {
            "comparisons": every,
            "baseline": self.baseline,
            "against_baseline": Comparisons.tested(chosen, measure, family, alpha),
        }


def scored_systems(
    family: SystemScores,
    machines: pd.DataFrame,
    images: pd.Index[int | str],
    settings: Settings,
) -> list[ScoredSystems]:
    """The corpus scores of a metric that has them, and the means of its sentences' scores."""
    assert family.scored.scores is not None
    scores = image_by_set(machines, family.scored.scores, images, settings.systems)
    n, s, _ = scores.shape
    means = np.stack([parts_of_means(scores[:, k]) for k in range(s)], axis=1).reshape(n, s, -1)
    if family.statistics is None or family.corpus is None:
        return _of_parts(family, MEAN, means, mean_of_sums, settings)
    parts = image_by_set(machines, family.statistics, images, settings.systems)
    return [
        *_of_parts(family, CORPUS, parts, family.corpus, settings),
        *_of_parts(family, MEAN, means, mean_of_sums, settings),
    ]


def _of_parts(
    family: SystemScores, aggregate: Aggregate, parts: Floats, of_sums: OfSums, settings: Settings
) -> list[ScoredSystems]:
    """The scores that sums of `parts` [n_images, systems, k] make, one for each column."""
    systems, columns = settings.systems, family.scored.columns
    names = range(len(systems))
    points = np.array([system_score(parts[:, s], of_sums) for s in names]).T
    drawn = np.array([resampled_scores(parts[:, s], of_sums, settings.counts).T for s in names])
    orders = [
        best_first(scores, column.higher_is_better)
        for scores, column in zip(points, columns, strict=True)
    ]
    pairs = sorted({pair for order in orders for pair in combinations(order, 2)})
    compared = compare_systems(
        [(parts[:, a], parts[:, b]) for a, b in pairs],
        of_sums,
        settings.counts,
        permutations=settings.permutations,
        confidence=settings.confidence,
        seed=settings.seed,
    )
    differences = dict(zip(pairs, compared, strict=True))
    results = []
    for c, (column, order) in enumerate(zip(columns, orders, strict=True)):
        name = column.name if family.corpus is None else f"{column.name} ({aggregate})"
        there = ~np.isnan(parts[:, :, c if aggregate == MEAN else 0])
        estimates = settings.estimates(order, points[c], drawn[:, c], there.sum(axis=0))
        of_pairs = {
            (systems[a], systems[b]): differences[a, b][c] for a, b in combinations(order, 2)
        }
        tests = {pair: each.permutation for pair, each in of_pairs.items()}
        headline = column.headline and column.part_of is None and not column.control
        ranking = SystemRanking(
            scores=estimates,
            best="highest" if column.higher_is_better else "lowest",
            **settings.comparisons(name, tests),
        )
        results.append(
            ScoredSystems(
                family.scored,
                c,
                replace(
                    column,
                    name=name,
                    headline=headline and (aggregate == CORPUS or family.corpus is None),
                ),
                aggregate,
                points[c],
                drawn[:, c],
                ranking,
                of_pairs,
            )
        )
    return results


def mean_rank(scores: Sequence[ScoredSystems], settings: Settings) -> SystemRanking:
    """The systems' ranks by these scores, averaged; 1 is best, and equal scores share their rank.

    Ranks are computed anew in each replicate of the images. p is twice the share of replicates in
    which the other system ranks at least as well (`difference_of`): ranks jump, so that Student's t
    of their replicates would call two equal systems different too often.
    """
    points = _mean_ranks([(s.points[:, None], s.column) for s in scores])[:, 0]
    drawn = _mean_ranks([(s.drawn, s.column) for s in scores])
    order = best_first(points, higher=False)
    systems, n = settings.systems, settings.counts.shape[1]
    estimates = settings.estimates(order, points, drawn, [n] * len(systems))
    tests = {
        (systems[a], systems[b]): difference_of(
            points[a], points[b], drawn[a], drawn[b], settings.confidence, n
        )
        for a, b in combinations(order, 2)
    }
    return SystemRanking(
        scores=estimates, best="lowest", digits=2, **settings.comparisons("mean rank", tests)
    )


FEWEST_SYSTEMS = 4  # of a line: two more than it has parameters
EQUAL_LENGTH = (
    "Systems at equal length: distance from a line of their scores on the log of their mean words "
    "(leverage above {:.2g}: the system draws the line to itself)"
)


def at_equal_length(
    scores: Sequence[ScoredSystems], lengths: Mapping[str, Mapping[str, float]], settings: Settings
) -> Extra:
    """Each score's residuals of a least-squares line on log words, and the ranks that they give.

    `lengths` has the mean `words` of each system; one without a word or a score is left out.
    `per_doubling` is the rise of the line for twice the words. None with fewer than
    `FEWEST_SYSTEMS` systems of two lengths.
    """
    n_images = settings.counts.shape[1]
    records: list[dict[str, Any]] = []
    words = np.array([lengths[name]["words"] or np.nan for name in settings.systems])
    for score in scores:
        known = np.flatnonzero(np.isfinite(score.points) & np.isfinite(words))
        points, x = score.points[known], np.log(words[known])
        if len(known) < FEWEST_SYSTEMS or np.allclose(x, x[0]):
            continue
        design = np.column_stack([np.ones_like(x), x])
        inverse = np.linalg.pinv(design)
        hat, drawn = design @ inverse, score.drawn[known]
        residual, replicates = points - hat @ points, drawn - hat @ drawn
        upward = 1 if score.column.higher_is_better else -1
        total = float(((points - points.mean()) ** 2).sum())
        plain, equal = (
            rankdata(-upward * np.round(values, 12)).tolist() for values in (points, residual)
        )
        for k, system in enumerate(known):
            records.append(
                {
                    "metric": score.column.name,
                    "system": settings.systems[system],
                    "words": float(words[system]),
                    "leverage": float(hat[k, k]),
                    "score": float(points[k]),
                    "residual": Estimate.resampled(
                        residual[k], replicates[k], settings.confidence, n_images
                    ),
                    "rank": plain[k],
                    "rank_at_equal_length": equal[k],
                    "per_doubling": float(inverse[1] @ points * np.log(2)),
                    "r2": 1 - float((residual**2).sum()) / total if total else None,
                }
            )
    title = EQUAL_LENGTH.format(4 / len(settings.systems))
    return Extra.of("equal_length", title, records, folded=True)


def best_first(points: Floats, higher: bool) -> list[int]:
    """The systems that have a score, best first; equal ones in the order they were given."""
    known = np.flatnonzero(~np.isnan(points))
    values = points[known] if higher else -points[known]
    return [int(s) for s in known[np.argsort(-values, kind="stable")]]


def _mean_ranks(scores: Sequence[tuple[Floats, ScoreColumn]]) -> Floats:
    """Scores [systems, cases] → mean ranks [systems, cases]; NaN where no score ranks a system."""
    ranks = np.array(
        [
            rankdata(-values if column.higher_is_better else values, axis=0, nan_policy="omit")
            for values, column in scores
        ]
    )
    known = (~np.isnan(ranks)).sum(axis=0)
    return np.where(known > 0, np.nansum(ranks, axis=0) / np.maximum(known, 1), np.nan)
