"""Versions of captions by corruption seed, and how much results depend on the words chosen.

A paper that used the same images differs from a run by the seed of its corruption and by how it
broke ties, not by its images. Published values are therefore compared by this spread, not by the
interval over images.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from omegaconf import DictConfig, OmegaConf

from metaeval.config import metric_names
from metaeval.corruptions.base import Corruption
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.errors import ConfigError
from metaeval.experiments.scores import score_all, scored_columns
from metaeval.metrics.base import Metric
from metaeval.results.graded import MEASURES
from metaeval.runs.records import HUMAN, Version
from metaeval.scoring import MetricScores
from metaeval.stats.correlation.rank_order import rank_order, rank_orders_within
from metaeval.stats.ordering.pairwise import pair_counts
from metaeval.stats.resampling.items import Floats, mean_of_known

COMPARED_SEEDS = 5
# what four more seeds cost little of: METEOR would take minutes more, SPICE an hour
CHEAP = ("bleu", "sacrebleu", "rouge_l", "cider", "controls")


def seed_count(config: DictConfig, comparable: bool = False) -> int:
    """How many corruption seeds a run uses, its own included (`corruption.seeds`).

    `null` is COMPARED_SEEDS where published values are comparable with the run, otherwise 1.
    """
    count = (config.get("corruption") or {}).get("seeds")
    if count is None:
        return COMPARED_SEEDS if comparable else 1
    return int(count)


def rescorable(metrics: Mapping[str, Metric], config: DictConfig) -> dict[str, Metric]:
    """The metrics that are scored on every seed: those of `corruption.reseeded`, groups resolved.

    Without that key the metrics that take next to no time. Raises ConfigError for a name that is
    neither a metric nor a group.
    """
    groups: dict[str, list[str]] = OmegaConf.to_container(config.metric_groups)  # type: ignore[assignment]
    reseeded = (config.get("corruption") or {}).get("reseeded")
    names = CHEAP if reseeded is None else list(reseeded)
    for name in names:
        if name not in groups and name not in metric_names():
            raise ConfigError(
                f"corruption.reseeded: '{name}' is neither a metric nor a group of metrics"
            )
    chosen = {member for name in names for member in groups.get(name, [name])}
    return {name: metric for name, metric in metrics.items() if name in chosen}


def versions(
    dataset: CaptionDataset, corruptions: Sequence[Corruption], seed: int
) -> Iterator[tuple[ImageId, Version]]:
    """Every image's caption as each corruption leaves it, worst set first, and the human one."""
    for level, corruption in enumerate(corruptions):
        results = corruption.apply(dataset, seed)
        for image_id, source, result in zip(dataset.image_ids, dataset.human, results, strict=True):
            yield image_id, corruption.version(level, source, result)
    for image_id, text in zip(dataset.image_ids, dataset.human, strict=True):
        yield image_id, Version(HUMAN, len(corruptions), text, text, realised_rate=0.0)


def score_seeds(
    dataset: CaptionDataset,
    corruptions: Sequence[Corruption],
    metrics: Mapping[str, Metric],
    config: DictConfig,
    count: int,
) -> tuple[pd.DataFrame, list[MetricScores]]:
    """The scores of the versions that the seeds after the run's own make: files.SEED_SCORES, and
    the outcome of each metric.

    `count` is the number of seeds, the run's own included.
    """
    rows = [
        (image_id, seed, v.set, v.level, v.caption)
        for seed in range(config.seed + 1, config.seed + count)
        for image_id, v in versions(dataset, corruptions, seed)
    ]
    captions = pd.DataFrame(rows, columns=["image_id", "seed", "set", "level", "caption"])
    keys = captions.drop(columns="caption")
    results = score_all(metrics.values(), dataset, captions, config)
    parts = [keys.assign(metric=c.name, score=values) for c, values in scored_columns(results)]
    empty = keys.assign(metric="", score=0.0)[:0]
    return pd.concat(parts, ignore_index=True) if parts else empty, results


def order_measures(scores: Floats, levels: Sequence[int]) -> dict[str, float]:
    """ρ, ρ within images and pairwise accuracy of a table [n_images, n_sets], higher is better."""
    correct, tied, inverted = (int(part.sum()) for part in pair_counts(scores, levels))
    pairs = correct + tied + inverted
    values = (
        rank_order(scores, levels).rho,
        mean_of_known(rank_orders_within(scores, levels)),
        correct / pairs if pairs else float("nan"),
    )
    return dict(zip(MEASURES, values, strict=True))


def seed_spread(
    tables: Sequence[Floats], levels: Sequence[int], error: float, tie_sd: float
) -> dict[str, float | int] | None:
    """Mean and standard deviation of the measures over seeds, and the components of ρ's variance.

    Parameters
    ----------
    tables
        The scores [n_images, n_sets] of each seed, higher is better, the run's own first.
    levels
        [n_sets]
    error
        Standard deviation of the pooled ρ over bootstrap replicates of the images.
    tie_sd
        Its standard deviation over random ways of breaking ties.

    Returns
    -------
    dict or None
        The number of seeds `n`; of each measure `NAME_mean` and `NAME_sd` (n − 1 in the
        denominator); and standard deviations of the pooled ρ: `sd_seed`; `sd_ties`; and `sd_image`,
        the root of what the bootstrap's variance exceeds the seeds' by, as each image's corruption
        is resampled with the image. `None` with fewer than two seeds.
    """
    if len(tables) < 2:
        return None
    drawn = [order_measures(table, levels) for table in tables]
    spread: dict[str, float | int] = {"n": len(tables)}
    for name in MEASURES:
        values = np.array([each[name] for each in drawn])
        spread[f"{name}_mean"], spread[f"{name}_sd"] = values.mean(), values.std(ddof=1)
    seed = spread["rank_order_rho_sd"]
    return {
        **spread,
        "sd_image": float(np.sqrt(max(error**2 - np.nan_to_num(seed) ** 2, 0.0))),
        "sd_seed": seed,
        "sd_ties": tie_sd,
    }
