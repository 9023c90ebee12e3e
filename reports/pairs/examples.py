"""The pairs on which a metric prefers the false caption by most."""

from __future__ import annotations

import numpy as np

from metaeval.reports.shared.formatting import cut, number
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.pairs import PairsResult
from metaeval.runs import files
from metaeval.runs.columns import METRIC

SHOWN = 5  # of each metric
HEADS = ("Metric", "Kind", "Image", "True", "Score", "False", "Score")
_PAIRS, _SCORES = ("pair", "image_id", "kind", "true", "false"), ("pair", "metric", "true", "false")


def examples(run: LoadedRun[PairsResult]) -> list[tuple[str, list[list[str]]]]:
    """Metric → rows of `HEADS` without the first, the greatest difference of its scores first.

    Raises InputError for a file that is missing or broken.
    """
    pairs = files.read_columns(run.directory / files.PAIRS, _PAIRS).set_index("pair")
    scores = files.read_columns(run.directory / files.SCORES, _SCORES)
    listed = []
    for metric in run.result.visible:
        if kind_of(metric) != "result" or not metric.column.headline:
            continue
        part = scores[scores[METRIC] == metric.name].set_index("pair")
        gap = (part["false"] - part["true"]) * (1 if metric.column.higher_is_better else -1)
        order = np.argsort(-gap.fillna(0.0).to_numpy(), kind="stable")[:SHOWN]
        rows = []
        for k in order:
            if not gap.iloc[k] > 0:
                continue
            pair, score = pairs.loc[part.index[k]], part.iloc[k]
            rows.append(
                [str(pair["kind"]), str(pair["image_id"]), cut(pair["true"], 200),
                 number(score["true"]), cut(pair["false"], 200), number(score["false"])]
            )  # fmt: skip
        listed.append((metric.name, rows))
    return listed
