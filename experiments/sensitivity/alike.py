"""Metrics and changes next to those that are alike: the order of the heat map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

from metaeval.experiments.sensitivity.kinds import Sets
from metaeval.stats.resampling.items import Floats, Ints


class Seriation(NamedTuple):
    """The order of metrics and of sets, and scipy's linkage `tree` of the metrics `leaves`."""

    order: tuple[str, ...]
    leaves: tuple[str, ...]
    tree: tuple[tuple[float, ...], ...]
    set_order: tuple[str, ...]


def seriation(names: Sequence[str], table: Floats, sets: Sets) -> Seriation:
    """The order of metrics and of sets in which neighbours are most alike.

    `table` is the AUC [n_metrics, n_sets]. Average linkage by the Euclidean distance, unknown
    values as 0.5, with the optimal order of leaves (Bar-Joseph et al. 2001). Sets are ordered
    within their kind, the levels of a corruption next to each other.
    """
    table = np.nan_to_num(table, nan=0.5)
    order, tree = _ordered(table)
    return Seriation(
        tuple(names[i] for i in order),
        tuple(names),
        tuple(tuple(row) for row in tree.tolist()),
        tuple(_set_order(table, sets)),
    )


def _ordered(rows: Floats) -> tuple[Ints, Floats]:
    if len(rows) < 3:
        return np.arange(len(rows)), np.empty((0, 4))
    tree = optimal_leaf_ordering(linkage(rows, method="average"), rows)
    return np.asarray(leaves_list(tree)), np.asarray(tree)


def _set_order(table: Floats, sets: Sets) -> list[str]:
    order: list[str] = []
    for _, of_kind in groupby(enumerate(sets), key=lambda pair: pair[1].kind):
        levels = [
            [k for k, _ in group] for _, group in groupby(of_kind, key=lambda pair: pair[1].name)
        ]
        means = np.array([table[:, group].mean(axis=1) for group in levels])
        places = _ordered(means)[0].tolist() if table.size else list(range(len(levels)))
        for place in places:
            order += [sets[k].set for k in levels[place]]
    return order
