"""The table that compares captions of the embedded scenes with COCO's, if METAEVAL_DATA is set.

python benchmarks/scenes.py
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from statistics import mean, pstdev

from benchmarks.side_by_side import coco_captions
from metaeval.data.coco.files import find_coco_captions
from metaeval.data.dataset import Absent
from metaeval.data.scenes import SceneGraph, generate

CURVE = (1_000, 10_000, 50_000, 100_000, 250_000)


def tokens(captions: Sequence[str]) -> list[str]:
    """Words in lower case without the punctuation around them."""
    words = (t.strip(string.punctuation) for c in captions for t in c.lower().split())
    return [word for word in words if word]


def description(captions: Sequence[Sequence[str]]) -> dict[str, str]:
    """What a collection of captions, a list per image, looks like in numbers."""
    flat = [c for image in captions for c in image]
    lengths = [len(c.split()) for c in flat]
    words = tokens(flat)
    counts = Counter(words)
    plain = [" ".join(tokens([c])) for c in flat]
    out = {
        "images": f"{len(captions):,}",
        "captions": f"{len(flat):,}",
        "words a caption, mean": f"{mean(lengths):.2f}",
        "words a caption, standard deviation": f"{pstdev(lengths):.2f}",
        "words a caption, shortest and longest": f"{min(lengths)}, {max(lengths)}",
        "distinct words": f"{len(counts):,}",
        "distinct words seen once": f"{sum(n == 1 for n in counts.values()):,}",
        "share of the 50 commonest words": f"{share(counts, 50):.1%}",
    }
    for n in CURVE:
        if n <= len(words):
            out[f"distinct words in the first {n:,}"] = f"{len(set(words[:n])):,}"
    openings = Counter(tuple(tokens([c])[:3]) for c in flat)
    out |= {
        "distinct captions": f"{len(set(flat)) / len(flat):.1%}",
        "distinct captions, case and punctuation aside": f"{len(set(plain)) / len(flat):.1%}",
        "distinct openings of three words": f"{len(openings) / len(flat):.1%}",
        "captions that end in a full stop": f"{mean(c.rstrip().endswith('.') for c in flat):.1%}",
        "captions that begin in lower case": f"{mean(c[0].islower() for c in flat):.1%}",
        "words shared by two captions of an image": f"{overlap(captions):.1%}",
    }
    return out


def share(counts: Counter[str], n: int) -> float:
    """Which share of all words the n commonest make up."""
    return sum(k for _, k in counts.most_common(n)) / counts.total()


def overlap(captions: Sequence[Sequence[str]]) -> float:
    """Mean Jaccard overlap of the word sets of an image's first two captions."""
    sets = [(set(tokens([c[0]])), set(tokens([c[1]]))) for c in captions]
    return mean(len(a & b) / len(a | b) for a, b in sets)


def comparison(graphs: Sequence[SceneGraph]) -> str:
    """The table "scenes compared with COCO", in Markdown."""
    columns = {"scenes val": description([[c.text for c in g.captions] for g in graphs])}
    if not isinstance(find_coco_captions("val2017"), Absent):
        coco = [[" ".join(c.split()) for c in own] for own in coco_captions("val2017")]
        columns["COCO val2017"] = description(coco)
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for row in columns["scenes val"]:
        cells = " | ".join(column.get(row, "–") for column in columns.values())
        lines.append(f"| {row} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    print(comparison(list(generate("val"))))


if __name__ == "__main__":
    main()
