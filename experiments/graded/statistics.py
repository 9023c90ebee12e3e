"""From scores.parquet to the result of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.corruptions.base import Corruption
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.graded.ceiling import COLUMN as CEILING
from metaeval.experiments.graded.column.cached import CachedColumnStatistics
from metaeval.experiments.graded.column.statistics import Design
from metaeval.experiments.graded.differences import (
    POWER,
    CommonItems,
    ComparedColumn,
    against_controls,
    differences,
    is_compared,
)
from metaeval.experiments.graded.dose import curve_of, dose_of_run
from metaeval.experiments.graded.groups import image_groups
from metaeval.experiments.graded.training import training_seeds, versions_in_training
from metaeval.results.graded import (
    CaptionSet,
    DoseCurve,
    GradedResult,
    GradedStatistics,
    ImageGroup,
    SelectedStatistics,
    StatisticsSettings,
)
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.runs.columns import (
    APPLIED,
    HARM,
    IMAGE_ID,
    LEVEL,
    METRIC,
    REALISED_RATE,
    REQUESTED_RATE,
    SEED,
    SET,
)
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import MetricScores
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.resampling.bootstrap import bootstrap_counts

_NEEDED = (  # of the captions
    *("image_id", "set", "level", "caption", "applied", "expected"),
    *("requested_rate", "realised_rate", "harm"),
)

Floats = npt.NDArray[np.float64]


def statistics(
    out: Path,
    results: Sequence[MetricScores],
    config: DictConfig,
    dataset: CaptionDataset,
    corruptions: Sequence[Corruption] = (),
    experiment: str = "graded",
    floor: bool = False,
    store: Store | None = None,
) -> GradedResult:
    """All statistics of a run, computed from its captions.parquet and scores.parquet.

    The same resampled images serve every metric, so that metrics can be compared in pairs. What
    `store` knows of a column is not computed again.
    `corruptions` are those of the run, worst first, and `experiment` is its name. With `floor`, the
    lowest set holds captions of other images, which is not a degree of corruption.
    """
    captions = files.read_table(out / files.CAPTIONS, _NEEDED)
    scores = files.read_table(out / files.SCORES)
    images = pd.Index(captions[IMAGE_ID].unique())
    sets = set_table(captions)
    names = [entry.name for entry in sets]
    levels = [entry.level for entry in sets]
    applied = matrix(captions, "applied", images, names).astype(bool)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    confidence, curve = float(config.stats.confidence), curve_of(sets, floor)
    seeds = tie_breaking_seeds(config.stats.tie_seeds, config.stats.seed)
    groups = image_groups(dataset, images.tolist(), captions, names[0] if floor else None)
    members = [group.members for group in groups]
    design = Design(names, levels, applied, floor, members, curve, counts, confidence, seeds)
    statistics_of = CachedColumnStatistics(store or MemoryStore(), design)

    columns = {str(name): part for name, part in scores.groupby(METRIC, sort=False)}
    of_seeds = seed_tables(out, images, names)
    metrics: list[MetricResult[GradedStatistics]] = []
    compared: list[ComparedColumn] = []
    curves: dict[str, DoseCurve] = {}
    of_groups: list[dict[str, SelectedStatistics]] = [{} for _ in groups]
    for scored in results:
        for c, column in enumerate(scored.columns):
            numbers = None
            if scored.status == "ok":
                values = matrix(columns[column.name], "score", images, names)
                # the scores of the ceiling are levels
                whole = column.part_of is None and column.name != CEILING.name
                computed = statistics_of(
                    [values, *of_seeds.get(column.name, ())],
                    column.higher_is_better,
                    curve=whole and curve is not None,
                )
                compared.append(ComparedColumn(column, scored.family, values, computed.comparable))
                if computed.dose is not None:
                    curves[column.name] = computed.dose
                for part, of_group in zip(of_groups, computed.groups, strict=True):
                    part[column.name] = of_group
                places = [int(place) for place in computed.statistics.worst_images]
                worst = tuple(images[places].tolist())
                numbers = computed.statistics.model_copy(update={"worst_images": worst})
            training = scored.training
            metrics.append(
                scored.result(
                    c,
                    numbers,
                    versions=None
                    if training is None
                    else versions_in_training(training.drawn, corruptions),
                    seeds=None
                    if training is None
                    else training_seeds(
                        training.seeds, column.signature_name or column.name, experiment,
                        dataset.name,
                        len(images) if not (numbers and numbers.n_nan) else 0, config.seed,
                        corruptions,
                    ),
                )
            )  # fmt: skip
    common = CommonItems(compared, statistics_of.comparable)
    return GradedResult(
        experiment=experiment,  # type: ignore[arg-type]  # validated
        dataset=dataset.name,
        metrics=tuple(metrics),
        n_images=len(images),
        settings=StatisticsSettings(
            seed=config.stats.seed,
            replicates=config.stats.replicates,
            confidence=confidence,
            tie_seeds=tuple(seeds),
        ),
        sets=tuple(sets),
        leading_column=leading_column(metrics),
        differences=differences(compared, common, confidence),
        against_control=against_controls(compared, common, confidence),
        power=POWER,
        dose=dose_of_run(sets, curve, curves, floor),
        groups=tuple(
            ImageGroup(by=g.by, label=g.label, n_images=int(g.members.sum()), metrics=part)
            for g, part in zip(groups, of_groups, strict=True)
        ),
    )


def seed_tables(out: Path, images: pd.Index[Any], names: list[str]) -> dict[str, list[Floats]]:
    """Column → its scores [n_images, n_sets] of each further corruption seed; empty without any."""
    path = out / files.SEED_SCORES
    if not path.is_file():
        return {}
    tables: dict[str, list[Floats]] = {}
    for (metric, _), part in files.read_table(path).groupby([METRIC, SEED], sort=True):
        tables.setdefault(str(metric), []).append(matrix(part, "score", images, names))
    return tables


def set_table(captions: pd.DataFrame) -> list[CaptionSet]:
    """The caption sets, worst first."""
    table = []
    sets = captions[[LEVEL, SET]].drop_duplicates().sort_values("level")
    for level, name in zip(sets[LEVEL], sets[SET], strict=True):
        part = captions[captions[SET] == name]
        requested = part[REQUESTED_RATE].dropna()
        expected = part.loc[part[APPLIED], "expected"]
        table.append(
            CaptionSet(
                name=name,
                level=int(level),
                n=len(part),
                n_applied=int(part[APPLIED].sum()),
                n_unapplied=int((~part[APPLIED]).sum()),
                requested_rate=float(requested.iloc[0]) if len(requested) else None,
                mean_realised_rate=float(part[REALISED_RATE].mean()),
                mean_harm=float(part[HARM].mean()),
                expected=str(expected.iloc[0]) if len(expected) else None,
            )
        )
    return table


def matrix(table: pd.DataFrame, value: str, images: pd.Index[Any], names: Sequence[str]) -> Floats:
    """The column `value` as [n_images, n_sets]; the table has one row per image and set."""
    row = images.get_indexer(pd.Index(table[IMAGE_ID]))
    column = pd.Index(names).get_indexer(pd.Index(table[SET]))
    values = np.full((len(images), len(names)), np.nan)
    values[row, column] = table[value]
    return values


def leading_column(metrics: Sequence[MetricResult[GradedStatistics]]) -> str | None:
    """The column with the best rank-order ρ, whose images the report shows first.

    Parts, untrained networks and controls are chosen only where nothing else ran; `None` where no
    metric ran. Of equal ones the first.
    """
    ran = [m for m in metrics if m.ok]
    whole = [m for m in ran if is_compared(m.column)]
    rho = {m.name: m.numbers.rank_order_rho.value for m in whole or ran}
    return max(rho, key=lambda name: _or_last(rho[name]), default=None)


def _or_last(rho: float | None) -> float:
    """A correlation to sort by: an undefined one comes last."""
    return -2.0 if rho is None else rho
