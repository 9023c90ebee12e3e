"""Results that an earlier run computed from the same data, scores, options and code.

On THumB and Composite the statistics take longer than everything else in a repeated run.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from omegaconf import OmegaConf

import metaeval.data
import metaeval.experiments
import metaeval.papers
import metaeval.results
import metaeval.stats
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.base import Pass
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import open_store
from metaeval.results.base import MetricResult
from metaeval.results.measured import MeasuredResult
from metaeval.runs.environment import hidden_in
from metaeval.runs.files import digest, file_sha256

_OPTIONS = ("task", "dataset", "regions", "stats", "seed")  # of the configuration


def stored_result(
    compute: Callable[[], MeasuredResult],
    dataset: CaptionDataset | None,
    passes: Sequence[Pass],
    record: RunRecord,
) -> MeasuredResult:
    """The value of `compute`, from the store where an earlier run has put it.

    Only for statistics that write no files and depend on nothing except the captions and scores
    that the run has written, the objects of `dataset`, the options and metaeval's code.
    """
    name = record.info.experiment and record.info.experiment.name
    namespace = f"results of {name} {code_digest()}"
    key = _key(dataset, passes, record)
    with open_store(record.config) as store:
        if stored := store.get_many(namespace, [key]).get(key):
            return MeasuredResult.model_validate_json(stored)
        result = hidden_in(compute(), record.config)
        store.put_many(namespace, {key: result.model_dump_json().encode()})
        return result


def _key(dataset: CaptionDataset | None, passes: Sequence[Pass], record: RunRecord) -> bytes:
    info = record.info
    if dataset is not None:
        dataset.part("objects")  # its files join the sources when they are read
    options: Any = OmegaConf.to_container(record.config, resolve=True)
    content = [
        json.dumps([{name: options.get(name) for name in _OPTIONS}, info.python, info.packages]),
        info.dataset.model_dump_json() if info.dataset is not None else "",
        json.dumps(dict(dataset.sources) if dataset is not None else {}, sort_keys=True),
    ]
    content += [f"{path.name} {file_sha256(path)}" for path in sorted(record.out.glob("*.parquet"))]
    for scored, label in passes:
        entries: list[MetricResult] = [scored.result(c, None) for c in range(len(scored.columns))]
        content += [label, *(entry.model_dump_json() for entry in entries)]
    return digest("\n".join(content))


@cache
def code_digest() -> str:
    """A digest of the source of statistics, data and results, of published values, and of the
    versions of the libraries that compute."""
    rooms = (metaeval.data, metaeval.experiments, metaeval.papers, metaeval.results, metaeval.stats)
    folders = [Path(room.__path__[0]).resolve() for room in rooms]
    sources = [s for f in folders for p in ("*.py", "*.yaml") for s in sorted(f.rglob(p))]
    content = [np.__version__, scipy.__version__]
    content += [f"{source.name} {file_sha256(source)}" for source in sources]
    return digest("\n".join(content)).hex()
