"""`experiment=trust`: which metric can I trust, and for what?"""

import contextlib
import copy
import gc
import io
import json
import logging
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from logging.handlers import QueueHandler
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from metaeval import choices, progress
from metaeval.compute import device
from metaeval.compute.device import keep_networks, release, return_free_memory
from metaeval.config import (
    CONTROLS,
    build_all,
    complete_metrics,
    compose_config,
    load_dataset,
    own_metrics,
    selected,
)
from metaeval.data.annotated_images import ImageFiles
from metaeval.data.judgments.systems import SystemsTable
from metaeval.data.own.bank import bank_files
from metaeval.errors import ConfigError, MetaevalError, StageError, StrictError
from metaeval.experiments import (
    CaptionDataset,
    MeasuredResult,
    Metric,
    RunRecord,
    Streaming,
    open_store,
)
from metaeval.experiments.printout import not_run_lines, text_table
from metaeval.experiments.stored_results import code_digest
from metaeval.experiments.trust.result import (
    ItemRun,
    gathered,
    require_one_identity,
    work_of,
)
from metaeval.experiments.trust.verdicts import BATTERIES, Battery, read_battery, read_uses
from metaeval.java.process import shared_java_services
from metaeval.metrics.adapters.bank import BankMetric
from metaeval.options import Seed
from metaeval.provenance import core_count
from metaeval.readers.files import read_text, user_path
from metaeval.results.files import Resampled, read_finished, read_info, read_resampled, read_result
from metaeval.results.run import RunInfo
from metaeval.results.trust import answer_of, matrix_rows
from metaeval.runs import files
from metaeval.runs.files import digest, file_sha256
from metaeval.runs.folder import new_folder
from metaeval.runs.store import Store
from metaeval.schema import check_config
from metaeval.scoring import signatures_of
from metaeval.text.tokenizers.base import forget_texts

ITEMS = "items"  # the folder of the runs of the battery
KEY = "key"  # in the folder of an item: what its run follows from, as a digest
_USUAL_SECONDS = 45.0  # of an item, on two cores
_PROCESSES = 2  # at a time: each needs gigabytes
_FEW = 4  # items: fewer run here
_SHARED = ("metric", "metrics", "device", "offline", "cache", "paths")


class Trust(
    Streaming,
    name="trust",
    title="Trust: which metric for what?",
    question="Which metric can I trust, and for what?",
):
    """A battery of experiments, and for every use and metric a skill by declared rules.

    Parameters
    ----------
    battery
        "quick", "standard", "full", or a file in the form of conf/trust/quick.yaml.
    runs
        Folders of finished runs that are evidence, too.
    uses
        A file in the form of conf/trust/uses.yaml; by default metaeval's.
    seeds
        Seeds with which all items run again, to count the words that change.
    """

    def __init__(
        self,
        battery: str = "standard",
        runs: Sequence[str] = (),
        uses: str | None = None,
        seeds: Sequence[Seed] = (),
    ) -> None:
        self.battery, self.runs, self.uses = battery, tuple(runs), uses
        self.seeds = tuple(dict.fromkeys(seeds))

    def check(self, config: DictConfig) -> None:
        read_uses(self.uses)
        require_one_identity((folder, self._result(folder)) for folder in self.runs)
        # tests compose and check each item of ours
        of_user = {} if self.battery in BATTERIES else read_battery(self.battery).items
        for name, overrides in of_user.items():
            try:
                item = item_config(overrides, config, config.seed)
                complete_metrics(item)
                check_config(item)
            except ConfigError as error:
                raise ConfigError(f"trust.battery={self.battery}, item {name}: {error}") from None

    def _result(self, folder: str) -> MeasuredResult:
        return _finished(user_path(folder))[0]

    def also_named(self, config: DictConfig) -> Collection[str]:
        results = map(self._result, self.runs)
        return {metric.name for result in results for metric in result.metrics}

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> MeasuredResult:
        config, out = record.config, record.out
        declared = read_uses(self.uses)
        battery = read_battery(self.battery)
        record.begin(keep=ITEMS)
        given: list[ItemRun] = []
        seeds = list(dict.fromkeys([config.seed, *self.seeds]))
        folders = [out / ITEMS, *(out / ITEMS / f"seed{seed}" for seed in seeds[1:])]
        runs, *repeated = _battery_runs(battery, config, record, seeds, folders)
        reruns = dict(zip(seeds[1:], repeated, strict=True))
        contents = {
            file_sha256(out / run.directory / files.STATISTICS): run.id
            for run in runs
            if run.directory
        }
        for folder in map(user_path, self.runs):
            run = _given(folder, [r.id for r in (*runs, *given)])
            if (content := file_sha256(folder / files.STATISTICS)) in contents:
                same = contents[content]
                print(f"{folder}: the same result as {same}; it counts once", flush=True)
                continue
            contents[content] = run.id
            given.append(run)
            print(_line(run), flush=True)
        require_one_identity((r.id, r.result) for r in (*runs, *given) if r.result is not None)
        record.update(metrics=work_of([*runs, *given], metrics))
        return gathered(
            self.battery,
            declared,
            [*runs, *given],
            own_metrics(metrics, config),
            metrics,
            {seed: [*repeated, *given] for seed, repeated in reruns.items()},
        )

    def printout(self, summary: MeasuredResult, out: Path, file: Path) -> str:
        changes = [
            {"metric": one["change"], "words that change": f"{one['words']} of {one['of']}"}
            for one in summary.extra("robustness").records
        ]
        lines = [
            *text_table(matrix_rows(summary), ""),
            *(summary.caveat, ""),
            *(f"{use['use']}: {answer_of(use)}" for use in summary.extra("uses").records),
            *("", *text_table(changes, ""), ""),
            *(
                f"missing: {item['item']}: {item['reason']}; {item['command']}"
                for item in summary.extra("items").records
                if item["status"] == "missing"
            ),
        ]
        return "\n".join([*lines, *not_run_lines(summary), f"{file.stem}: {file}"])


def _battery_runs(
    battery: Battery,
    config: DictConfig,
    record: RunRecord,
    seeds: Sequence[int],
    folders: Sequence[Path],
) -> list[list[ItemRun]]:
    """Per seed the runs of all items, each in a folder of its name; one line per item.

    `folders` are those of the seeds.
    """
    jobs = [
        _Job(name, overrides, seed, folder / name)
        for seed, folder in zip(seeds, folders, strict=True)
        for name, overrides in battery.items.items()
    ]
    runs, line, n = [], progress.current(), len(battery.items)
    with record.stage("items"):
        parts = line.plan([(job.name, _USUAL_SECONDS) for job in jobs], "item")
        for part in parts[:1]:
            line.begin(part)
        for place, (job, (run, logged)) in enumerate(
            zip(jobs, _ended(jobs, config), strict=True), 1
        ):
            for entry in logged:
                logging.getLogger(entry.name).handle(entry)
            if run.info is not None and run.info.device is not None:
                device.note_used(run.info.device)
            runs.append(run)
            seed = f", seed {job.seed}" if len(seeds) > 1 else ""
            print(f"{place} of {len(jobs)}{seed}: {_line(run)}", flush=True)
            for part in parts[place : place + 1]:
                line.begin(part)
    return [runs[start : start + n] for start in range(0, len(runs), n)]


class _Job(NamedTuple):
    """An item of the battery that is to run with a seed."""

    name: str
    overrides: Sequence[str]
    seed: int
    folder: Path

    def data(self) -> tuple[int, list[str]]:
        """What the item shares with others: its seed and its dataset."""
        return self.seed, [o for o in self.overrides if o.startswith("dataset=")]


def _ended(
    jobs: Sequence[_Job], config: DictConfig
) -> Iterator[tuple[ItemRun, Sequence[logging.LogRecord]]]:
    """The run of each job, in order, and what a process of its own has logged.

    Much of an item keeps one core busy, so two items run at a time, each in a process of its own;
    a few are not worth starting processes. Items on one dataset follow each other in one process,
    which encodes their references once.
    """
    groups = [list(group) for _, group in groupby(jobs, _Job.data)]
    if len(jobs) < _FEW or core_count() == 1:
        with shared_java_services():
            for group in groups:
                yield from _run_group(group, config)
        return
    context = get_context("spawn")
    ends, given = context.Pipe(duplex=False)
    begin = partial(_begin_process, ends, choices.config_folders()[1:], gc.get_threshold())
    with given, ProcessPoolExecutor(_PROCESSES, context, begin) as pool:
        try:
            for ended in pool.map(_run_group, groups, [config] * len(groups)):
                yield from ended
        except BaseException:
            given.close()  # the others end whatever they are doing, as they do with this process
            raise


def _begin_process(
    ends: Connection, folders: Sequence[Path], thresholds: tuple[int, int, int]
) -> None:
    """Prepare a process for items, which ends when the other end of a pipe is closed."""

    def follow() -> None:
        ends.poll(None)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    gc.set_threshold(*thresholds)  # of the process that started it
    # torch reads it when it is imported, and the user may have said another number
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, core_count() // _PROCESSES)))
    for folder in folders:
        choices.add_config_folder(folder)
    choices.register()
    contexts = ExitStack()
    contexts.enter_context(keep_networks())
    contexts.enter_context(shared_java_services())
    # at its end, before its threads, the last one first; and no more than these: Python takes a
    # minute to free millions of captions one by one
    Finalize(None, os._exit, (0,), exitpriority=0)
    Finalize(None, contexts.close, exitpriority=0)
    logging.getLogger().addHandler(QueueHandler(_logged))
    logging.getLogger().setLevel(logging.INFO)


_logged: SimpleQueue[logging.LogRecord] = SimpleQueue()


def _run_group(
    jobs: Sequence[_Job], config: DictConfig
) -> list[tuple[ItemRun, list[logging.LogRecord]]]:
    """The runs of items on one dataset, and what each has logged in a process of its own."""
    ended = []
    for job in jobs:
        with progress.unseen():
            run = _item(*job, config)
        ended.append((run, [_logged.get() for _ in range(_logged.qsize())]))
    forget_texts()  # the next items have other captions; networks stay
    release("dataset", "encoded sentences")
    return_free_memory()
    return ended


def _item(
    name: str, overrides: Sequence[str], seed: int, folder: Path, outer: DictConfig
) -> ItemRun:
    """The run of an item: an earlier finished one of the same key, or a new one."""
    config = item_config(overrides, outer, seed)
    experiment = str(overrides[0]).partition("=")[2]
    command = " ".join(["python -m metaeval", *(f"'{o}'" if "[" in o else o for o in overrides)])
    key = item_key(config)
    stored = stored_item(folder, key)
    if stored is None:
        from metaeval.experiments.run import run_configured  # which imports all experiments

        folder.mkdir(parents=True, exist_ok=True)
        (folder / KEY).unlink(missing_ok=True)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                run_configured(config, folder)
        except (StageError, StrictError):
            pass  # statistics are there: the report failed, or no metric has scores
        except MetaevalError as error:
            return ItemRun(name, experiment, command, reason=str(error))
        if key is not None:
            files.atomic(folder / KEY, lambda p: p.write_text(key, encoding="utf-8"))
    result, info = stored or (read_result(folder / files.STATISTICS), read_info(folder / files.RUN))
    return ItemRun(
        name, experiment, command, result, info, f"{ITEMS}/{name}", resampled=_resampled(folder)
    )


def item_config(overrides: Sequence[str], outer: DictConfig, seed: int) -> DictConfig:
    """The configuration of an item: its own with a seed, and the metrics and cache of the battery.

    All controls are always there: a verdict is a comparison with the best of them.
    """
    config = compose_config(overrides)
    with open_dict(config):
        config.seed = seed
        for key in _SHARED:
            config[key] = copy.deepcopy(outer._get_node(key))
        if "bank" in config.metric and not _is_banked(overrides, config):
            config.metric.pop("bank")
        names = list(config.metrics) if isinstance(config.metrics, ListConfig) else [config.metrics]
        config.metrics = [*names, *outer.metric_groups[CONTROLS]]
        if overrides[0] == "experiment=systems":
            config.metrics = "all"  # those of its table
        config.strict = False
        if not outer.report:
            config.report = None
        for option, off in (("explanations", 0), ("figures", False)):
            if config.report and option in config.report:
                config.report[option] = off
    return config


def _is_banked(overrides: Sequence[str], config: DictConfig) -> bool:
    """Whether the score bank has scores of an item's benchmark; none of captions made here."""
    files_of_bank = bank_files(config.metric.bank.folder, config.paths.data)
    return any(f"dataset={entry.benchmark}" in overrides for _, entry in files_of_bank)


def item_key(config: DictConfig) -> str | None:
    """A digest of what an item's result follows from: its configuration, the signatures of its
    metrics, its data, and the code of the statistics. `None` where that is not known."""
    try:
        with open_store(config) as store:
            read = _read(load_dataset(config), config, store)
    except (MetaevalError, AttributeError):
        return None
    content = [OmegaConf.to_yaml(config, resolve=True), read, code_digest()]
    return digest(json.dumps(content)).hex()


def _read(data: Any, config: DictConfig, store: Store) -> list[Any]:
    """The signatures of the metrics of a run on some data, and digests of the files it reads."""
    if isinstance(data, SystemsTable):  # which holds the values of its metrics
        return [dict(data.sources)]
    dataset = data if isinstance(data, CaptionDataset) else data.documents()
    dataset.part("objects")  # its files join the sources when they are read
    metrics, images = build_all(selected(config), config).values(), dataset.part("images")
    paths: Iterable[Path | None] = ()
    if isinstance(images, ImageFiles) and any("images" in m.needs for m in metrics):
        paths = map(images.path, dataset.image_ids)
    return [
        signatures_of((m for m in metrics if not isinstance(m, BankMetric)), dataset, store),
        [m.contents() for m in metrics if isinstance(m, BankMetric)],
        dict(dataset.sources),
        [file_sha256(path, store) for path in paths if path is not None],
    ]


def stored_item(folder: Path, key: str | None) -> tuple[MeasuredResult, RunInfo] | None:
    """The finished run of this key that the folder holds.

    A damaged one, into whose folder no run may write, is moved, and a line is printed.
    """
    if not (folder / files.RUN).exists():
        return None
    try:
        info = read_info(folder / files.RUN)
        with_key = info.status == files.FINISHED and (folder / KEY).is_file()
        if with_key and read_text(folder / KEY).text == key:
            _resampled(folder)
            return read_result(folder / files.STATISTICS), info
    except MetaevalError as error:
        aside = folder.rename(new_folder(folder.with_name(f"{folder.name}-damaged")))
        print(f"{error}; it is now in {aside}, and the item runs again", flush=True)
    return None


def _resampled(folder: Path) -> tuple[Resampled, ...]:
    """The replicates of a run; none where it has none, or an older version wrote it."""
    path = folder / files.REPLICATES
    return read_resampled(path) if path.exists() else ()


def _given(folder: Path, taken: Sequence[str]) -> ItemRun:
    """A finished run that the user names."""
    result, info = _finished(folder)
    name = folder.resolve().name
    return ItemRun(
        name if name not in taken else str(folder),
        result.experiment,
        " ".join(info.command),
        result,
        info,
        str(folder),
        resampled=_resampled(folder),
    )


def _finished(folder: Path) -> tuple[MeasuredResult, RunInfo]:
    """The result of a finished run. Raises InputError where there is none."""
    result, info = read_finished(folder)
    if result.experiment == Trust.name:
        raise ConfigError(f"trust.runs: {folder} is itself a run of experiment=trust")
    return result, info


def _line(run: ItemRun) -> str:
    """One line for the console."""
    if run.info is None:
        return f"{run.id}: missing: {run.reason}"
    seconds = sum(stage.seconds for stage in run.info.stages)
    n = run.info.dataset.n_images if run.info.dataset is not None else None
    of = f"{n:,} images, " if n else ""
    ok = sum(m.ok for m in run.metrics)
    return f"{run.id}: {of}{ok} of {len(run.metrics)} scores, {seconds:.0f} s"
