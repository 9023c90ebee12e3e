"""Results that an earlier run computed from the same data, scores, options and code, its corrupted
captions, and its scores of further corruption seeds.

In a repeated run of many replicates the statistics take longer than everything else.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import pandas as pd
from omegaconf import OmegaConf

from metaeval.corruptions.base import Corruption
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.errors import MetaevalError
from metaeval.experiments.base import MetricExperiment
from metaeval.experiments.record import RunRecord, write_versions
from metaeval.experiments.scores import open_store
from metaeval.results.files import resampled_bytes, resampled_rows
from metaeval.results.measured import MeasuredResult
from metaeval.runs.environment import hidden_in
from metaeval.runs.files import CAPTIONS, SEED_SCORES, atomic, file_sha256, write_table
from metaeval.runs.records import Version
from metaeval.runs.source import digest_of_code
from metaeval.runs.store import remember
from metaeval.scoring import MetricScores

_OPTIONS = ("task", "dataset", "corruption", "regions", "stats", "seed")  # of the configuration
_READ_CAPTIONS = "metaeval.corruptions.graded."  # the corruptions that read nothing else
_RECORDED = {"python", "packages", "dataset", "corruption", "corruptions", "published"}  # run.json


def statistics_of(
    experiment: MetricExperiment[Any, Any], data: Any, scores: Any, record: RunRecord
) -> MeasuredResult:
    """The statistics of a run: of a `stored` experiment from the store where an earlier run has
    put them."""
    if not experiment.stored:
        return _computed(experiment, data, scores, record)

    def compute() -> bytes:
        result = _computed(experiment, data, scores, record)
        return b"\n".join([result.model_dump_json().encode(), resampled_bytes(result.resampled)])

    content = _content(experiment, data, scores, record)
    made = _stored(record, f"results of {experiment.name}", content, compute)
    text, _, replicates = made.partition(b"\n")
    result = MeasuredResult.model_validate_json(text)
    return result.model_copy(update={"resampled": resampled_rows(replicates)})


def _stored(record: RunRecord, what: str, content: str, compute: Callable[[], bytes]) -> bytes:
    """What `compute` returns, from the run's store where the same code made it of this content."""
    with open_store(record.config):
        return remember(f"{what} {code_digest()}", content, compute)


def write_corrupted(
    data: CaptionDataset,
    corruptions: Sequence[Corruption],
    record: RunRecord,
    versions: Callable[[], Iterable[tuple[ImageId, Version]]],
) -> dict[str, object]:
    """files.CAPTIONS with what these corruptions make of the run's captions, and their facts: from
    the store, or as `versions` gives them.

    Only of corruptions that read nothing but captions; others are applied each time.
    """
    path = record.out / CAPTIONS

    def compute() -> bytes:
        write_versions(record.out, versions())
        facts = {k: fact for each in corruptions for k, fact in each.facts().items()}
        return b"\n".join([json.dumps(facts).encode(), path.read_bytes()])

    made_by = [(type(each), dict(each.parameters)) for each in corruptions]
    read = data.image_ids, data.human, data.pool_ids, data.pool
    lasting = all(kind.__module__.startswith(_READ_CAPTIONS) for kind, _ in made_by)
    content = repr((record.config.seed, made_by, read))
    made = _stored(record, "captions", content, compute) if lasting else compute()
    facts, _, table = made.partition(b"\n")
    atomic(path, lambda p: p.write_bytes(table))
    known: dict[str, object] = json.loads(facts)
    return known


def write_seed_scores(
    experiment: MetricExperiment[Any, Any],
    data: CaptionDataset,
    scored: Sequence[MetricScores],
    record: RunRecord,
    score: Callable[[], tuple[pd.DataFrame, Sequence[MetricScores]]],
) -> None:
    """files.SEED_SCORES of the metrics whose scores of the run's own captions are `scored`: from
    the store, or as `score` gives them."""
    path = record.out / SEED_SCORES

    def compute() -> bytes:
        table, of_seeds = score()
        write_table(path, table)
        lasting = all(each.key or each.status == "skipped" for each in (*scored, *of_seeds))
        return path.read_bytes() if lasting else b""

    content = f"{_content(experiment, data, scored, record)} {[each.key for each in scored]}"
    if known := _stored(record, "seeds", content, compute):
        atomic(path, lambda p: p.write_bytes(known))


def _computed(
    experiment: MetricExperiment[Any, Any], data: Any, scores: Any, record: RunRecord
) -> MeasuredResult:
    """The statistics, without the values that the configuration takes from the environment."""
    made = experiment.statistics(data, scores, record)
    hidden = hidden_in(made, record.config)
    return hidden.model_copy(update={"resampled": made.resampled})


def _content(
    experiment: MetricExperiment[Any, Any], data: Any, scores: Any, record: RunRecord
) -> str:
    """What the statistics depend on."""
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
    return "\n".join(content)


@cache
def code_digest() -> str:
    """A digest of the source of statistics, data, files, results and texts, of published values,
    and of the versions of the libraries that compute."""
    rooms = ("corruptions", "data", "experiments", "papers", "results", "runs", "stats", "text")
    return digest_of_code(rooms, ("numpy", "pyarrow", "scipy"))
