"""From scores.parquet to the records of statistics.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.runs import files as results
from metaeval.scoring import Scored
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import bootstrap_counts


def statistics(
    out: Path, scored: list[Scored], experiment: str, dataset: str, config: DictConfig
) -> dict[str, Any]:
    """All statistics of a run, computed from its captions.parquet and scores.parquet.

    The same resampled images serve every metric, so that intervals can be compared.
    """
    captions = results.read_table(out / results.CAPTIONS)
    scores = results.read_table(out / results.SCORES)
    images = pd.Index(captions["image_id"].unique())
    sets = set_table(captions)
    names = [entry["name"] for entry in sets]
    levels = np.array([entry["level"] for entry in sets])
    applied = matrix(captions, "applied", images, names).astype(bool)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    columns = {str(name): part for name, part in scores.groupby("metric", sort=False)}

    def graded(values: npt.NDArray[np.float64], higher: bool) -> dict[str, Any]:
        return graded_statistics(
            values,
            levels,
            names,
            higher_is_better=higher,
            counts=counts,
            confidence=config.stats.confidence,
            tie_seeds=config.stats.tie_seeds,
            seed=config.stats.seed,
        )

    records = []
    for s in scored:
        for column, signature in zip(s.columns, s.signatures, strict=True):
            record: dict[str, Any] = {
                "metric": column,
                "family": s.family,
                "signature": signature,
                "status": s.status,
                "reason": s.reason,
                "remedy": s.remedy,
                "higher_is_better": s.higher_is_better,
                "bounds": s.bounds,
                "n": 0,
                "n_nan": 0,
                "sets": {},
            }
            if s.status == "ok":
                values = matrix(columns[column], "score", images, names)
                record["n"] = values.size
                record["n_nan"] = int(np.isnan(values).sum())
                record["counts"] = [count._asdict() for count in s.counts]
                record |= graded(values, s.higher_is_better)
                record["applied_only"] = (
                    None
                    if applied.all()
                    else graded(np.where(applied, values, np.nan), s.higher_is_better)
                )
            records.append(record)
    return {
        "schema": 1,
        "experiment": experiment,
        "dataset": dataset,
        "n_images": len(images),
        "settings": {
            "seed": config.stats.seed,
            "replicates": config.stats.replicates,
            "confidence": config.stats.confidence,
            "tie_seeds": tie_breaking_seeds(config.stats.tie_seeds, config.stats.seed),
        },
        "sets": sets,
        "metrics": records,
    }


def set_table(captions: pd.DataFrame) -> list[dict[str, Any]]:
    """The caption sets, worst first, with how much of them was really spoiled."""
    table = []
    sets = captions[["level", "set"]].drop_duplicates().sort_values("level")
    for level, name in zip(sets["level"], sets["set"], strict=True):
        part = captions[captions["set"] == name]
        requested = part["requested_rate"].dropna()
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
            }
        )
    return table


def matrix(
    table: pd.DataFrame, value: str, images: pd.Index[Any], names: list[str]
) -> npt.NDArray[np.float64]:
    """The column `value` as [n_images, n_sets]; the table has one row per image and set."""
    row = images.get_indexer(pd.Index(table["image_id"]))
    column = pd.Index(names).get_indexer(pd.Index(table["set"]))
    values = np.full((len(images), len(names)), np.nan)
    values[row, column] = table[value]
    return values
