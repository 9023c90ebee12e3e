"""The embedded scenes: how fast they are made, and how they differ from COCO.

    python benchmarks/scenes.py            # speed, size, and COCO if METAEVAL_DATA is set
    python benchmarks/scenes.py --table    # only the comparison with COCO, as Markdown

Times are those of one core (processor time), so that other work on the machine does not show.
"""

from __future__ import annotations

import hashlib
import string
from collections import Counter
from collections.abc import Sequence
from statistics import mean, pstdev

import PIL

from benchmarks.side_by_side import Seconds, coco_captions, options_parser, timed
from metaeval.corruptions.truth.add_object import AddObject
from metaeval.corruptions.truth.drop_salient import DropSalient
from metaeval.corruptions.truth.replace_attribute import ReplaceAttribute
from metaeval.corruptions.truth.replace_count import ReplaceCount
from metaeval.corruptions.truth.replace_object import ReplaceObject
from metaeval.corruptions.truth.replace_relation import ReplaceRelation
from metaeval.corruptions.truth.swap_arguments import SwapArguments
from metaeval.data.coco.files import find_coco_captions
from metaeval.data.dataset import Absent
from metaeval.data.scenes import SceneGraph, generate, load_scenes
from metaeval.data.scenes.files import captions_json, graphs_json, instances_json
from metaeval.data.scenes.render import png, render

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


def speed(graphs: Sequence[SceneGraph], taken: Seconds, n: int) -> None:
    """Print how long generating and drawing took."""
    print(
        f"{len(graphs):,} scenes with captions: {taken.processor:.2f} s of processor, "
        f"{taken.clock:.2f} s elapsed"
    )
    images, drawing = timed(lambda: [render(g) for g in graphs[:n]])
    files, encoding = timed(lambda: [png(i) for i in images])
    both = drawing.processor + encoding.processor
    print(f"drawing, 336×336: {n / drawing.processor:,.0f} images/s per core (Pillow "
          f"{PIL.__version__})")  # fmt: skip
    print(f"drawing and PNG: {n / both:,.0f} images/s per core")
    print(f"PNG files: {sum(map(len, files)) / n / 1000:.1f} kB each")


def checksums(graphs: Sequence[SceneGraph]) -> None:
    """Print what must be the same on every machine."""
    for name, content in (
        ("captions_val.json", captions_json(graphs, "val")),
        ("instances_val.json", instances_json(graphs, "val")),
        ("scene_graphs_val.json", graphs_json(graphs, "val")),
    ):
        print(f"sha256 {hashlib.sha256(content).hexdigest()}  {name} ({len(content):,} bytes)")


def leakage(graphs: Sequence[SceneGraph]) -> None:
    """Print how many captions of val also occur, word for word, in train and dev."""
    val = [" ".join(tokens([c.text])) for g in graphs for c in g.captions]
    for split in ("train", "dev"):
        other = {" ".join(tokens([c.text])) for g in generate(split) for c in g.captions}
        both = mean(c in other for c in val)
        print(f"captions of val that also occur in {split}: {both:.1%}")


def harms(n: int) -> None:
    """Print how often each truth-aware corruption applies and how much it makes false."""
    data = load_scenes(n=n)
    print("\n| corruption | applied | statements false or lost | effect |\n|---|---:|---:|---|")
    for kind in (ReplaceObject, ReplaceAttribute, ReplaceRelation, ReplaceCount, SwapArguments,
                 AddObject, DropSalient):  # fmt: skip
        corruption = kind()
        done = [r for r in corruption.apply(data, 0) if r.applied]
        print(
            f"| {corruption.label} | {len(done) / n:.1%} | {mean(r.harm for r in done):.3f} "
            f"| {corruption.effect} |"
        )


def main() -> None:
    parser = options_parser(__doc__)
    parser.add_argument("--table", action="store_true", help="only the comparison")
    parser.add_argument("--images", type=int, default=500, help="images to draw for the timing")
    options = parser.parse_args()
    graphs, taken = timed(lambda: list(generate("val")))
    if not options.table:
        speed(graphs, taken, options.images)
        checksums(graphs)
        leakage(graphs)
        objects = Counter(o.category for g in graphs for o in g.objects)
        print(f"{objects.total():,} objects of {len(objects)} categories, "
              f"{sum(len(g.relations) for g in graphs):,} relations of "
              f"{len({r.predicate for g in graphs for r in g.relations})} kinds")  # fmt: skip
        harms(len(graphs))
        print()
    print(comparison(graphs))


if __name__ == "__main__":
    main()
