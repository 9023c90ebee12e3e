"""Parts of docs/ that come from conf/. `make tables` writes them: `python -m tests.docs.generated`.

`<!-- options: metric/faier -->` … `<!-- end -->` has a table of the options of a file of conf/, or
of those that are named: `config:metrics,device`. The default and what an option does are the
file's value and comment, the values come from the annotation. `<!-- group: metric -->` has the
tables of all files of a group, `<!-- list: metric -->` their names and first comments, and
`<!-- cite: bleu -->` the BibTeX entries of a metric.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, get_args, get_origin

import yaml
from typing_extensions import get_type_hints, is_typeddict

from metaeval.choices import listed
from metaeval.options import OptionsOf, described, options_of
from metaeval.reports.paper.citations import entries
from metaeval.runs.print_style import PrintStyle
from metaeval.schema import Configuration, Degrees, Paths, Statistics

ROOT = Path(__file__).parents[2]
DOCS, CONF = ROOT / "docs", ROOT / "conf"
PREFIX = {"experiment": "", "config": "", "metric": "metric.{}."}  # others: the group's name
# annotations of files without a `_target_`, and in addition to those of the component
ROOTS: dict[str, type] = {
    "config": Configuration, "experiment": Configuration, "stats": Statistics, "paths": Paths,
}  # fmt: skip
SHARED: dict[str, type] = {"report": PrintStyle, "corruption": Degrees}
_BLOCK = re.compile(r"<!-- (options|group|list|cite): (.*?) -->\n.*?<!-- end -->", re.DOTALL)
_LINE = re.compile(r"^( *)(\w+):(.*?)(?:(?<=\s)# *(.*))?$")
_REFERENCE = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:,null)?\}")
_CONTINUED = re.compile(r"^ {10,}# *(.*)$")


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
    text = (CONF / f"{name}.yaml").read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    group, _, choice = name.partition("/")
    prefix = PREFIX.get(group, f"{group}.").format(choice) if prefix is None else prefix
    found: dict[str, Option] = {}
    for base in content.get("defaults", ()):
        if isinstance(base, str) and base.endswith("@_here_"):
            found |= options(f"{group}/{base.removesuffix('@_here_')}", prefix)
    path: list[str] = []
    for line in text.splitlines():
        if found and (more := _CONTINUED.match(line)):
            last = found.popitem()[1]
            found[last.key] = last._replace(about=f"{last.about} {more[1]}")
        if (match := _LINE.match(line)) is None:
            continue
        indent, key, value, comment = match.groups()
        path = [*path[: len(indent) // 2], key]
        if path[0] in ("defaults", "hydra", "citation") or key.startswith("_") or not value.strip():
            continue
        full = prefix + ".".join(path)
        words = described(annotation(content, path, group))
        values = "" if words.startswith("a component") else words
        source = _REFERENCE.fullmatch(value.strip())
        before = found.get(full, Option(full, "", "", f"as `{source[1]}`" if source else ""))
        found[full] = Option(full, value.strip(), values or before.values, comment or before.about)
    return found


def annotation(node: dict[str, Any], path: list[str], group: str) -> Any:
    """The annotation of an option; `Any` where there is none."""
    kinds: dict[str, Any] = {}
    for depth, step in enumerate(path):
        if "_target_" in node:
            module, _, name = node["_target_"].rpartition(".")
            kinds = options_of(getattr(import_module(module), name)).known
            if group in SHARED:
                kinds = kinds | hints(SHARED[group])
        elif depth == 0 and group in ROOTS:
            kinds = hints(ROOTS[group])
        kind = kinds.get(step, Any)
        node, kinds = node.get(step) or {}, inner(kind)
        if not isinstance(node, dict):
            break
    return kind


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
    return {
        key: get_args(each)[0] if get_origin(each) is NotRequired else each
        for key, each in get_type_hints(kind, include_extras=True).items()
    }


def options_table(wanted: str) -> str:
    """A table of the options of several files, or of some of each: "config:seed report/default"."""
    rows = []
    for each in wanted.split():
        name, _, chosen = each.partition(":")
        known = options(name)
        rows += map(known.__getitem__, chosen.split(",")) if chosen else known.values()
    return _table(rows)


def _table(rows: Iterable[Option]) -> str:
    lines = ["| option | default | values | |", "|---|---|---|---|"]
    for row in rows:
        cells = (f"`{row.key}`", f"`{row.default}`", row.values, row.about)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def group_tables(group: str) -> str:
    """A heading, the first comment and the options of every file of a group."""
    parts = []
    for name, about in described_choices(group).items():
        content = yaml.safe_load((CONF / group / f"{name}.yaml").read_text(encoding="utf-8")) or {}
        rows = options(f"{group}/{name}") if content else {}
        if group == "metric" and "_target_" not in content:  # a variant: what it changes
            rows = {key: row for key, row in rows.items() if key.rpartition(".")[2] in content}
        parts.append(f"### {name}\n\n{about}" + (f"\n\n{_table(rows.values())}" if rows else ""))
    return "\n\n".join(parts)


def described_choices(group: str) -> dict[str, str]:
    """Name → first comment of the files of a group, as Markdown."""
    return {name: re.sub(r"([*_<\[])", r"\\\1", about) for name, about in listed(group).items()}


def choices_list(group: str) -> str:
    """The files of a group with their first comments."""
    rows = [f"| `{name}` | {about} |" for name, about in described_choices(group).items()]
    return "\n".join(["| name | |", "|---|---|", *rows])


def bibtex(metric: str) -> str:
    """The entries that the configuration of a metric names."""
    node = yaml.safe_load((CONF / "metric" / f"{metric}.yaml").read_text(encoding="utf-8"))
    return "```bibtex\n" + "\n\n".join(entries()[key] for key in node["citation"]) + "\n```"


PARTS: dict[str, Callable[[str], str]] = {
    "options": options_table, "group": group_tables, "list": choices_list, "cite": bibtex,
}  # fmt: skip


def current(page: str) -> str:
    """A page with its generated parts made anew."""

    def part(match: re.Match[str]) -> str:
        head = match[0].partition("\n")[0]
        return f"{head}\n\n{PARTS[match[1]](match[2])}\n\n<!-- end -->"

    return _BLOCK.sub(part, page)


def main() -> None:
    """Write every page whose parts are not current."""
    for path in sorted(DOCS.rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        if (after := current(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
