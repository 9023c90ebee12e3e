"""Parts of docs/ that come from conf/. `make tables` writes them: `python -m tests.docs.generated`.

`python -m tests.docs.generated DIR` writes what the site has in addition: all options and the JSON
schemas of results.

`<!-- options: metric/faier -->` … `<!-- end -->` has a table of the options of a file of conf/, or
of those that are named: `config:metrics,device`. `<!-- list: metric -->` has the files of a group
with their first comments, and `<!-- cite: bleu -->` the BibTeX entries of a metric.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from metaeval.option_tables import described_choices, options, options_table, page
from metaeval.reports.paper.citations import entry
from tests.docs.schemas import schemas

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
    return "```bibtex\n" + "\n\n".join(entry(key) or key for key in node["citation"]) + "\n```"


def choices_table(group: str) -> str:
    """The files of a group with their first comments."""
    rows = [f"| `{name}` | {about} |" for name, about in described_choices(group).items()]
    return "\n".join(["| name | |", "|---|---|", *rows])


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


def main(arguments: list[str]) -> None:
    """Write every page whose parts are not current; with a folder, what only the site has."""
    if arguments:
        texts = {f"schemas/{name}": text for name, text in schemas().items()}
        for name, text in {"options.md": page(), **texts}.items():
            path = Path(arguments[0], name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return
    for path in sorted(DOCS.rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        if (after := current(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
