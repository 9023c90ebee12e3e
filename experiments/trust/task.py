"""`experiment=trust`: which metric can I trust, and for what?"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import statistics as median_of
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from metaeval.compute.memory import return_free_memory
from metaeval.compute.networks import release
from metaeval.config import CONTROLS, build_all, compose_config, load_dataset, selected
from metaeval.data.dataset import CaptionDataset
from metaeval.data.image_files import ImageFiles
from metaeval.data.system_captions import find_system_files
from metaeval.errors import ConfigError, InputError, MetaevalError, StageError, StrictError
from metaeval.experiments.base import Streaming
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import open_store
from metaeval.experiments.stored_results import code_digest
from metaeval.experiments.trust.across import across_benchmarks
from metaeval.experiments.trust.declared import DeclaredUse, read_battery, read_uses
from metaeval.experiments.trust.findings import between_metrics, findings
from metaeval.experiments.trust.printout import printout
from metaeval.experiments.trust.verdicts import (
    UnjudgedEvidence,
    Verdicts,
    cells,
    effect_of,
    robustness,
)
from metaeval.java.process import shared_java_services
from metaeval.metrics.base import Metric
from metaeval.options import Seed
from metaeval.readers.files import read_text, user_path
from metaeval.results.comparison import Comparison
from metaeval.results.files import read_info, read_result
from metaeval.results.metric import MetricResult
from metaeval.results.run import RunInfo, RunResult
from metaeval.results.trust import (
    BatteryItem,
    Evidence,
    KnownComparison,
    MetricCost,
    Rules,
    TrustResult,
    TrustStatistics,
)
from metaeval.runs import files
from metaeval.runs.digests import digest, file_sha256
from metaeval.scoring import signatures_of
from metaeval.text.tokenizers.base import forget_texts

ITEMS = "items"  # the folder of the runs of the battery
KEY = "key"  # in the folder of an item: what its run follows from, as a digest
_SHARED = ("metric", "metrics", "device", "offline", "cache", "paths", "seed")


@dataclass(frozen=True, slots=True)
class ItemRun:
    """An item of the battery, and its finished run, where it has one."""

    item: BatteryItem
    result: RunResult[Any] | None
    info: RunInfo | None


class Trust(Streaming):
    """A battery of experiments, and for every use and metric a verdict by declared rules.

    Parameters
    ----------
    battery
        "quick", "standard", "full", or a file in the form of conf/trust/quick.yaml.
    runs
        Folders of finished runs that are evidence, too.
    uses
        A file in the form of conf/trust/uses.yaml; by default metaeval's.
    seeds
        Seeds with which all items run again, to count the verdicts that change.
    """

    name: ClassVar[str] = "trust"
    title: ClassVar[str] = "Trust: which metric for what?"
    report = "trust"
    question: ClassVar[str] = "Which metric can I trust, and for what?"

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
        read_battery(self.battery)
        for folder in self.runs:
            _finished(user_path(folder))

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> TrustResult:
        config, out = record.config, record.out
        declared = read_uses(self.uses)
        battery = read_battery(self.battery)
        record.begin(keep=ITEMS)
        given: list[ItemRun] = []
        with shared_java_services():
            runs = _battery_runs(battery, config, record, out / ITEMS)
            reruns = {
                seed: _battery_runs(
                    battery, _with_seed(config, seed), record, out / ITEMS / f"seed{seed}"
                )
                for seed in self.seeds
                if seed != config.seed
            }
        for folder in self.runs:
            given.append(_given(user_path(folder), [r.item.id for r in (*runs, *given)]))
            print(_line(given[-1]), flush=True)
        return gathered(
            self.battery, declared.uses, Rules(**declared.rules.model_dump()), [*runs, *given],
            own_metrics=_own(config), metrics=metrics,
            reruns={seed: [*repeated, *given] for seed, repeated in reruns.items()},
        )  # fmt: skip

    def printout(self, summary: Any, out: Path, file: Path) -> str:
        return printout(summary, file)


def _battery_runs(
    battery: Mapping[str, Sequence[str]], config: DictConfig, record: RunRecord, folder: Path
) -> list[ItemRun]:
    """The runs of all items, each in a folder of its name; one line per item."""
    runs, seed = [], "" if folder.name == ITEMS else f", seed {config.seed}"
    for place, (name, overrides) in enumerate(battery.items(), 1):
        with record.stage(f"{name}{seed}"):
            run = _item(name, overrides, config, folder / name)
        runs.append(run)
        forget_texts()  # the next item has other captions; networks stay
        release("dataset", "encoded sentences")
        return_free_memory()
        print(f"{place} of {len(battery)}{seed}: {_line(run)}", flush=True)
    return runs


def _with_seed(config: DictConfig, seed: int) -> DictConfig:
    reseeded = copy.deepcopy(config)
    reseeded.seed = seed
    return reseeded


def gathered(
    battery: str,
    uses: Sequence[DeclaredUse],
    rules: Rules,
    runs: Sequence[ItemRun],
    own_metrics: Sequence[str] = (),
    metrics: Mapping[str, Metric] | None = None,
    reruns: Mapping[int, Sequence[ItemRun]] | None = None,
) -> TrustResult:
    """The result of these runs; `metrics` say what they read, `reruns` are those of other seeds."""
    columns = _columns(runs)
    ran = [m.name for m in columns.values() if m.ok]
    evidence = {use.id: list(_found(use, runs, columns)) for use in uses}

    def judge(rules: Rules, without: str | None) -> Verdicts:
        return {
            use: cells([f for f in of if f.evidence.item != without], ran, rules)
            for use, of in evidence.items()
        }

    def judge_runs(rerun: Sequence[ItemRun]) -> Verdicts:
        return {use.id: cells(list(_found(use, rerun, columns)), ran, rules) for use in uses}

    matrix = judge(rules, None)
    seeds = {seed: judge_runs(again) for seed, again in (reruns or {}).items()}
    costs = _costs(runs, columns)
    items = [run.item.id for run in runs if run.result is not None]
    entries = tuple(
        MetricResult[TrustStatistics](
            column=m.column, family=m.family, signature=m.signature, status=m.status,
            citation=m.citation,
            reason=m.reason, remedy=m.remedy, training=m.training,
            statistics=TrustStatistics(
                cells={use: row[name] for use, row in matrix.items()}, cost=costs[name],
                **_takes((metrics or {}).get(m.family)),
            ) if m.ok else None,
        )
        for name, m in columns.items()
    )  # fmt: skip
    mine = tuple(name for name, m in columns.items() if m.family in own_metrics)
    datasets = sorted({run.result.dataset for run in runs if run.result is not None})
    return TrustResult(
        dataset=", ".join(datasets), battery=battery, rules=rules,
        uses=tuple(use.shown() for use in uses), items=tuple(run.item for run in runs),
        robustness=robustness(judge, rules, items, seeds), metrics=entries,
        own=mine, against_known=tuple(_against_known(runs, mine)),
        across=across_benchmarks((r.item.id, r.result) for r in runs if r.result is not None),
    )  # fmt: skip


def _takes(metric: Metric | None) -> Mapping[str, Any]:
    """What a metric reads and whether it runs a network, where it is known."""
    if metric is None:
        return {}
    return {"reads": tuple(sorted(metric.reads)), "runs_network": metric.runs_network}


def _columns(runs: Sequence[ItemRun]) -> dict[str, MetricResult[Any]]:
    """Column → its entry in the first run in which it has numbers, else in any run."""
    known: dict[str, MetricResult[Any]] = {}
    for run in runs:
        for metric in run.result.metrics if run.result is not None else ():
            column = metric.column
            if column.control or column.part_of is not None or not column.headline:
                continue
            if metric.name not in known or (metric.ok and not known[metric.name].ok):
                known[metric.name] = metric
    return known


def _found(
    use: DeclaredUse, runs: Sequence[ItemRun], columns: Mapping[str, MetricResult[Any]]
) -> list[UnjudgedEvidence]:
    """All evidence for a use, before the rules."""
    collected = []
    for run in runs:
        data = None if run.info is None else run.info.dataset
        too_few = None if data is None else data.too_few
        for f in findings(run.result) if run.result is not None else ():
            if f.metric not in columns or not use.asks(f.source, f.part):
                continue
            assert run.result is not None
            metric = run.result.metric(f.metric)
            evidence = Evidence(
                item=run.item.id, part=f.part, measure=f.measure, value=f.value,
                control=f.control, control_value=f.control_value, ceiling=f.ceiling,
                ceiling_is=f.ceiling_is,
                effect=effect_of(f.difference, f.control_value, f.ceiling),
                p=f.p, test=f.test, outcome="undecided", examples=f.examples,
            )  # fmt: skip
            collected.append(
                UnjudgedEvidence(
                    f.metric,
                    evidence,
                    f.why_not
                    or too_few
                    or _why_learned(metric, f.corrupted, run.result.experiment),
                )
            )
    return collected


def _against_known(
    runs: Sequence[ItemRun], own_metrics: Sequence[str]
) -> Iterator[KnownComparison]:
    """The user's metrics against the best known metric of each item.

    The best is the one that the user's metric is least above; those that were chosen on the
    experiment, or trained on such captions, are left out.
    """
    for run in runs:
        if run.result is None or not own_metrics:
            continue
        for tested in between_metrics(run.result):
            usable = {
                m.name
                for m in run.result.metrics
                if _why_learned(m, tested.corrupted, run.result.experiment) is None
            }
            for name in own_metrics:
                compared = [
                    c
                    for pair in tested.pairs.pairs
                    if name in (pair.a, pair.b)
                    and (c := pair if pair.a == name else pair.reversed()).b
                    in usable - set(own_metrics)
                    and c.difference.value is not None
                ]
                if compared:
                    best = min(compared, key=lambda c: (c.difference.value or 0.0, c.b))
                    yield KnownComparison(
                        item=run.item.id, measure=tested.measure, comparison=best,
                        outcome=_outcome(best, tested.pairs.alpha),
                    )  # fmt: skip


def _outcome(
    compared: Comparison, alpha: float
) -> Literal["beats", "falls behind", "not separated"]:
    if not compared.is_significant(alpha):
        return "not separated"
    return "beats" if (compared.difference.value or 0.0) > 0 else "falls behind"


def _why_learned(metric: MetricResult[Any], corrupted: bool, experiment: str) -> str | None:
    """Why a metric's evidence does not count: it was chosen, or trained, on such a test."""
    training = metric.training
    if training is not None and experiment in training.chosen_on:
        return f"{metric.name} was chosen on experiment={experiment}"
    if corrupted and metric.column.learned_from_corruptions:
        return f"{metric.name} was trained on corrupted captions"
    return None


def _costs(
    runs: Sequence[ItemRun], columns: Mapping[str, MetricResult[Any]]
) -> dict[str, MetricCost]:
    """The cost of each column's metric, by the runs that computed at least 100 scores."""
    rates: dict[str, list[float]] = {}
    scored: dict[str, int] = {}
    for run in runs:
        for family in run.info.metrics if run.info is not None else ():
            name = family.metric.partition(" (")[0]
            scored[name] = scored.get(name, 0) + family.n_scored
            if family.seconds is not None and family.n_scored >= 100:
                rates.setdefault(name, []).append(1000 * family.seconds / family.n_scored)
    return {
        name: MetricCost(
            seconds_per_1000=median_of.median(rates[m.family]) if m.family in rates else None,
            n_scored=scored.get(m.family, 0),
        )
        for name, m in columns.items()
    }


def _item(name: str, overrides: Sequence[str], outer: DictConfig, folder: Path) -> ItemRun:
    """The run of an item: an earlier finished one of the same key, or a new one."""
    config = item_config(overrides, outer)
    experiment = str(overrides[0]).partition("=")[2]
    arguments = " ".join(f"'{o}'" if "[" in o else o for o in overrides)
    item = partial(
        BatteryItem, id=name, experiment=experiment, title=name.replace("_", " "),
        overrides=tuple(overrides), command=f"python -m metaeval {arguments}",
    )  # fmt: skip
    key = _key(config)
    if key is None or not _is_same(folder, key):
        from metaeval.experiments.run import run_configured  # which imports all experiments

        folder.mkdir(parents=True, exist_ok=True)
        (folder / KEY).unlink(missing_ok=True)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                run_configured(config, folder)
        except (StageError, StrictError):
            pass  # statistics are there: the report failed, or no metric has scores
        except MetaevalError as error:
            return ItemRun(item(status="missing", reason=str(error)), None, None)
        if key is not None:
            files.atomic(folder / KEY, lambda p: p.write_text(key, encoding="utf-8"))
    result, info = read_result(folder / files.STATISTICS), read_info(folder / files.RUN)
    return ItemRun(_with_dataset(item, result, info, f"{ITEMS}/{name}"), result, info)


def item_config(overrides: Sequence[str], outer: DictConfig) -> DictConfig:
    """The configuration of an item: its own, with the metrics, cache and seed of the battery.

    All controls are always there: a verdict is a comparison with the best of them.
    """
    config = compose_config(overrides)
    with open_dict(config):
        for key in _SHARED:
            node = outer._get_node(key)
            config[key] = copy.deepcopy(node)
        names = list(config.metrics) if isinstance(config.metrics, ListConfig) else [config.metrics]
        config.metrics = [*names, *outer.metric_groups[CONTROLS]]
        config.strict = False
        if not outer.report:
            config.report = None
        if config.report and "explanations" in config.report:
            config.report.explanations = 0
    return config


def _key(config: DictConfig) -> str | None:
    """A digest of what an item's result follows from: its configuration, the signatures of its
    metrics, its data, and the code of the statistics. `None` where that is not known."""
    try:
        data = load_dataset(config)
        dataset = data if isinstance(data, CaptionDataset) else data.documents()
        dataset.part("objects")  # its files join the sources when they are read
        with open_store(config) as store:
            metrics = build_all(selected(config), config).values()
            captions = config.get("captions")
            read = list(find_system_files(captions).values()) if captions else []
            images = dataset.part("images")
            if isinstance(images, ImageFiles) and any("images" in m.needs for m in metrics):
                read += [path for i in dataset.image_ids if (path := images.path(i)) is not None]
            content = [
                OmegaConf.to_yaml(config, resolve=True), signatures_of(metrics, dataset, store),
                dict(dataset.sources), [file_sha256(path, store) for path in read],
                code_digest(),
            ]  # fmt: skip
    except (MetaevalError, AttributeError):
        return None
    return digest(json.dumps(content)).hex()


def _is_same(folder: Path, key: str) -> bool:
    """Whether the folder holds the finished run of this key."""
    try:
        finished = read_info(folder / files.RUN).status == "finished"
        return finished and read_text(folder / KEY).text == key
    except MetaevalError:
        return False


def _given(folder: Path, taken: Sequence[str]) -> ItemRun:
    """A finished run that the user names."""
    result, info = _finished(folder)
    name = folder.resolve().name
    unique = name if name not in taken else str(folder)
    item = partial(
        BatteryItem, id=unique, experiment=result.experiment, title=name,
        overrides=tuple(info.overrides), command=" ".join(info.command),
    )  # fmt: skip
    return ItemRun(_with_dataset(item, result, info, os.fspath(folder)), result, info)


def _with_dataset(
    item: partial[BatteryItem], result: RunResult[Any], info: RunInfo, directory: str
) -> BatteryItem:
    n_images = info.dataset.n_images if info.dataset is not None else None
    return item(status="found", directory=directory, dataset=result.dataset, n_images=n_images)


def _finished(folder: Path) -> tuple[RunResult[Any], RunInfo]:
    """The result of a finished run. Raises InputError where there is none."""
    info = read_info(folder / files.RUN)
    if info.status != "finished":
        raise InputError(f"the run is {info.status}", file=folder / files.RUN, field="status")
    result = read_result(folder / files.STATISTICS)
    if result.experiment == Trust.name:
        raise ConfigError(f"trust.runs: {folder} is itself a run of experiment=trust")
    return result, info


def _own(config: DictConfig) -> tuple[str, ...]:
    """The metrics of the configuration whose code or scores are the user's."""
    names = []
    for name, node in config.metric.items():
        target = str(node.get("_target_", ""))
        if not target.startswith("metaeval.") or target.startswith("metaeval.metrics.adapters."):
            names.append(str(name))
    return tuple(names)


def _line(run: ItemRun) -> str:
    """One line for the console."""
    if run.result is None or run.info is None:
        return f"{run.item.id}: missing: {run.item.reason}"
    seconds = sum(stage.seconds for stage in run.info.stages)
    ok = sum(m.ok for m in run.result.metrics)
    n = run.item.n_images
    of = f"{n:,} images, " if n else ""
    return f"{run.item.id}: {of}{ok} of {len(run.result.metrics)} scores, {seconds:.0f} s"
