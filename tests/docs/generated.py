"""Parts of docs/ that come from conf/. `make tables` writes them: `python -m tests.docs.generated`.

`<!-- options: metric/faier -->` … `<!-- end -->` has a table of the options of a file of conf/, or
of those that are named: `config:metrics,device`. `<!-- list: metric -->` has the files of a group
with their first comments, and `<!-- cite: bleu -->` the BibTeX entries of a metric.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import yaml

from metaeval.option_tables import choices_table, options, options_table
from metaeval.reports.paper.citations import entries

ROOT = Path(__file__).parents[2]
DOCS, CONF = ROOT / "docs", ROOT / "conf"
_BLOCK = re.compile(r"<!-- (options|list|cite): (.*?) -->\n.*?<!-- end -->", re.DOTALL)


def options_of_files(wanted: str) -> str:
    """A table of the options of several files, or of some of each: "config:seed report/default"."""
    rows = []
    for each in wanted.split():
        name, _, chosen = each.partition(":")
        known = options(name)
        rows += map(known.__getitem__, chosen.split(",")) if chosen else known.values()
    return options_table(rows)


def bibtex(metric: str) -> str:
    """The entries that the configuration of a metric names."""
    node = yaml.safe_load((CONF / "metric" / f"{metric}.yaml").read_text(encoding="utf-8"))
    return "```bibtex\n" + "\n\n".join(entries()[key] for key in node["citation"]) + "\n```"


PARTS: dict[str, Callable[[str], str]] = {
    "options": options_of_files,
    "list": choices_table,
    "cite": bibtex,
}


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
