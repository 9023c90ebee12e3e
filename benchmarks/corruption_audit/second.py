"""The second reading: error rates by corruption, from the verdicts in `second_reading.csv`.

    python -m benchmarks.corruption_audit second

The items were drawn and the sheets were written by `python -m metaeval.audit draw`, on seeds that
were not used to fix anything before. The reader is a developer.

| round | seed | read |
|---|---|---|
| 1 | 20261123 | the corruptions whose result depends on what a caption means |
| 2 | 20261124 | those of them that were fixed after round 1 |
| 3 | 20261126 | all others; those of sentences on captions of LLaVA-1.5, `truth_…` on scenes |
| 4, 5 | 20261127, 20261128 | those that were fixed after the round before |
| 6 | 20261129, 20261130 | `break_agreement`, fixed after round 5 |
"""

from __future__ import annotations

import csv
from pathlib import Path

from metaeval.audit.__main__ import BOUND, VERDICTS, ErrorRate, error_rate, error_rates

VERDICT_FILE = Path(__file__).with_name("second_reading.csv")


def second_rates() -> dict[str, ErrorRate]:
    """Corruption → its error rate in the last round in which it was read."""
    with VERDICT_FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    last: dict[str, ErrorRate] = {}
    for number in sorted({int(row["round"]) for row in rows}):
        items = [row for row in rows if row["round"] == str(number)]
        key = {row["item"]: row for row in items}
        last |= error_rates(key, {row["item"]: VERDICTS[row["verdict"]] for row in items})
    return last


def print_second() -> None:
    """A Markdown table, the least certain corruption first; those without an error together."""
    rates = second_rates()
    print("| corruption | wrong | read | 95 % interval | |\n|---|---:|---:|---:|---|")
    without: dict[int, list[str]] = {}
    for name, rate in sorted(rates.items(), key=lambda r: (-r[1].high, r[0])):
        if rate.errors == 0:
            without.setdefault(rate.n, []).append(f"`{name}`")
            continue
        _print_row(f"`{name}`", rate, "experimental" if rate.high > BOUND else "")
    for n, names in sorted(without.items()):
        rate = error_rate(0, n)
        _print_row(
            f"each of {', '.join(names)}" if len(names) > 1 else names[0],
            rate,
            "experimental" if rate.high > BOUND else "",
        )
    total = error_rate(sum(r.errors for r in rates.values()), sum(r.n for r in rates.values()))
    _print_row("all", total, "")


def _print_row(name: str, rate: ErrorRate, mark: str) -> None:
    interval = f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"
    print(f"| {name} | {rate.errors} | {rate.n} | {interval} | {mark} |")
