"""Does FAIEr find in an image the words for what is there? After the paper's Table 5.

    python -m benchmarks.faier.words [--images N] [--weights NAME] [key=value …]

For every image, each word for one of COCO's 80 categories is matched, as "a WORD", with the image's
union vectors: the mean over its tokens of the best match among the regions. Ground-truth words name
what is annotated in the image; all others are other words. Printed with four references and with
none: the mean match of either kind, how often a ground-truth word beats another word of the same
image (half for ties, mean over images), the same for ground-truth words that no reference has, and
how often the best object for a ground-truth word is of its category, next to the share of objects
that are. Further arguments choose the data (dataset=coco_val2017 unless they say otherwise).
"""

from __future__ import annotations

import argparse

import torch

from metaeval.config import component, compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.reproduce.object_words import known_words, load, table
from metaeval.weights import pretrained


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=None, help="only so many, the first ones")
    parser.add_argument("--weights", default=pretrained.AUTO)
    options, overrides = parser.parse_known_args()
    config = compose_config(["dataset=coco_val2017", *overrides])
    dataset: CaptionDataset = component(config.dataset, "dataset").limited(options.images)
    model, vocabulary, name = load(dataset, options.weights)
    with torch.inference_mode():
        rows = table(model, vocabulary, dataset)
    print(
        f"{name}, {len(known_words(vocabulary))} words, {len(dataset):,} images of {dataset.name}"
    )
    titles = ("ground truth", "others", "wins", "wins, unsaid", "pointed at", "by chance")
    print("references | " + " | ".join(titles))
    for k, row in rows.items():
        print(f"{k} | " + " | ".join(f"{value:.3f}" for value in row))


if __name__ == "__main__":
    main()
