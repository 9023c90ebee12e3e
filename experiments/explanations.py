"""How a few captions came by their scores, for the report's drill-down: explanations.json.

A scorer is closed when its scores are there, and where all of them came from the cache it was never
prepared. So the metric is bound anew, to the few images that are to be explained, which costs
little however many images the run has: a network that scored is not loaded again, and all captions
of a metric are explained at one go. Explanations are kept in the cache beside the scores, and
prepared for only where one is not known. So the file is the same whatever is in the cache.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import MetaevalError
from metaeval.metrics.base import Metric, Scorer
from metaeval.runs import files
from metaeval.runs.store import Store, item_key
from metaeval.scoring import Scored

log = logging.getLogger(__name__)

# An explanation of texts with more words fills a page by itself, and its arrays grow with their
# product: it is left out, and counted.
MOST_WORDS = 300
DIGITS = 6  # of the numbers in the file: what other images are prepared with it may change the 8th


def explanations(
    out: Path,
    metrics: Mapping[str, tuple[Metric, Scored]],
    dataset: CaptionDataset,
    images: int,
    store: Store,
) -> dict[str, Any]:
    """What explanations.json holds (see `metaeval.runs.files`), from a run's files in `out`.

    Parameters
    ----------
    out
        The folder with the run's captions.parquet and statistics.json.
    metrics
        The run's metrics and what became of them, by their names in the configuration.
    dataset
        The run's dataset.
    images
        How many images to explain for each column of a metric: those of its worst inversions, and
        those of the leading column, with which the report opens.
    store
        Where metrics find word vectors and the like.
    """
    captions = files.read_table(out / files.CAPTIONS, ("image_id", "set", "caption"))
    summary = files.read_json(out / files.STATISTICS)
    worst = {r["metric"]: r.get("worst_images", [])[:images] for r in summary["metrics"]}
    long = _images_with_long_texts(captions, dataset)
    payload: dict[str, Any] = {}
    for name, (metric, scored) in metrics.items():
        if scored.status != "ok":
            continue
        columns = [column.name for column in scored.columns]
        chosen = {image for c in (*columns, summary["leading_column"]) for image in worst[c]}
        places = [k for k, i in enumerate(dataset.image_ids) if i in chosen - long]
        if chosen and not places:
            continue
        few = dataset.subset(places)
        try:
            if (explained := _explained(metric, scored, few, captions, store)) is not None:
                payload[name] = {"columns": columns, "images": explained}
        except Exception as error:  # the run has its numbers; the drill-down can do without
            log.debug("no explanations of %s", name, exc_info=True)
            known = isinstance(error, MetaevalError)
            reason = str(error) if known else f"{type(error).__name__}: {error}"
            log.warning("no explanations of %s: %s", name, reason)
    if left_out := len(long & {image for named in worst.values() for image in named}):
        log.warning(
            "%d images are not explained: a caption or reference has more than %d words",
            left_out, MOST_WORDS,
        )  # fmt: skip
    return {
        "schema": 1,
        "images_per_column": images,
        **({"left_out": left_out} if left_out else {}),
        "metrics": payload,
    }


def _images_with_long_texts(captions: pd.DataFrame, dataset: CaptionDataset) -> set[Any]:
    """The images of which a caption or a reference has more than `MOST_WORDS` words."""
    long = {
        image
        for image, text in zip(captions["image_id"], captions["caption"], strict=True)
        if len(text.split()) > MOST_WORDS
    }
    for image, references in zip(dataset.image_ids, dataset.references, strict=True):
        if any(len(text.split()) > MOST_WORDS for text in references):
            long.add(image)
    return long


def _explained(
    metric: Metric,
    scored: Scored,
    few: CaptionDataset,
    captions: pd.DataFrame,
    store: Store,
) -> list[dict[str, Any]] | None:
    """Per image its id and, set by set, what the metric tells of its caption; `None` if nothing."""
    scorer = metric.scorer(few, store)
    if isinstance(scorer, Absent):
        raise MetaevalError(str(scorer))
    try:
        if not scorer.explains:
            return None
        if scorer.signatures != scored.signatures:
            # what it would explain are not the scores of this run
            raise MetaevalError(f"with {len(few)} of the run's images it is another metric")
        rows = captions[captions["image_id"].isin(few.image_ids)]
        position = {image_id: index for index, image_id in enumerate(few.image_ids)}
        index = np.array([position[image_id] for image_id in rows["image_id"]], dtype=np.intp)
        sets: list[dict[str, Any]] = [{} for _ in position]
        payloads = _kept(scorer, rows["caption"].tolist(), index, store)
        for name, i, payload in zip(rows["set"], index.tolist(), payloads, strict=True):
            if payload is not None:
                sets[i][name] = payload
        return [
            {"image_id": image_id, "sets": of_image}
            for image_id, of_image in zip(few.image_ids, sets, strict=True)
        ]
    finally:
        scorer.close()


def _kept(
    scorer: Scorer, captions: Sequence[str], image_index: npt.NDArray[np.intp], store: Store
) -> list[dict[str, Any] | None]:
    """What the metric tells of n captions: from the cache, or now, and then kept there."""
    namespace = "explanations:" + json.dumps([scorer.explanation_version, *scorer.signatures])
    contexts = {i: scorer.context(i) for i in np.unique(image_index).tolist()}
    keys = [
        item_key(contexts[i], caption)
        for caption, i in zip(captions, image_index.tolist(), strict=True)
    ]
    known = store.get_many(namespace, keys)
    if new := [k for k, key in enumerate(keys) if key not in known]:
        scorer.prepare()
        told = scorer.explain_all([captions[k] for k in new], image_index[new])
        texts = [files.json_text(rounded(payload), indent=None) for payload in told]
        fresh = {keys[k]: text.encode() for k, text in zip(new, texts, strict=True)}
        store.put_many(namespace, fresh)
        known.update(fresh)
    return [json.loads(known[key]) for key in keys]


def rounded(value: Any) -> Any:
    """A JSON value, its numbers rounded."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [rounded(each) for each in value]
    if isinstance(value, float | np.floating):
        return round(float(value), DIGITS) + 0.0  # + 0.0: no negative zero
    return value
