"""Graded corruption: human captions against ever worse versions of themselves.

`experiment=graded corruption=NAME` runs any corruption of `corruptions/` at the levels of
`corruption.rates` (or at its one level, where it has no rates). `replace.py` and `shuffle.py` are
the two experiments of the paper; they only add their words, a floor and the published values.
"""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from corruptions.base import Corrupted, Corruption
from corruptions.graded.random import Random
from experiments.base import CaptionSet, Experiment, Sets
from metaeval.config import component
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError


class Graded(Experiment):
    """Human captions, and the configured corruption at one level per rate.

    Parameters
    ----------
    floor
        Put another image's caption ("Random") below the strongest corruption.
    """

    name = "graded"
    title = "Graded corruption"
    question = "Does a metric score a caption lower the more of it has been spoiled?"

    def __init__(self, floor: bool = False) -> None:
        self.floor = floor

    def caption_sets(self, dataset: CaptionDataset, config: DictConfig) -> Sets:
        corruptions = instances(config.get("corruption"))
        if self.floor:
            corruptions = [Random(), *corruptions]
        for corruption in corruptions:
            if (absent := corruption.missing(dataset)) is not None:
                raise ConfigError(f"corruption '{corruption.name}' cannot run: {absent}")
        sets = [
            CaptionSet(corruption.label, level, tuple(corruption.apply(dataset, config.seed)))
            for level, corruption in enumerate(corruptions)
        ]
        human = tuple(Corrupted(text, True, (), None, 0.0) for text in dataset.human)
        sets.append(CaptionSet("Human", len(corruptions), human))
        facts: dict[str, Any] = {}
        for corruption in corruptions:
            facts.update(corruption.facts())
        return Sets(tuple(sets), facts)


def instances(node: DictConfig | None) -> list[Corruption]:
    """The corruptions of a `corruption` config node, worst first: one per rate, if it has rates.

    Raises ConfigError where the node or its rates make no sense.
    """
    if node is None:
        raise ConfigError("no corruption chosen: add corruption=replace (or shuffle, …)")
    options: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    if "rates" not in options:
        return [component(options, "corruption")]
    rates = options.pop("rates")
    if not isinstance(rates, list) or not rates:
        raise ConfigError(f"corruption.rates must be a list of rates in (0, 1], not {rates!r}")
    if len(set(rates)) != len(rates):
        raise ConfigError(f"corruption.rates holds a rate twice: {rates}")
    for rate in rates:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
            raise ConfigError(f"corruption.rates: {rate!r} is not a rate in (0, 1]")
    ordered = sorted(rates, reverse=True)
    return [component({**options, "rate": rate}, "corruption") for rate in ordered]
