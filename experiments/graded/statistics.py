"""From scores.parquet to the records of statistics.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from corruptions.base import Corruption
from experiments.graded.ceiling import COLUMN as CEILING
from experiments.graded.differences import against_controls, differences, extreme_steps
from experiments.graded.dose import dose_of_run
from experiments.graded.groups import image_groups
from experiments.graded.kept_replicates import KeptReplicates
from experiments.graded.seeds import seed_spread
from experiments.graded.training import training_seeds, versions_in_training
from metaeval.data.dataset import CaptionDataset
from metaeval.runs import files
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import Scored
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.ordering.graded import GradedResult, graded_result
from metaeval.stats.ordering.inversions import worst_first, worst_inversion
from metaeval.stats.ordering.selected import selected_statistics
from metaeval.stats.resampling.bootstrap import bootstrap_counts

_NEEDED = (  # of the captions
    *("image_id", "set", "level", "caption", "applied", "expected"),
    *("requested_rate", "realised_rate", "harm"),
)
WORST_IMAGES = 200  # how many of a column's worst inversions are named

Floats = npt.NDArray[np.float64]


def statistics(
    out: Path,
    results: Sequence[Scored],
    config: DictConfig,
    dataset: CaptionDataset,
    corruptions: Sequence[Corruption] = (),
    experiment: str = "graded",
    floor: bool = False,
    store: Store | None = None,
) -> dict[str, Any]:
    """All statistics of a run, computed from its captions.parquet and scores.parquet.

    The same resampled images serve every metric, so that metrics can be compared in pairs;
    replicates that `store` knows are not computed again.
    `corruptions` are those of the run, worst first, and `experiment` is its name. With `floor`, the
    lowest set holds other images' captions and no degree of corruption.
    """
    captions = files.read_table(out / files.CAPTIONS, _NEEDED)
    scores = files.read_table(out / files.SCORES)
    images = pd.Index(captions["image_id"].unique())
    sets = set_table(captions)
    names = [entry["name"] for entry in sets]
    levels = [entry["level"] for entry in sets]
    applied = matrix(captions, "applied", images, names).astype(bool)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    resample = KeptReplicates(store or MemoryStore(), counts)
    columns = {str(name): part for name, part in scores.groupby("metric", sort=False)}

    confidence, grades = config.stats.confidence, np.array(levels)
    seeds = tie_breaking_seeds(config.stats.tie_seeds, config.stats.seed)
    groups = image_groups(dataset, images.tolist(), captions, names[0] if floor else None)

    def graded(values: Floats, higher: bool) -> GradedResult:
        return graded_result(
            values,
            grades,
            names,
            higher_is_better=higher,
            counts=counts,
            confidence=confidence,
            tie_seeds=seeds,
            resample=resample,
        )

    def selected(values: Floats, sets: slice = slice(None)) -> dict[str, Any]:
        return selected_statistics(values[:, sets], grades[sets], confidence=confidence)

    again = seed_tables(out, images, names)
    records, compared = [], {}
    curves: dict[str, list[Floats]] = {}
    of_groups: list[dict[str, Any]] = [{} for _ in groups]
    for scored in results:
        for c, column in enumerate(scored.columns):
            numbers: dict[str, Any] = {"n": 0, "n_nan": 0, "sets": {}}
            if scored.status == "ok":
                values = matrix(columns[column.name], "score", images, names)
                higher = column.higher_is_better
                result = compared[column.name] = graded(values, higher)
                better = values if higher else -values
                seeds_of_column = [
                    better,
                    *(t if higher else -t for t in again.get(column.name, ())),
                ]
                if column.part_of is None and column.name != CEILING.name:  # its scores are levels
                    curves[column.name] = seeds_of_column
                numbers = {
                    "n": values.size,
                    "n_nan": int(np.isnan(values).sum()),
                    **result.record,
                    **extreme_steps(result, len(images), confidence),
                    "applied_only": None
                    if applied.all()
                    else graded(np.where(applied, values, np.nan), higher).record,
                    "every_level_applied": None
                    if applied.all()
                    else selected(better[applied.all(axis=1)]),
                    "without_floor": selected(better, slice(1, None))
                    if floor and len(names) > 2
                    else None,
                    "seeds": seed_spread(
                        seeds_of_column,
                        levels,
                        float(np.nanstd(result.resampled.rank_order_rho, ddof=1))
                        if len(counts) > 1
                        else float("nan"),
                        result.record["rank_order_rho_tie_std"],
                    ),
                    "worst_images": images[_worst_images(values, levels, applied, higher)].tolist(),
                }
                for group, part in zip(groups, of_groups, strict=True):
                    part[column.name] = selected(better[group.members])
            if (training := scored.training) is not None:
                numbers["versions_in_training"] = versions_in_training(training.drawn, corruptions)
                numbers["training_seeds"] = training_seeds(
                    training.seeds, column.name, experiment, dataset.name,
                    len(images) if not numbers["n_nan"] else 0, config.seed, corruptions,
                )  # fmt: skip
            records.append(scored.record(c, **numbers).as_dict())
    against_controls(records, compared, len(images), confidence)
    return {
        "n_images": len(images),
        "settings": {
            "seed": config.stats.seed,
            "replicates": config.stats.replicates,
            "confidence": config.stats.confidence,
            "tie_seeds": seeds,
        },
        "sets": sets,
        "leading_column": leading_column(records),
        "differences": differences(records, compared, len(images), confidence),
        "dose": dose_of_run(sets, curves, counts, confidence, floor),
        "groups": [
            {"by": g.by, "label": g.label, "n_images": int(g.members.sum()), "metrics": part}
            for g, part in zip(groups, of_groups, strict=True)
        ],
        "metrics": records,
    }


def seed_tables(out: Path, images: pd.Index[Any], names: list[str]) -> dict[str, list[Floats]]:
    """Column → its scores [n_images, n_sets] of each further corruption seed; empty without any."""
    path = out / files.SEED_SCORES
    if not path.is_file():
        return {}
    tables: dict[str, list[Floats]] = {}
    for (metric, _), part in files.read_table(path).groupby(["metric", "seed"], sort=True):
        tables.setdefault(str(metric), []).append(matrix(part, "score", images, names))
    return tables


def set_table(captions: pd.DataFrame) -> list[dict[str, Any]]:
    """The caption sets, worst first, with how much of them was really spoiled.

    `expected` is what those that were changed should do to a score, see `Version`.
    """
    table = []
    sets = captions[["level", "set"]].drop_duplicates().sort_values("level")
    for level, name in zip(sets["level"], sets["set"], strict=True):
        part = captions[captions["set"] == name]
        requested = part["requested_rate"].dropna()
        expected = part.loc[part["applied"], "expected"]
        table.append(
            {
                "name": name,
                "level": int(level),
                "n": len(part),
                "n_applied": int(part["applied"].sum()),
                "n_unapplied": int((~part["applied"]).sum()),
                "requested_rate": float(requested.iloc[0]) if len(requested) else None,
                "mean_realised_rate": float(part["realised_rate"].mean()),
                "mean_harm": float(part["harm"].mean()),
                "expected": str(expected.iloc[0]) if len(expected) else None,
            }
        )
    return table


def matrix(table: pd.DataFrame, value: str, images: pd.Index[Any], names: Sequence[str]) -> Floats:
    """The column `value` as [n_images, n_sets]; the table has one row per image and set."""
    row = images.get_indexer(pd.Index(table["image_id"]))
    column = pd.Index(names).get_indexer(pd.Index(table["set"]))
    values = np.full((len(images), len(names)), np.nan)
    values[row, column] = table[value]
    return values


def leading_column(records: Sequence[dict[str, Any]]) -> str | None:
    """The column with the best rank-order ρ, with which the report opens.

    No part of another one, no untrained network and no control, where there are others; `None`
    where no metric ran. Of equal ones the first.
    """
    ran = [r for r in records if r["status"] == "ok"]
    whole = [r for r in ran if r["part_of"] is None and not r["untrained"] and not r["control"]]
    rho = {r["metric"]: r["rank_order_rho"] for r in whole or ran}
    return max(rho, key=lambda column: _known(rho[column]), default=None)


def _known(rho: float | None) -> float:
    """A correlation to sort by: what is not known comes last."""
    return -2.0 if rho is None or np.isnan(rho) else rho


def _worst_images(
    values: Floats, levels: Sequence[int], applied: npt.NDArray[np.bool_], higher: bool
) -> npt.NDArray[np.intp]:
    """Positions of the images with the worst inversions, those first."""
    severity = worst_inversion(values.T, levels, applied.T, higher_is_better=higher)
    return worst_first(severity)[:WORST_IMAGES]
