"""`python -m metaeval.audit draw|score`: have your own annotators read the corruptions.

`draw` writes a sheet of corrupted captions (CSV, without a hint at what was done) and its key.
Annotators write l, s or x into the column `verdict` of a copy each, by the rules in
docs/corruptions.md. `score` reads their sheets and prints, per corruption, how often the verdict
differs from the declared effect with its 95 % Wilson interval, and Cohen's κ of every two
annotators and of each annotator with the declaration.

    python -m metaeval.audit draw --sheet sheet.csv --key key.csv dataset=coco_val2017
    python -m metaeval.audit score --key key.csv anna.csv bert.csv
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from metaeval.audit.agreement import BOUND, cohens_kappa, error_rate, error_rates
from metaeval.audit.sheet import draw, read_key, read_verdicts, write_sheet
from metaeval.config import compose_config, load_dataset
from metaeval.errors import ConfigError, MetaevalError
from metaeval.experiments.sensitivity.suite import suite


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 2 for bad input."""
    given = _parser().parse_args(arguments)
    try:
        if given.command == "draw":
            _draw(given)
        else:
            _score(given.key, given.sheets)
    except MetaevalError as error:
        print(f"metaeval: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m metaeval.audit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("draw", help="write a sheet and its key")
    one.add_argument("--sheet", type=Path, required=True, help="the sheet to write (CSV)")
    one.add_argument("--key", type=Path, required=True, help="its key, not for annotators (CSV)")
    one.add_argument("--each", type=int, default=36, help="items per corruption (%(default)s)")
    one.add_argument("--seed", type=int, default=1, help="of images and places (%(default)s)")
    one.add_argument("--corruptions", nargs="+", default=["all"], help="names, kinds, or all")
    one.add_argument("overrides", nargs="*", help="dataset=NAME, dataset.limit=N, paths.data=DIR")
    other = commands.add_parser("score", help="compare filled sheets with the key")
    other.add_argument("--key", type=Path, required=True)
    other.add_argument("sheets", type=Path, nargs="+")
    return parser


def _draw(given: argparse.Namespace) -> None:
    if given.each < 1:
        raise ConfigError(f"--each: '{given.each}' is not at least 1")
    if given.sheet.resolve() == given.key.resolve():
        raise ConfigError(f"--key: '{given.key}' is also --sheet; give another file")
    for option, path in (("--sheet", given.sheet), ("--key", given.key)):
        if path.exists():  # it may be filled in
            raise ConfigError(f"{option}: '{path}' exists; give another name, or remove it")
    # --corruptions takes all words behind it, overrides included
    names = [name for name in given.corruptions if "=" not in name]
    overrides = [*given.overrides, *(word for word in given.corruptions if "=" in word)]
    dataset = load_dataset(compose_config(overrides))
    items = draw(dataset, suite(dataset, names or ["all"]), given.each, given.seed)
    if not items:
        raise ConfigError("no corruption changes any caption; choose others with --corruptions")
    write_sheet(items, given.sheet, given.key)
    print(f"{len(items):,} items in {given.sheet}; the key is {given.key}")


def _score(key_file: Path, sheets: Sequence[Path]) -> None:
    key = read_key(key_file)
    verdicts = [read_verdicts(sheet) for sheet in sheets]
    for sheet, given in zip(sheets, verdicts, strict=True):
        unknown = sum(item not in key for item in given)
        if not given or unknown:
            wrong = f"{unknown:,} of {len(given):,} items are not in {key_file}"
            raise ConfigError(f"{sheet}: {wrong if given else 'no cell has a verdict'}")
    for sheet, given in zip(sheets, verdicts, strict=True):
        _print_rates(sheet.stem, key, given)
    declared = {item: row["expected"] for item, row in key.items()}
    sources = [("declared", declared), *zip((s.stem for s in sheets), verdicts, strict=True)]
    print("\n| two sources | items | Cohen's κ |\n|---|---:|---:|")
    for (a, first), (b, second) in combinations(sources, 2):
        common = sorted(set(first) & set(second))
        kappa = cohens_kappa([first[i] for i in common], [second[i] for i in common])
        shown = "undefined" if kappa is None else f"{kappa:.3f}"
        print(f"| {a}, {b} | {len(common):,} | {shown} |")


def _print_rates(name: str, key: dict[str, dict[str, str]], verdicts: dict[str, str]) -> None:
    rates = error_rates(key, verdicts)
    print(f"{name}\n\n| corruption | wrong | read | 95 % interval | |\n|---|---:|---:|---:|---|")
    for corruption, rate in sorted(rates.items(), key=lambda r: (-r[1].high, r[0])):
        interval = f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"
        mark = "above 10 %" if rate.high > BOUND else ""
        print(f"| `{corruption}` | {rate.errors} | {rate.n} | {interval} | {mark} |")
    total = error_rate(sum(r.errors for r in rates.values()), sum(r.n for r in rates.values()))
    interval = f"{100 * total.low:.1f} to {100 * total.high:.1f} %"
    print(f"| all | {total.errors} | {total.n} | {interval} | |\n")


if __name__ == "__main__":
    raise SystemExit(main())
