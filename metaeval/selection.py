"""Which metrics a run uses: `metrics=all`, `metrics=[bleu,cider]`, `metrics=rule_based`."""

from __future__ import annotations

from omegaconf import DictConfig, ListConfig, OmegaConf

from metaeval.config import component
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric


def selected(config: DictConfig) -> list[str]:
    """The names of the metrics to run, groups resolved, in the order of the configuration.

    Raises ConfigError for a name that is neither a metric nor a group.
    """
    known = list(config.metric)
    groups: dict[str, list[str]] = OmegaConf.to_container(config.metric_groups)  # type: ignore[assignment]
    asked = config.metrics
    names = list(asked) if isinstance(asked, ListConfig) else [asked]
    wanted: set[str] = set()
    for name in names:
        if name == "all":
            wanted.update(known)
        elif name in groups:
            wanted.update(member for member in groups[name] if member in known)
        elif name in known:
            wanted.add(name)
        else:
            raise ConfigError(
                f"unknown metric '{name}': choose from {', '.join(known)}, or a group: "
                f"all, {', '.join(groups)}"
            )
    if not wanted:
        raise ConfigError(f"metrics={asked} selects nothing")
    return [name for name in known if name in wanted]


def build(name: str, config: DictConfig) -> Metric:
    """The metric called `name`, as configured; wrong options raise ConfigError."""
    metric: Metric = component(config.metric[name], f"metric.{name}")
    return metric
