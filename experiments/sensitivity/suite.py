"""The corruptions of a profile: every file of conf/corruption that is possible on the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from omegaconf import DictConfig, OmegaConf

from metaeval import installation
from metaeval.corruptions.base import KINDS, Corruption
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.graded.task import configured
from metaeval.options import did_you_mean

OWN = ("callable", "file", "mixture")
TRUTH = "truth"  # the kind of corruptions that know the scene


def kind_of(corruption: Corruption) -> str:
    """The group of a corruption; "truth" of those that know the scene."""
    return corruption.kind or TRUTH


def names() -> list[str]:
    """The values of `corruption=`, except those that need a file of the user."""
    folder = installation.conf() / "corruption"
    return sorted(file.stem for file in folder.glob("*.yaml") if file.stem not in OWN)


def suite(dataset: CaptionDataset, chosen: Sequence[str] | str = "all") -> list[Corruption]:
    """The chosen corruptions that are possible on the dataset, by kind, mildest levels first.

    `chosen` is "all", names of files in conf/corruption, or kinds ("objects"). Raises ConfigError
    for a name that is neither.
    """
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    known, kinds = names(), (*KINDS, TRUTH)
    for name in wanted:
        if name not in (*known, *kinds, "all"):
            raise ConfigError(
                f"unknown corruption '{name}'{did_you_mean(name, [*known, *kinds]) or ';'} "
                f"choose from all, {', '.join(kinds)}, or python -m metaeval list corruptions"
            )
    made: list[Corruption] = []
    for name in known:
        for corruption in reversed(configured(_node(name))):
            picked = {"all", name, kind_of(corruption)} & set(wanted)
            if picked and corruption.missing(dataset) is None:
                made.append(corruption)
    return sorted(made, key=lambda c: kinds.index(kind_of(c)))


def _node(name: str) -> DictConfig:
    return cast(DictConfig, OmegaConf.load(installation.conf() / "corruption" / f"{name}.yaml"))
