"""Do corruptions do what they declare? Ten blind items of each, and what a reader made of them.

    python -m benchmarks.corruption_audit items            # print the items, without labels
    python -m benchmarks.corruption_audit items --unread   # those without a verdict alone
    python -m benchmarks.corruption_audit record FILE      # a file of letters, in that order
    python -m benchmarks.corruption_audit record FILE --unread
    python -m benchmarks.corruption_audit report           # the verdicts against the declarations
    python -m benchmarks.corruption_audit table            # docs/corruptions.md's
    python -m benchmarks.corruption_audit second           # error rates of the second reading
    python -m benchmarks.corruption_audit examples FILE    # write a page of examples, of scenes

An item is the captions of an image of COCO val2017 (all that a reader knows of it), one of them as
A, and a changed version of that as B. The reader does not know what was done and writes a letter:

    l   B should get a lower score than A: false of the image, or less, or worse English
    s   B should get the same score: it says the same, as well
    x   neither: B is broken in a way that was not meant, or better than A

The order is random, by a hash of the item. `verdicts.jsonl` holds the verdicts, one line an
item: a digest of its two texts, so that an item whose texts have changed since counts as not read.
`scene_verdicts.csv` has verdicts on the changes of the first 40 scenes in the same form; a test
holds the corruptions against them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any

from benchmarks.corruption_audit.examples import write_examples
from benchmarks.corruption_audit.second import print_second
from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.sensitivity.suite import suite

VERDICTS = Path(__file__).with_name("verdicts.jsonl")
SCENE_VERDICTS = Path(__file__).with_name("scene_verdicts.csv")
EACH, SEED = 10, 0
LETTERS = {"l": "lower", "s": "same", "x": "neither"}


def _data() -> CaptionDataset:
    folder = os.environ.get("METAEVAL_DATA")
    return load_coco("coco_val2017", "val2017", data=folder, cache="~/.cache/metaeval")


def changed_captions(data: CaptionDataset, most: int) -> dict[str, list[dict[str, Any]]]:
    """By corruption, up to `n` captions that it changes at any level, drawn by a hash."""
    place = {image_id: i for i, image_id in enumerate(data.image_ids)}
    changed = {}
    for name, levels in groupby(suite(data), key=lambda c: c.name):
        by_label = {corruption.label: corruption for corruption in levels}
        made_of = {label: _maker(corruption, data) for label, corruption in by_label.items()}
        drawn = sorted(product(by_label, data.image_ids), key=lambda d: _rank(f"{d[0]} {d[1]}"))
        made = (
            _item(by_label[label], data, place[image_id], made_of[label](place[image_id]))
            for label, image_id in drawn
        )
        changed[name] = list(islice((item for item in made if item is not None), most))
    return changed


def _maker(corruption: Corruption, data: CaptionDataset) -> Callable[[int], Corrupted]:
    """The corrupted caption of an image, by the image's place: one at a time, unless
    it needs all of them together."""
    if type(corruption).apply is not Corruption.apply:
        return corruption.apply(data, SEED).__getitem__
    corruption.fit(data)

    def corrupted(i: int) -> Corrupted:
        caption = Caption(data.image_ids[i], data.human[i])
        return corruption.corrupt(caption, corruption.generator(SEED, caption.image_id))

    return corrupted


def _item(
    corruption: Corruption, data: CaptionDataset, i: int, b: Corrupted
) -> dict[str, Any] | None:
    """A changed caption as it is listed; `None` of one that stayed."""
    image_id, text = data.image_ids[i], data.human[i]
    if not b.applied:
        return None
    return {
        "corruption": corruption.name,
        "level": corruption.label,
        "kind": corruption.kind,
        "expected": corruption.expected,
        "image_id": image_id,
        "known": [r for r in data.references[i] if r != b.text],
        "a": text,
        "b": b.text,
    }


def items() -> list[dict[str, Any]]:
    """Ten changed captions of each corruption, of all its levels together, shuffled.

    Fewer if fewer exist.
    """
    few = [item for listed in changed_captions(_data(), EACH).values() for item in listed]
    return sorted(few, key=lambda item: _rank(f"{item['a']}\0{item['b']}"))


def print_table() -> None:
    """For the documentation: each corruption, in how many captions it is made, an example."""
    data = _data()
    n, changed = len(data), changed_captions(data, 10**9)
    print("| name | kind | made in | a caption, changed |\n|---|---|---:|---|")
    for name, listed in changed.items():
        images = len({item["image_id"] for item in listed})
        short = min(listed[:100], key=lambda item: (len(item["a"]), item["a"]), default=None)
        text = f"{short['a']} → {short['b']}" if short else ""
        kind = listed[0]["kind"] if listed else ""
        print(f"| `{name}` | {kind} | {100 * images / n:.1f} % | {text.replace('|', '')} |")


def _rank(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_verdicts() -> dict[str, str]:
    """Item → verdict."""
    lines = VERDICTS.read_text(encoding="utf-8").splitlines() if VERDICTS.is_file() else []
    return {line["item"]: line["verdict"] for line in map(json.loads, lines)}


def to_read(listed: list[dict[str, Any]], unread: bool) -> list[dict[str, Any]]:
    """All items, or those without a verdict."""
    known = read_verdicts() if unread else {}
    return [item for item in listed if key_of(item["a"], item["b"]) not in known]


def print_items(unread: bool) -> None:
    """The items, numbered, without what was done."""
    for n, item in enumerate(to_read(items(), unread)):
        print(f"{n}. {' | '.join(item['known'])}\n  A {item['a']}\n  B {item['b']}")


def key_of(a: str, b: str) -> str:
    """What a verdict is about: both texts, and nothing of what was done."""
    return _rank(f"{a}\0{b}")[:16]


def record(letters: str, unread: bool) -> None:
    """Write the verdicts, a letter an item in the order in which they were printed.

    Verdicts on items that no longer exist are dropped.
    """
    every = items()
    listed = to_read(every, unread)
    given = [c for c in letters if c in LETTERS]
    if len(given) != len(listed):
        sys.exit(f"{len(given)} verdicts for {len(listed)} items")
    verdicts = read_verdicts()
    verdicts |= {key_of(i["a"], i["b"]): LETTERS[c] for i, c in zip(listed, given, strict=True)}
    kept = [
        key_of(item["a"], item["b"]) for item in every if key_of(item["a"], item["b"]) in verdicts
    ]
    lines = [json.dumps({"item": key, "verdict": verdicts[key]}) for key in dict.fromkeys(kept)]
    VERDICTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def report() -> int:
    """Agreement overall and of each corruption; 1 where it is below 95 %, or 85 % of one."""
    verdicts = read_verdicts()
    agreed: dict[str, list[bool]] = defaultdict(list)
    unread = 0
    for item in items():
        verdict = verdicts.get(key_of(item["a"], item["b"]))
        unread += verdict is None
        if verdict is not None:
            agreed[item["corruption"]].append(verdict == item["expected"])
    by_count: dict[str, list[str]] = defaultdict(list)
    for name, each in sorted(agreed.items()):
        by_count[f"{sum(each)} of {len(each)}"].append(f"`{name}`")
    total = [right for each in agreed.values() for right in each]
    share = sum(total) / len(total)
    print("| agreed | corruptions |\n|---:|---|")
    for agreement, names in sorted(by_count.items(), key=lambda pair: -len(pair[1])):
        print(f"| {agreement} | {', '.join(names)} |")
    print(f"| {sum(total)} of {len(total)} = {100 * share:.1f} % | all |")
    print(f"\nNot read: {unread}.")
    worst = min(sum(each) / len(each) for each in agreed.values())
    return int(share < 0.95 or worst < 0.85 or unread > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what",
        choices=["items", "record", "report", "table", "examples", "second"],
    )
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        help="of record: the letters, in order; of examples: the page to write",
    )
    parser.add_argument("--unread", action="store_true", help="items without a verdict alone")
    parser.add_argument("--each", type=int, default=20, help="examples of each corruption")
    options = parser.parse_args()
    if options.what == "items":
        print_items(options.unread)
    elif options.what == "second":
        print_second()
    elif options.what == "table":
        print_table()
    elif options.what == "examples":
        write_examples(options.file, options.each)
    elif options.what == "record":
        record(options.file.read_text(encoding="utf-8"), options.unread)
    else:
        return report()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
