"""The schema of the whole configuration, and the check of it before any work begins.

What stands at the root is declared here. Everything else is an option of some component, a node
with a `_target_`, and declared where it is used: by the annotations of the arguments of the class
or function that the node names (see `metaeval.options`). A component of one's own is checked in
the same way, as far as its arguments have annotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from metaeval import installation
from metaeval.compute import device
from metaeval.errors import ConfigError
from metaeval.options import (
    TARGET,
    Device,
    OpenShare,
    PositiveInt,
    Range,
    Rate,
    Seed,
    did_you_mean,
    fields_of,
    options_of,
    problems,
    required_fields,
    shown,
    unknown_and_wrong,
)
from metaeval.runs.print_style import PrintStyle

_HYDRA = frozenset({"_target_", "_partial_", "_convert_", "_recursive_", "_args_"})
_REFERENCE = re.compile(r"\$\{[\w.]+\}")  # a value that stands at another key, and is checked there


class Component:
    """What Hydra makes of a node with a `_target_`."""


@dataclass
class Cache:
    """Where scores are kept: `cache`."""

    enabled: bool
    batch_size: PositiveInt | None = None


@dataclass
class Statistics:
    """Resampling and tie-breaking: `stats`."""

    replicates: Annotated[int, Range(0, 100_000)]  # all are in memory at once
    confidence: OpenShare
    tie_seeds: Annotated[int, Range(1, 10_000)]
    seed: Seed


@dataclass
class Paths:
    """Folders: `paths`."""

    cache: str
    runs: str
    data: str | None = None


@dataclass
class SweepOptions:
    """What the jobs of a `-m` run do: `sweep`."""

    reports: bool = False


@dataclass
class TrustOptions:
    """The battery of experiment=trust: `trust`."""

    battery: str = "standard"
    runs: list[str] = field(default_factory=list)
    seeds: list[Seed] = field(default_factory=list)
    uses: str | None = None


@dataclass
class Configuration:
    """The keys at the root. Those without a default have to be there."""

    seed: Seed
    metrics: str | list[str]
    strict: bool
    device: Device
    offline: bool | str | int
    cache: Cache
    stats: Statistics
    paths: Paths
    metric_groups: Mapping[str, list[str]]
    metric: Mapping[str, Component]
    dataset: Component
    regions: Component
    task: Component
    sweep: SweepOptions = field(default_factory=SweepOptions)
    corruption: Component | None = None
    vectors: Component | None = None
    report: Component | dict[str, Any] | None = None  # report=none is an empty node
    captions: str | list[str] | Mapping[str, str] | None = None  # of experiment=captioners
    variant: str | int | None = None  # of experiment=train_faier
    bleu_smooth: str | None = None
    trust: TrustOptions = field(default_factory=TrustOptions)


@dataclass
class Degrees:
    """What a corruption's node has beside the options of the corruption."""

    rates: list[Rate] | None = None
    seeds: PositiveInt | None = None
    reseeded: list[str] | None = None


def check_config(config: DictConfig) -> None:
    """Refuse a configuration that cannot be run, naming everything that is wrong with it at once.

    Raises ConfigError, one line. Nothing is read, loaded or computed for it.
    """
    found = list(_all_problems(config))
    if not found and (absent := device.missing(config.device)) is not None:
        found = [str(absent)]
    if found:
        several = f"{len(found)} problems: " if len(found) > 1 else ""
        raise ConfigError(several + "; ".join(dict.fromkeys(found)))


def _all_problems(config: DictConfig) -> Iterator[str]:
    names = required_fields(Configuration)
    if lacking := [key for key in fields_of(Configuration) if key in names and _empty(config, key)]:
        yield from map(_not_there, lacking)
        return  # what refers to them would be wrong as well
    try:
        values: Any = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        yield f"{error.full_key}: {str(error).splitlines()[0]}"
        return
    raw: Any = OmegaConf.to_container(config, resolve=False)
    values = _without_references(values, raw)
    yield from unknown_and_wrong(values, fields_of(Configuration), "")
    for name, kind in fields_of(Configuration).items():
        if kind in (Cache, Statistics, Paths, SweepOptions) and isinstance(values[name], Mapping):
            lacking = sorted(required_fields(kind) - set(raw[name]))
            yield from (f"{name}.{key} is missing" for key in lacking)
    yield from _of_components(values, "")


def _empty(config: DictConfig, key: str) -> bool:
    """Whether nothing stands at a key; without resolving what does."""
    if key not in config:  # also of a key that is `null`
        return True
    raw: Any = OmegaConf.to_container(config, resolve=False)
    return raw[key] is None


def _not_there(key: str) -> str:
    folder = installation.conf() / key
    if not folder.is_dir():
        return f"{key} is null: it has to be given"
    choices = ", ".join(sorted(path.stem for path in folder.glob("*.yaml")))
    return f"no {key} is chosen: {key}=NAME, one of {choices}"


def _without_references(value: Any, raw: Any) -> Any:
    """The values but for those that only stand for another key (`${seed}`)."""
    if isinstance(raw, dict) and isinstance(value, dict):
        return {
            key: _without_references(each, raw.get(key))
            for key, each in value.items()
            if not (isinstance(raw.get(key), str) and _REFERENCE.fullmatch(raw[key]))
        }
    return value


def _of_components(value: Any, key: str) -> Iterator[str]:
    """What is wrong with the options of all components in a part of the configuration."""
    if isinstance(value, Mapping):
        if TARGET in value:
            yield from _of_component(value, key)
        for name, each in value.items():
            yield from _of_components(each, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from _of_components(each, f"{key}[{i}]")


def _of_component(node: Mapping[str, Any], key: str) -> Iterator[str]:
    target = node[TARGET]
    try:
        if not isinstance(target, str):
            raise ValueError("it is no name")
        maker = _located(target)
    except Exception as error:  # whatever importing a module of someone's own may raise
        yield f"{key}._target_ is {shown(target)}: {' '.join(str(error).split())}"
        return
    options = options_of(maker)
    known = dict(options.known)
    if key == "corruption":
        known |= fields_of(Degrees)
    if key == "report":
        known |= fields_of(PrintStyle)
    if "_partial_" in node:
        yield from problems(node["_partial_"], bool, f"{key}._partial_")
    for name, value in node.items():
        if name in _HYDRA:
            continue
        full = f"{key}.{name}"
        if name in known:
            yield from problems(value, known[name], full)
        elif not options.others:
            yield f"there is no option {full}{did_you_mean(str(name), known)}"


def _located(path: str) -> Any:
    """The class or function of this dotted name, importing its module."""
    module, _, name = path.rpartition(".")
    if not module:
        raise ValueError("it names no module")
    try:
        holder = import_module(module)
    except ModuleNotFoundError as error:
        if "." not in module or not (error.name and module.startswith(error.name)):
            raise
        holder = _located(module)  # a class, perhaps
    return getattr(holder, name)
