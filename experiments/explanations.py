"""How a few captions came by their scores, for the report's drill-down: explanations.json.

A metric is closed when its scores are there, and where all of them came from the cache it was never
prepared. So it is built anew and prepared on the few images that are to be explained, which costs
little however many images the run has.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.graded.statistics import matrix
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import MetaevalError
from metaeval.metrics.base import Metric
from metaeval.runs import files as results
from metaeval.runs.store import Store
from metaeval.scoring import Scored
from metaeval.stats.ordering.inversions import worst_first, worst_inversion

log = logging.getLogger(__name__)

DIGITS = 6  # of the numbers in the file: what other images are prepared with it may change the 8th


def explanations(
    out: Path,
    scored: Mapping[str, Scored],
    rebuild: Callable[[str], Metric],
    dataset: CaptionDataset,
    images: int,
    store: Store,
) -> dict[str, Any]:
    """What explanations.json holds (see `metaeval.runs.files`), from a run's files in `out`.

    Parameters
    ----------
    out
        The folder with the run's captions.parquet, scores.parquet and statistics.json.
    scored
        What became of each metric, by its name in the configuration.
    rebuild
        Makes a new metric from such a name.
    dataset
        The run's dataset.
    images
        How many images to explain for each column of a metric: those of its worst inversions, and
        those of the column with the best rank-order ρ, with which the report opens.
    store
        Where metrics find word vectors and the like.
    """
    found: dict[str, Any] = {}
    captions = results.read_table(out / results.CAPTIONS)
    worst: dict[str, list[Any]] = {}
    for name, s in scored.items():
        metric = rebuild(name) if s.status == "ok" else None
        if metric is None or type(metric).explain is Metric.explain:
            continue
        worst = worst or worst_images(out, captions)
        opening = best_column(results.read_json(out / results.STATISTICS)["metrics"])
        chosen = {i for column in (*s.columns, opening) for i in worst[column][:images]}
        few = dataset.subset([k for k, i in enumerate(dataset.image_ids) if i in chosen])
        try:
            told = _explained(metric, s, few, captions, store)
            found[name] = {"columns": list(s.columns), "images": told}
        except Exception as error:  # the run has its numbers; the drill-down can do without
            log.debug("no explanations of %s", name, exc_info=True)
            known = isinstance(error, MetaevalError)
            reason = str(error) if known else f"{type(error).__name__}: {error}"
            log.warning("no explanations of %s: %s", name, reason)
        finally:
            metric.close()
    return {"schema": 1, "images_per_column": images, "metrics": found}


def worst_images(out: Path, captions: pd.DataFrame) -> dict[str, list[Any]]:
    """Column → all ids of images, those of its worst inversions first, as the report has them."""
    scores = results.read_table(out / results.SCORES)
    summary = results.read_json(out / results.STATISTICS)
    ids = pd.Index(captions["image_id"].unique())
    names = [entry["name"] for entry in summary["sets"]]
    levels = [entry["level"] for entry in summary["sets"]]
    applied = matrix(captions, "applied", ids, names).T == 1
    higher = {r["metric"]: r["higher_is_better"] for r in summary["metrics"]}
    found = {}
    for column, part in scores.groupby("metric", sort=False):
        values = matrix(part, "score", ids, names).T
        severity = worst_inversion(values, levels, applied, higher_is_better=higher[str(column)])
        found[str(column)] = ids[worst_first(severity)].tolist()
    return found


def best_column(records: Sequence[dict[str, Any]]) -> str:
    """The column of the best rank-order ρ, with which the report opens; no part of another one.

    `records` are those of statistics.json, at least one of them ok.
    """
    done = [r for r in records if r["status"] == "ok"]
    whole = [
        r
        for r in done
        if "weights:random" not in r["signature"]
        and not any(
            r["family"] == other["family"] and results.is_part(r["metric"], other["metric"])
            for other in done
        )
    ]
    rho = {r["metric"]: r["rank_order_rho"] for r in whole or done}
    return str(max(rho, key=lambda column: -2 if rho[column] is None else rho[column]))


def _explained(
    metric: Metric, scored: Scored, few: CaptionDataset, captions: pd.DataFrame, store: Store
) -> list[dict[str, Any]]:
    """Per image its id and, set by set, what the metric tells of its caption."""
    metric.store = store
    if (absent := metric.missing(few)) is not None:
        raise MetaevalError(str(absent))
    metric.identify(few)
    if tuple(map(metric.signature, metric.columns)) != scored.signatures:
        # what it would explain are not the scores of this run
        raise MetaevalError(f"with {len(few)} of the run's images it is another metric")
    metric.prepare(few)
    rows = captions[captions["image_id"].isin(few.image_ids)]
    by_image = dict(list(rows.groupby("image_id", sort=False)))
    told = []
    for index, image_id in enumerate(few.image_ids):
        versions = by_image[image_id]
        sets = {
            name: rounded(payload)
            for name, caption in zip(versions["set"], versions["caption"], strict=True)
            if (payload := metric.explain(caption, index)) is not None
        }
        told.append({"image_id": image_id, "sets": sets})
    return told


def rounded(value: Any) -> Any:
    """A JSON value, its numbers rounded."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [rounded(each) for each in value]
    if isinstance(value, float | np.floating):
        return round(float(value), DIGITS) + 0.0  # + 0.0: no negative zero
    return value
