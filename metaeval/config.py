"""From the configuration to objects: composing it, choosing metrics, building what it names."""

import copy
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.singleton import Singleton
from hydra.errors import (
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from metaeval import choices
from metaeval.compute.device import load_once
from metaeval.errors import ConfigError, MetaevalError
from metaeval.metrics.base import Metric
from metaeval.options import MOST_NAMES, OptionError, did_you_mean, unknown
from metaeval.overrides import merge, metric_overrides, outside_the_grammar
from metaeval.runs.environment import from_environment

CITATION = "citation"  # in a metric's or a dataset's node: what to cite, no option of its class
_BOXES = "metaeval.vision.regions.boxes.FileRegions"
CONTROLS = "controls"  # the group of metrics that others are compared with


def component(node: Any, what: str, **more: Any) -> Any:
    """The object that a config node describes; `what` names the node in messages ("dataset").

    `more` are arguments in addition to those of the node.

    Hydra wraps what goes wrong in its own exception: metaeval's errors come out unchanged,
    anything else (an unknown option, a wrong type) as a ConfigError of one line.
    """
    node = _without_citations(node, what)
    try:
        return instantiate(node, _convert_="all", **more)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, OptionError):
            raise cause.under(what) from None
        if isinstance(cause, MetaevalError):
            raise cause from None
        problem = " ".join(str(cause or error).split())
        raise ConfigError(f"{what}: {problem}") from None


def cites(node: str) -> bool:
    """Whether a node ("dataset", "metric.bleu", "task.test") names what to cite."""
    return node in ("dataset", "task.test") or node.startswith("metric.")


def _without_citations(node: Any, what: str) -> Any:
    """A copy of a node without what it, or the dataset `test` in it, cites."""
    if not OmegaConf.is_dict(node):
        return node
    node = copy.deepcopy(node)
    with open_dict(node):
        for key, part in ((what, node), (f"{what}.test", node.get("test"))):
            if cites(key) and OmegaConf.is_dict(part):
                part.pop(CITATION, None)
    return node


def load_dataset(config: DictConfig) -> Any:
    """What the node `dataset` describes. The jobs of a sweep in one process share it."""
    key = "dataset", OmegaConf.to_yaml(config.dataset, resolve=True)
    return load_once(key, lambda: component(config.dataset, "dataset"))


def plain(node: Mapping[str, Any]) -> dict[str, Any]:
    """A plain dictionary of a configuration node, which can be written as JSON."""
    values = OmegaConf.to_container(node) if OmegaConf.is_config(node) else dict(node)
    return values  # type: ignore[return-value]


_composing = threading.RLock()


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """The configuration that the command would run with; ConfigError where it makes none.

    Also from within the command: Hydra's own state is as it was afterwards. It is one for all
    threads, so they compose one after another. The same overrides are composed again only if a
    file of the configuration has changed.
    """
    with _composing:
        return copy.deepcopy(_compose(tuple(overrides), choices.stamp()))


@lru_cache(maxsize=64)
def _compose(overrides: tuple[str, ...], _stamp: tuple[Any, ...]) -> DictConfig:
    own, *added = choices.config_folders()
    more = [f"hydra.searchpath=[{','.join(f'file://{f}' for f in added)}]"] if added else []
    state = Singleton.get_state()
    GlobalHydra.instance().clear()
    choices.register()
    try:
        with initialize_config_dir(str(own), version_base="1.3"):
            composed, others = outside_the_grammar(overrides)
            metrics = metric_overrides(overrides)
            config = compose("config", overrides=[*composed, *metrics, *more])
            merge(config, others)
            return config
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        problem = error
    finally:
        Singleton.set_state(state)
    raise no_config(problem, overrides) from None


def no_config(error: Exception, overrides: Iterable[str]) -> ConfigError:
    """Hydra's error of composition in one line, with a suggestion."""
    lines = str(error).splitlines()
    if isinstance(error, OverrideParseException):
        return ConfigError(
            f"Hydra cannot read {error.override!r:.80} ({lines[0]}); write texts in quotes, within "
            "those of the shell: \"KEY='TEXT'\", \"KEY=['TEXT','TEXT']\", \"KEY={NAME: 'TEXT'}\""
        )
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        there = list(error.options or choices.list_choices(group))
        meant = did_you_mean(name, there) or ";"
        return ConfigError(f"unknown {group} '{name}'{meant}{_choose_from(group, there)}")
    for override in overrides:
        key, _, value = override.lstrip("+~/").partition("=")
        if value.strip() in ("null", "") and (there := list(choices.list_choices(key))):
            return ConfigError(f"{key}={value} chooses nothing;{_choose_from(key, there)}")
    if unknown := re.match(r"(?:Could not override|Key) '([^']+)'", lines[0]):
        within = re.search(r"full_key: (.+)", f"{error.__cause__}\n{error}")  # of a mapping's key
        key = within[1] if within else unknown[1]
        name = key.removeprefix("metric.").partition(".")[0]
        if (
            key.startswith("metric.")
            and name in metric_names()
            and (f"metric.{name}" not in _all_keys(overrides))
        ):
            return ConfigError(f"{key}: this option is known only with metric=[{name}]")
        keys, last = _all_keys(overrides), key.rpartition(".")[2]
        named = [f"'{each}'" for each in keys if each.endswith(f".{last}")][:2]
        group = key.rpartition(".")[0]
        siblings = [each for each in keys if each.startswith(f"{group}.") and "._" not in each]
        meant = did_you_mean(key, siblings or keys)
        if named:
            meant = f"; did you mean {' or '.join(named)}?"
        elif not meant and siblings and len(siblings) <= MOST_NAMES:
            meant = f"; known are {', '.join(siblings)}"
        of_none = "nothing that was chosen has this option"
        is_group = any(choices.list_choices(key))
        return ConfigError(f"{key}: {of_none if is_group else f'unknown option{meant}'}")
    if "appears more than once" in lines[0]:
        return ConfigError(f"{lines[0]}: two metrics choose it; write metrics=[…] for metric=[…]")
    relevant = [line for line in lines if not line.startswith("See https://")]
    return ConfigError(" ".join(" ".join(relevant[:2]).split()))


_GROUP_CHOICE = re.compile(r"\+?(experiment|dataset|metric|corruption|regions|vectors|report)=")


def _choose_from(group: str, names: Sequence[str]) -> str:
    """What there is to choose in a group, or the command that lists it."""
    plural = next((what for what, of in choices.LISTED.items() if of == group), None)
    if len(names) > MOST_NAMES and plural:
        return f" choose from those of `python -m metaeval list {plural}`"
    return f" choose from {', '.join(names)}"


def _all_keys(overrides: Iterable[str]) -> list[str]:
    """The dotted keys of the configuration with the same choices, without its other overrides."""
    chosen = [o for o in overrides if _GROUP_CHOICE.match(o)]
    chosen += [o for o in metric_overrides(list(overrides)) if o not in chosen]
    if set(chosen) >= set(overrides):  # the choices themselves cannot be composed
        return []
    try:
        return _dotted(OmegaConf.to_container(compose_config(chosen)))
    except ConfigError:
        return []


def _dotted(value: Any, key: str = "") -> list[str]:
    if not isinstance(value, dict):
        return [key]
    inner = [k for name, each in value.items() for k in _dotted(each, f"{key}.{name}".lstrip("."))]
    return [key, *inner] if key else inner


def metric_names() -> list[str]:
    """Every metric that has a file in `conf/metric` (or in that of `--config-dir`) or that an
    installed package provides: those of the default list and others."""
    return list(choices.list_choices("metric"))


def selected(config: DictConfig) -> list[str]:
    """The names of the metrics to run, groups resolved, in the order of the configuration.

    `metrics` is "all" (what `metric` lists), a group (all its metrics, listed or not) or a list of
    names; of an empty list there are none, on purpose. A metric with a file in `conf/metric` that
    `metric` does not list is added to the configuration. Raises ConfigError for a name that is
    neither a metric nor a group.
    """
    asked, listed = asked_metrics(config), list(config.metric)
    for name in asked:
        if name not in config.metric and name != "all":
            if name not in metric_names():
                known = list(dict.fromkeys([*listed, *metric_names()]))
                meant = did_you_mean(name, [*known, "all", *config.metric_groups])
                raise ConfigError(
                    f"unknown metric '{name}'{meant or ';'}{_choose_from('metric', known)}, "
                    f"or a group: all, {', '.join(map(str, config.metric_groups))}"
                )
            add_metric(config, name)
    wanted = {*asked, *(listed if "all" in asked else ())}
    names = [name for name in config.metric if name in wanted]
    if not names and config.metrics != []:
        raise ConfigError(f"metrics={config.metrics} selects nothing")
    return names


def asked_metrics(config: DictConfig, key: str = "metrics") -> list[str]:
    """The names in `metrics`, or in `controls`, of groups those of their metrics. Values of any
    type may be there."""
    groups = config.metric_groups if OmegaConf.is_dict(config.get("metric_groups")) else {}

    def listed(value: Any) -> list[str]:
        return list(map(str, value)) if isinstance(value, ListConfig) else [str(value)]

    return [name for one in listed(config.get(key)) for name in listed(groups.get(one, one))]


def add_metric(config: DictConfig, name: str) -> None:
    """Put the node of a metric that the list `metric` leaves out into the configuration."""
    if name in config.metric:
        return
    composed = compose_config([f"metric=[{name}]"])
    with open_dict(config):
        config.metric[name] = OmegaConf.to_container(composed.metric[name], resolve=False)
        for key in composed.keys() - config.keys():  # of the metric's node: vectors
            config[key] = composed._get_node(key)


# a metric of the user's → the option that may hold several, and the one that names each
SEVERAL = {
    "callable": ("function", "name"),
    "coco": ("scorer", "name"),
    "torchmetrics": ("metric", "name"),
    "evaluate": ("module", "name"),
    "scores": ("file", "label"),
}


def complete_metrics(config: DictConfig) -> None:
    """Complete the metrics of which an experiment sets an option and that `metric` does not list.

    `experiment=attack` sets `metric.spice.parser`; with `metric=[judge]` nothing else of SPICE is
    in the configuration, and SPICE is left out of it unless `metrics` names it. A node of several
    functions or files of scores becomes a node of each.
    """
    nodes = config.metric if OmegaConf.is_dict(config.get("metric")) else {}
    for name, options in list(nodes.items()):
        if OmegaConf.is_dict(options) and "_target_" not in options and name in metric_names():
            with open_dict(config):
                del config.metric[name]
                if name in asked_metrics(config):
                    add_metric(config, str(name))
                    config.metric[name].update(options)
    for name in SEVERAL.keys() & nodes.keys():
        _separate(config, name)


def _separate(config: DictConfig, name: str) -> None:
    """Give each function, class or file that a metric's option holds a node of its own.

    They are a list, with a list of as many names, or an object from names to them. Files of scores
    in a list without names are parts of one table.
    """
    option, called = SEVERAL[name]
    nodes: dict[str, Any] = OmegaConf.to_container(config.metric, resolve=False)  # type: ignore[assignment]
    node = nodes[name]
    given, labels = (node.get(key) if isinstance(node, dict) else None for key in SEVERAL[name])
    if isinstance(given, dict):
        labels, given = list(given), list(given.values())
    if not isinstance(given, list) or (option == "file" and not isinstance(labels, list)):
        return
    if labels is None:
        labels = [None] * len(given)
    if not isinstance(labels, list) or len(labels) != len(given):
        problem = f"give a list of {len(given)} names, one for each {option}"
        raise ConfigError(f"metric.{name}.{called}: {problem}")
    keys = [name, *(f"{name}_{k}" for k in range(2, len(given) + 1))]
    several = zip(keys, given, labels, strict=True)
    made = {key: {**node, option: one, called: label} for key, one, label in several}
    with open_dict(config):
        groups = (made if key == name else {key: each} for key, each in nodes.items())
        config.metric = {key: each for group in groups for key, each in group.items()}
        if isinstance(config.get("metrics"), ListConfig) and name in config.metrics:
            config.metrics = [*config.metrics, *keys[1:]]


def build(name: str, config: DictConfig, within: tuple[str, ...] = ()) -> Metric:
    """The metric called `name`, as configured; wrong options raise ConfigError.

    `within` are the metrics that are made of it.
    """
    node = config.metric[name]
    citation = tuple(node.get(CITATION, ()))
    of = parts_of(node)
    if of is None:
        metric: Metric = component(node, f"metric.{name}")
        return _completed(metric, [*metric.citation, *citation], config, node)
    if name in within:
        raise ConfigError(f"metric.{name}.of: {name} would be made of itself")
    config = copy.deepcopy(config)  # a part need not be among the run's metrics
    parts = []
    for each in of:
        part = str(each).partition("/")[0]
        if part not in config.metric and part not in metric_names():
            raise unknown(f"metric.{name}.of", "metric", part, metric_names())
        add_metric(config, part)
        parts.append(build(part, config, (*within, name)))
    made: Metric = component(node, f"metric.{name}", parts=parts)
    citation = (*citation, *(key for part in parts for key in part.citation))
    return _completed(made, citation, config, node)


def parts_of(node: DictConfig) -> Sequence[str] | None:
    """The metrics that a metric is made of, as its option or its file names them; `None` for one
    that is made of none."""
    if "of" in node:
        return tuple(map(str, node.of))
    if node.get("_target_") != "metaeval.metrics.combined.weighted.Combined":
        return None
    from metaeval.metrics.combined.weighted import read_combination

    return [part.of for part in read_combination(node.file).parts]


def own_metrics(metrics: Mapping[str, Metric], config: DictConfig) -> tuple[str, ...]:
    """The names of those of the metrics, by their names in the configuration, whose code or scores
    are the user's, as results call them (`MetricResult.family`)."""
    names = []
    for name, metric in metrics.items():
        target = str(config.metric[name].get("_target_", ""))
        adapted = target.startswith("metaeval.metrics.adapters.") and name != "bank"
        if adapted or not target.startswith("metaeval."):
            names.append(metric.name)
    return tuple(names)


def with_controls(config: DictConfig) -> tuple[dict[str, Metric], list[str]]:
    """The selected metrics, with the run's `controls` where no control is among them; and the names
    of those that were added, which `metrics` then has, too.

    Without `controls`, `metrics=all` leaves out those of the group.
    """
    metrics = build_all(selected(config), config)
    controls = list(config.get("controls") or ())
    blind = {name for name, m in metrics.items() if any(c.control for c in m.columns)}
    asked = asked_metrics(config)
    if not metrics or (controls and blind):
        return metrics, []
    kept = [name for name in metrics if controls or name in asked or name not in blind]
    config.metrics = [*kept, *controls]
    selected(config)  # refuses unknown ones, and gives the others their nodes
    return {name: metrics[name] for name in kept} | build_all(controls, config), controls


def _completed(
    metric: Metric, citation: Iterable[str], config: DictConfig, node: DictConfig
) -> Metric:
    """The metric, also if it is a frozen data class, with what the configuration says around its
    options: what a paper cites, what the environment gives, and the boxes that it reads."""
    object.__setattr__(metric, "citation", tuple(dict.fromkeys(citation)))
    object.__setattr__(metric, "from_environment", from_environment(node))
    if OmegaConf.select(config, "regions._target_") == _BOXES:
        object.__setattr__(metric, "boxes", component(config.regions, "regions"))
    return metric


def build_all(names: Iterable[str], config: DictConfig) -> dict[str, Metric]:
    """The metrics of these names; ConfigError with what is wrong with the options of any."""
    metrics, wrong = {}, []
    for name in names:
        try:
            metrics[name] = build(name, config)
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError("; ".join(dict.fromkeys(wrong)))
    return metrics
