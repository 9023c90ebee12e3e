"""A small dataset of COCO's objects, and weights for it, for the tests of TIGEr and SCAN."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from metaeval.data.dataset import CaptionDataset, Objects
from metaeval.metrics.scan.network import Scan, ScanShape
from metaeval.vision.regions.gold import GoldRegions
from research.train.networks import read_words
from research.vocabulary import build_vocabulary
from research.weights import save_weights

HUMAN = ("a dog runs", "two cats sleep on a bed", "a red car", "nothing to see", "a man with a dog")
REFERENCES = (
    ("the dog runs fast", "a brown dog"),
    ("cats on a bed", "two cats"),
    ("a car on the road", "red car"),
    ("an empty room", "grey"),
    ("a man and his dog", "somebody walks"),
)
LABELS = (("dog",), ("cat", "cat", "bed"), ("car",), (), ("person", "dog"))


def dataset(first_id: int = 1) -> CaptionDataset:
    """Five images with ids from `first_id`, the fourth without objects."""
    ids = tuple(range(first_id, first_id + len(HUMAN)))
    objects = {
        image_id: Objects(
            labels,
            np.array([[0.1 * k, 0.2, 0.5 + 0.1 * k, 0.9] for k in range(len(labels))]).reshape(
                -1, 4
            ),
        )
        for image_id, labels in zip(ids, LABELS, strict=True)
    }
    return CaptionDataset(
        "photographs", ids, HUMAN, REFERENCES, ids, HUMAN, parts={"objects": lambda: objects}
    )


def weights(folder: Path, sign: float = 1.0, seed: int = 0, grid: int = 0, **card: Any) -> Path:
    """Random weights in a folder, "trained" on five other images (ids from 101).

    Human captions ground positively under them, or with `sign=-1` negatively: the regions' bias is
    the direction in which the words' states lie, or the opposite one.
    """
    words = build_vocabulary([*HUMAN, *(t for group in REFERENCES for t in group)], min_count=1)
    torch.manual_seed(seed)
    model = Scan(ScanShape(dim=GoldRegions().dim, words=len(words), embed=16, word=8, grid=grid))
    with torch.no_grad():
        model.text.embed.weight *= 10
        model.text.rnn.bias_ih_l0 += 0.3
        model.text.rnn.bias_ih_l0_reverse += 0.3
        model.image.fc.bias.copy_(sign * read_words(model.text, torch.tensor([[1, 5, 2]]))[0, 1])
    facts = {
        "kind": "scan",
        "variant": "",
        "regions": GoldRegions().identity(),
        "human_cosine": sign,
    }
    facts |= {"shape": asdict(model.shape), "trained_on_corruptions": False, **card}
    save_weights(folder, model, words, facts, dataset(101))
    return folder
