"""`python -m metaeval.reproduce [PAPER[/ITEM] …]`: compute what papers printed, and compare.

Each item is a run of its own below `--out`; scores come from the cache, so that a second call is
quick. The table is printed and written as `reproduction.txt`, `.csv`, `.tex` and `.html`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from metaeval.compute.networks import keep_networks
from metaeval.errors import ConfigError, MetaevalError
from metaeval.java.shared_services import shared_java_services
from metaeval.papers.expected import FOLDER, Paper, PaperItem, papers
from metaeval.reproduce.items import Reproduction
from metaeval.reproduce.output import FORMS, to_text
from metaeval.results.reproduction import ReproducedItem, summary
from metaeval.runs import files


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0, or 2 where an item is unknown or a file of a paper is broken."""
    parser = argparse.ArgumentParser(prog="python -m metaeval.reproduce", description=__doc__)
    parser.add_argument("items", nargs="*", metavar="PAPER[/ITEM]", help="all by default")
    parser.add_argument("--quick", action="store_true", help="only items that take seconds")
    parser.add_argument("--list", action="store_true", help="print the items and stop")
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"), help="folder of runs")
    parser.add_argument("--papers", type=Path, default=FOLDER, help="a folder of YAML files")
    parser.add_argument(
        "--captioners", metavar="FILE", help="captions of systems in COCO's results format"
    )
    given = parser.parse_args(arguments)
    try:
        chosen = choose(papers(given.papers), given.items, quick=given.quick)
    except MetaevalError as error:
        print(f"metaeval: {error}", file=sys.stderr)
        return error.exit_code
    if given.list:
        for paper, item in chosen:
            state = f"  (not run: {item.missing})" if item.missing else ""
            print(f"{paper.paper}/{item.item}  {item.title}{state}")
        return 0
    computed = Reproduction(given.out, given.captioners)
    items: list[ReproducedItem] = []
    with keep_networks(), shared_java_services():
        for paper, item in chosen:
            started = time.perf_counter()
            items.append(computed.compute(paper, item))
            seconds, found = time.perf_counter() - started, summary(items[-1].values)
            print(f"{paper.paper}/{item.item}: {found} ({seconds:.0f} s)", flush=True)
            _write(given.out, items)
    print(to_text(items), end="")
    return 0


def _write(folder: Path, items: Sequence[ReproducedItem]) -> None:
    """The table of the items so far, in every form."""
    for suffix, write in FORMS.items():
        path = folder / f"reproduction.{suffix}"
        files.atomic(path, partial(Path.write_text, data=write(items), encoding="utf-8"))


def choose(
    known: dict[str, Paper], names: Sequence[str], *, quick: bool = False
) -> list[tuple[Paper, PaperItem]]:
    """The chosen items, in the order of the files. Raises ConfigError."""
    every = [(paper, item) for paper in known.values() for item in paper.items]
    for name in names:
        if not any(name in (p.paper, f"{p.paper}/{i.item}") for p, i in every):
            raise ConfigError(f"unknown item '{name}'; choose from {', '.join(known)}, or --list")
    return [
        (p, i)
        for p, i in every
        if (not names or p.paper in names or f"{p.paper}/{i.item}" in names)
        and (i.quick or not quick)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
