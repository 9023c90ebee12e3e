"""The built-in scene-graph parser against SPICE's own, on COCO references.

    python benchmarks/scene_graph.py tuples [--captions 2000] [--parser rules] [--held-out] [--raw]
    python benchmarks/scene_graph.py sentences OUT [--dev]

Data: METAEVAL_DATA. `--store FILE` is a content store to take CoreNLP's parses from and add to.

`tuples` compares tuples as strings, per caption, and sums: of what SPICE's parser finds, how much
does the built-in one find (recall), and how much of what it finds does SPICE's have (precision).
SPICE's is not a gold standard; it is what SPICE is defined by. The references are val2017's; with
`--held-out` the Karpathy test split's without the images of val2017, which `lexicon` was not tuned
on but `perceptron` is trained on.

`sentences` writes the training sentences for SceneGraphTrees.java, from images of the Karpathy test
split that are not in val2017: every caption, tokenised four times in five, and after every second
one per caption that Shuffle or Replace has corrupted, tokenised. `--dev` writes those of the last
300 images, which the training leaves out: per image its captions and all levels of both
corruptions.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from metaeval.corruptions.graded.replace import Replace
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.data.dataset import CaptionDataset
from metaeval.runs.store import MemoryStore, SqliteStore, Store
from metaeval.text.scene_graphs.parse import CaptionGraph, open_parser
from metaeval.text.scene_graphs.spice_service import Tuples
from metaeval.text.tokenizers.base import get as get_tokenizer

DEV_IMAGES = 300  # the last ones outside val2017
KINDS = ("objects", "attributes", "relations")


def tuples(arguments: argparse.Namespace) -> None:
    """Precision, recall and F of the built-in parser's tuples."""
    captions = held_out() if arguments.held_out else references("val2017")
    count = min(arguments.captions, len(captions))
    chosen = np.random.default_rng(0).choice(len(captions), count, replace=False)
    sample = [captions[i][1] for i in sorted(chosen)]
    if not arguments.raw:
        sample = tokenise(sample)
    theirs = parse(sample, "corenlp", arguments)
    parser = open_parser(arguments.parser)
    started = time.process_time()
    ours = parser(sample)
    rate = count / (time.process_time() - started)
    where = "Karpathy test without val2017" if arguments.held_out else "COCO val2017"
    text = "as they are" if arguments.raw else "tokenised"
    print(f"{count} references of {where}, {text}; {arguments.parser}: {rate:,.0f} captions/s")
    print_agreement([t or [] for t in ours], [t or [] for t in theirs])


def print_agreement(ours: list[Tuples], theirs: list[Tuples]) -> None:
    print(f"{'':12}{'precision':>10}{'recall':>8}{'F':>8}{'SPICE has':>11}")
    graphs = [tuple(map(CaptionGraph.from_tuples, pair)) for pair in zip(ours, theirs, strict=True)]
    for kind in KINDS:
        pairs = [(set(getattr(a, kind)), set(getattr(b, kind))) for a, b in graphs]
        shared = sum(len(a & b) for a, b in pairs)
        proposed, wanted = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
        precision, recall = shared / proposed, shared / wanted
        f = 2 * shared / (proposed + wanted)
        print(f"{kind:12}{precision:10.3f}{recall:8.3f}{f:8.3f}{wanted:11,}")


def sentences(arguments: argparse.Namespace) -> None:
    """Training sentences, or those that training leaves out, as JSON strings, a line each."""
    captions = held_out()
    images = sorted({image for image, _ in captions})
    kept_out = set(images[-DEV_IMAGES:])
    first = dict(reversed(captions))
    ids, texts = tuple(images), tuple(first[image] for image in images)
    dataset = CaptionDataset("captions", ids, texts, ((),) * len(ids), ids, texts)
    corruptions = [*map(Shuffle, (0.25, 0.5, 1.0)), Replace(0.25), Replace(0.5)]
    versions = [corruption.apply(dataset, seed=7) for corruption in corruptions]
    if arguments.dev:
        chosen = [text for image, text in captions if image in kept_out]
        rows = range(len(images) - DEV_IMAGES, len(images))
        chosen += [version[row].text for row in rows for version in versions]
        lines = tokenise(chosen)
    else:
        rng = np.random.default_rng(7)
        known = [text for image, text in captions if image not in kept_out]
        raw = [known[i] for i in rng.permutation(len(known))]
        tokenised = tokenise(raw)
        corrupted = [
            version[row].text for version in versions for row in range(len(images) - DEV_IMAGES)
        ]
        corrupted = tokenise(
            [corrupted[i] for i in rng.permutation(len(corrupted))[: len(raw) // 2]]
        )
        lines = []
        for i, text in enumerate(tokenised):
            lines.append(raw[i] if i % 5 == 4 else text)
            lines += corrupted[i // 2 : i // 2 + i % 2]
    arguments.out.write_text("".join(json.dumps(text) + "\n" for text in lines))


def parse(texts: list[str], parser: str, arguments: argparse.Namespace) -> list[Tuples | None]:
    store: Store = SqliteStore(arguments.store) if arguments.store else MemoryStore()
    opened = open_parser(parser, store=store)
    try:
        return opened(texts)
    finally:
        opened.close()


def tokenise(texts: list[str]) -> list[str]:
    return [" ".join(tokens) for tokens in get_tokenizer("ptb")(texts)]


def references(split: str) -> list[tuple[int, str]]:
    """(image id, caption) of each annotation."""
    file = Path(os.environ["METAEVAL_DATA"]) / f"coco/annotations/captions_{split}.json"
    annotations = json.loads(file.read_text(encoding="utf-8"))["annotations"]
    return [(a["image_id"], a["caption"]) for a in annotations]


def held_out() -> list[tuple[int, str]]:
    """Captions of the Karpathy test split whose images are not in val2017."""
    seen = {image for image, _ in references("val2017")}
    return [c for c in references("karpathy_test") if c[0] not in seen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("tuples")
    one.add_argument("--captions", type=int, default=2000, help="how many, drawn by seed 0")
    one.add_argument("--held-out", action="store_true", help="not of val2017")
    one.add_argument("--raw", action="store_true", help="not tokenised")
    one.set_defaults(do=tuples)
    one.add_argument("--store", type=Path, help="a content store of CoreNLP's parses")
    one.add_argument("--parser", default="perceptron", help="perceptron or lexicon")
    two = commands.add_parser("sentences")
    two.add_argument("out", type=Path)
    two.add_argument("--dev", action="store_true", help="those that training leaves out")
    two.set_defaults(do=sentences)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
