"""`python -m research.audit draw|score`: have your own annotators read the corruptions.

`draw` writes a sheet of corrupted captions (CSV, without a hint at what was done) and its key.
Annotators write l, s or x into the column `verdict` of a copy each, by the rules in
docs/corruptions.md. `score` reads their sheets and prints, per corruption, how often the verdict
differs from the declared effect with its 95 % Wilson interval, and Cohen's κ of every two
annotators and of each annotator with the declaration.

    python -m research.audit draw --sheet sheet.csv --key key.csv dataset=coco_val2017
    python -m research.audit score --key key.csv anna.csv bert.csv
"""

import argparse
import hashlib
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, groupby, islice, product
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import binomtest

from metaeval.config import compose_config, load_dataset
from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError, InputError, ends_with_status
from metaeval.experiments.sensitivity.task import suite
from metaeval.readers.files import read_text
from metaeval.readers.tables import read_csv
from metaeval.runs.files import atomic, csv_text

# a corruption whose error rate may exceed this is experimental
BOUND = 0.10


class ErrorRate(NamedTuple):
    """How many of n items a reader found not to do what the corruption declares.

    Attributes
    ----------
    low, high
        The 95 % Wilson interval of the error rate (Wilson 1927).
    """

    errors: int
    n: int
    low: float
    high: float


def error_rate(errors: int, n: int) -> ErrorRate:
    """The error rate with its 95 % Wilson score interval; the interval is [0, 1] for n = 0.

    >>> [round(x, 3) for x in error_rate(0, 35)[2:]]
    [0.0, 0.099]
    """
    if n == 0:
        return ErrorRate(0, 0, 0.0, 1.0)
    interval = binomtest(errors, n).proportion_ci(0.95, method="wilson")
    return ErrorRate(errors, n, float(interval.low), float(interval.high))


def error_rates(
    key: Mapping[str, Mapping[str, str]], verdicts: Mapping[str, str]
) -> dict[str, ErrorRate]:
    """Corruption → its error rate among the items with a verdict, by name.

    An error is any verdict other than the declared effect; "neither" is always one.
    """
    wrong: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for item, verdict in verdicts.items():
        if item in key:
            name = key[item]["corruption"]
            read[name] += 1
            wrong[name] += verdict != key[item]["expected"]
    return {name: error_rate(wrong[name], read[name]) for name in sorted(read)}


def cohens_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's κ of two lists of labels; `None` where both are empty or one label is all there is.

    (p_o - p_e) / (1 - p_e), with p_o the share of equal labels and p_e the share expected from the
    two marginal distributions (Cohen 1960).
    """
    n = len(first)
    if n == 0:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    counts, others = Counter(first), Counter(second)
    expected = sum(counts[label] * others[label] for label in counts) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


VERDICTS = {"l": "lower", "s": "same", "x": "neither"}
SHEET = ("item", "captions", "a", "b", "verdict")
KEY = ("item", "corruption", "level", "kind", "severity", "expected")
SEPARATOR = " | "


class SheetItem(NamedTuple):
    """A changed caption.

    Attributes
    ----------
    captions
        The image's other captions.
    a, b
        The caption and its corrupted version.
    """

    captions: tuple[str, ...]
    a: str
    b: str
    corruption: str
    level: str
    kind: str
    severity: str
    expected: str

    @property
    def digest(self) -> str:
        """Identifies the item by its two texts."""
        return _digest(f"{self.a}\0{self.b}")


def draw(
    dataset: CaptionDataset, corruptions: Sequence[Corruption], each: int, seed: int
) -> list[SheetItem]:
    """Up to `each` changed captions of every corruption, over all its levels, in random order.

    Images and order are drawn by a hash of the seed, so the same arguments give the same items.
    Items with the same two texts are drawn once.
    """
    items: dict[str, SheetItem] = {}
    for _, levels in groupby(corruptions, key=lambda c: c.name):
        made = islice(_changed(dataset, list(levels), seed), each)
        items |= {item.digest: item for item in made}
    return sorted(items.values(), key=lambda item: _digest(f"{seed}\0{item.digest}"))


def _changed(
    dataset: CaptionDataset, levels: Sequence[Corruption], seed: int
) -> Iterator[SheetItem]:
    makers = [_maker(corruption, dataset, seed) for corruption in levels]
    order = sorted(
        product(range(len(levels)), range(len(dataset))),
        key=lambda pair: _digest(f"{seed} {levels[pair[0]].label} {dataset.image_ids[pair[1]]}"),
    )
    for level, i in order:
        result, corruption = makers[level](i), levels[level]
        if result.applied:
            yield SheetItem(
                tuple(r for r in dataset.references[i] if r != result.text),
                dataset.human[i],
                result.text,
                corruption.name,
                corruption.label,
                corruption.kind,
                corruption.severity or "",
                corruption.expected,
            )


def _maker(corruption: Corruption, dataset: CaptionDataset, seed: int) -> Any:
    """A function from an image's position to its corrupted caption."""
    own = type(corruption)
    if (own.apply, own.corrupt_all) != (Corruption.apply, Corruption.corrupt_all):
        return corruption.apply(dataset, seed).__getitem__
    corruption.fit(dataset)
    graphs: Any = dataset.part("scene_graphs") if "scene_graphs" in corruption.needs else {}

    def corrupted(i: int) -> Corrupted:
        image_id = dataset.image_ids[i]
        caption = Caption(image_id, dataset.human[i], graphs.get(image_id))
        return corruption.corrupt(caption, corruption.generator(seed, image_id))

    return corrupted


def write_sheet(items: Sequence[SheetItem], sheet: Path, key: Path) -> None:
    """Write the sheet for annotators, without a hint at the corruption, and its key."""
    rows = [(i.digest, SEPARATOR.join(i.captions), i.a, i.b, "") for i in items]
    _write(sheet, SHEET, rows)
    keys = [(i.digest, i.corruption, i.level, i.kind, i.severity, i.expected) for i in items]
    _write(key, KEY, keys)


def read_key(path: Path) -> dict[str, dict[str, str]]:
    """Item → corruption, level, kind, severity and expected effect."""
    key: dict[str, dict[str, str]] = {}
    for where, row in _rows(path, KEY):
        if key.setdefault(row["item"], row) is not row:
            raise InputError(f"'{row['item']}' occurs twice", file=path, record=where, field="item")
    return key


def read_verdicts(path: Path) -> dict[str, str]:
    """Item → "lower", "same" or "neither", of the items with a verdict.

    Raises InputError, naming the row, for a verdict other than l, s, x or nothing.
    """
    verdicts: dict[str, str] = {}
    for where, row in _rows(path, ("item", "verdict")):
        letter = row["verdict"].strip().lower()
        if not letter:
            continue
        if letter not in VERDICTS:
            raise InputError(
                f"'{row['verdict']}' is not l, s or x; write one of them or leave the cell empty",
                file=path,
                record=where,
                field="verdict",
            )
        if row["item"] in verdicts:
            raise InputError(
                f"'{row['item']}' has two verdicts; keep one", file=path, record=where, field="item"
            )
        verdicts[row["item"]] = VERDICTS[letter]
    return verdicts


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    for where, row in read_csv(read_text(path)):
        for name in needed:
            if name not in row:
                raise InputError(
                    "the column is missing; is it a sheet of this audit?",
                    file=path,
                    record=where,
                    field=name,
                )
        yield where, row


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    text = csv_text([header, *rows])
    atomic(path, lambda p: p.write_text(text, encoding="utf-8", newline="\n"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@ends_with_status()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command; 2 for bad input."""
    given = _parser().parse_args(arguments)
    if given.command == "draw":
        _draw(given)
    else:
        _score(given.key, given.sheets)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m research.audit",
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
