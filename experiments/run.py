"""One run from configuration to report; each stage writes files that the next one reads."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from experiments.base import Experiment, Sets
from experiments.explanations import explanations
from experiments.graded.printout import printout
from experiments.graded.statistics import statistics
from metaeval import provenance
from metaeval.compute import device
from metaeval.config import component
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, StrictError
from metaeval.runs import files as results
from metaeval.runs.store import MemoryStore, SqliteStore
from metaeval.scoring import Scored, score_captions
from metaeval.selection import build, selected

log = logging.getLogger(__name__)


class Run:
    """The state of one run: its directory, its clock, and what goes into `run.json`."""

    def __init__(self, config: DictConfig, out: Path) -> None:
        self.config, self.out = config, out
        device.forget()
        self.record: dict[str, Any] = {
            "schema": 1,
            "command": sys.orig_argv[1:],
            "working_directory": str(Path.cwd()),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "seed": config.seed,
            **provenance.machine(),
            "stages": [],
        }

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        seconds = round(time.perf_counter() - started, 3)
        self.record["stages"].append({"name": name, "seconds": seconds})
        log.debug("%s: %.3f s", name, seconds)

    def write(self) -> None:
        self.record["device"] = device.used()
        self.record["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        results.write_json(self.out / results.RUN, self.record)


def run(experiment: Experiment, config: DictConfig, out: Path) -> dict[str, Any]:
    """Run an experiment into `out` and return its statistics (what `statistics.json` holds).

    Raises InputError and ConfigError before anything is scored, StrictError at the very end.
    """
    names = selected(config)  # a misspelt metric is refused before the data is read
    metrics = [build(name, config) for name in names]
    state = Run(config, out)
    results.atomic(
        out / results.CONFIG,
        lambda p: p.write_text(OmegaConf.to_yaml(config, resolve=True), encoding="utf-8"),
    )
    with state.stage("dataset"):
        dataset: CaptionDataset = component(config.dataset, "dataset")
    if not isinstance(dataset, CaptionDataset):
        raise ConfigError("these are captions that people judged: experiment=judgments is for them")
    print(f"{experiment.name} on {describe(dataset)}", flush=True)
    state.record["dataset"] = {
        "name": dataset.name,
        "n_images": len(dataset),
        "n_references": sorted({len(references) for references in dataset.references}),
        "sources": dict(dataset.sources),
        "notes": list(dataset.notes),
        "fallback": dataset.fallback,
    }
    with state.stage("captions"):
        sets = experiment.caption_sets(dataset, config)
        photos = bool(config.report and config.report.get("photos"))
        write_captions(out, dataset, sets, photos)
    published = experiment.published(dataset, config)
    state.record["corruption"] = dict(sets.facts)
    state.record["published"] = published and {
        "source": published.source,
        "comparable": published.why_not is None,
        "why_not": published.why_not,
        "rank_order_rho": dict(published.rank_order_rho),
    }
    state.record["experiment"] = {
        "name": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
    }
    with state.stage("scores"):
        captions = results.read_table(out / results.CAPTIONS)
        scored = score(metrics, dataset, captions, config)
        write_scores(out, captions, scored)
    state.record["metrics"] = [
        {
            "metric": s.family,
            "seconds": round(s.seconds, 3),
            "n_scored": s.n_scored,
            "n_cached": s.n_cached,
        }
        for s in scored
    ]
    with state.stage("statistics"):
        summary = statistics(out, scored, experiment.name, dataset.name, config)
        results.write_json(out / results.STATISTICS, summary)
    explained = int(config.report.get("explanations", 0)) if config.report else 0
    if explained:
        with state.stage("explanations"), stored(config) as store:
            rebuild = partial(build, config=config)
            by_name = dict(zip(names, scored, strict=True))
            told = explanations(out, by_name, rebuild, dataset, explained, store)
            results.write_json(out / results.EXPLANATIONS, told, indent=None)
    else:
        (out / results.EXPLANATIONS).unlink(missing_ok=True)  # of an earlier run into this folder
    state.write()
    if config.report:  # report=none is an empty node
        with state.stage("report"):
            instantiate(config.report)(out)
        state.write()
    comparable = published is not None and published.why_not is None
    values = published.rank_order_rho if published is not None and comparable else {}
    where = out / (results.REPORT if config.report else results.STATISTICS)
    print(printout(summary, values, where), flush=True)
    lacking = [s for s in scored if s.status != "ok"]
    if config.strict and lacking:
        raise StrictError(
            "; ".join(f"{s.family} {s.status}: {s.reason}" for s in lacking) + " (strict=true)"
        )
    return summary


def describe(dataset: CaptionDataset) -> str:
    """The dataset in a few words, for the first line of output."""
    counts = sorted({len(references) for references in dataset.references})
    spread = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = f"{dataset.name}: {len(dataset):,} images, {spread} references each"
    return f"{text} ({dataset.fallback})" if dataset.fallback else text


def write_captions(out: Path, dataset: CaptionDataset, sets: Sets, photos: bool = False) -> None:
    """captions.parquet, one row per image and set, and references.parquet, one per image."""
    rows = [
        {
            "image_id": image_id,
            "set": caption_set.name,
            "level": caption_set.level,
            "caption": corrupted.text,
            "source_caption": source,
            "applied": corrupted.applied,
            "requested_rate": corrupted.requested,
            "realised_rate": corrupted.realised,
            "effect": getattr(corrupted, "effect", None),
            "harm": getattr(corrupted, "harm", None),
            "edits": [edit._asdict() for edit in corrupted.edits],
        }
        for caption_set in sets.sets
        for image_id, source, corrupted in zip(
            dataset.image_ids, dataset.human, caption_set.captions, strict=True
        )
    ]
    table = pd.DataFrame(rows)
    for column in ("requested_rate", "realised_rate", "harm"):
        table[column] = table[column].astype(float)
    results.write_table(out / results.CAPTIONS, table)
    paths = image_paths(dataset, photos)
    references = pd.DataFrame(
        {
            "image_id": dataset.image_ids,
            "references": [list(references) for references in dataset.references],
            "image_path": paths,
        }
    )
    results.write_table(out / results.REFERENCES, references)


def image_paths(dataset: CaptionDataset, photos: bool) -> list[str | None]:
    """Where each image's file is, for a report that shows photos; `None` where there is none.

    Images that are drawn on demand are drawn only if the report is to show photos.
    """
    images = dataset.part("images")
    if isinstance(images, Absent) or (getattr(images, "on_demand", False) and not photos):
        return [None] * len(dataset)
    paths = (images.path(image_id) for image_id in dataset.image_ids)
    return [None if path is None else str(path) for path in paths]


def score(
    metrics: list[Any], dataset: CaptionDataset, captions: pd.DataFrame, config: DictConfig
) -> list[Scored]:
    """Every metric over every caption, in the order of the configuration."""
    position = {image_id: index for index, image_id in enumerate(dataset.image_ids)}
    index = np.array([position[image_id] for image_id in captions["image_id"]], dtype=np.intp)
    texts = captions["caption"].tolist()
    with stored(config) as store:
        scored = []
        for metric in metrics:
            done = score_captions(metric, dataset, texts, index, store, config.cache.batch_size)
            if done.status != "ok":
                remedy = f"; {done.remedy}" if done.remedy else ""
                log.warning("%s %s: %s%s", done.family, done.status, done.reason, remedy)
            scored.append(done)
        return scored


@contextmanager
def stored(config: DictConfig) -> Iterator[MemoryStore | SqliteStore]:
    """The score cache, or a store that lasts as long as the block with `cache.enabled=false`."""
    store: MemoryStore | SqliteStore = (
        SqliteStore(Path(config.paths.cache).expanduser() / "content.sqlite")
        if config.cache.enabled
        else MemoryStore()
    )
    try:
        yield store
    finally:
        store.close()


def write_scores(out: Path, captions: pd.DataFrame, scored: list[Scored]) -> None:
    """scores.parquet: the ok metrics' columns, one after another, in the captions' order."""
    parts = [
        captions[["image_id", "set", "level"]].assign(metric=column, score=s.scores[:, c])
        for s in scored
        if s.scores is not None
        for c, column in enumerate(s.columns)
    ]
    empty = captions[["image_id", "set", "level"]].iloc[:0].assign(metric="", score=0.0)
    results.write_table(out / results.SCORES, pd.concat(parts) if parts else empty)
