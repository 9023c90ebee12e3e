"""The built-in scene-graph parsers against SPICE's own, on COCO references.

    python -m research.scene_graph tuples [--captions 2000] [--parser lexicon]
    python -m research.scene_graph sentences OUT

Data: METAEVAL_DATA. `--store FILE` is a content store to take CoreNLP's parses from and add to.

`tuples` compares tuples of tokenised captions of val2017 as strings, per caption, and sums: of what
SPICE's parser finds, how much does the built-in one find (recall), and how much of what it finds
does SPICE's have (precision). SPICE's is not a gold standard; it is what SPICE is defined by.

`sentences` writes the training sentences for SceneGraphTrees.java, from images of the Karpathy test
split that are not in val2017 without the last 300: every caption, tokenised four times in five, and
after every second one per caption that Shuffle or Replace has corrupted, tokenised.
"""

import argparse
import json
import os
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from metaeval.corruptions.graded.replace import Replace
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.data.dataset import CaptionDataset
from metaeval.runs.store import MemoryStore, SqliteStore
from metaeval.text.scene_graphs.parse import CaptionGraph, open_parser
from metaeval.text.scene_graphs.spice_service import Tuples
from metaeval.text.tokenizers.base import get as get_tokenizer

DEV_IMAGES = 300  # the last ones outside val2017
KINDS = ("objects", "attributes", "relations")


def tuples(arguments: argparse.Namespace) -> None:
    """Precision, recall and F of a built-in parser's tuples."""
    captions = references("val2017")
    count = min(arguments.captions, len(captions))
    chosen = np.random.default_rng(0).choice(len(captions), count, replace=False)
    sample = tokenise([captions[i][1] for i in sorted(chosen)])
    store = SqliteStore(arguments.store) if arguments.store else MemoryStore()
    with closing(open_parser("corenlp", store=store)) as corenlp:
        theirs = corenlp(sample)
    parser = open_parser(arguments.parser)
    started = time.process_time()
    ours = parser(sample)
    rate = count / (time.process_time() - started)
    print(f"{count} references; {arguments.parser}: {rate:,.0f} captions/s")
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
    """Training sentences as JSON strings, a line each."""
    seen = {image for image, _ in references("val2017")}
    captions = [c for c in references("karpathy_test") if c[0] not in seen]
    images = sorted({image for image, _ in captions})
    kept_out = set(images[-DEV_IMAGES:])
    first = dict(reversed(captions))
    ids, texts = tuple(images), tuple(first[image] for image in images)
    dataset = CaptionDataset("captions", ids, texts, ((),) * len(ids), ids, texts)
    corruptions = [*map(Shuffle, (0.25, 0.5, 1.0)), Replace(0.25), Replace(0.5)]
    versions = [corruption.apply(dataset, seed=7) for corruption in corruptions]
    rng = np.random.default_rng(7)
    known = [text for image, text in captions if image not in kept_out]
    raw = [known[i] for i in rng.permutation(len(known))]
    changed = [version[k].text for version in versions for k in range(len(images) - DEV_IMAGES)]
    changed = [changed[i] for i in rng.permutation(len(changed))[: len(raw) // 2]]
    tokenised, changed = tokenise(raw), tokenise(changed)
    lines = []
    for i, text in enumerate(tokenised):
        lines.append(raw[i] if i % 5 == 4 else text)
        lines += changed[i // 2 : i // 2 + i % 2]
    arguments.out.write_text("".join(json.dumps(text) + "\n" for text in lines))


def tokenise(texts: list[str]) -> list[str]:
    return [" ".join(tokens) for tokens in get_tokenizer("ptb")(texts)]


def references(split: str) -> list[tuple[int, str]]:
    """(image id, caption) of each annotation."""
    file = Path(os.environ["METAEVAL_DATA"]) / f"coco/annotations/captions_{split}.json"
    annotations = json.loads(file.read_text(encoding="utf-8"))["annotations"]
    return [(a["image_id"], a["caption"]) for a in annotations]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("tuples")
    one.add_argument("--captions", type=int, default=2000, help="how many, drawn by seed 0")
    one.set_defaults(do=tuples)
    one.add_argument("--store", type=Path, help="a content store of CoreNLP's parses")
    one.add_argument("--parser", default="perceptron", help="perceptron or lexicon")
    two = commands.add_parser("sentences")
    two.add_argument("out", type=Path)
    two.set_defaults(do=sentences)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
