"""The table that compares captions of the embedded scenes with COCO's, if METAEVAL_DATA is set.

python -m research.scenes.statistics
"""

import string
from collections.abc import Sequence
from statistics import mean, pstdev

from benchmarks.speed import coco_captions
from metaeval.data.scenes import read_scenes


def tokens(captions: Sequence[str]) -> list[str]:
    """Words in lower case without the punctuation around them."""
    words = (t.strip(string.punctuation) for c in captions for t in c.lower().split())
    return [word for word in words if word]


def description(captions: Sequence[Sequence[str]]) -> dict[str, str]:
    """What a collection of captions, a list per image, looks like in numbers."""
    flat = [caption for image in captions for caption in image]
    lengths = [len(caption.split()) for caption in flat]
    openings = {tuple(tokens([caption])[:3]) for caption in flat}
    pairs = [(set(tokens([image[0]])), set(tokens([image[1]]))) for image in captions]
    overlap = mean(len(a & b) / len(a | b) for a, b in pairs)
    return {
        "words a caption, mean": f"{mean(lengths):.2f}",
        "words a caption, standard deviation": f"{pstdev(lengths):.2f}",
        "distinct words": f"{len(set(tokens(flat))):,}",
        "distinct captions": f"{len(set(flat)) / len(flat):.1%}",
        "distinct openings of three words": f"{len(openings) / len(flat):.1%}",
        "words shared by two captions of an image": f"{overlap:.1%}",
    }


def main() -> None:
    scenes = description([[c.text for c in graph.captions] for graph in read_scenes("val")])
    coco = description([[" ".join(c.split()) for c in own] for own in coco_captions("val2017")])
    print("| | scenes val | COCO val2017 |\n|---|---:|---:|")
    for name in scenes:
        print(f"| {name} | {scenes[name]} | {coco[name]} |")


if __name__ == "__main__":
    main()
