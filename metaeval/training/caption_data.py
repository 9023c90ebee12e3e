"""What a training from captions alone starts from: images to learn from, others to choose by."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.text.vocabulary import Vocabulary

SCENES = "scenes"  # instead of a split of COCO: the scenes' own training split


@dataclass(frozen=True, slots=True, eq=False)
class CaptionData:
    """A dataset, the positions of the images to learn from and to choose by, and the words.

    `captions` are those of every image of the dataset, the human one first; the vocabulary is of
    the images in `train` alone.
    """

    dataset: CaptionDataset
    captions: tuple[tuple[str, ...], ...]
    train: tuple[int, ...]
    dev: tuple[int, ...]
    vocabulary: Vocabulary

    def of(self, images: Sequence[int]) -> list[tuple[str, ...]]:
        """The captions of these images."""
        return [self.captions[i] for i in images]

    def card(self, **more: Any) -> dict[str, Any]:
        """The data as a card describes it."""
        return {
            "dataset": self.dataset.name,
            "n_train": len(self.train),
            "n_dev": len(self.dev),
            "sources": dict(self.dataset.sources),
            "notes": list(self.dataset.notes),
            **more,
        }


def read_caption_data(options: argparse.Namespace) -> CaptionData:
    """The data that `add_data_options` names."""
    if options.split == SCENES:
        whole = load_scenes(split="train", n=options.scenes, images=False)
    else:
        whole = load_coco(f"coco_{options.split}", split=options.split, exclude=options.exclude)
    if not 0 < options.dev < len(whole):
        raise ConfigError(f"--dev {options.dev} of {len(whole):,} images leaves none to learn from")
    captions = tuple((h, *r) for h, r in zip(whole.human, whole.references, strict=True))
    order = np.random.default_rng([options.seed, 0x5EED]).permutation(len(whole))
    dev, train = (tuple(np.sort(part).tolist()) for part in np.split(order, [options.dev]))
    words = Vocabulary.build([c for i in train for c in captions[i]], options.min_count)
    return CaptionData(whole, captions, train, dev, words)


def command_line(module: str, arguments: Sequence[str] | None) -> str:
    """The command for a card: files and folders by their names, whatever machine they were on."""
    given = sys.argv[1:] if arguments is None else arguments
    return " ".join(["python -m", module, *(Path(each).name for each in given)])


def add_data_options(parser: argparse.ArgumentParser, min_count: int) -> None:
    """The options of every such training."""
    parser.add_argument("out", type=Path, metavar="FOLDER")
    parser.add_argument("--split", default="karpathy_test", help="of COCO, or scenes")
    parser.add_argument("--exclude", help="a split whose images are left out: those to be scored")
    parser.add_argument("--scenes", type=int, default=5000, help="how many, of --split scenes")
    parser.add_argument("--dev", type=int, default=400, help="images to choose the best epoch by")
    parser.add_argument("--min-count", type=int, default=min_count)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
