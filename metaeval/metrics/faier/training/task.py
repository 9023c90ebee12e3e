"""What training FAIEr consists of, for the common loop in `training.py`: batches and the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from metaeval.errors import ConfigError
from metaeval.metrics.faier.captions import NO_REFERENCE, ParsedCaptions, encode
from metaeval.metrics.faier.network import FaierNetwork
from metaeval.metrics.faier.text import Nodes, TextBatch
from metaeval.metrics.faier.training import loss, step
from metaeval.metrics.faier.training.ranking import Ranks
from metaeval.metrics.faier.training.settings import FaierSettings
from metaeval.metrics.faier.training.spoiled import Spoiler
from metaeval.metrics.faier.training.step import Level, Ragged, Splits
from metaeval.metrics.faier.variants import VARIANTS
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.vocabulary import SPECIAL, UNK, Vocabulary
from metaeval.training.caption_similarity import Likeness
from metaeval.training.dataset import CaptionedImages
from metaeval.vision.regions import augment
from metaeval.vision.regions.gold import GoldRegions

Ints = npt.NDArray[np.int64]


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
    likeness
        Of the images' captions, for `settings.alike`.
    """

    def __init__(
        self,
        model: FaierNetwork,
        images: CaptionedImages,
        parser: TripletParser,
        vocabulary: Vocabulary,
        settings: FaierSettings,
        likeness: Likeness | None = None,
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
        if settings.alike and likeness is None:
            raise ConfigError("protocol.model.alike needs word vectors: vectors=minilm, or 0")
        self._likeness = likeness if settings.alike else None
        texts = [text for own in images.captions for text in own[: self.c]]
        self.captions: ParsedCaptions = encode([*texts, NO_REFERENCE], parser, vocabulary)
        self.n = len(images)
        self._regions = images.regions.tensors()
        self._counts = images.regions.mask.sum(axis=1)
        self._spoiler: Spoiler | None = None
        if VARIANTS[settings.variant].corruptions:
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
        fewest, most = (min(x, c - 1) for x in VARIANTS[self.settings.variant].references)
        counts = rng.integers(fewest, most + 1, size=(s, b))
        if self.settings.unreferenced and fewest == 0 < most:
            counts[rng.random((s, b)) < self.settings.unreferenced] = 0
        references = np.stack([each[:, 1:] for each in turned])
        references[counts == 0] = c  # the empty reference
        return Splits(
            torch.from_numpy(np.stack([each[:, 0] for each in turned])),
            torch.from_numpy(references),
            torch.from_numpy(np.maximum(counts, 1)),
        )

    def loss(self, batch: Batch, epoch: int) -> torch.Tensor:
        """The loss of a batch, a candidate's mean share."""
        settings, b = self.settings, len(batch.images)
        rows = (batch.images[:, None] * self.c + np.arange(self.c)).ravel()
        nodes = self._read(self.captions, np.append(rows, len(self.captions) - 1))
        found = step.levels(self.model, self._see(batch), nodes, self.c, batch.splits)
        here = torch.arange(b, device=self.device)
        total = torch.zeros((), device=self.device)
        right, wrong = [], []
        for split, levels in enumerate(found):
            worst = loss.hardest(levels, self._margin(batch, split))
            parts = loss.by_level(
                levels,
                torch.cat([here, worst.image, here]),
                torch.cat([here, here, worst.caption]),
            ).view(len(levels), 3, b)
            scores = parts.sum(dim=0)
            total = total + worst.triplet(scores)
            if settings.levels and len(levels) > 1:
                for part in parts:
                    total = total + settings.levels * worst.triplet(part, 1 / len(parts))
            right.append(scores[0])
            wrong += [scores[1], scores[2]]
        if settings.across:
            term = loss.across(torch.cat(right), torch.cat(wrong), settings.margin)
            total = total + settings.across * term
        if self._spoiler is not None and settings.spoiled:
            total = total + self._spoiled(batch, found, right)
        return total / (b * len(found))

    def _margin(self, batch: Batch, split: int) -> float | torch.Tensor:
        """The margin, or that of each image with each candidate of a split, [b, b]."""
        if self._likeness is None:
            return self.settings.margin
        rows = self._likeness.of_image[batch.images, batch.splits.candidates[split].numpy()]
        return self.settings.alike * (1 - self._likeness.of(rows).to(self.device))

    def _spoiled(
        self, batch: Batch, found: list[list[Level]], right: list[torch.Tensor]
    ) -> torch.Tensor:
        """The loss against shuffled and replaced copies of the candidates of some splits.

        Texts are ranked by how many of their words are wrong: the caption itself; its copies; the
        caption of another image, all of which is wrong. Without the last a network learns that
        broken language is worse than the wrong image.
        """
        assert self._spoiler is not None
        settings, b, k = self.settings, len(batch.images), self.settings.spoiled
        slots = batch.splits.candidates[:k].numpy()
        candidates = (batch.images * self.c + slots).ravel()  # split by split
        rng = np.random.default_rng([batch.seed, 0xBAD])
        copies, shares = self._spoiler(candidates, rng)
        nodes = self._read(copies, np.arange(len(copies)))  # all shuffled, then all replaced
        here = torch.arange(b, device=self.device)
        other = (here + int(rng.integers(1, b))) % b
        kinds = [
            Ragged.of(vectors, mask)
            for vectors, mask in (
                (nodes.objects, nodes.object_mask),
                (nodes.relations, nodes.relation_mask),
            )
        ]
        shuffled, replaced, wrong = [], [], []
        for split in range(k):
            levels = [level.other(copy) for level, copy in zip(found[split], kinds, strict=False)]
            at = torch.cat([split * b + here, (k + split) * b + here])
            both = loss.scores(levels, torch.cat([here, here]), at)
            shuffled.append(both[:b])
            replaced.append(both[b:])
            wrong.append(loss.scores(found[split], here, other))
        scores = Ranks(
            torch.cat(right[:k]), torch.cat(shuffled), torch.cat(replaced), torch.cat(wrong)
        )
        grades = torch.from_numpy(shares).to(self.device).view(2, -1)
        # the copies of k splits stand for those of all
        share_of_splits = len(found) / (2 * k)
        return settings.spoiled_within * scores.within(grades, settings) + (
            share_of_splits * settings.spoiled_across * scores.across(grades, settings)
        )

    def _see(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features, boxes and mask of a batch's images, changed as the settings say."""
        most = int(self._counts[batch.images].max())
        features, boxes, mask = (
            part[batch.images, :most].to(self.device) for part in self._regions
        )
        if self.settings.lost_regions:
            features, boxes, mask = augment.without_some(
                features, boxes, mask, self.settings.lost_regions
            )
        if self.settings.mirrored:
            features, boxes, mask = augment.mirrored(features, boxes, mask, self.settings.mirrored)
        return features, boxes, mask

    def _read(self, captions: ParsedCaptions, rows: Ints) -> Nodes:
        texts = captions.take(rows).to(self.device)
        if self.settings.word_dropout:
            texts = TextBatch(
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
