"""Results that an earlier run computed from the same data, scores, options and code.

In a repeated run of many replicates the statistics take longer than everything else.
"""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from omegaconf import OmegaConf

import metaeval.corruptions
import metaeval.data
import metaeval.experiments
import metaeval.papers
import metaeval.results
import metaeval.stats
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import MetaevalError
from metaeval.experiments.base import MetricExperiment
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import open_store
from metaeval.results.measured import MeasuredResult
from metaeval.results.resampled import resampled_bytes, resampled_rows
from metaeval.runs.environment import hidden_in
from metaeval.runs.files import digest, file_sha256

_OPTIONS = ("task", "dataset", "corruption", "regions", "stats", "seed")  # of the configuration
_RECORDED = {"python", "packages", "dataset", "corruption", "corruptions", "published"}  # run.json


def statistics_of(
    experiment: MetricExperiment[Any, Any], data: Any, scores: Any, record: RunRecord
) -> MeasuredResult:
    """The statistics of a run: of a `stored` experiment from the store where an earlier run has
    put them."""
    if not experiment.stored:
        return _computed(experiment, data, scores, record)
    namespace = f"results of {experiment.name} {code_digest()}"
    key = _key(experiment, data, scores, record)
    of_replicates = key + b" replicates"
    with open_store(record.config) as store:
        stored = store.get_many(namespace, [key, of_replicates])
        if len(stored) == 2:
            result = MeasuredResult.model_validate_json(stored[key])
            return result.model_copy(update={"resampled": resampled_rows(stored[of_replicates])})
        result = _computed(experiment, data, scores, record)
        replicates = resampled_bytes(result.resampled)
        store.put_many(
            namespace, {key: result.model_dump_json().encode(), of_replicates: replicates}
        )
        return result


def _computed(
    experiment: MetricExperiment[Any, Any], data: Any, scores: Any, record: RunRecord
) -> MeasuredResult:
    """The statistics, without the values that the configuration takes from the environment."""
    made = experiment.statistics(data, scores, record)
    hidden = hidden_in(made, record.config)
    return hidden.model_copy(update={"resampled": made.resampled})


def _key(
    experiment: MetricExperiment[Any, Any], data: Any, scores: Any, record: RunRecord
) -> bytes:
    dataset = data if isinstance(data, CaptionDataset) else getattr(data, "dataset", None)
    if dataset is not None:
        with suppress(MetaevalError):  # where they matter, the statistics raise it again
            dataset.part("objects")  # its files join the sources when they are read
    options: Any = OmegaConf.to_container(record.config, resolve=True)
    content = [
        str(type(experiment)),
        json.dumps({name: options.get(name) for name in _OPTIONS}),
        record.info.model_dump_json(include=_RECORDED),
        json.dumps(dict(dataset.sources) if dataset is not None else {}, sort_keys=True),
    ]
    content += [f"{path.name} {file_sha256(path)}" for path in sorted(record.out.glob("*.parquet"))]
    for scored, label in experiment.passes(scores):
        entries = [scored.result(c, None) for c in range(len(scored.columns))]
        content += [label, repr(scored.training), *(entry.model_dump_json() for entry in entries)]
    return digest("\n".join(content))


@cache
def code_digest() -> str:
    """A digest of the source of statistics, data and results, of published values, and of the
    versions of the libraries that compute."""
    rooms = (
        *(metaeval.corruptions, metaeval.data, metaeval.experiments, metaeval.papers),
        *(metaeval.results, metaeval.stats),
    )
    folders = [Path(room.__path__[0]).resolve() for room in rooms]
    every = [s for f in folders for p in ("*.py", "*.yaml") for s in sorted(f.rglob(p))]
    sources = [s for s in every if s.parent.name != "trust"]  # which reads results
    content = [np.__version__, scipy.__version__]
    content += [f"{source.name} {file_sha256(source)}" for source in sources]
    return digest("\n".join(content)).hex()
