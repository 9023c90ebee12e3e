"""From scores.parquet to the profiles of statistics.json: what each metric sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from experiments.graded.statistics import matrix
from experiments.sensitivity.alike import seriation, together
from experiments.sensitivity.profile import CaptionsBySet, Told, monotone, profile, verdict
from experiments.sensitivity.refinement import balanced
from experiments.sensitivity.rewrites import hard_positives, invariance
from metaeval.runs import files
from metaeval.scoring import Scored
from metaeval.stats.ordering.detection import auc_within_images
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.holm import holm

HUMAN = "Human"
LANGUAGE_MODEL = "bigram_model"  # the family of the control that knows fluency alone
CHANCE = "random_score"  # the control that knows nothing: right and wrong as often as it falls
BINS = 2  # sizes of a control's gap that refinement keeps apart


def statistics(
    out: Path,
    results: Sequence[Scored],
    config: DictConfig,
    told: Told,
    refine: bool = False,
) -> dict[str, Any]:
    """All statistics of a run, from its captions.parquet and scores.parquet.

    `told` is what `run.json` says of the corruptions, in the order of their levels. Resampled are
    images, the same for all; p-values are Holm-corrected over all metrics and corruptions. With
    `refine`, each cell has its numbers also on images on which no control is any good.
    """
    captions = files.read_table(out / files.CAPTIONS)
    scores = files.read_table(out / files.SCORES)
    images = pd.Index(captions["image_id"].unique())
    names = [HUMAN, *(entry["set"] for entry in told)]
    applied = matrix(captions, "applied", images, names).astype(bool)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    confidence = config.stats.confidence
    tables = _tables(results, scores, applied, images, names)
    fluency = _first_column(tables, results, LANGUAGE_MODEL)
    texts = CaptionsBySet(captions, images, names)
    records = []
    for scored in results:
        for c, column in enumerate(scored.columns):
            numbers: dict[str, Any] = {"n": 0, "n_nan": 0, "profile": {}}
            if (table := tables.get(column.name)) is not None:
                numbers = {
                    "n": int(applied.sum()),
                    "n_nan": int(np.isnan(table[applied]).sum()),
                    "profile": profile(table, told, counts, fluency, texts, confidence),
                    "monotone": monotone(table, told, counts, confidence),
                    "hard_positives": hard_positives(table, told, counts, confidence),
                }
            records.append(scored.record(c, **numbers).as_dict())
    _judge(records, told, 1 - confidence)
    for record in records:
        if (table := tables.get(record["metric"])) is not None:
            cells = record["profile"]
            record["invariance"] = invariance(table, told, cells, counts, confidence)
    if refine:
        _refine(records, tables, results, told, counts, config)
    return {
        "n_images": len(images),
        "settings": {
            "seed": config.stats.seed,
            "replicates": config.stats.replicates,
            "confidence": confidence,
        },
        "sets": [dict(entry) for entry in told],
        "metrics": records,
        **seriation(records, told),
        "together": together(records, told),
    }


def _tables(
    results: Sequence[Scored],
    scores: pd.DataFrame,
    applied: Any,
    images: pd.Index[Any],
    names: Sequence[str],
) -> dict[str, Floats]:
    """Column → its scores [n_images, 1 + n_sets], higher is better, NaN where nothing changed."""
    columns = {str(name): part for name, part in scores.groupby("metric", sort=False)}
    tables = {}
    for scored in results:
        for column in scored.columns if scored.status == "ok" else ():
            values = matrix(columns[column.name], "score", images, names)
            better = values if column.higher_is_better else -values
            tables[column.name] = np.where(applied, better, np.nan)
    return tables


def _first_column(
    tables: Mapping[str, Floats], results: Sequence[Scored], family: str
) -> Floats | None:
    ran = (s for s in results if s.family == family and s.status == "ok")
    return next((tables[scored.columns[0].name] for scored in ran), None)


def _judge(records: Sequence[dict[str, Any]], told: Told, alpha: float) -> None:
    """Set `p_holm` (over all metrics and corruptions) and the verdict of every cell."""
    cells = [cell for record in records for cell in record["profile"].values()]
    for cell, p in zip(cells, holm([cell["p"] for cell in cells]) if cells else (), strict=True):
        cell["p_holm"] = float(p)
    for record in records:
        for entry in told if record["profile"] else ():
            cell = record["profile"][entry["set"]]
            cell["verdict"] = verdict(cell, entry["expected"], alpha)


def _refine(
    records: Sequence[dict[str, Any]],
    tables: Mapping[str, Floats],
    results: Sequence[Scored],
    told: Told,
    counts: Counts,
    config: DictConfig,
) -> None:
    """Set `refined` in every cell: n, AUC and interval on images on which controls are balanced."""
    controls = [
        tables[column.name]
        for scored in results
        if scored.status == "ok" and scored.family != CHANCE
        for column in scored.columns
        if column.control
    ]
    if not controls:
        return
    confidence = config.stats.confidence
    stays = np.column_stack(
        [
            balanced(np.stack([t[:, 0] - t[:, k] for t in controls], 1), BINS, config.stats.seed)
            for k in range(1, 1 + len(told))
        ]
    )
    for record in records:
        if (table := tables.get(record["metric"])) is not None:
            kept = np.where(stays, table[:, 1:], np.nan)
            seen = auc_within_images(table[:, 0], kept, counts, confidence=confidence)
            for entry, auc in zip(told, seen, strict=True):
                record["profile"][entry["set"]]["refined"] = auc._asdict()
