"""The choices of the configuration: metaeval's own, those of `--config-dir` and of packages.

`python -m metaeval list metrics|corruptions|datasets|experiments` shows it. A package that declares

    [project.entry-points."metaeval.metrics"]
    my_metric = "my_package.metric:MyMetric"

has its metric in `metrics=[my_metric]` wherever it is installed. It is imported when it is used.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from metaeval import installation
from metaeval.errors import ConfigError

# entry points' group → group of the configuration
GROUPS = {
    "metaeval.metrics": "metric",
    "metaeval.corruptions": "corruption",
    "metaeval.datasets": "dataset",
}


@cache
def installed() -> dict[str, dict[str, EntryPoint]]:
    """Group of the configuration → name → entry point of a package."""
    return {
        group: {point.name: point for point in sorted(entry_points(group=name))}
        for name, group in GROUPS.items()
    }


def register() -> None:
    """Make the plugins of packages choices of the configuration, as if each had a file there.

    Raises ConfigError for a name that metaeval uses itself.
    """
    store = ConfigStore.instance()
    for group, points in installed().items():
        for name, point in points.items():
            if (installation.conf() / group / f"{name}.yaml").is_file():
                raise ConfigError(
                    f"the package '{origin(point)}' provides a {group} '{name}', which metaeval "
                    "has itself; rename its entry point, or remove the package"
                )
            package = f"metric.{name}" if group == "metric" else group
            store.store(group=group, name=name, node=_node(group, point), package=package)


def origin(point: EntryPoint) -> str:
    """The package that declares an entry point."""
    return point.dist.name if point.dist is not None else point.module


def _node(group: str, point: EntryPoint) -> dict[str, Any]:
    if group == "metric":
        target = "metaeval.metrics.adapters.metric_from.metric_from"
        return {"_target_": target, "what": f"{point.module}:{point.attr}"}
    return {"_target_": f"{point.module}.{point.attr}"}


def metric_overrides(overrides: Sequence[str]) -> list[str]:
    """Overrides that add the metrics whose options are set and that `metric` does not list.

    So every option of every metric is known: `metric.chair.truth=[references]`. A metric that
    provides word vectors is left out if another one does: Hydra takes a group only once.
    """
    keys = [override.lstrip("+").partition("=")[0] for override in overrides]
    listed_metrics = _listed_metrics(overrides)
    known, added = listed("metric"), dict[str, None]()
    for key in keys:
        group, _, rest = key.partition(".")
        name = rest.partition(".")[0]
        unlisted = group == "metric" and name in known and name not in listed_metrics
        clash = unlisted and _brings_vectors(name) and any(map(_brings_vectors, listed_metrics))
        if unlisted and not clash:
            added[name] = None
    return [f"+metric@metric.{n}={n}" for n in added if f"metric@metric.{n}" not in keys]


def _brings_vectors(metric: str) -> bool:
    path = installation.conf() / "metric" / f"{metric}.yaml"
    return path.is_file() and "/vectors@" in path.read_text(encoding="utf-8")


def _listed_metrics(overrides: Sequence[str]) -> set[str]:
    """The metrics that `metric` lists: those of the last override `metric=[…]`, or the default."""
    given = [o.partition("=")[2] for o in overrides if o.partition("=")[0] == "metric"]
    if given:
        return {name.strip(" '\"") for name in given[-1].strip(" []").split(",")}
    defaults = OmegaConf.load(installation.conf() / "config.yaml").defaults
    return {name for entry in defaults if "metric" in entry for name in entry["metric"]}


LISTED = {
    "metrics": "metric", "corruptions": "corruption", "datasets": "dataset",
    "experiments": "experiment",
}  # fmt: skip


def listed(group: str) -> dict[str, str]:
    """Name → description of every choice in a group of the configuration."""
    descriptions: dict[str, str] = {}
    for folder in installation.config_folders():
        for path in sorted((folder / group).glob("*.yaml")):
            descriptions[path.stem] = _first_comment(path)
    for name, point in installed().get(group, {}).items():
        descriptions[name] = f"{point.value}, of the installed package {origin(point)}"
    return dict(sorted(descriptions.items()))


def _first_comment(path: Path) -> str:
    """The first comment of a configuration file that is not a directive."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") and not line.startswith("# @package"):
            return line.lstrip("# ").strip()
        if line.strip() and not line.startswith("#"):
            break
    return ""


def main(arguments: Sequence[str]) -> int:
    """The command `list`; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m metaeval list", description="The choices of a group."
    )
    parser.add_argument("what", choices=sorted(LISTED))
    parser.add_argument("--config-dir", type=Path, help="a folder with more of them")
    given = parser.parse_args(arguments)
    if given.config_dir is not None:
        installation.add_config_folder(given.config_dir)
    descriptions = listed(LISTED[given.what])
    width = max(map(len, descriptions))
    for name, description in descriptions.items():
        print(f"{name:<{width}}  {description}".rstrip())
    return 0
