"""`experiment=score captions=FILES`: any number of captions through any metrics.

Tables are read twice: once to refuse what is wrong with any row before anything is scored, and to
count, and once to score them, block by block. A block's scores are a file as soon as they are
there, so a run that was killed goes on behind its last one, by the same command.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from omegaconf import DictConfig

from metaeval import progress
from metaeval.compute.device import keep_networks
from metaeval.data.own.tables import table_files
from metaeval.data.tidy import Tidy
from metaeval.experiments import (
    CaptionDataset,
    ConfigError,
    ImageId,
    InputError,
    MeasuredResult,
    Metric,
    RunRecord,
    Streaming,
    open_store,
)
from metaeval.experiments.printout import table_lines
from metaeval.experiments.score.parts import FOLDER, MANIFEST, MEASURES, CorpusPass, Parts, describe
from metaeval.experiments.score.worker import (
    BlockScores,
    CaptionRow,
    RowBlock,
    Worker,
    bound_to,
    empty_caches,
    read_rows,
    split_rows,
)
from metaeval.options import PositiveInt
from metaeval.readers.files import one_line, read_json, user_path
from metaeval.results.base import Measured, MetricResult
from metaeval.results.run import BlockEntry, DatasetInfo, FamilyInfo, Manifest, SourceFile
from metaeval.results.sentences import sentences
from metaeval.runs import files
from metaeval.runs.files import digest, file_sha256
from metaeval.runs.store import MemoryStore, SqliteStore, Store
from metaeval.scoring import MetricScores, refuse_equal_columns
from metaeval.text.tokenizers.base import forget_texts

# Scoring by Ray Data: blocks stream through a pool of actors for each metric.
#
# Each actor holds one metric, bound to the dataset once, and reads the rows of a block from a file
# of the run's folder, which on several machines must be a shared one. A caller of the results takes
# one block after another, so no more are under way than the pools hold. An actor that is lost is
# started again with its block; a driver that is killed goes on behind its last part.

ROWS = ".blocks"  # a folder of the run's, gone when it ends
_NUMBER, _FIRST, _FILE = "number", "first", "file"  # the columns of Ray's rows
NO_CLUSTER = "task.scoring=ray: Ray did not start ({})"
_FAILED = "why "  # before a metric's name: the column of reasons


class BlockScorer:
    """What an actor does: add a metric's scores to the row that stands for a block."""

    def __init__(self, name: str, metric: Metric, dataset: Any, cache: str | None) -> None:
        import ray

        held = ray.get(dataset)
        self.store: Store = MemoryStore() if cache is None else SqliteStore(Path(cache))
        self.name, self.worker = name, Worker(metric, held, self.store)
        self._kept = keep_networks()
        self._kept.__enter__()  # for as long as the actor lives

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:  # Ray's rows are dictionaries
        scores, reason = self.worker.score(_read(Path(row[_FILE])))
        empty_caches(self.store)
        return {**row, self.name: scores.tobytes(), _FAILED + self.name: reason or ""}


def score_blocks(
    todo: Iterable[RowBlock],
    metrics: Mapping[str, Metric],
    dataset: CaptionDataset | None,
    workers: int,
    out: Path,
    cache: Path | None,
) -> Iterator[tuple[RowBlock, dict[str, BlockScores]]]:
    """Blocks and their scores by metric, in the order in which they are finished.

    Parameters
    ----------
    workers
        Actors a metric, at most.
    out
        The run's folder.
    cache
        The file in which actors keep intermediate results, on their own machine; `None` for none.

    Raises ConfigError where Ray is not installed. A cluster is found as Ray finds it (RAY_ADDRESS),
    otherwise one is started here for as long as the process lives.
    """
    try:
        import ray
        import ray.data
    except ImportError:
        raise ConfigError("task.scoring=ray needs Ray: pip install '.[ray]'") from None
    folder = out / ROWS
    shutil.rmtree(folder, ignore_errors=True)
    items = [_item(block, folder) for block in todo]
    if not items:
        return
    _start(ray)
    held = ray.put(dataset)
    rows = ray.data.from_items(items, override_num_blocks=len(items))
    gpus = ray.cluster_resources().get("GPU", 0)
    for name, metric in metrics.items():
        rows = rows.map(
            BlockScorer,
            fn_constructor_args=(name, metric, held, None if cache is None else str(cache)),
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
            num_cpus=0.5,  # as many pools as there are metrics share the machine
            num_gpus=1 if gpus and getattr(metric, "device", None) != "cpu" else 0,
        )
    for row in rows.iter_rows():
        block = RowBlock(row[_NUMBER], row[_FIRST], _read(Path(row[_FILE])))
        scores = {
            name: BlockScores(
                np.frombuffer(row[name]).reshape(len(block.rows), -1), row[_FAILED + name] or None
            )
            for name in metrics
        }
        yield block, scores
    shutil.rmtree(folder, ignore_errors=True)


def _start(ray: Any) -> None:
    """Find or start a cluster, which reports no step."""
    for logger in ("ray", "ray.data"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    if not ray.is_initialized():
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
        except Exception as error:  # no cluster at RAY_ADDRESS, or a machine too busy to start one
            raise ConfigError(NO_CLUSTER.format(one_line(error))) from error
    ray.data.DataContext.get_current().enable_progress_bars = False


def _item(block: RowBlock, folder: Path) -> dict[str, int | str]:
    """The row that stands for a block, whose rows are written into a file."""
    file = folder / f"{block.number:05d}.json"
    files.write_json(file, [list(row) for row in block.rows], indent=None)
    return {_NUMBER: block.number, _FIRST: block.first, _FILE: str(file.resolve())}


def _read(file: Path) -> list[CaptionRow]:
    rows = read_json(file)[0]
    return [CaptionRow(i, text, None if r is None else tuple(r)) for i, text, r in rows]


REFERENCES = "references"  # the dataset of a table whose rows contain their references


class ScoreTables(
    Streaming,
    name="score",
    title="Scores",
    question="What do the metrics give these captions?",
    data=CaptionDataset,
    needs="experiment=score needs a dataset of images, or dataset=references",
):
    """Scores of the captions of tables.

    Parameters
    ----------
    block
        Rows that are scored together: what a killed run may lose.
    scoring
        "local": in this process. "ray": by Ray Data, a pool of actors for each metric.
    workers
        Of each metric's pool, at most.
    """

    def __init__(
        self,
        block: PositiveInt = 20_000,
        scoring: Literal["local", "ray"] = "local",
        workers: PositiveInt = 2,
    ) -> None:
        self.block, self.scoring, self.workers = block, scoring, workers

    def check(self, config: DictConfig) -> None:
        if not config.get("captions"):
            raise ConfigError("give the tables of captions: captions=FILE, [FILE,FILE] or a folder")
        if isinstance(config.captions, Mapping):
            raise ConfigError("captions: experiment=score takes files, without names")

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> MeasuredResult:
        config, out = record.config, record.out
        paths = table_files(config.captions, "captions")
        # the rows of dataset=references contain their references
        has_own = config.dataset.get("_target_") == f"{__name__}.own_references"
        dataset: CaptionDataset | None = None if has_own else self.load(config)
        known = None if dataset is None else frozenset(dataset.image_ids)
        tidy = Tidy()
        with record.stage("reading"):
            sources = {str(p): file_sha256(p) for p in paths}
            tables = sources.values() if dataset is None else ()
            corpus = CorpusPass(metrics if dataset is None else {}, out / FOLDER, tables)
            first, n, empty = _looked_through(paths, known, tidy, self.block, corpus)
            metrics = corpus.finish() if dataset is None else metrics
        with open_store(config) as store:
            bound = {m: bound_to(metrics[m], dataset, first.rows, store) for m in metrics}
            refuse_equal_columns((name, scored.columns) for name, scored in bound.items())
            usable = {name: metrics[name] for name in metrics if bound[name].status == "ok"}
            made_of = list(sources.values()), self.block, list(_signatures(bound).values())
            parts = Parts(out, request := digest(json.dumps(made_of)).hex())
            record.begin(keep=FOLDER)
            seconds = sum(s.scorer.usual_ms or 0.0 for s in bound.values() if s.scorer) / 1000
            progress.current().plan([("scores", seconds * n)])
            with record.stage("scores"):
                entries = self._score(parts, usable, bound, dataset, paths, known, n, config, store)
        entries.sort(key=lambda entry: entry.first_row)
        manifest = Manifest(
            request=request,
            block=self.block,
            files=tuple(SourceFile(file=file, sha256=sha256) for file, sha256 in sources.items()),
            signatures=_signatures(bound),
            parts=tuple(entries),
        )
        means = parts.finish(manifest, corpus.written)
        with record.stage("statistics"):
            every = [parts.folder / entry.part for entry in entries]
            statistics, extras = describe(every, means, config.seed)
        name = REFERENCES if dataset is None else dataset.name
        record.update(
            dataset=DatasetInfo(
                name=name, n_captions=n, n_empty=empty, notes=tuple(tidy.notes()), sources=sources
            ),
            metrics=[FamilyInfo(metric=s.family, note=s.note) for s in bound.values()],
        )
        return MeasuredResult(
            experiment=self.name,
            dataset=name,
            facts={"Captions": n, "Empty captions": empty},
            settings={"seed": config.seed},
            metrics=_metric_results(bound, entries, statistics),
            declared=MEASURES,
            extras=extras,
        )

    def _score(
        self, parts: Parts, metrics: Mapping[str, Metric], bound: Mapping[str, MetricScores],
        dataset: CaptionDataset | None, paths: list[Path], known: Set[ImageId] | None, n: int,
        config: DictConfig, store: Store,
    ) -> list[BlockEntry]:  # fmt: skip
        """Score the blocks that no part holds; return the manifest entry of each."""
        names = {m: [column.name for column in bound[m].columns] for m in metrics}
        made: list[BlockEntry] = []
        known_entries: list[BlockEntry] = []

        def todo() -> Iterator[RowBlock]:
            for block in split_rows(read_rows(paths, known, Tidy()), self.block):
                if (done := parts.known(block)) is None:
                    yield block
                else:
                    known_entries.append(done)

        if self.scoring == "ray":
            cache = user_path(config.paths.cache) / "content.sqlite"
            cache_file = cache if config.cache.enabled else None
            folder = parts.folder.parent
            scored = score_blocks(todo(), metrics, dataset, self.workers, folder, cache_file)
        else:
            scored = _scored_here(todo(), metrics, dataset, store)
        for block, scores in scored:
            made.append(parts.write(block, names, scores))
            n_new = -(-n // self.block) - len(known_entries)
            progress.current().report(len(made), n_new, "blocks")
        return [*known_entries, *made]

    def printout(self, summary: MeasuredResult, out: Path, file: Path) -> str:
        text = [*table_lines(summary), *sentences(summary)]
        not_ok = {m.family: m for m in summary.metrics if not m.ok}
        text += [
            f"{family} {m.status}: {m.reason}" + (f"; {m.remedy}" if m.remedy else "")
            for family, m in not_ok.items()
        ]
        text += [f"scores: {out / FOLDER}, {out / FOLDER / MANIFEST}", f"{file.stem}: {file}"]
        return "\n".join(text)


def own_references() -> None:
    """`dataset=references`: the rows contain their references. Never called."""
    raise ConfigError("dataset=references is for experiment=score alone")


def _looked_through(
    paths: list[Path], known: Set[ImageId] | None, tidy: Tidy, size: int, corpus: CorpusPass
) -> tuple[RowBlock, int, int]:
    """The first block, the number of all rows, and of those whose caption is empty; the corpus has
    then seen them all."""
    count = corpus.needed
    first, n, empty = None, 0, 0
    for block in split_rows(read_rows(paths, known, tidy), size):
        first = first or block
        n += len(block.rows)
        empty += sum(not row.caption for row in block.rows)
        if count:
            corpus.add(block.rows)
            forget_texts()
    if first is None:
        raise InputError("holds no caption", file=paths[0])
    return first, n, empty


def _scored_here(
    todo: Iterator[RowBlock], metrics: Mapping[str, Metric], dataset: CaptionDataset | None,
    store: Store,
) -> Iterator[tuple[RowBlock, dict[str, BlockScores]]]:  # fmt: skip
    workers = {name: Worker(metric, dataset, store) for name, metric in metrics.items()}
    try:
        for block in todo:
            scores = {name: worker.score(block.rows) for name, worker in workers.items()}
            empty_caches(store)
            yield block, scores
    finally:
        for worker in workers.values():
            worker.close()


def _signatures(bound: Mapping[str, MetricScores]) -> dict[str, str]:
    return {
        column.name: str(signature)
        for scored in bound.values()
        if scored.status == "ok"
        for column, signature in zip(scored.columns, scored.signatures, strict=True)
    }


def _metric_results(
    bound: Mapping[str, MetricScores],
    entries: Sequence[BlockEntry],
    statistics: Mapping[str, Measured],
) -> tuple[MetricResult, ...]:
    """The result of each column; `entries` are those of the manifest."""
    results = []
    for name, scored in bound.items():
        if failed := [entry.failed[name] for entry in entries if name in entry.failed]:
            reason = f"in {len(failed):,} of {len(entries):,} blocks: {failed[0]}"
            scored = replace(scored, status="failed", reason=reason)
        results += [
            scored.result(k, statistics.get(column.name)) for k, column in enumerate(scored.columns)
        ]
    return tuple(results)
