"""The tables of README.md and docs/, from the commands that make them.

    python -m benchmarks.numbers [--check] [--quick] [--list] [--out DIR] [TABLE …]

Runs the commands of the tables (all of them, or those named), and writes the tables into the
documents, and the figures next to them. `--check` writes nothing: it prints the difference and ends
with 1 where a number is stale; networks may differ in the last digit on another processor.
`--quick` takes the tables that are made without networks in under three minutes together. What
commands cannot run here (another machine's data, an hour of SPICE's parser) is left to a complete
run. Where a command fails, its tables stay as they are and are named at the end, exit code 1.
"""

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.numbers.documents import Table, marked, rewritten, run_all, texts_of
from benchmarks.numbers.pictures import save
from benchmarks.numbers.tables import TABLES
from metaeval.errors import ConfigError, ends_with_status

ROOT = Path(__file__).resolve().parents[2]


@ends_with_status()
def main(
    arguments: Sequence[str] | None = None,
    tables: Sequence[Table] = TABLES,
    root: Path = ROOT,
    code: Path = ROOT,
) -> int:
    """Entry point; returns the exit code. Documents are in `root`, commands run in `code`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numbers")
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--check", action="store_true", help="write nothing, end with 1 on a diff")
    parser.add_argument("--quick", action="store_true", help="only the quick tables")
    parser.add_argument("--list", action="store_true", help="the tables and their documents")
    parser.add_argument("--out", type=Path, default=Path("runs/numbers"), help="of the runs")
    options = parser.parse_args(arguments)
    places = {name: f for f, text in texts_of(root).items() for name in marked(text, f)}
    chosen = _chosen(options, tables, places)
    if options.list:
        for table in chosen:
            place = places[table.name].relative_to(root)
            print(f"{table.name:<24}{'quick' if table.quick else '':<7}{place}")
        return 0
    commands = [command for table in chosen for command in table.commands]
    results = run_all(commands, options.out.resolve(), code)
    made = [table for table in chosen if results.keys() >= set(table.commands)]
    failed = [table.name for table in chosen if table not in made]
    bodies = {table.name: table.body(results) for table in made}
    stale = 0
    for file, old in texts_of(root).items():  # again: someone may have written while all ran
        new = rewritten(old, bodies)
        if new != old:
            lines = (text.splitlines(keepends=True) for text in (old, new))
            print(*difflib.unified_diff(*lines, str(file.relative_to(root)), "commands"), sep="")
            stale += 1
            if not options.check:
                file.write_text(new, encoding="utf-8")
    options.out.mkdir(parents=True, exist_ok=True)
    for table in () if options.check else made:
        if table.figure is not None:
            drawn = options.out / f"{table.name}.png"
            table.figure([results[command] for command in table.commands], drawn)
            save(drawn, root / "docs" / drawn.name, table.name, bodies)
    if failed:
        print(f"metaeval: not made, a command failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed or (stale and options.check) else 0


def _chosen(
    options: argparse.Namespace, tables: Sequence[Table], places: dict[str, Path]
) -> list[Table]:
    """The tables asked for; ConfigError for a name without table, a table without place."""
    known = {table.name: table for table in tables}
    for name in options.tables:
        if name not in known:
            raise ConfigError(f"unknown table '{name}'; choose from {', '.join(known)}")
    for name in known:
        if name not in places:
            raise ConfigError(f"the table '{name}' is in no document; add its marks to one")
    for name, file in places.items():
        if name not in known:
            raise ConfigError(f"{file.name}: unknown table '{name}'; remove its marks")
    asked = [known[name] for name in options.tables] or list(tables)
    return [table for table in asked if table.quick or not options.quick]


if __name__ == "__main__":
    sys.exit(main())
