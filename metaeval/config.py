"""From the configuration to objects: composing it, choosing metrics, building what it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.singleton import Singleton
from hydra.errors import HydraException, InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from metaeval import installation
from metaeval.errors import ConfigError, MetaevalError
from metaeval.metrics.base import Metric


def component(node: Any, what: str) -> Any:
    """The object that a config node describes; `what` names the node in messages ("dataset").

    Hydra wraps what goes wrong in an exception of its own: errors of ours come out unchanged,
    anything else (an unknown option, a wrong type) as a ConfigError of one line.
    """
    try:
        return instantiate(node)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, MetaevalError):
            raise cause from None
        problem = " ".join(str(cause or error).split())
        raise ConfigError(f"{what}: {problem}") from None


def plain(node: Mapping[str, Any]) -> dict[str, Any]:
    """A plain dictionary of a configuration node, which can be written as JSON."""
    values = OmegaConf.to_container(node) if OmegaConf.is_config(node) else dict(node)
    return values  # type: ignore[return-value]


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """The configuration that the command would run with; ConfigError where it makes none.

    Also from within the command: Hydra's own state is as it was afterwards.
    """
    state = Singleton.get_state()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(installation.conf()), version_base="1.3"):
            return compose("config", overrides=list(overrides))
    except HydraException as error:
        raise ConfigError(str(error).splitlines()[0]) from None
    finally:
        Singleton.set_state(state)


def metric_names() -> list[str]:
    """Every metric that has a file in `conf/metric`, those of the default list and others."""
    return sorted(path.stem for path in (installation.conf() / "metric").glob("*.yaml"))


def selected(config: DictConfig) -> list[str]:
    """The names of the metrics to run, groups resolved, in the order of the configuration.

    `metrics` is "all" (what `metric` lists), a group or a list of names. A metric with a file in
    `conf/metric` that `metric` does not list is added to the configuration. Raises ConfigError for
    a name that is neither a metric nor a group.
    """
    groups: dict[str, list[str]] = OmegaConf.to_container(config.metric_groups)  # type: ignore[assignment]
    asked = config.metrics
    names = list(asked) if isinstance(asked, ListConfig) else [asked]
    listed = list(config.metric)
    wanted: set[str] = set()
    for name in names:
        if name == "all":
            wanted.update(listed)
        elif name in groups:
            wanted.update(member for member in groups[name] if member in listed)
        elif name in config.metric:
            wanted.add(name)
        elif name in metric_names():
            add_metric(config, name)
            wanted.add(name)
        else:
            raise ConfigError(
                f"unknown metric '{name}': choose from "
                f"{', '.join(dict.fromkeys([*listed, *metric_names()]))}, or a group: "
                f"all, {', '.join(groups)}"
            )
    if not wanted:
        raise ConfigError(f"metrics={asked} selects nothing")
    return [name for name in config.metric if name in wanted]


def add_metric(config: DictConfig, name: str) -> None:
    """Put the node of a metric that the list `metric` leaves out into the configuration."""
    if name in config.metric:
        return
    node = compose_config([f"metric=[{name}]"]).metric[name]
    with open_dict(config):
        config.metric[name] = OmegaConf.to_container(node, resolve=False)


def build(name: str, config: DictConfig) -> Metric:
    """The metric called `name`, as configured; wrong options raise ConfigError."""
    metric: Metric = component(config.metric[name], f"metric.{name}")
    return metric
