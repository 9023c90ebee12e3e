"""The built-in scene-graph parser against SPICE's own, on COCO references.

    METAEVAL_DATA=… python benchmarks/scene_graph.py [--captions 2000] [--held-out] [--store FILE]

The rules' word lists were tuned on captions of val2017. `--held-out` draws from the Karpathy test
split instead, without the images that are in val2017, which nobody looked at for them.

Tuples are compared as strings, per caption, and summed: of what SPICE's parser finds, how much do
the rules find (recall), and how much of what they find does SPICE's have (precision). SPICE's is
no gold standard; it is what SPICE and FAIEr are defined by.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from metaeval.runs.store import MemoryStore, SqliteStore, Store
from metaeval.text.scene_graphs.parse import parse_captions

KINDS = ("objects", "attributes", "relations")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", type=int, default=2000, help="how many, drawn by seed 0")
    parser.add_argument("--held-out", action="store_true", help="captions the rules never saw")
    parser.add_argument("--store", type=Path, help="a content store to take parses from and add to")
    arguments = parser.parse_args()
    folder = Path(os.environ["METAEVAL_DATA"]) / "coco/annotations"
    captions = read(folder / "captions_val2017.json")
    if arguments.held_out:
        seen = {image for image, _ in captions}
        captions = [c for c in read(folder / "captions_karpathy_test.json") if c[0] not in seen]
    where = "Karpathy test without val2017" if arguments.held_out else "COCO val2017"
    count = min(arguments.captions, len(captions))
    chosen = np.random.default_rng(0).choice(len(captions), count, replace=False)
    sample = [captions[i][1] for i in sorted(chosen)]
    store: Store = SqliteStore(arguments.store) if arguments.store else MemoryStore()
    theirs = parse_captions(sample, parser="corenlp", store=store)
    started = time.perf_counter()
    ours = parse_captions(sample, parser="rules")
    rate = count / (time.perf_counter() - started)
    print(f"{count} references of {where}; rules: {rate:,.0f} captions/s")
    print(f"{'':12}{'precision':>10}{'recall':>8}{'F':>8}{'SPICE has':>11}")
    for kind in KINDS:
        pairs = [
            (set(getattr(a, kind)), set(getattr(b, kind)))
            for a, b in zip(ours, theirs, strict=True)
        ]
        shared = sum(len(a & b) for a, b in pairs)
        proposed, wanted = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
        precision, recall = shared / proposed, shared / wanted
        f = 2 * shared / (proposed + wanted)
        print(f"{kind:12}{precision:10.3f}{recall:8.3f}{f:8.3f}{wanted:11,}")


def read(file: Path) -> list[tuple[int, str]]:
    """(image id, caption) of each annotation."""
    annotations = json.loads(file.read_text(encoding="utf-8"))["annotations"]
    return [(a["image_id"], a["caption"]) for a in annotations]


if __name__ == "__main__":
    main()
