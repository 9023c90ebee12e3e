"""`metaeval list options`: every option with its default, its values and its meaning.

The default and what an option does are the value and the comment in the file of conf/, the values
come from the annotation of the component's argument.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, get_args, get_origin

import yaml
from typing_extensions import get_type_hints, is_typeddict

from metaeval import choices
from metaeval.choices import LISTED, list_choices
from metaeval.config import CITATION
from metaeval.options import TARGET, OptionsOf, described
from metaeval.schema import Configuration, Paths, Statistics, component_options, located

PREFIX = {"experiment": "", "config": "", "metric": "metric.{}."}  # others: the group's name
# Annotations of files without a `_target_`
ROOTS: dict[str, type] = {
    "config": Configuration,
    "experiment": Configuration,
    "stats": Statistics,
    "paths": Paths,
}
GENERAL = ("config", "stats/default", "paths/default")  # the options of every run
INTRODUCTION = """An option is given on the command line,
`metaeval replace metric.cider.sigma=4`, or to the Python API,
`metaeval.run("replace", metric__cider__sigma=4)`. `???` means that a value must be given. A wrong
name or value is refused before the run begins. An option that only takes the value of another
one, as `metric.faier.device` that of `device`, can be set, too, and is not listed."""
HEADINGS = {
    "metric": "Metrics",
    "dataset": "Datasets",
    "experiment": "Experiments",
    "report": "Reports",
    "regions": "Regions",
    "vectors": "Word vectors",
}
CORRUPTIONS = "`metaeval list corruptions` names them. Each has some of these options:"
_REFERENCE = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:,null)?\}")


class Option(NamedTuple):
    """One row of a table."""

    key: str
    default: str
    values: str
    about: str


def options(name: str, prefix: str | None = None) -> dict[str, Option]:
    """The options in a file of conf/ ("metric/faier", "report/default", "config"), by their keys.

    Those of a file that it builds on come first (`scan@_here_`).
    """
    path = _file(name)
    text = path.read_text(encoding="utf-8")
    group, _, choice = name.partition("/")
    prefix = PREFIX.get(group, f"{group}.").format(choice) if prefix is None else prefix
    found: dict[str, Option] = {}
    for base in (yaml.safe_load(text) or {}).get("defaults", ()):
        if isinstance(base, str) and base.endswith("@_here_"):
            found |= options(f"{group}/{base.removesuffix('@_here_')}", prefix)
    kinds = hints(ROOTS[group]) if group in ROOTS else {}
    for option in _rows(yaml.compose(text), text.splitlines(), prefix, kinds):
        source = _REFERENCE.fullmatch(option.default)
        new = option._replace(about=f"as `{source[1]}`" if source else "")
        before = found.get(option.key, new)
        found[option.key] = option._replace(
            values=option.values or before.values, about=option.about or before.about
        )
    return found


def _rows(
    node: yaml.Node | None, lines: Sequence[str], prefix: str, kinds: Mapping[str, Any]
) -> Iterator[Option]:
    """The options of a mapping in a file; `kinds` are the annotations of its keys."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if key.value == TARGET:
            kinds = {}
            with suppress(ImportError, AttributeError):  # of a package that is not installed
                kinds = component_options(located(value.value), prefix.rstrip(".")).known
    for key, value in node.value:
        name, start, end = key.value, value.start_mark, value.end_mark
        if name in ("defaults", "hydra", CITATION) or name.startswith("_"):
            continue
        kind = kinds.get(name, Any)
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            yield from _rows(value, lines, f"{prefix}{name}.", inner(kind))
        elif start.line == key.start_mark.line and start.index < end.index:
            line = lines[start.line]
            rest = line[end.column if end.line == start.line else len(line) :]
            default, about = line[start.column : len(line) - len(rest)], rest.partition("#")[2]
            more = [each.lstrip(" #") for each in takewhile(_goes_on, lines[end.line + 1 :])]
            words = described(kind)
            values = "" if words.startswith("a component") else words
            yield Option(f"{prefix}{name}", default, values, " ".join([about.strip(), *more]))


def _goes_on(line: str) -> bool:
    """Whether a line goes on with the comment of the line before it."""
    return line.startswith(" " * 10) and line.lstrip().startswith("#")


def inner(kind: Any) -> dict[str, Any]:
    """The keys of a mapping → their annotations, where the annotation of the mapping names them."""
    if is_typeddict(kind):
        return hints(kind)
    for part in get_args(kind):
        if known := part.known() if isinstance(part, OptionsOf) else inner(part):
            return known
    return {}


def hints(kind: Any) -> dict[str, Any]:
    """Key → annotation of a TypedDict."""
    not_required: Any = NotRequired
    return {
        key: get_args(each)[0] if get_origin(each) is not_required else each
        for key, each in get_type_hints(kind, include_extras=True).items()
    }


def options_table(rows: Iterable[Option]) -> str:
    lines = ["| option | default | values | |", "|---|---|---|---|"]
    for row in rows:
        cells = (f"`{row.key}`", f"`{row.default}`", row.values, row.about)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def group_tables(group: str) -> str:
    """A heading, the first comment and the options of every file of a group."""
    parts = []
    for name, about in described_choices(group).items():
        parts.append(f"### {name}\n\n{about}")
        path = _file(f"{group}/{name}")
        content = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
        if not content:
            continue
        rows = {
            key: row
            for key, row in options(f"{group}/{name}").items()
            if not _REFERENCE.fullmatch(row.default)
        }
        if group == "metric" and "_target_" not in content:  # a variant: what it changes
            rows = {key: row for key, row in rows.items() if key.rpartition(".")[2] in content}
        if rows:
            parts.append(options_table(rows.values()))
    return "\n\n".join(parts)


def described_choices(group: str) -> dict[str, str]:
    """Name → first comment of the files of a group, as Markdown."""
    return {
        name: re.sub(r"([*_<\[])", r"\\\1", about) for name, about in list_choices(group).items()
    }


def page() -> str:
    """All options of all files, as a page in Markdown."""
    general = [option for name in GENERAL for option in options(name).values()]
    parts = ["# Options", INTRODUCTION, "## Of every run", options_table(general)]
    for group, heading in HEADINGS.items():
        parts += [f"## {heading}", group_tables(group)]
    rows: dict[str, Option] = {}
    for name in list_choices("corruption"):
        rows = {**options(f"corruption/{name}"), **rows}
    parts += ["## Corruptions", CORRUPTIONS, options_table(rows.values())]
    return "\n\n".join(parts)


def print_list(given: argparse.Namespace) -> None:
    """The command `list`: print the choices of a group, or all options."""
    if given.what == "options":
        print(page())
        return
    descriptions = list_choices(LISTED[given.what])
    width = max(map(len, descriptions))
    for name, about in descriptions.items():
        print(f"{name:<{width}}  {about}".rstrip())


def _file(name: str) -> Path:
    """The file of a choice ("metric/faier") in the last configuration folder that has it."""
    places = [folder / f"{name}.yaml" for folder in choices.config_folders()]
    return next((path for path in reversed(places) if path.is_file()), places[0])
