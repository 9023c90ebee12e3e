"""The schema of the whole configuration, and the check of it before any work begins.

The keys at the root are declared here. Everything else is an option of some component, a node with
a `_target_`, and declared where it is used: by the annotations of the arguments of the class or
function that the node names (see `metaeval.options`). A user's own component is checked in the same
way, as far as its arguments have annotations.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, NotRequired

from annotated_types import Interval
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import with_config
from typing_extensions import TypedDict, get_type_hints

from metaeval.choices import list_choices
from metaeval.compute import device
from metaeval.config import CITATION, asked_metrics, cites
from metaeval.errors import ConfigError
from metaeval.options import (
    STRICT,
    TARGET,
    Device,
    Elsewhere,
    OpenShare,
    Options,
    PositiveInt,
    Rate,
    Seed,
    is_unicode,
    option_problems,
    options_of,
    problems,
    shown,
)
from metaeval.runs.print_style import PrintStyle

_HYDRA: dict[str, Any] = {
    "_partial_": bool,
    **dict.fromkeys((TARGET, "_convert_", "_recursive_", "_args_"), Any),
}
_REFERENCE = re.compile(r"\$\{[\w.]+\}")  # stands for the value of another key, checked there
_ELSEWHERE = Elsewhere()


class Component:
    """What Hydra makes of a node with a `_target_`."""


class Cache(TypedDict):
    """Where scores are kept: `cache`."""

    enabled: bool
    batch_size: NotRequired[PositiveInt | None]


class Statistics(TypedDict):
    """Resampling and tie-breaking: `stats`."""

    replicates: Annotated[int, Interval(ge=0, le=100_000)]  # all are in memory at once
    confidence: OpenShare
    tie_seeds: Annotated[int, Interval(ge=1, le=10_000)]
    seed: Seed


class Paths(TypedDict):
    """Folders: `paths`."""

    cache: str
    runs: str
    data: NotRequired[str | None]


class SweepOptions(TypedDict, total=False):
    """What the jobs of a `-m` run do: `sweep`."""

    reports: bool


class TrustOptions(TypedDict, total=False):
    """The battery of experiment=trust: `trust`."""

    battery: str
    runs: list[str]
    seeds: list[Seed]
    uses: str | None


class ReproduceOptions(TypedDict, total=False):
    """The items of experiment=reproduce: `reproduce`."""

    items: list[str]
    quick: bool
    captioners: str | None
    papers: str | None


@with_config(STRICT)
class Configuration(TypedDict):
    """The keys at the root."""

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
    sweep: NotRequired[SweepOptions]
    corruption: NotRequired[Component | None]
    vectors: NotRequired[Component | None]
    report: NotRequired[Component | dict[str, Any] | None]  # report=none is an empty node
    captions: NotRequired[str | list[str] | Mapping[str, str] | None]  # experiment=captioners
    controls: NotRequired[list[str] | None]
    variant: NotRequired[str | int | None]  # experiment=train_faier
    trust: NotRequired[TrustOptions]
    reproduce: NotRequired[ReproduceOptions]


class Degrees(TypedDict, total=False):
    """Keys of a corruption's node that are not options of the corruption."""

    rates: list[Rate] | None
    seeds: PositiveInt | None
    reseeded: list[str] | None


def check_config(config: DictConfig, overrides: Iterable[str] | None = None) -> None:
    """Refuse a configuration that cannot be run, naming everything that is wrong with it at once.

    Raises ConfigError, one line. Nothing is read, loaded or computed for it. With the `overrides`
    of a run, the options of metrics that it does not use are checked only where one of these sets
    them; code of the others is not imported.
    """
    wrong = list(_all_problems(config, overrides))
    if not wrong and (absent := device.missing(config.device)) is not None:
        wrong = [str(absent)]
    if wrong:
        several = f"{len(wrong)} problems: " if len(wrong) > 1 else ""
        raise ConfigError(several + "; ".join(dict.fromkeys(wrong)))


def _all_problems(config: DictConfig, overrides: Iterable[str] | None) -> Iterator[str]:
    raw: Any = OmegaConf.to_container(config, resolve=False)
    required = Configuration.__required_keys__
    given = {key for key, value in raw.items() if value is not None}
    if missing := [k for k in Configuration.__annotations__ if k in required - given]:
        yield from map(_not_given, missing)
        return  # what refers to them would be wrong as well
    try:
        values: Any = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        yield f"{error.full_key}: {str(error).splitlines()[0]}"
        return
    wrong: list[str] = []
    components: dict[str, dict[str, Any]] = {}
    root = {key: _prepared(each, raw[key], key, components, wrong) for key, each in values.items()}
    yield from wrong
    yield from problems(root, Configuration, "")
    unused = () if overrides is None else _unused(raw["metric"], config, overrides)
    for key, node in components.items():
        if not f"{key}.".startswith(unused):
            yield from _of_component(node, key)


def _unused(nodes: Any, config: DictConfig, overrides: Iterable[str]) -> tuple[str, ...]:
    """The metrics that a run does not use, and the regions and vectors that none of its metrics
    refers to, as far as no override names them: "metric.spice.", "vectors."."""
    asked = {*asked_metrics(config), *asked_metrics(config, "controls")}
    if "all" in asked or not isinstance(nodes, dict):
        return ()
    used = str([node for name, node in nodes.items() if name in asked])
    unused = [f"metric.{name}." for name in nodes if name not in asked]
    unused += [f"{group}." for group in ("regions", "vectors") if f"${{{group}}}" not in used]
    named = [f"{each.lstrip('+~').partition('=')[0]}." for each in overrides]
    return tuple(key for key in unused if not any(each.startswith(key) for each in named))


def _prepared(
    value: Any, raw: Any, key: str, components: dict[str, dict[str, Any]], wrong: list[str]
) -> Any:
    """A value without the parts that annotations do not decide on.

    References to other keys and nodes of components become `Elsewhere`; the nodes are collected in
    `components`, and what is wrong with any text in `wrong`.
    """
    if isinstance(raw, str) and _REFERENCE.fullmatch(raw):
        return _ELSEWHERE
    if isinstance(value, dict):
        own = raw if isinstance(raw, dict) else value
        inner = {
            name: _prepared(each, own[name], f"{key}.{name}", components, wrong)
            for name, each in value.items()
        }
        if TARGET not in value:
            return inner
        components[key] = inner
        return _ELSEWHERE
    if isinstance(value, list):
        parts = zip(value, raw if isinstance(raw, list) else value, strict=True)
        return [
            _prepared(each, of_raw, f"{key}[{i}]", components, wrong)
            for i, (each, of_raw) in enumerate(parts)
        ]
    if isinstance(value, str) and (problem := _wrong_text(value)):
        wrong.append(f"{key}: {problem}")
        return _ELSEWHERE
    return value


def _wrong_text(text: str) -> str | None:
    """What makes a text no value of any option."""
    if text == "???":
        return "a value is missing"
    if not is_unicode(text):
        return f"{shown(text)} contains an unpaired surrogate; write UTF-8"
    return f"{shown(text)} contains a null character; leave it out" if "\0" in text else None


def _not_given(key: str) -> str:
    if choices := ", ".join(list_choices(key)):
        return f"{key}: nothing is chosen; give {key}=NAME, one of {choices}"
    return f"{key}: null is not a value; give {key}=VALUE"


def _of_component(node: Mapping[str, object], key: str) -> Iterator[str]:
    """What is wrong with the options of a component."""
    target = node[TARGET]
    try:
        if not isinstance(target, str):
            raise ValueError("it is not a name")
        maker = located(target)
    except Exception as error:  # whatever importing a user's module may raise
        reason = " ".join(str(error).split())
        yield f"{key}._target_: {shown(target)} cannot be imported: {reason}"
        return
    if cites(key) and CITATION in options_of(maker).known:
        yield (
            f"{key}: {target} has a parameter '{CITATION}', the name of what to cite; "
            "rename the parameter"
        )
        return
    yield from option_problems(component_options(maker, key), node, key)


def component_options(maker: Any, key: str) -> Options:
    """The options of the component at a key: the parameters of its class or function, and those
    that are not."""
    known, others = options_of(maker)
    added = {"corruption": Degrees, "report": PrintStyle}.get(key)
    more = {} if added is None else get_type_hints(added, include_extras=True)
    cited = {CITATION: list[str]} if cites(key) else {}
    return Options({**_HYDRA, **known, **more, **cited}, others)


def located(path: str) -> Any:
    """The class or function of this dotted name, importing its module."""
    module, _, name = path.rpartition(".")
    if not module:
        raise ValueError("it names no module")
    try:
        holder = import_module(module)
    except ModuleNotFoundError as error:
        if "." not in module or not (error.name and module.startswith(error.name)):
            raise
        holder = located(module)  # a class, perhaps
    return getattr(holder, name)
