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
from typing import Any

from metaeval.api import load_run, run, score
from metaeval.errors import ConfigError, MetaevalError
from metaeval.papers.expected import FOLDER, Paper, PaperItem, papers
from metaeval.reproduce.compare import ReproducedValue, compare_example, compare_run, not_run
from metaeval.reproduce.output import FORMS, summary, to_text
from metaeval.runs import files


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0, or 2 where an item is unknown or a file of a paper is broken."""
    parser = argparse.ArgumentParser(prog="python -m metaeval.reproduce", description=__doc__)
    parser.add_argument("items", nargs="*", metavar="PAPER[/ITEM]", help="all by default")
    parser.add_argument("--quick", action="store_true", help="only items that take seconds")
    parser.add_argument("--list", action="store_true", help="print the items and stop")
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"), help="folder of runs")
    parser.add_argument("--papers", type=Path, default=FOLDER, help="a folder of YAML files")
    given = parser.parse_args(arguments)
    try:
        chosen = choose(papers(given.papers), given.items, quick=given.quick)
    except MetaevalError as error:
        print(f"metaeval: {error}", file=sys.stderr)
        return error.exit_code
    if given.list:
        for paper, item in chosen:
            print(f"{paper.paper}/{item.item}  {item.title}")
        return 0
    rows: list[ReproducedValue] = []
    for paper, item in chosen:
        started = time.perf_counter()
        part = reproduce(paper.paper, item, given.out)
        rows += part
        seconds = time.perf_counter() - started
        print(f"{paper.paper}/{item.item}: {summary(part)} ({seconds:.0f} s)", flush=True)
    for suffix, write in FORMS.items():
        path = given.out / f"reproduction.{suffix}"
        files.atomic(path, partial(Path.write_text, data=write(rows), encoding="utf-8"))
    print(to_text(rows), end="")
    return 0


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


def reproduce(paper: str, item: PaperItem, out: Path) -> list[ReproducedValue]:
    """Compute one item; otherwise each row has the reason."""
    try:
        if item.example is not None:
            example = item.example
            options: dict[str, Any] = dict(example.options)
            scored = score(
                list(example.candidates),
                [list(references) for references in example.references],
                metrics=list(example.metrics),
                **options,
            )
            columns = [c for c in scored.table.columns if c not in ("image_id", "caption")]
            values = {name: [float(v) for v in scored.table[name]] for name in columns}
            return compare_example(paper, item, values, scored.skipped)
        folder = out / paper / item.item
        options = {key.replace(".", "__"): value for key, value in item.run.items()}
        run(str(options.pop("experiment")), out=folder, quiet=True, report="none", **options)
        return compare_run(paper, item, load_run(folder).result)
    except MetaevalError as error:
        return not_run(paper, item, str(error))


if __name__ == "__main__":
    raise SystemExit(main())
