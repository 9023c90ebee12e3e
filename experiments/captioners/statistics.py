"""From the scores of captioners' captions to the result of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from omegaconf import DictConfig

from metaeval.experiments.captioners.agreement import Ordering, agreement, disagreements
from metaeval.experiments.captioners.human import against_human
from metaeval.experiments.captioners.scores import by_image_and_set
from metaeval.experiments.captioners.systems import scales, system_results
from metaeval.progress import progress_bar
from metaeval.results.captioners import (
    Agreement,
    CaptionersSettings,
    CaptionersStatistics,
    Disagreement,
    HumanStatistics,
)
from metaeval.results.metric import MetricResult
from metaeval.runs.columns import HUMAN, IMAGE_ID, SET
from metaeval.scoring import SystemScores
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.resampling.bootstrap import bootstrap_counts


class MetricNumbers(NamedTuple):
    """What the scores of all metrics give; fields as in `CaptionersResult`.

    `by_image` is the table of disagreement.csv, one row for each image.
    """

    n_images: int
    settings: CaptionersSettings
    metrics: list[MetricResult[CaptionersStatistics]]
    against_human: list[MetricResult[HumanStatistics]]
    agreement: Agreement | None
    disagreement: Disagreement
    by_image: pd.DataFrame

    def mean_rank(self, system: str) -> float | None:
        """A system's mean rank, 1 = first, over the headline scores that rank it."""
        heads = [m.numbers.rank(system) for m in self.metrics if m.ok and m.column.headline]
        ranks = [rank for rank in heads if rank is not None]
        return sum(ranks) / len(ranks) if ranks else None


def statistics(
    captions: pd.DataFrame,
    families: Sequence[SystemScores],
    against: Sequence[SystemScores],
    systems: list[str],
    config: DictConfig,
    permutations: int,
) -> MetricNumbers:
    """The statistics of all metrics.

    The same resampled images serve every metric and every pair of systems.
    """
    images = pd.Index(captions[IMAGE_ID].unique()).sort_values()
    machines = captions[captions[SET] != HUMAN]
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    metrics: list[MetricResult[CaptionersStatistics]] = []
    whole: list[Ordering] = []  # one per score of systems
    sentences: list[Ordering] = []  # one per score of captions
    duels: list[MetricResult[HumanStatistics]] = []
    with progress_bar(total=len(families) + len(against), desc="statistics") as bar:
        for family in families:
            scored = family.scored
            if scored.scores is None:
                metrics += [scored.result(c, None) for c in range(len(scored.columns))]
                bar.update()
                continue
            scores = by_image_and_set(scored.scores, machines, images, systems)
            for scale in scales(family, scores, machines, images, systems):
                results, drawn = system_results(scale, systems, counts, config, permutations)
                metrics += results
                whole += [Ordering(m.name, m.column, drawn[c]) for c, m in enumerate(results)]
            sentences += [
                Ordering(column.name, column, scores[:, :, c].T, scored.family)
                for c, column in enumerate(scored.columns)
            ]
            bar.update()
        for family in against:
            duels += against_human(family, captions, images, [*systems, HUMAN], counts, config)
            bar.update()
    points = {m.name: [_point(m, name) for name in systems] for m in metrics if m.ok}
    disagreement, by_image = disagreements(sentences, images)
    return MetricNumbers(
        n_images=len(images),
        settings=CaptionersSettings(
            seed=config.stats.seed,
            replicates=config.stats.replicates,
            permutations=permutations,
            confidence=config.stats.confidence,
            tie_seeds=tuple(tie_breaking_seeds(config.stats.tie_seeds, config.stats.seed)),
        ),
        metrics=metrics,
        against_human=duels,
        agreement=agreement(whole, points, sentences, counts, config.stats.confidence),
        disagreement=disagreement,
        by_image=by_image,
    )


def _point(metric: MetricResult[CaptionersStatistics], system: str) -> float:
    """A system's score, NaN where it is undefined."""
    value = metric.numbers.systems[system].value
    return float("nan") if value is None else value
