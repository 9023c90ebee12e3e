"""How metrics agree on captioners' captions, with each other and on people's captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.experiments import Estimate, Extra, Floats
from metaeval.experiments.captioners.systems import ScoredSystems
from metaeval.experiments.graded.statistics import image_by_set
from metaeval.results.graded import record_cells
from metaeval.runs.records import CAPTION, IMAGE_ID, SET, ScoreColumn
from metaeval.scoring import SystemScores
from metaeval.stats.correlation.kendall import answers, disagreement, kendall_matrix
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import mean_of_known

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
            system, human = record.sets.values()
            least, greatest = record.rank_order_rho_bounds
            image, level, rest, _ = record.variance
            yield {
                "metric": column.name,
                "part_of": column.part_of,
                "system": name,
                "n": int((~np.isnan(pair[:, 0])).sum()),
                "mean": system.mean,
                "human_mean": human.mean,
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
