"""The life of a run, for every experiment: each stage writes files that the next one reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig

from experiments.base import Experiment, MetricExperiment, Pass, Training
from experiments.explanations import explanations
from experiments.record import RunRecord
from experiments.scores import open_store
from metaeval import progress
from metaeval.compute.networks import keep_networks
from metaeval.config import build, selected
from metaeval.errors import ConfigError, StrictError
from metaeval.metrics.base import Metric
from metaeval.runs import files
from metaeval.scoring import Scored

# what the stages around the metrics take with 5,000 images on two cores, for the line of progress
_USUAL_SECONDS = (("captions", 2.0), ("statistics", 3.0), ("explanations", 6.0), ("report", 4.0))


def run(experiment: Experiment, config: DictConfig, out: Path) -> dict[str, Any]:
    """Run an experiment into the folder `out`.

    Returns what `statistics.json` holds, or the card of a training. Raises InputError and
    ConfigError before anything is scored, StrictError at the very end.
    """
    if isinstance(experiment, MetricExperiment):
        return _measure(experiment, config, out)
    if isinstance(experiment, Training):
        return _train(experiment, config, out)
    raise ConfigError(f"{type(experiment).__name__} is no experiment: see experiments/base.py")


def _train(experiment: Training, config: DictConfig, out: Path) -> dict[str, Any]:
    record = _begin(experiment, config, out)
    with record.stage("training"):
        card = experiment.train(config, out)
    record.write()
    return card


def _measure(
    experiment: MetricExperiment[Any, Any], config: DictConfig, out: Path
) -> dict[str, Any]:
    names = selected(config)  # a misspelt metric is refused before the data is read
    metrics = {name: build(name, config) for name in names}
    experiment.check(config)
    record = _begin(experiment, config, out)
    with progress.run_line() as line, keep_networks():
        line.plan(_USUAL_SECONDS)
        summary, passes = _stages(experiment, names, metrics, record)
    next_file = out / (files.REPORT if config.report else files.STATISTICS)
    print(experiment.printout(summary, record, next_file), flush=True)
    if config.strict and (lacking := [p.scored for p in passes if p.scored.status != "ok"]):
        reasons = "; ".join(f"{s.family} {s.status}: {s.reason}" for s in lacking)
        raise StrictError(f"{reasons} (strict=true)")
    return summary


def _stages(
    experiment: MetricExperiment[Any, Any],
    names: Sequence[str],
    metrics: Mapping[str, Metric],
    record: RunRecord,
) -> tuple[dict[str, Any], Sequence[Pass]]:
    """All stages of a run, and what became of its statistics and metrics."""
    config, out = record.config, record.out
    with record.stage("dataset"):
        data = experiment.load(config)
    print(f"{experiment.name} on {experiment.describe(data)}", flush=True)
    with record.stage("captions"):
        experiment.write_versions(data, record)
    with record.stage("scores"):
        scores = experiment.score(data, metrics, record)
    passes = experiment.passes(scores)
    record.info["metrics"] = [
        {
            "metric": f"{scored.family} ({label})" if label else scored.family,
            "seconds": round(scored.seconds, 3),
            "n_scored": scored.n_scored,
            "n_cached": scored.n_cached,
        }
        for scored, label in passes
    ]
    with record.stage("statistics"):
        summary = {
            "schema": 1,
            "experiment": experiment.name,
            **experiment.statistics(data, scores, record),
        }
        files.write_json(out / files.STATISTICS, summary)
    by_name = {n: (metrics[n], p.scored) for n, p in zip(names, passes, strict=False)}
    _explain(experiment, data, by_name, record)
    record.write()
    if config.report:  # report=none is an empty node
        with record.stage("report"):
            instantiate(config.report)(out)
        record.write()
    return summary, passes


def _begin(experiment: Experiment, config: DictConfig, out: Path) -> RunRecord:
    """The record of a run that begins, its configuration written."""
    record = RunRecord(config, out)
    record.write_config()
    record.info["experiment"] = {
        "name": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
    }
    return record


def _explain(
    experiment: MetricExperiment[Any, Any],
    data: Any,
    metrics: Mapping[str, tuple[Metric, Scored]],
    record: RunRecord,
) -> None:
    """Write explanations.json, or remove that of an earlier run into this folder."""
    config, path = record.config, record.out / files.EXPLANATIONS
    images = int(config.report.get("explanations", 0)) if config.report else 0
    dataset = experiment.explained(data)
    if not images or dataset is None:
        path.unlink(missing_ok=True)
        return
    with record.stage("explanations"), open_store(config) as store:
        payload = explanations(record.out, metrics, dataset, images, store)
        files.write_json(path, payload, indent=None)
