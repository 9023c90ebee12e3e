"""The second reading: error rates by corruption, from the verdicts in `second_reading.csv`.

    python -m benchmarks.corruption_audit second

The items were drawn and the sheet was written by `python -m metaeval.audit draw` (first round: 36
per corruption, seed 20261123; second round: 40 of each corruption that was fixed after the first,
seed 20261124). These seeds were not used to fix anything before. The reader is a developer.
"""

from __future__ import annotations

import csv
from pathlib import Path

from metaeval.audit.agreement import BOUND, ErrorRate, error_rate, error_rates
from metaeval.audit.sheet import VERDICTS

VERDICT_FILE = Path(__file__).with_name("second_reading.csv")


def second_rates() -> dict[str, ErrorRate]:
    """Corruption → its error rate in the last round in which it was read."""
    with VERDICT_FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    last: dict[str, ErrorRate] = {}
    for number in ("1", "2"):
        items = [row for row in rows if row["round"] == number]
        key = {row["item"]: row for row in items}
        last |= error_rates(key, {row["item"]: VERDICTS[row["verdict"]] for row in items})
    return last


def print_second() -> None:
    """A Markdown table, the least certain corruption first."""
    rates = second_rates()
    print("| corruption | wrong | read | 95 % interval | |\n|---|---:|---:|---:|---|")
    for name, rate in sorted(rates.items(), key=lambda r: (-r[1].high, r[0])):
        mark = "experimental" if rate.high > BOUND else ""
        interval = f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"
        print(f"| `{name}` | {rate.errors} | {rate.n} | {interval} | {mark} |")
    total = error_rate(sum(r.errors for r in rates.values()), sum(r.n for r in rates.values()))
    interval = f"{100 * total.low:.1f} to {100 * total.high:.1f} %"
    print(f"| all | {total.errors} | {total.n} | {interval} | |")
