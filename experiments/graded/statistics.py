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
from experiments.graded.column.kept import KeptColumns
from experiments.graded.column.statistics import Design
from experiments.graded.differences import against_controls, differences
from experiments.graded.dose import curve_of, dose_of_run
from experiments.graded.groups import image_groups
from experiments.graded.training import training_seeds, versions_in_training
from metaeval.data.dataset import CaptionDataset
from metaeval.runs import files
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import Scored
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.resampling.bootstrap import bootstrap_counts

_NEEDED = (  # of the captions
    *("image_id", "set", "level", "caption", "applied", "expected"),
    *("requested_rate", "realised_rate", "harm"),
)

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

    The same resampled images serve every metric, so that metrics can be compared in pairs. What
    `store` knows of a column is not computed again.
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
    confidence, curve = config.stats.confidence, curve_of(sets, floor)
    seeds = tie_breaking_seeds(config.stats.tie_seeds, config.stats.seed)
    groups = image_groups(dataset, images.tolist(), captions, names[0] if floor else None)
    members = [group.members for group in groups]
    design = Design(names, levels, applied, floor, members, curve, counts, float(confidence), seeds)
    statistics_of = KeptColumns(store or MemoryStore(), design)

    columns = {str(name): part for name, part in scores.groupby("metric", sort=False)}
    again = seed_tables(out, images, names)
    records, compared, curves = [], {}, {}
    of_groups: list[dict[str, Any]] = [{} for _ in groups]
    for scored in results:
        for c, column in enumerate(scored.columns):
            numbers: dict[str, Any] = {"n": 0, "n_nan": 0, "sets": {}}
            if scored.status == "ok":
                values = matrix(columns[column.name], "score", images, names)
                # of the ceiling the scores are levels
                whole = column.part_of is None and column.name != CEILING.name
                told = statistics_of(
                    [values, *again.get(column.name, ())],
                    column.higher_is_better,
                    curve=whole and curve is not None,
                )
                compared[column.name] = told.replicates
                if told.dose is not None:
                    curves[column.name] = told.dose
                for part, of_group in zip(of_groups, told.groups, strict=True):
                    part[column.name] = of_group
                worst = images[told.record["worst_images"]].tolist()
                numbers = {**told.record, "worst_images": worst}
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
        "dose": dose_of_run(sets, curve, curves, floor),
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
