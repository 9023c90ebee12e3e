"""Graded corruption: human captions against ever worse versions of themselves.

`experiment=graded corruption=NAME` runs any corruption of `corruptions/` at the levels of
`corruption.rates` (or at its one level, where it has no rates). `replace.py` and `shuffle.py` are
the two experiments of the paper; they only add their words, a floor and the published values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from corruptions.base import Corruption
from corruptions.graded.random import Random
from experiments.base import MetricExperiment, Pass, Published, ToScore
from experiments.captions import (
    dataset_info,
    describe_dataset,
    require_captions,
    write_references,
    write_versions,
)
from experiments.graded.ceiling import ceiling
from experiments.graded.printout import printout
from experiments.graded.seeds import rescorable, score_seeds, seed_count
from experiments.graded.statistics import statistics
from experiments.graded.versions import versions
from experiments.record import RunRecord
from experiments.scores import open_store, score_all, write_scores
from metaeval.config import component, load_dataset
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric
from metaeval.runs import files
from metaeval.scoring import Scored


class Graded(MetricExperiment[CaptionDataset, list[Scored]]):
    """Human captions, and the configured corruption at one level per rate.

    Parameters
    ----------
    floor
        Put another image's caption ("Random") below the strongest corruption.
    """

    name = "graded"
    title = "Graded corruption"
    question = "Does a metric score a caption lower the more of it has been spoiled?"
    report = "graded"

    def __init__(self, floor: bool = False) -> None:
        self.floor = floor

    def corruptions(self, config: DictConfig) -> list[Corruption]:
        """The corruptions of the run, worst first."""
        return [*([Random()] if self.floor else []), *configured(config.get("corruption"))]

    def published(self, dataset: CaptionDataset, config: DictConfig) -> Published | None:
        """The published values, if there are any for this experiment."""
        return None

    def check(self, config: DictConfig) -> None:
        self.corruptions(config)
        rescorable({}, config)

    def load(self, config: DictConfig) -> CaptionDataset:
        dataset = load_dataset(config)
        if not isinstance(dataset, CaptionDataset):
            raise ConfigError(
                "there is nothing to spoil here: experiment=judgments is for captions that people "
                "judged, experiment=pairs for true and false ones"
            )
        require_captions(dataset)
        for corruption in self.corruptions(config):
            if (absent := corruption.missing(dataset)) is not None:
                raise ConfigError(f"corruption '{corruption.name}' cannot run: {absent}")
        return dataset

    def describe(self, data: CaptionDataset) -> str:
        return describe_dataset(data)

    def write_versions(self, data: CaptionDataset, record: RunRecord) -> None:
        corruptions = self.corruptions(record.config)
        write_versions(record.out, versions(data, corruptions, record.config.seed))
        write_references(record.out, data, record.config)
        facts: dict[str, Any] = {}
        for corruption in corruptions:
            facts.update(corruption.facts())
        published = self.published(data, record.config)
        record.info["dataset"] = dataset_info(data)
        record.info["corruption"] = facts
        record.info["published"] = published and {
            "source": published.source,
            "comparable": published.why_not is None,
            "why_not": published.why_not,
            "rank_order_rho": dict(published.rank_order_rho),
        }

    def to_score(self, data: CaptionDataset, record: RunRecord) -> Iterable[ToScore]:
        captions = files.read_table(record.out / files.CAPTIONS)
        return [ToScore(data, captions["image_id"].tolist(), captions["caption"].tolist())]

    def score(
        self, data: CaptionDataset, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[Scored]:
        needed = ("image_id", "set", "level", "caption")
        captions = files.read_table(record.out / files.CAPTIONS, needed)
        results = score_all(metrics.values(), data, captions, record.config)
        if any(column.control for scored in results for column in scored.columns):
            results.append(ceiling(captions))
        write_scores(record.out, captions, results)
        published = record.info["published"]
        count = seed_count(record.config, bool(published and published["comparable"]))
        if count > 1:
            again = rescorable(metrics, record.config)
            corruptions = self.corruptions(record.config)
            table = score_seeds(data, corruptions, again, record.config, count)
            files.write_table(record.out / files.SEED_SCORES, table)
        return results

    def passes(self, scores: list[Scored]) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores]

    def statistics(
        self, data: CaptionDataset, scores: list[Scored], record: RunRecord
    ) -> dict[str, Any]:
        corruptions = self.corruptions(record.config)
        with open_store(record.config) as store:
            numbers = statistics(
                record.out, scores, record.config, data, corruptions, self.name, self.floor, store
            )
        return {"dataset": data.name, **numbers}

    def explained(self, data: CaptionDataset) -> CaptionDataset:
        return data

    def printout(self, summary: Mapping[str, Any], record: RunRecord, file: Path) -> str:
        published = record.info["published"]
        values = published["rank_order_rho"] if published and published["comparable"] else {}
        return printout(summary, values, file)


def _needs_rate(target: str) -> bool:
    """Whether a corruption cannot be made without a rate."""
    rate = signature(get_object(target)).parameters.get("rate")
    return rate is not None and rate.default is rate.empty


def configured(node: DictConfig | None) -> list[Corruption]:
    """The corruptions of a `corruption` config node, worst first: one per rate, if it has rates.

    Raises ConfigError where the node or its rates make no sense.
    """
    if node is None:
        raise ConfigError("no corruption chosen: add corruption=replace (or shuffle, …)")
    options: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    for seeding in ("seeds", "reseeded"):  # how often all is done again: no options of a corruption
        options.pop(seeding, None)
    rates = options.pop("rates", None)
    if rates is None and not _needs_rate(options["_target_"]):
        made = component(options, "corruption")
        return made if isinstance(made, list) else [made]
    if not isinstance(rates, list) or not rates:
        raise ConfigError(f"corruption.rates must be a list of rates in (0, 1], not {rates!r}")
    if len(set(rates)) != len(rates):
        raise ConfigError(f"corruption.rates holds a rate twice: {rates}")
    for rate in rates:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
            raise ConfigError(f"corruption.rates: {rate!r} is not a rate in (0, 1]")
    ordered = sorted(rates, reverse=True)
    if "parts" in options:  # of several corruptions: each rate is that of all of them
        made = component({**options, "rates": ordered}, "corruption")
        return list(made)
    return [component({**options, "rate": rate}, "corruption") for rate in ordered]
