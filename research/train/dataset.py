"""Captions and regions of images, ready for training: encoded once, then only picked by number."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.runs.store import Store
from metaeval.text.vocabulary import SPECIAL, UNK, Vocabulary
from metaeval.vision.regions.base import Regions, RegionSource
from research.vocabulary import batch, build_vocabulary

if TYPE_CHECKING:
    import torch


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CaptionedImages:
    """All captions of n images, the human one and the references, and the images' regions.

    Attributes
    ----------
    image_ids
        n ids.
    captions
        Per image its captions, in order, at least one.
    regions
        The regions of the images, row by row.
    name
        The dataset's name.
    """

    image_ids: tuple[ImageId, ...]
    captions: tuple[tuple[str, ...], ...]
    regions: Regions
    name: str

    def __post_init__(self) -> None:
        if not len(self.image_ids) == len(self.captions) == len(self.regions):
            raise ValueError("image_ids, captions and regions differ in length")

    def __len__(self) -> int:
        return len(self.image_ids)

    @classmethod
    def of(
        cls, dataset: CaptionDataset, source: RegionSource, store: Store | None = None
    ) -> CaptionedImages:
        """All captions of a dataset's images; ConfigError where it has no such regions."""
        if isinstance(absent := source.missing(dataset), Absent):
            raise ConfigError(str(absent))
        captions = tuple((h, *r) for h, r in zip(dataset.human, dataset.references, strict=True))
        regions = source.load(dataset, store)
        return cls(dataset.image_ids, captions, regions, dataset.name)

    def subset(self, indices: Sequence[int] | Ints) -> CaptionedImages:
        """The images at these positions, in this order."""
        return CaptionedImages(
            tuple(self.image_ids[i] for i in indices),
            tuple(self.captions[i] for i in indices),
            self.regions.subset(np.asarray(indices, dtype=np.intp)),
            self.name,
        )

    def split(self, dev: int, seed: int = 0) -> tuple[CaptionedImages, CaptionedImages]:
        """The images to learn from, and `dev` others, drawn by the seed, to choose by.

        Both keep the order of the images. Raises ConfigError where too few would be left.
        """
        n = len(self)
        if not 0 < dev < n:
            raise ConfigError(f"{dev:,} images cannot be held out of the {n:,} of '{self.name}'")
        order = np.random.default_rng([seed, 0x5EED]).permutation(n)
        return self.subset(np.sort(order[dev:])), self.subset(np.sort(order[:dev]))

    def encoded(self, vocabulary: Vocabulary) -> EncodedCaptions:
        """All captions as numbers."""
        return EncodedCaptions.of(self.captions, vocabulary)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedCaptions:
    """The captions of n images as numbers, one caption a row, image by image.

    Attributes
    ----------
    tokens
        int64 tensor [m, longest], `<start>` … `<end>`, padded with 0.
    lengths
        int64 tensor [m], `<start>` and `<end>` included.
    owner
        int64 array [m]: the image (a row of the regions) of each caption, ascending.
    of_image
        int64 array [n, most]: the captions of each image, padded with -1.
    """

    tokens: torch.Tensor
    lengths: torch.Tensor
    owner: Ints
    of_image: Ints

    @classmethod
    def of(cls, captions: Sequence[Sequence[str]], vocabulary: Vocabulary) -> EncodedCaptions:
        """Encode the captions of each image."""
        flat = [text for texts in captions for text in texts]
        tokens, lengths = batch(vocabulary.encode_all(flat))
        counts = np.array([len(texts) for texts in captions], dtype=np.int64)
        owner = np.repeat(np.arange(len(captions)), counts)
        of_image = np.full((len(captions), int(counts.max())), -1, dtype=np.int64)
        of_image[np.arange(of_image.shape[1])[None, :] < counts[:, None]] = np.arange(len(flat))
        return cls(tokens, lengths, owner, of_image)

    def __len__(self) -> int:
        return len(self.owner)

    def pick(self, rows: Ints | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens [k, longest of these] and lengths [k] of these captions."""
        import torch

        index = torch.as_tensor(rows)
        lengths = self.lengths[index]
        return self.tokens[index, : int(lengths.max())], lengths

    def batches(self, size: int, rng: np.random.Generator, bucket: int = 1) -> list[Ints]:
        """One pass over all captions, in batches of rows with no image twice in one batch.

        Every image gives one caption, then every image another one, and so on; so the other
        captions of a batch are all of other images, and may serve as negatives.

        Parameters
        ----------
        size
            Captions a batch. The last of each round is dropped if it has fewer than two.
        bucket
            So many neighbouring batches are sorted by length among each other, which saves
            padding; 1 for none.
        """
        n, most = self.of_image.shape
        # each image's captions in an order of their own, its padding last
        keys = rng.random((n, most)) + (self.of_image < 0)
        columns = np.argsort(keys, axis=1)
        shuffled = np.take_along_axis(self.of_image, columns, axis=1)
        lengths = self.lengths.numpy() if bucket > 1 else None
        batches: list[Ints] = []
        for k in range(most):
            rows = shuffled[rng.permutation(n), k]
            rows = rows[rows >= 0]
            if lengths is not None:
                # shorter captions first within each stretch; ties stay as shuffled
                stretch = np.arange(len(rows)) // (size * bucket)
                rows = rows[np.lexsort((lengths[rows], stretch))]
            cut = [rows[i : i + size] for i in range(0, len(rows), size)]
            batches += [rows for rows in cut if len(rows) > 1]
        return [batches[i] for i in rng.permutation(len(batches))]


def forget_words(words: torch.Tensor, share: float) -> torch.Tensor:
    """Word numbers, a share of which, drawn at random, became `<unk>`; never the special ones."""
    import torch

    if not share:
        return words
    lost = torch.rand(words.shape, device=words.device) < share
    return words.masked_fill(lost & (words >= len(SPECIAL)), UNK)


def recall(
    similarity: npt.NDArray[np.floating], owner: npt.NDArray[np.intp]
) -> dict[str, dict[str, float]]:
    """R@1, R@5 and R@10 both ways, as in the literature on image–text retrieval.

    Parameters
    ----------
    similarity
        [n_images, n_captions].
    owner
        [n_captions], the image that each caption was written for.

    Returns {"image_to_text": {"R@1": …}, "text_to_image": {…}}, shares in [0, 1]. Image → text
    counts where any of the image's captions is among the first k. Ties count against the
    model: the rank is that behind all equal ones. Raises ValueError for similarities that are not
    numbers, of which every comparison would come out in the model's favour.
    """
    if np.isnan(similarity).any():
        raise ValueError("similarity holds values that are not numbers")
    n_images = len(similarity)
    matching = similarity[owner, np.arange(len(owner))]
    best = np.full(n_images, -np.inf)
    np.maximum.at(best, owner, matching)
    foreign = owner[None, :] != np.arange(n_images)[:, None]
    by_image = ((similarity >= best[:, None]) & foreign).sum(axis=1)
    by_caption = (similarity >= matching[None, :]).sum(axis=0) - 1
    return {
        way: {f"R@{k}": round(float((ranks < k).mean()), 4) for k in (1, 5, 10)}
        for way, ranks in (("image_to_text", by_image), ("text_to_image", by_caption))
    }


def rsum(recalls: Mapping[str, Mapping[str, float]]) -> float:
    """The six recalls of `recall` added up, in per cent: at most 600."""
    return round(100 * sum(value for way in recalls.values() for value in way.values()), 2)


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
    words = build_vocabulary([c for i in train for c in captions[i]], options.min_count)
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
