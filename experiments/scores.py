"""Scoring the captions of a run with every metric, and the file of their scores."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval import progress
from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.errors import MetaevalError
from metaeval.experiments.record import item_positions
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.readers.files import user_path
from metaeval.runs import files
from metaeval.runs.records import CAPTION, IMAGE_ID, RIVAL, SET, SYSTEM, ScoreColumn
from metaeval.runs.store import MemoryStore, SqliteStore, Store, item_key, remembering
from metaeval.scoring import Lookup, MetricScores, complete, distinct, look_up, refuse_equal_columns

log = logging.getLogger(__name__)


def score_all(
    metrics: Iterable[Metric], dataset: CaptionDataset, captions: pd.DataFrame, config: DictConfig
) -> list[MetricScores]:
    """Every metric over every caption (columns `image_id`, `caption`), in the metrics' order.

    A column `item` says which item of the dataset each caption is compared with, where an image has
    several. A column `rival` holds the other caption of its pair, for pairwise metrics; a column
    `system` what wrote the caption, for metrics that have scores of systems.

    All are looked up in the cache before the first is computed, so that the progress line can
    show how much is left. A metric that works in its own process runs in parallel with the others.
    """
    index = np.array(item_positions(dataset, captions), dtype=np.intp)
    texts = captions[CAPTION].tolist()
    size, line = config.cache.batch_size, progress.current()
    with open_store(config) as store:
        items = distinct(texts, index)
        rivals, systems = (captions[c].tolist() if c in captions else None for c in (RIVAL, SYSTEM))
        lookups = [
            look_up(metric, dataset, texts, index, store, items, rivals, systems)
            for metric in metrics
        ]
        refuse_equal_columns((known.bound.family, known.bound.columns) for known in lookups)
        parts = line.plan([(known.title, known.usual_seconds) for known in lookups], kind="metric")

        def finish(known: Lookup) -> MetricScores:
            scored = complete(known, index, store, size)
            _warn(known, scored, len(texts))
            return scored

        with _lane() as lane:
            parallel = {
                k: lane.submit(finish, x) for k, x in enumerate(lookups) if x.runs_in_subprocess
            }
            results: list[MetricScores] = []
            for k, (known, part) in enumerate(zip(lookups, parts, strict=True)):
                if k in parallel:
                    line.strike(part)
                    continue
                line.begin(part)
                results.append(finish(known))
            for k, future in parallel.items():
                line.begin(parts[k])
                results.insert(k, future.result())
    return results


def _warn(known: Lookup, scored: MetricScores, n_captions: int) -> None:
    if scored.status != "ok":
        remedy = f"; {scored.remedy}" if scored.remedy else ""
        if scored.status == "failed" and not remedy:
            remedy = " (the traceback is in metaeval.log)"
        log.warning("%s %s: %s%s", scored.family, scored.status, scored.reason, remedy)
    elif (n := unscored(scored)) and (known.todo or scored.unscored[0]):
        why = "".join(f"; {part}" for part in scored.unscored if part)
        counts = f"{n:,} of {n_captions:,}"
        log.warning("%s: %s captions have no score%s", known.title, counts, why)


def unscored(scored: MetricScores) -> int:
    """How many captions have no score in some column that is not a part of another one.

    A part may be undefined where its whole is defined (no size is mentioned: no SPICE-size).
    """
    if scored.scores is None:
        return 0
    whole = [c for c, column in enumerate(scored.columns) if column.part_of is None]
    return int(np.isnan(scored.scores[:, whole]).any(axis=1).sum())


@contextmanager
def _lane() -> Iterator[ThreadPoolExecutor]:
    """A thread for metrics that work elsewhere; what it has not begun is left if the run breaks."""
    pool = ThreadPoolExecutor(1)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def open_store(config: DictConfig) -> Iterator[Store]:
    """The score cache, or a store that lasts as long as the block with `cache.enabled=false`; in it
    `remember` looks, too."""
    store: Store = (
        SqliteStore(user_path(config.paths.cache) / "content.sqlite")
        if config.cache.enabled
        else MemoryStore()
    )
    try:
        with remembering(store):
            yield store
    finally:
        if store.damaged:
            log.warning("%d damaged values in the score cache: computed again", store.damaged)
        store.close()


def scored_columns(results: Iterable[MetricScores]) -> Iterator[tuple[ScoreColumn, Scores]]:
    """The columns of the metrics that ran, with their scores [n] as the metric gives them."""
    for scored in results:
        if scored.scores is not None:
            yield from zip(scored.columns, scored.scores.T, strict=True)


def upward(results: Iterable[MetricScores]) -> dict[str, Scores]:
    """Column → its scores [n], higher is better."""
    return {
        column.name: values if column.higher_is_better else -values
        for column, values in scored_columns(results)
    }


def write_scores(out: Path, captions: pd.DataFrame, results: Sequence[MetricScores]) -> None:
    """scores.parquet: the ok metrics' columns, one after another, in the captions' order."""
    columns = ((column.name, values) for column, values in scored_columns(results))
    files.write_score_table(out / files.SCORES, captions, columns)


# Explanations of the scores of a few captions, for the report's drill-down: explanations.json.
#
# The metric is bound again, to the few images that are explained. That costs little however many
# images the run has: all captions of a metric are explained together. Explanations are stored in
# the cache next to the scores, and are computed only where one is missing there. The content of the
# file does not depend on the cache.

# An explanation of longer texts fills a page, and its arrays grow with the product of the lengths:
# it is left out, and counted.
MOST_WORDS = 300
DIGITS = 6  # of the numbers in the file: what other images are prepared with it may change the 8th


def explanations(
    out: Path,
    metrics: Mapping[str, tuple[Metric, MetricScores]],
    dataset: CaptionDataset,
    chosen: Mapping[str, Sequence[ImageId]],
    images: int,
    store: Store,
) -> dict[str, object]:
    """The content of explanations.json (see `metaeval.runs.files`), from captions.parquet in `out`.

    Parameters
    ----------
    metrics
        The run's metrics and their scores, by their names in the configuration.
    chosen
        Column → the images to explain: those of its worst inversions, and those of the column that
        the report shows first.
    images
        How many images were chosen for each of these reasons.
    store
        Where metrics find word vectors and other files.
    """
    captions = files.read_run_table(out / files.CAPTIONS, ("image_id", "set", "caption"))
    long = _images_with_long_texts(captions, dataset)
    payload: dict[str, object] = {}
    for name, (metric, scored) in metrics.items():
        if scored.status != "ok":
            continue
        columns = [column.name for column in scored.columns]
        wanted = {image for column in columns for image in chosen.get(column, ())}
        places = [k for k, i in enumerate(dataset.image_ids) if i in wanted - long]
        if wanted and not places:
            continue
        few = dataset.subset(places)
        rows = captions[captions[IMAGE_ID].isin(few.image_ids)]
        texts, images_of = rows[CAPTION].tolist(), rows[IMAGE_ID].tolist()
        index = np.array(item_positions(few, rows), dtype=np.intp)
        explained = explain_captions(name, metric, scored, few, texts, index, store)
        if explained is None:
            continue
        sets: dict[ImageId, dict[str, object]] = {image_id: {} for image_id in few.image_ids}
        for image_id, set_name, each in zip(images_of, rows[SET], explained, strict=True):
            if each is not None:
                sets[image_id][set_name] = each
        payload[name] = {
            "columns": columns,
            "images": [{"image_id": i, "sets": of_image} for i, of_image in sets.items()],
        }
    if left_out := len(long & {image for named in chosen.values() for image in named}):
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
        for image, text in zip(captions[IMAGE_ID], captions[CAPTION], strict=True)
        if len(text.split()) > MOST_WORDS
    }
    for image, references in zip(dataset.image_ids, dataset.references, strict=True):
        if any(len(text.split()) > MOST_WORDS for text in references):
            long.add(image)
    return long


_OTHER_SIGNATURE = "its signature differs when it is bound to a part of the images"


def explain_captions(
    name: str,
    metric: Metric,
    scored: MetricScores,
    dataset: CaptionDataset,
    captions: Sequence[str],
    image_index: npt.NDArray[np.intp],
    store: Store,
) -> list[dict[str, Any] | None] | None:
    """The explanations of captions, j of image `image_index[j]`, by the metric called `name`.

    `None` for a metric that does not explain. An error is a warning, and `None`: the run has its
    numbers without explanations.
    """
    if not scored.explains:
        return None
    try:
        scorer = metric.scorer(dataset, store)
        if isinstance(scorer, Absent):
            raise MetaevalError(str(scorer))
        with closing(scorer):
            if scorer.signatures != scored.signatures:
                # the explanations would be of other scores than those of this run
                raise MetaevalError(_OTHER_SIGNATURE)
            return _cached_explanations(scorer, captions, image_index, store)
    except Exception as error:
        log.debug("no explanations of %s", name, exc_info=True)
        known = isinstance(error, MetaevalError)
        reason = str(error) if known else f"{type(error).__name__}: {error}"
        log.warning("no explanations of %s: %s", name, reason)
        return None


def _cached_explanations(
    scorer: Scorer, captions: Sequence[str], image_index: npt.NDArray[np.intp], store: Store
) -> list[dict[str, object] | None]:
    """The explanations of n captions, from the cache or computed and then stored there."""
    namespace = "explanations:" + json.dumps([scorer.explanation_version, *scorer.signatures])
    contexts = {i: scorer.context(i) for i in np.unique(image_index).tolist()}
    keys = [
        item_key(contexts[i], caption)
        for caption, i in zip(captions, image_index.tolist(), strict=True)
    ]
    stored = store.get_many(namespace, keys)
    if missing := [k for k, key in enumerate(keys) if key not in stored]:
        scorer.prepare()
        computed = scorer.explain_all([captions[k] for k in missing], image_index[missing])
        texts = [files.json_text(rounded(payload), indent=None) for payload in computed]
        fresh = {keys[k]: text.encode() for k, text in zip(missing, texts, strict=True)}
        store.put_many(namespace, fresh)
        stored.update(fresh)
    return [json.loads(stored[key]) for key in keys]


def rounded(value: Any) -> Any:
    """A JSON value, its numbers rounded."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [rounded(each) for each in value]
    if isinstance(value, float | np.floating):
        return round(float(value), DIGITS) + 0.0  # + 0.0: no negative zero
    return value
