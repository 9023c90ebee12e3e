"""The scores of systems, the tests between all pairs of them, and how metrics agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig
from scipy.stats import rankdata

from metaeval.experiments import CaptionDataset, Estimate, Extra, Floats, score_all
from metaeval.experiments.graded.statistics import image_by_set
from metaeval.experiments.measure import level_of
from metaeval.metrics.base import Metric, StatisticsAdapter, SummableMetric
from metaeval.results.comparison import Comparisons
from metaeval.results.graded import record_cells
from metaeval.results.measured import SystemRanking
from metaeval.runs.records import CAPTION, IMAGE_ID, SET, SYSTEM, ScoreColumn
from metaeval.scoring import MetricScores, SystemScores, system_scores
from metaeval.stats.correlation.kendall import answers, disagreement, kendall_matrix
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import mean_of_known
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


# How metrics agree on captioners' captions, with each other and on people's captions

Row = dict[str, Any]


class SentenceScores(NamedTuple):
    """A column of sentence scores, float64 [systems, images], more being better, and the metric
    that it is of."""

    column: ScoreColumn
    values: Floats
    family: str


AGREEMENT = "Agreement of metrics on {}: Kendall's τ-b"
LEVELS = {
    "within-image": "captions of one image",
    "systems": "the order of systems",
    "captions": "the order of all captions",
}


def agreement_matrices(
    systems: Sequence[ScoredSystems],
    sentences: Sequence[SentenceScores],
    counts: Counts,
    confidence: float,
) -> tuple[list[Extra], dict[str, float]]:
    """Kendall's τ-b between all metrics (parts left out) in three ways: docs/captioners.md; and the
    mean of each metric's over systems with the other metrics.

    `counts` [replicates, images] drew the replicates of the systems' scores. None without a score.
    """
    systems = [score for score in systems if score.column.part_of is None]
    sentences = [score for score in sentences if score.column.part_of is None]
    if not sentences:
        return [], {}
    points = answers(np.array([upward(s.column, s.points[:, None]) for s in systems])).tau()
    drawn = answers(np.array([upward(s.column, s.drawn) for s in systems])).tau_of_each()
    within = answers(np.array([score.values for score in sentences]))
    n_images = counts.shape[1]

    def matrix(level: str, names: Sequence[str], tau: Floats, replicates: Floats | None) -> Extra:
        records = []
        for i, name in enumerate(names):
            record: Row = {"metric": name}
            for j, other in enumerate(names):
                drawn = [] if replicates is None else replicates[i, j]
                record[other] = Estimate.resampled(tau[i, j], drawn, confidence, n_images)
            records.append(record)
        title, folded = AGREEMENT.format(LEVELS[level]), level != "within-image"
        return Extra.of(f"agreement-{level}", title, records, kind="matrix", folded=folded)

    whole, names = [s.column.name for s in systems], [s.column.name for s in sentences]
    every = kendall_matrix([score.values for score in sentences])
    others = np.where(np.eye(len(whole), dtype=np.bool_), np.nan, points)
    matrices = [
        matrix("within-image", names, within.tau(), within.tau_resampled(counts)),
        matrix("systems", whole, points, drawn),
        matrix("captions", names, every, None),
    ]
    return matrices, dict(zip(whole, map(mean_of_known, others), strict=True))


def metric_disagreements(
    sentences: Sequence[SentenceScores], images: pd.Index[Any]
) -> tuple[list[str], list[Row]]:
    """Which columns vote, and the metrics' disagreement on every image.

    Each metric has one vote: its first headline column.
    """
    votes: dict[str, SentenceScores] = {}
    for score in sentences:
        if score.column.part_of is None and score.column.headline:
            votes.setdefault(score.family, score)
    values = np.full(len(images), np.nan)
    if votes:
        values = disagreement(np.array([score.values for score in votes.values()]))
    names = [score.column.name for score in votes.values()]
    of_images = zip(images.tolist(), values.tolist(), strict=True)
    return names, [{"image_id": image, "disagreement": value} for image, value in of_images]


OF_RHO = ("rank_order_rho", "rank_order_rho_tie_mean", "rank_order_rho_tie_std")
OF_PAIRS = (
    *("rank_order_rho_within", "spearman_rho", "kendall_tau_b", "tie_fraction"),
    *("pairwise_accuracy", "pairwise_ties"),
)


def against_human(
    family: SystemScores,
    captions: pd.DataFrame,
    images: pd.Index[int | str],
    sets: list[str],
    counts: Counts,
    stats: DictConfig,
) -> Iterator[Row]:
    """Each system (level 0) against Human (level 1, the last set) by each column, on the images
    that both have: the two-level protocol of González-Chávez et al., section 4.2."""
    if family.scored.scores is None:
        return
    scores = image_by_set(captions, family.scored.scores, images, sets)
    for c, column in enumerate(family.scored.columns):
        for s, name in enumerate(sets[:-1]):
            pair = scores[:, [s, -1], c]
            pair = np.where(np.isnan(pair).any(axis=1, keepdims=True), np.nan, pair)
            record = graded_statistics(
                pair,
                [0, 1],
                [name, sets[-1]],
                higher_is_better=column.higher_is_better,
                counts=counts,
                confidence=stats.confidence,
                tie_seeds=stats.tie_seeds,
                seed=stats.seed,
            )
            least, greatest = record.rank_order_rho_bounds
            image, level, rest, _ = record.variance
            yield {
                "metric": column.name,
                "part_of": column.part_of,
                "system": name,
                "n": int((~np.isnan(pair[:, 0])).sum()),
                "mean": mean_of_known(pair[:, 0]),
                "human_mean": mean_of_known(pair[:, 1]),
                **record_cells(record, OF_RHO),
                "rank_order_rho_least": least,
                "rank_order_rho_greatest": greatest,
                **record_cells(record, OF_PAIRS),
                "auc": Estimate.of(record.adjacent_auc[0].auc),
                "inversion_rate": Estimate.of(record.inversion_rate),
                "variance_image": image,
                "variance_level": level,
                "variance_rest": rest,
            }


def human_matrix(rows: Sequence[Mapping[str, Any]]) -> Extra:
    """Rank-order ρ against Human, a row a metric and a column a system; parts left out."""
    records: dict[str, Row] = {}
    for row in rows:
        if row["part_of"] is None:
            record = records.setdefault(row["metric"], {"metric": row["metric"]})
            record[row["system"]] = row["rank_order_rho"]
    title = "Rank-order ρ against Human: above 0, people are ranked higher"
    return Extra.of("human", title, records.values(), kind="matrix")


def upward(column: ScoreColumn, values: Floats) -> Floats:
    """The values of a column, more being better."""
    return values if column.higher_is_better else -values


def caption_lengths(
    machines: pd.DataFrame, references: Mapping[Any, Sequence[str]]
) -> dict[Any, dict[Any, Any]]:
    """System → the mean `words` of its captions, their mean `ratio` to the mean words of the
    image's references, and the share `longer` than every reference; NaN without references.

    `machines` has one row per caption: `image_id`, `set` (the system) and `caption`.
    """
    lengths = {image: [len(r.split()) for r in of] or [0] for image, of in references.items()}
    words = np.array([len(caption.split()) for caption in machines[CAPTION]], dtype=np.float64)
    mean = np.array([float(np.mean(lengths[image])) for image in machines[IMAGE_ID]])
    longest = np.array([max(lengths[image]) for image in machines[IMAGE_ID]])
    ratio = words / np.where(mean > 0, mean, np.nan)
    longer = np.where(longest > 0, words > longest, np.nan)
    table = pd.DataFrame({"words": words, "ratio": ratio, "longer": longer})
    return table.groupby(machines[SET].to_numpy()).mean().to_dict("index")
