"""What corruptions do: how often each is possible, how often it errs, and examples.

    python -m research.corruption_audit table            # docs/corruptions.md's, of COCO val2017
    python -m research.corruption_audit second           # error rates of the second reading
    python -m research.corruption_audit examples FILE    # write a page of examples, of scenes

The items of the second reading were drawn and the sheets were written by
`python -m research.audit draw`, on seeds that were not used to fix anything before. The reader is a
developer. Its verdicts are in `second_reading.csv`:

| round | seed | read |
|---|---|---|
| 1 | 20261123 | the corruptions whose result depends on what a caption means |
| 2 | 20261124 | those of them that were fixed after round 1 |
| 3 | 20261126 | all others; those of sentences on captions of LLaVA-1.5, `truth_…` on scenes |
| 4, 5 | 20261127, 20261128 | those that were fixed after the round before |
| 6 | 20261129, 20261130 | `break_agreement`, fixed after round 5 |

`scene_verdicts.csv` has verdicts on the changes of the first 40 scenes: whether the changed caption
should get a lower score or the same. A test holds the corruptions against them.
"""

import argparse
import csv
import hashlib
from itertools import groupby
from pathlib import Path

from metaeval.config import component, compose_config
from metaeval.experiments.sensitivity.task import suite
from research.audit.__main__ import BOUND, VERDICTS, ErrorRate, error_rate, error_rates
from research.corruption_audit.examples import write_examples

SECOND_READING = Path(__file__).with_name("second_reading.csv")
SCENE_VERDICTS = Path(__file__).with_name("scene_verdicts.csv")
SEED = 0


def key_of(a: str, b: str) -> str:
    """What a verdict is about: both texts, and nothing of what was done."""
    return _sha256(f"{a}\0{b}")[:16]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def print_table() -> None:
    """Each corruption, in how many captions any of its levels is made, an example: the shortest of
    a hundred captions that a hash chooses."""
    data = component(compose_config(["dataset=coco_val2017"]).dataset, "dataset")
    print("| name | kind | made in | a caption, changed |\n|---|---|---:|---|")
    for name, levels in groupby(suite(data), key=lambda c: c.name):
        kind, changed = "", []
        for corruption in levels:
            made = corruption.apply(data, SEED)
            for image_id, a, b in zip(data.image_ids, data.human, made, strict=True):
                if b.applied:
                    kind = corruption.kind
                    rank = _sha256(f"{corruption.label} {image_id}")
                    changed.append((rank, image_id, a, b.text))
        images = len({image_id for _, image_id, _, _ in changed})
        some = sorted(changed)[:100]
        _, _, a, b = min(some, key=lambda item: (len(item[2]), item[2]), default=("",) * 4)
        text = f"{a} → {b}".replace("|", "") if changed else ""
        print(f"| `{name}` | {kind} | {100 * images / len(data):.1f} % | {text} |")


def second_rates() -> dict[str, ErrorRate]:
    """Corruption → its error rate in the last round in which it was read."""
    with SECOND_READING.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    last: dict[str, ErrorRate] = {}
    for number in sorted({int(row["round"]) for row in rows}):
        key = {row["item"]: row for row in rows if row["round"] == str(number)}
        last |= error_rates(key, {item: VERDICTS[row["verdict"]] for item, row in key.items()})
    return last


def print_second() -> None:
    """A Markdown table, the least certain corruption first; those without an error together."""
    rates = second_rates()
    listed, without = [], {}
    for name, rate in sorted(rates.items(), key=lambda r: (-r[1].high, r[0])):
        if rate.errors:
            listed.append((f"`{name}`", rate))
        else:
            without.setdefault(rate.n, []).append(f"`{name}`")
    for n, names in sorted(without.items()):
        each = f"each of {', '.join(names)}" if len(names) > 1 else names[0]
        listed.append((each, error_rate(0, n)))
    total = error_rate(sum(r.errors for r in rates.values()), sum(r.n for r in rates.values()))
    print("| corruption | wrong | read | 95 % interval | |\n|---|---:|---:|---:|---|")
    for name, rate in [*listed, ("all", total)]:
        interval = f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"
        mark = "experimental" if rate.high > BOUND else ""
        print(f"| {name} | {rate.errors} | {rate.n} | {interval} | {mark} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["table", "second", "examples"])
    parser.add_argument("file", nargs="?", type=Path, help="of examples: the page to write")
    parser.add_argument("--each", type=int, default=20, help="examples of each corruption")
    options = parser.parse_args()
    if options.what == "table":
        print_table()
    elif options.what == "second":
        print_second()
    else:
        write_examples(options.file, options.each)


if __name__ == "__main__":
    main()
