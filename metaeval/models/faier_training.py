"""What training FAIEr consists of, for the common loop in `training.py`: batches and the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from metaeval.errors import ConfigError
from metaeval.models import faier_augment, faier_loss, faier_step
from metaeval.models.faier import Faier
from metaeval.models.faier_captions import NO_REFERENCE, Captions, encode
from metaeval.models.faier_spoiled import Spoiler
from metaeval.models.faier_step import Level, Ragged, Splits
from metaeval.models.faier_text import Nodes, Texts
from metaeval.models.faier_triplets import TripletParser
from metaeval.models.grounded_data import CaptionedImages
from metaeval.models.regions_gold import GoldRegions
from metaeval.models.vocabulary import SPECIAL, UNK, Vocabulary

Ints = npt.NDArray[np.int64]

# How many references a sample is trained with, of the c − 1 that its image has: (fewest, most).
# "r" is the paper's FAIEr-r; "rel" is FAIEr-r without relations; "fier" takes none at all.
REFERENCES = {"r": (0, 9), "r_neg": (0, 9), "rel": (0, 9), "1": (1, 1), "4": (9, 9), "fier": (0, 0)}


@dataclass(frozen=True, slots=True)
class FaierSettings:
    """How a variant is trained, beside what `TrainingSettings` says.

    Attributes
    ----------
    variant
        One of `REFERENCES`.
    batch
        Images in a batch.
    splits
        In how many splits into candidate and references a batch's captions are used.
    margin
        Of all hinges.
    across
        Weight of the loss across images, with the hardest negatives as the wrong scores; 0 is the
        paper's loss alone.
    word_dropout
        The share of words that are read as `<unk>` in training.
    lost_regions, mirrored
        The share of regions that are left out (never an image's first), and of images whose left
        and right are exchanged (gold regions only); see `faier_augment.py`.
    spoiled
        For "r_neg": in so many of the splits every candidate has a shuffled and a replaced copy.
    spoiled_within, spoiled_across
        For "r_neg": weights of the hinge against the own copies, and of the loss across images
        with all copies of the batch as the wrong scores.
    """

    variant: str = "r"
    batch: int = 100
    splits: int = 5
    margin: float = 0.2
    across: float = 0.0
    word_dropout: float = 0.0
    lost_regions: float = 0.0
    mirrored: float = 0.0
    spoiled: int = 2
    spoiled_within: float = 1.0
    spoiled_across: float = 1.0

    def __post_init__(self) -> None:
        if self.variant not in REFERENCES:
            known = ", ".join(REFERENCES)
            raise ConfigError(f"unknown variant '{self.variant}' of FAIEr: choose from {known}")
        for name, good in (
            ("batch", self.batch >= 2),
            ("splits", self.splits >= 1),
            ("margin", self.margin >= 0),
            ("across", self.across >= 0),
            ("word_dropout", 0 <= self.word_dropout < 1),
            ("lost_regions", 0 <= self.lost_regions < 1),
            ("mirrored", 0 <= self.mirrored <= 1),
            ("spoiled", 0 <= self.spoiled <= self.splits),
        ):
            if not good:
                raise ConfigError(f"protocol.model.{name} cannot be {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class Batch:
    """b images by row, how their captions are split, and the number that seeds their copies."""

    images: Ints
    splits: Splits
    seed: int


class FaierTask:
    """Batches and loss of one training.

    Parameters
    ----------
    model
        On the device that it is to be trained on.
    images
        What is learned from. Every image lends as many captions as the one with the fewest has,
        at least two.
    parser, vocabulary
        How captions are read.
    settings
        The variant and its options.
    """

    def __init__(
        self,
        model: Faier,
        images: CaptionedImages,
        parser: TripletParser,
        vocabulary: Vocabulary,
        settings: FaierSettings,
    ) -> None:
        self.model, self.settings = model, settings
        self.device = next(model.parameters()).device
        self.c = min(len(texts) for texts in images.captions)
        if self.c < 2:
            raise ConfigError(f"FAIEr learns from two captions an image; '{images.name}' has fewer")
        if settings.mirrored and images.regions.dim != GoldRegions.dim:
            raise ConfigError("protocol.model.mirrored is for gold regions only")
        if len(images) < settings.batch:
            raise ConfigError(f"protocol.model.batch is above the {len(images):,} training images")
        texts = [text for own in images.captions for text in own[: self.c]]
        self.captions: Captions = encode([*texts, NO_REFERENCE], parser, vocabulary)
        self.n = len(images)
        self._regions = images.regions.tensors()
        self._counts = images.regions.mask.sum(axis=1)
        self._spoiler: Spoiler | None = None
        if settings.variant == "r_neg":
            self._spoiler = Spoiler(texts, parser, vocabulary)

    def batches(self, epoch: int, rng: np.random.Generator) -> list[Batch]:
        """One pass over the images; in each batch `splits` candidates of every image."""
        order, size = rng.permutation(self.n), self.settings.batch
        cut = [np.sort(order[i : i + size]) for i in range(0, self.n, size)]
        return [
            Batch(images, self._splits(len(images), rng), int(rng.integers(2**31)))
            for images in cut
            if len(images) == size
        ]

    def _splits(self, b: int, rng: np.random.Generator) -> Splits:
        s, c = self.settings.splits, self.c
        order = rng.random((b, c)).argsort(axis=1)
        # split k: caption k of the shuffled ones is the candidate, those after it the references
        turned = [np.roll(order, -(k % c), axis=1) for k in range(s)]
        fewest, most = (min(x, c - 1) for x in REFERENCES[self.settings.variant])
        counts = rng.integers(fewest, most + 1, size=(s, b))
        references = np.stack([each[:, 1:] for each in turned])
        references[counts == 0] = c  # the empty reference
        return Splits(
            torch.from_numpy(np.stack([each[:, 0] for each in turned])),
            torch.from_numpy(references),
            torch.from_numpy(np.maximum(counts, 1)),
        )

    def loss(self, batch: Batch, epoch: int) -> torch.Tensor:
        """The loss of a batch, a candidate's mean share."""
        own, settings = self.settings, self.settings
        b = len(batch.images)
        rows = (batch.images[:, None] * self.c + np.arange(self.c)).ravel()
        nodes = self._read(self.captions, np.append(rows, len(self.captions) - 1))
        found = faier_step.levels(self.model, self._see(batch), nodes, self.c, batch.splits)
        here = torch.arange(b, device=self.device)
        total = torch.zeros((), device=self.device)
        right, wrong = [], []
        for levels in found:
            image, caption = faier_loss.hardest(levels)
            scores = faier_loss.scores(
                levels, torch.cat([here, image, here]), torch.cat([here, here, caption])
            ).view(3, b)
            total = total + faier_loss.triplet(scores[0], scores[1], scores[2], own.margin)
            right.append(scores[0])
            wrong += [scores[1], scores[2]]
        if settings.across:
            term = faier_loss.across(torch.cat(right), torch.cat(wrong), own.margin)
            total = total + settings.across * term
        if self._spoiler is not None and settings.spoiled:
            total = total + self._spoiled(batch, found, right)
        return total / (b * len(found))

    def _spoiled(
        self, batch: Batch, found: list[list[Level]], right: list[torch.Tensor]
    ) -> torch.Tensor:
        """The loss against shuffled and replaced copies of the candidates of some splits."""
        assert self._spoiler is not None
        b, k = len(batch.images), self.settings.spoiled
        slots = batch.splits.candidates[:k].numpy()
        candidates = (batch.images * self.c + slots).ravel()  # split by split
        copies, changed = self._spoiler(candidates, np.random.default_rng([batch.seed, 0xBAD]))
        nodes = self._read(copies, np.arange(len(copies)))  # all shuffled, then all replaced
        there = torch.from_numpy(changed).to(self.device)
        here = torch.arange(b, device=self.device)
        kinds = [
            Ragged.of(vectors, mask)
            for vectors, mask in (
                (nodes.objects, nodes.object_mask),
                (nodes.relations, nodes.relation_mask),
            )
        ]
        total = torch.zeros((), device=self.device)
        all_wrong = []
        for split in range(k):
            levels = [level.other(copy) for level, copy in zip(found[split], kinds, strict=False)]
            for kind in range(2):
                at = (kind * k + split) * b + here
                wrong, real = faier_loss.scores(levels, here, at), there[at]
                hinge = (self.settings.margin + wrong - right[split]).relu()
                total = total + self.settings.spoiled_within * (hinge * real).sum()
                all_wrong.append(wrong[real])
        if self.settings.spoiled_across:
            # the copies of k splits stand for those of all
            term = faier_loss.across(torch.cat(right), torch.cat(all_wrong), self.settings.margin)
            total = total + self.settings.spoiled_across * term
        return total

    def _see(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features, boxes and mask of a batch's images, changed as the settings say."""
        most = int(self._counts[batch.images].max())
        features, boxes, mask = (part[batch.images, :most].to(self.device) for part in self._regions)
        if self.settings.lost_regions:
            features, boxes, mask = faier_augment.without_some(
                features, boxes, mask, self.settings.lost_regions
            )
        if self.settings.mirrored:
            features, boxes, mask = faier_augment.mirrored(
                features, boxes, mask, self.settings.mirrored
            )
        return features, boxes, mask

    def _read(self, captions: Captions, rows: Ints) -> Nodes:
        texts = captions.take(rows).to(self.device)
        if self.settings.word_dropout:
            texts = Texts(
                _forgotten(texts.words, self.settings.word_dropout),
                texts.lengths,
                _forgotten(texts.triplets, self.settings.word_dropout),
                texts.triplet_lengths,
                texts.owner,
                texts.slot,
            )
        return self.model.read(texts)


def _forgotten(words: torch.Tensor, share: float) -> torch.Tensor:
    """Some words read as unknown ones; never the special ones."""
    lost = torch.rand(words.shape, device=words.device) < share
    return words.masked_fill(lost & (words >= len(SPECIAL)), UNK)
