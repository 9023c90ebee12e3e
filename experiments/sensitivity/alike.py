"""Metrics beside one another, and changes: which see alike, and which two see most together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

from experiments.sensitivity.profile import Told
from metaeval.stats.resampling.items import Floats, Ints

Records = Sequence[Mapping[str, Any]]


def auc_table(records: Records, told: Told) -> tuple[list[str], Floats]:
    """Metrics that ran and are no parts, and their AUC [n_metrics, n_sets]."""
    ran = [r for r in records if r["status"] == "ok" and r["part_of"] is None]
    table = np.array([[r["profile"][e["set"]]["auc"] for e in told] for r in ran])
    return [r["metric"] for r in ran], table.reshape(len(ran), len(told))


def seriation(records: Records, told: Told) -> dict[str, Any]:
    """The order of metrics and of sets in which neighbours are most alike.

    Average linkage by the Euclidean distance of their AUC, unknown ones as 0.5, with the optimal
    order of leaves (Bar-Joseph et al. 2001). `tree` is scipy's linkage of the metrics named in
    `leaves`; sets are ordered within their kind, the levels of a corruption side by side.
    """
    names, table = auc_table(records, told)
    table = np.nan_to_num(table, nan=0.5)
    order, tree = _ordered(table)
    return {
        "order": [names[i] for i in order],
        "leaves": names,
        "tree": tree.tolist(),
        "set_order": _set_order(table, told),
    }


def _ordered(rows: Floats) -> tuple[Ints, Floats]:
    if len(rows) < 3:
        return np.arange(len(rows)), np.empty((0, 4))
    tree = optimal_leaf_ordering(linkage(rows, method="average"), rows)
    return np.asarray(leaves_list(tree)), np.asarray(tree)


def _set_order(table: Floats, told: Told) -> list[str]:
    order: list[str] = []
    for _, of_kind in groupby(enumerate(told), key=lambda pair: pair[1]["kind"]):
        levels = [
            [k for k, _ in group] for _, group in groupby(of_kind, key=lambda pair: pair[1]["name"])
        ]
        means = np.array([table[:, group].mean(axis=1) for group in levels])
        places = _ordered(means)[0].tolist() if table.size else list(range(len(levels)))
        for place in places:
            order += [told[k]["set"] for k in levels[place]]
    return order


def together(records: Records, told: Told) -> list[dict[str, Any]]:
    """Pairs of metrics by the mean over harmful sets of the better one's AUC, best first.

    `gain` is what the pair has above the better of its two alone.
    """
    control = {r["metric"] for r in records if r["control"]}
    names, table = auc_table(records, told)
    harmful = [k for k, e in enumerate(told) if e["expected"] == "lower"]
    seen = table[:, harmful]
    seen = seen[:, ~np.isnan(seen).any(axis=0)]
    if not seen.size:
        return []
    pairs = []
    for i, j in combinations([i for i, name in enumerate(names) if name not in control], 2):
        mean = float(np.maximum(seen[i], seen[j]).mean())
        alone = float(max(seen[i].mean(), seen[j].mean()))
        pairs.append({"a": names[i], "b": names[j], "mean_auc": mean, "gain": mean - alone})
    return sorted(pairs, key=lambda pair: -pair["mean_auc"])
