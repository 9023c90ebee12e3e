"""From scores.parquet to the profiles of statistics.json: what each metric sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

from experiments.graded.statistics import matrix
from metaeval.runs import files
from metaeval.scoring import Scored
from metaeval.stats.ordering.detection import detection, monotone_share, won
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.holm import holm

HUMAN = "Human"
LANGUAGE_MODEL = "bigram_model"  # the family of the control that knows fluency alone
FORM = ("words", "grammar", "order", "spelling", "whole caption")  # kinds that change no fact alone
EXAMPLES = 3
Told = Sequence[Mapping[str, Any]]


def statistics(
    out: Path, results: Sequence[Scored], config: DictConfig, told: Told
) -> dict[str, Any]:
    """All statistics of a run, from its captions.parquet and scores.parquet.

    `told` is what `run.json` says of the corruptions, in the order of their levels. Resampled are
    images, the same for all; p-values are Holm-corrected over all metrics and corruptions.
    """
    captions = files.read_table(out / files.CAPTIONS)
    scores = files.read_table(out / files.SCORES)
    images = pd.Index(captions["image_id"].unique())
    names = [HUMAN, *(entry["set"] for entry in told)]
    applied = matrix(captions, "applied", images, names).astype(bool)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    columns = {str(name): part for name, part in scores.groupby("metric", sort=False)}
    tables: dict[str, Floats] = {}
    for scored in results:
        for column in scored.columns if scored.status == "ok" else ():
            values = matrix(columns[column.name], "score", images, names)
            better = values if column.higher_is_better else -values
            tables[column.name] = np.where(applied, better, np.nan)
    fluency = next(
        (
            tables[s.columns[0].name]
            for s in results
            if s.family == LANGUAGE_MODEL and s.status == "ok"
        ),
        None,
    )
    texts = _Texts(captions, images, names)
    records = []
    for scored in results:
        for c, column in enumerate(scored.columns):
            numbers: dict[str, Any] = {"n": 0, "n_nan": 0, "profile": {}}
            if (table := tables.get(column.name)) is not None:
                numbers = {
                    "n": int(applied.sum()),
                    "n_nan": int(np.isnan(table[applied]).sum()),
                    "profile": _profile(table, told, counts, fluency, texts, config),
                    "monotone": monotone(table, told),
                    "hard_positives": hard_positives(table, told),
                }
            records.append(scored.record(c, **numbers).as_dict())
    _correct(records)
    return {
        "n_images": len(images),
        "settings": {
            "seed": config.stats.seed,
            "replicates": config.stats.replicates,
            "confidence": config.stats.confidence,
        },
        "sets": [dict(entry) for entry in told],
        "metrics": records,
        **_order(records, told),
        "together": _together(records, told),
    }


class _Texts:
    """The captions of a run by image and set, for examples."""

    def __init__(self, captions: pd.DataFrame, images: pd.Index[Any], names: Sequence[str]) -> None:
        self.images = images
        row = images.get_indexer(pd.Index(captions["image_id"]))
        column = pd.Index(names).get_indexer(pd.Index(captions["set"]))
        self.table = np.empty((len(images), len(names)), dtype=object)
        self.table[row, column] = captions["caption"]

    def example(self, image: int, column: int, scores: Floats) -> dict[str, Any]:
        return {
            "image_id": self.images[image],
            "human": self.table[image, 0],
            "changed": self.table[image, column],
            "scores": [float(scores[image, 0]), float(scores[image, column])],
        }


def _profile(
    table: Floats,
    told: Told,
    counts: Counts,
    fluency: Floats | None,
    texts: _Texts,
    config: DictConfig,
) -> dict[str, dict[str, Any]]:
    """Set → what a metric makes of it. `table` is float64 [n_images, 1 + n_sets], Human first."""
    another = _cost_of_another(table, told)
    profile: dict[str, dict[str, Any]] = {}
    for k, entry in enumerate(told, 1):
        human, changed = table[:, 0], table[:, k]
        seen = detection(human, changed, counts, confidence=config.stats.confidence)
        gaps = human - changed
        harmful = entry["expected"] == "lower"
        order = np.argsort(np.nan_to_num(gaps if harmful else -gaps, nan=np.inf), kind="stable")
        worst = [i for i in order[:EXAMPLES].tolist() if not np.isnan(gaps[i])]
        profile[entry["set"]] = {
            **seen._asdict(),
            "share_of_another": seen.cost / another if another and another > 0 else None,
            "beyond_fluency": _beyond(gaps, fluency, k) if fluency is not None else None,
            "examples": [texts.example(i, k, table) for i in worst],
        }
    return profile


def _cost_of_another(table: Floats, told: Told) -> float | None:
    """What another image's caption costs: the unit in which costs of metrics can be compared."""
    place = next((k for k, entry in enumerate(told, 1) if entry["name"] == "random"), None)
    return float(np.nanmean(table[:, 0] - table[:, place])) if place is not None else None


def _beyond(gaps: Floats, fluency: Floats, k: int) -> dict[str, Any]:
    """AUC on the images in which the language model does not prefer the human caption."""
    hidden = fluency[:, 0] - fluency[:, k] <= 0
    wins = won(gaps)[hidden]
    n = int((~np.isnan(wins)).sum())
    return {"n": n, "auc": float(np.nanmean(wins)) if n else float("nan")}


def monotone(table: Floats, told: Told) -> dict[str, float]:
    """Corruption with several levels → share of images that are in the right order throughout."""
    shares = {}
    for name, group in groupby(enumerate(told, 1), key=lambda pair: pair[1]["name"]):
        places = [k for k, _ in group]
        if len(places) > 1:
            shares[name] = monotone_share(table[:, [0, *places]].T)
    return shares


def hard_positives(table: Floats, told: Told) -> dict[str, Any]:
    """How often a harmless rewrite scores above a harmful near-copy of the same image.

    Near-copies are the corruptions of facts: all kinds that harm but those of form. Per harmless
    set and in all: the mean over images and near-copies of 1, ½ (equal scores) or 0.
    """
    harmful = [
        k for k, e in enumerate(told, 1) if e["expected"] == "lower" and e["kind"] not in FORM
    ]
    by_set: dict[str, float] = {}
    totals = []
    for k, entry in enumerate(told, 1):
        if entry["expected"] != "same" or not harmful:
            continue
        wins = won(table[:, [k]] - table[:, harmful])
        known = ~np.isnan(wins)
        by_set[entry["set"]] = float(wins[known].mean()) if known.any() else float("nan")
        totals.append(wins)
    wins = np.concatenate(totals, axis=1) if totals else np.empty((len(table), 0))
    known = ~np.isnan(wins)
    return {"all": float(wins[known].mean()) if known.any() else None, "sets": by_set}


def _correct(records: Sequence[dict[str, Any]]) -> None:
    """Set `p_holm` in every cell: Holm's correction over all metrics and corruptions."""
    cells = [cell for record in records for cell in record["profile"].values()]
    for cell, p in zip(cells, holm([cell["p"] for cell in cells]) if cells else (), strict=True):
        cell["p_holm"] = float(p)


def _table(records: Sequence[Mapping[str, Any]], told: Told) -> tuple[list[str], Floats]:
    """Metrics that ran and are no parts, and their AUC [n_metrics, n_sets]."""
    ran = [r for r in records if r["status"] == "ok" and r["part_of"] is None]
    table = np.array([[r["profile"][e["set"]]["auc"] for e in told] for r in ran])
    return [r["metric"] for r in ran], table.reshape(len(ran), len(told))


def _order(records: Sequence[Mapping[str, Any]], told: Told) -> dict[str, Any]:
    """Metrics side by side that see alike (average linkage, optimal order of leaves).

    By the Euclidean distance of their AUC over the corruptions, unknown ones as 0.5.
    """
    names, table = _table(records, told)
    if len(names) < 3:
        return {"order": names, "tree": []}
    tree = linkage(np.nan_to_num(table, nan=0.5), method="average")
    tree = optimal_leaf_ordering(tree, np.nan_to_num(table, nan=0.5))
    return {"order": [names[i] for i in leaves_list(tree)], "tree": tree.tolist()}


def _together(records: Sequence[Mapping[str, Any]], told: Told) -> list[dict[str, Any]]:
    """Pairs of metrics by the mean over harmful sets of the better one's AUC, best first."""
    control = {r["metric"] for r in records if r["control"]}
    names, table = _table(records, told)
    harmful = [k for k, entry in enumerate(told) if entry["expected"] == "lower"]
    kept = [i for i, name in enumerate(names) if name not in control]
    pairs = [
        {
            "a": names[i],
            "b": names[j],
            "mean_auc": float(np.nanmean(np.fmax(table[i], table[j])[harmful])),
        }
        for i, j in combinations(kept, 2)
        if harmful
    ]
    return sorted(pairs, key=lambda pair: -pair["mean_auc"])
