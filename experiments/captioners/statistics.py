"""From the scores of captioners' captions to what statistics.json says of systems and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from experiments.captioners.agreement import Ordering, agreement, disagreements
from experiments.captioners.human import against_human
from experiments.captioners.scores import by_image_and_set
from experiments.captioners.systems import CORPUS, absent, scales, system_records
from metaeval.progress import progress_bar
from metaeval.scoring import Family
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.resampling.bootstrap import bootstrap_counts


def statistics(
    captions: pd.DataFrame,
    families: Sequence[Family],
    against: Sequence[Family],
    systems: list[str],
    config: DictConfig,
    permutations: int,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """What statistics.json says, and the metrics' disagreement image by image.

    The same resampled images serve every metric and every pair of systems.
    """
    images = pd.Index(captions["image_id"].unique()).sort_values()
    human = "Human"
    machines = captions[captions["set"] != human]
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    records: list[dict[str, Any]] = []
    whole: list[Ordering] = []  # one per score of systems
    sentences: list[Ordering] = []  # one per score of captions
    with progress_bar(total=len(families) + len(against), desc="statistics") as bar:
        for family in families:
            if family.scored.scores is None:
                records += [absent(family, c) for c in range(len(family.scored.columns))]
                bar.update()
                continue
            scores = by_image_and_set(family.scored.scores, machines, images, systems)
            for scale in scales(family, scores, machines, images, systems):
                scaled, drawn = system_records(scale, systems, counts, config, permutations)
                records += scaled
                whole += [
                    Ordering(r["metric"], column, drawn[c])
                    for c, (r, column) in enumerate(zip(scaled, family.scored.columns, strict=True))
                ]
            sentences += [
                Ordering(column.name, column, scores[:, :, c].T, family.scored.family)
                for c, column in enumerate(family.scored.columns)
            ]
            bar.update()
        duels = []
        for family in against:
            duels += against_human(family, captions, images, [*systems, human], counts, config)
            bar.update()
    points = {
        r["metric"]: [r["systems"][s]["score"] for s in systems] for r in records if r["systems"]
    }
    _mark_headlines(records)
    votes, disagreed = disagreements(sentences, images)
    summary = {
        "n_images": len(images),
        "settings": {
            "seed": config.stats.seed,
            "replicates": config.stats.replicates,
            "permutations": permutations,
            "confidence": config.stats.confidence,
            "tie_seeds": tie_breaking_seeds(config.stats.tie_seeds, config.stats.seed),
        },
        "systems": [
            {
                "name": name,
                "n": int((machines["set"] == name).sum()),
                "mean_rank": _mean_rank(name, records),
            }
            for name in systems
        ],
        "metrics": records,
        "against_human": duels,
        "agreement": agreement(whole, points, sentences, counts, config.stats.confidence),
        "disagreement": votes,
    }
    return summary, disagreed


def _mark_headlines(records: list[dict[str, Any]]) -> None:
    """Mark the scores that stand for their metrics where rankings are counted.

    No components and no controls; the corpus score where there is one, else the mean of sentences;
    of several orders, what the metric declares.
    """
    with_corpus = {r["family"] for r in records if r["aggregate"] == CORPUS}
    for r in records:
        r["headline"] = (
            r["status"] == "ok"
            and r["part_of"] is None
            and (r["aggregate"] == CORPUS or r["family"] not in with_corpus)
            and r["headline"]
            and not r["control"]
        )


def _mean_rank(name: str, records: Sequence[dict[str, Any]]) -> float:
    """A system's mean rank, 1 = first, over the headline scores that rank it; NaN if none does."""
    heads = (r["ranking"] for r in records if r["headline"])
    ranks = [1 + ranking.index(name) for ranking in heads if name in ranking]
    return sum(ranks) / len(ranks) if ranks else float("nan")
