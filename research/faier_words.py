"""Does FAIEr find in an image the words for what is there? After the paper's Table 5.

    python -m research.faier_words

For every image of val2017, each word for one of COCO's 80 categories is matched, as "a WORD", with
the image's union vectors: the mean over its tokens of the best match among the regions.
Ground-truth words name what is annotated in the image; all others are other words. Printed with
four references and with none: the mean match of either kind, and how often a ground-truth word
beats another word of the same image (half for ties, mean over images).
"""

import torch

from metaeval.config import component, compose_config
from metaeval.reproduce.functions import load, table
from metaeval.weights import pretrained


def main() -> None:
    dataset = component(compose_config(["dataset=coco_val2017"]).dataset, "dataset")
    model, vocabulary, _ = load(dataset, pretrained.AUTO)
    titles = ("ground truth", "others", "wins")
    print("references | " + " | ".join(titles))
    with torch.inference_mode():
        for k, row in table(model, vocabulary, dataset).items():
            print(f"{k} | " + " | ".join(f"{value:.3f}" for value in row))


if __name__ == "__main__":
    main()
