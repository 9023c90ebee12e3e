"""The choices of the configuration: metaeval's own, those of `--config-dir` and of packages.

`python -m metaeval list metrics|corruptions|datasets|experiments` shows it, and
`python -m metaeval list options` the options of each choice. A package that declares

    [project.entry-points."metaeval.metrics"]
    my_metric = "my_package.metric:MyMetric"

has its metric in `metrics=[my_metric]` wherever it is installed. It is imported when it is used.
"""

import argparse
import os
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import OverrideParseException
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


def stamp() -> tuple[Any, ...]:
    """What changes with the choices: the files of the configuration, and the packages' plugins."""
    files = [path for folder in installation.config_folders() for path in folder.rglob("*.yaml")]
    return (*((path, path.stat().st_mtime_ns) for path in files), str(installed()))


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
        target = "metaeval.metrics.adapters.function.metric_from"
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


# Hydra's flags that are followed by a value
_VALUED_FLAGS = frozenset(
    {
        "--config-dir",
        "-cd",
        "--config-path",
        "-cp",
        "--config-name",
        "-cn",
        "--package",
        "-p",
        "--cfg",
        "-c",
        "--info",
        "-i",
        "--experimental-rerun",
    }
)


def hydra_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of the command as Hydra reads them: flags first, texts in quotes.

    >>> hydra_arguments(["dataset=own", "--config-dir", "conf", "dataset.file=mine (1).csv"])
    ['--config-dir', 'conf', 'dataset=own', "dataset.file='mine (1).csv'"]
    """
    flags: list[str] = []
    overrides: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument.startswith("-"):
            flags += [argument, *islice(rest, int(argument in _VALUED_FLAGS))]
        else:
            overrides.append(argument)
    sweep = not {"-m", "--multirun"}.isdisjoint(flags)
    return [*flags, *(_quoted(override, sweep) for override in overrides)]


def _quoted(override: str, sweep: bool) -> str:
    """An override with its value in quotes, where Hydra's grammar does not read it as a text.

    Of a list, and of the values of a sweep, each one is quoted by itself.
    """
    key, is_assignment, value = override.partition("=")
    is_file = "${" in value and os.path.exists(value)  # its name is text
    if not is_assignment or (is_readable(override) and value != "nan" and not is_file):
        return override  # no option is NaN
    from metaeval.config import override_value  # slow to import: not for --help

    listed = value[:1] == "[" and value[-1:] == "]"
    inner = value[1:-1] if listed else value
    if (listed or sweep) and not set("[]{}'\"").intersection(inner):
        parts = inner.split(",")
        inner = ",".join(p if is_readable(f"{key}={p}") else override_value(p) for p in parts)
    elif value[:1] not in ("[", "{"):
        inner = override_value(value)
    return f"{key}=[{inner}]" if listed else f"{key}={inner}"


def is_readable(override: str) -> bool:
    """Whether a text is an override in Hydra's grammar."""
    try:
        OverridesParser.create().parse_overrides([override])
    except OverrideParseException:
        return False
    return True


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
    "metrics": "metric",
    "corruptions": "corruption",
    "datasets": "dataset",
    "experiments": "experiment",
}


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
        prog="python -m metaeval list", description="The choices of a group, or all options."
    )
    parser.add_argument("what", choices=sorted([*LISTED, "options"]))
    parser.add_argument("--config-dir", type=Path, help="a folder with more of them")
    given = parser.parse_args(arguments)
    if given.config_dir is not None:
        installation.add_config_folder(given.config_dir)
    if given.what == "options":
        from metaeval import option_tables  # slow to import: not for --help

        print(option_tables.page())
    else:
        print(_choices(LISTED[given.what]))
    return 0


def _choices(group: str) -> str:
    descriptions = listed(group)
    width = max(map(len, descriptions))
    lines = [f"{name:<{width}}  {about}".rstrip() for name, about in descriptions.items()]
    return "\n".join(lines)
