"""The folders of the configuration and its choices: metaeval's own, the user's, those of packages.

`metaeval list metrics|corruptions|datasets|experiments` shows the choices, and `metaeval list
options` the options of each. A package that declares

    [project.entry-points."metaeval.metrics"]
    my_metric = "my_package.metric:MyMetric"

has its metric in `metrics=[my_metric]` wherever it is installed. It is imported when it is used.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from metaeval.errors import ConfigError

_CONF = Path(__file__).parent / "conf"  # in a checkout a link to ../conf
_added: list[Path] = []

# entry points' group → group of the configuration
GROUPS = {
    "metaeval.metrics": "metric",
    "metaeval.corruptions": "corruption",
    "metaeval.datasets": "dataset",
}


def conf() -> Path:
    """The folder of metaeval's own configuration."""
    return _CONF.resolve()


def config_folders() -> list[Path]:
    """The folders of the configuration: metaeval's own, then those of `--config-dir`."""
    return [conf(), *_added]


def add_config_folder(folder: Path) -> None:
    """Add a folder with metrics, datasets and corruptions, for this process.

    Raises ConfigError where the folder does not exist.
    """
    if not folder.is_dir():
        raise ConfigError(f"--config-dir: the folder {folder} does not exist")
    if folder.resolve() not in (conf(), *_added):
        _added.append(folder.resolve())


@cache
def installed() -> dict[str, dict[str, EntryPoint]]:
    """Group of the configuration → name → entry point of a package."""
    return {
        group: {point.name: point for point in sorted(entry_points(group=name))}
        for name, group in GROUPS.items()
    }


def stamp() -> tuple[Any, ...]:
    """What changes with the choices: the files of the configuration, and the packages' plugins."""
    files = [path for folder in config_folders() for path in folder.rglob("*.yaml")]
    return (*((path, path.stat().st_mtime_ns) for path in files), str(installed()))


def register() -> None:
    """Make the plugins of packages choices of the configuration, as if each had a file there.

    Raises ConfigError for a name that metaeval uses itself.
    """
    from hydra.core.config_store import ConfigStore  # slow to import

    store = ConfigStore.instance()
    for group, points in installed().items():
        for name, point in points.items():
            if (conf() / group / f"{name}.yaml").is_file():
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
        target = "metaeval.metrics.adapters.function.metric_from"
        return {"_target_": target, "what": f"{point.module}:{point.attr}"}
    return {"_target_": f"{point.module}.{point.attr}"}


LISTED = {
    "metrics": "metric",
    "corruptions": "corruption",
    "datasets": "dataset",
    "experiments": "experiment",
}


def list_choices(group: str) -> dict[str, str]:
    """Name → description of every choice in a group of the configuration."""
    descriptions: dict[str, str] = {}
    for folder in config_folders():
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
