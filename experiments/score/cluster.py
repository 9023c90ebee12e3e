"""Scoring by Ray Data: blocks stream through a pool of actors for each metric.

Each actor holds one metric, bound to the dataset once, and reads the rows of a block from a file of
the run's folder, which on several machines must be a shared one. A caller of the
results takes one block after another, so no more are under way than the pools hold. An actor that
is lost is started again with its block; a driver that is killed goes on behind its last part.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.compute.networks import keep_networks
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.score.worker import BlockScores, CaptionRow, RowBlock, Worker, forget
from metaeval.metrics.base import Metric
from metaeval.readers.files import one_line, read_json
from metaeval.runs import files
from metaeval.runs.store import MemoryStore, SqliteStore

if TYPE_CHECKING:
    from metaeval.runs.store import Store

ROWS = ".blocks"  # a folder of the run's, gone when it ends
_NUMBER, _FIRST, _FILE = "number", "first", "file"  # the columns of Ray's rows
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
        forget(self.store)
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
    for logger in ("ray", "ray.data"):  # they report every step
        logging.getLogger(logger).setLevel(logging.ERROR)
    if not ray.is_initialized():
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
        except Exception as error:  # no cluster at RAY_ADDRESS, or a machine too busy to start one
            problem = f"task.scoring=ray: Ray did not start ({one_line(error)})"
            raise ConfigError(problem) from error
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
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


def _item(block: RowBlock, folder: Path) -> dict[str, int | str]:
    """The row that stands for a block, whose rows are written into a file."""
    file = folder / f"{block.number:05d}.json"
    files.write_json(file, [list(row) for row in block.rows], indent=None)
    return {_NUMBER: block.number, _FIRST: block.first, _FILE: str(file.resolve())}


def _read(file: Path) -> list[CaptionRow]:
    rows = read_json(file)[0]
    return [CaptionRow(i, text, None if r is None else tuple(r)) for i, text, r in rows]
