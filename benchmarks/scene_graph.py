"""The built-in scene-graph parser against SPICE's own, on COCO references.

    METAEVAL_DATA=… python benchmarks/scene_graph.py [--captions 2000] [--held-out] [--store FILE]

The rules' word lists were tuned on captions of val2017. `--held-out` draws from the Karpathy test
split instead, without the images that are in val2017, which nobody looked at for them.

Tuples are compared as strings, per caption, and summed: of what SPICE's parser finds, how much do
the rules find (recall), and how much of what they find does SPICE's have (precision). SPICE's is
no gold standard; it is what SPICE and FAIEr are defined by.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.side_by_side import coco_annotations, options_parser, timed
from metaeval.runs.store import MemoryStore, SqliteStore, Store
from metaeval.text.scene_graphs.parse import parse_captions


def main() -> None:
    parser = options_parser(__doc__)
    parser.add_argument("--captions", type=int, default=2000, help="how many, drawn by seed 0")
    parser.add_argument("--held-out", action="store_true", help="captions the rules never saw")
    parser.add_argument("--store", type=Path, help="a content store to take parses from and add to")
    options = parser.parse_args()
    where, annotations = "COCO val2017", coco_annotations("val2017")
    if options.held_out:
        seen = {annotation["image_id"] for annotation in annotations}
        others = coco_annotations("karpathy_test")
        where = "Karpathy test without val2017"
        annotations = [annotation for annotation in others if annotation["image_id"] not in seen]
    count = min(options.captions, len(annotations))
    chosen = np.random.default_rng(0).choice(len(annotations), count, replace=False)
    sample = [annotations[i]["caption"] for i in sorted(chosen)]
    store: Store = SqliteStore(options.store) if options.store else MemoryStore()
    theirs = parse_captions(sample, parser="spice", store=store)
    ours, seconds = timed(lambda: parse_captions(sample, parser="rules"))
    rate = count / seconds.clock
    print(f"{count} references of {where}; rules: {rate:,.0f} captions/s")
    print(f"{'':12}{'precision':>10}{'recall':>8}{'F':>8}{'SPICE has':>11}")
    for kind in ("objects", "attributes", "relations"):
        pairs = [
            (set(getattr(a, kind)), set(getattr(b, kind)))
            for a, b in zip(ours, theirs, strict=True)
        ]
        shared = sum(len(a & b) for a, b in pairs)
        proposed, wanted = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
        precision, recall = shared / proposed, shared / wanted
        f = 2 * shared / (proposed + wanted)
        print(f"{kind:12}{precision:10.3f}{recall:8.3f}{f:8.3f}{wanted:11,}")


if __name__ == "__main__":
    main()
