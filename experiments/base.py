"""The contract of an experiment, and what it hands to the pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import DictConfig

from corruptions.base import Corrupted
from metaeval.data.dataset import CaptionDataset


@dataclass(frozen=True, slots=True)
class CaptionSet:
    """One version of all captions: a name, a level (0 = worst), and a `Corrupted` per image."""

    name: str
    level: int
    captions: tuple[Corrupted, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """What a paper reports for this experiment, to stand beside our numbers.

    `rank_order_rho` maps a metric's column to the published value. `why_not` says why this run's
    numbers cannot be compared with them (another dataset, other rates), `None` if they can.
    """

    source: str
    rank_order_rho: Mapping[str, float]
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Sets:
    """The caption sets of an experiment and facts about how they were made, for `run.json`."""

    sets: tuple[CaptionSet, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)


class Experiment(ABC):
    """Which sets, which levels, and what the literature says: one experiment a file."""

    name: ClassVar[str]
    title: ClassVar[str]
    question: ClassVar[str]

    @abstractmethod
    def caption_sets(self, dataset: CaptionDataset, config: DictConfig) -> Sets:
        """Make every set, levels ascending (worst first), each with one caption per image."""

    def published(self, dataset: CaptionDataset, config: DictConfig) -> Published | None:
        """The published values, if there are any for this experiment."""
        return None

    def run(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Run the whole pipeline into the folder `out`; returns what `statistics.json` holds."""
        from experiments.run import run  # the pipeline knows this contract, not the reverse

        return run(self, config, out)
