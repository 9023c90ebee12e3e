"""What FAIEr learns from: batches of images with their captions, and the loss over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from metaeval.errors import ConfigError
from metaeval.metrics.faier.captions import NO_REFERENCE, ParsedCaptions, encode
from metaeval.metrics.faier.network import FaierNetwork, Nodes
from metaeval.metrics.faier.training import step
from metaeval.metrics.faier.training.step import Splits
from metaeval.metrics.faier.variants import VARIANTS, FaierSettings
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.training.caption_similarity import CaptionSimilarity
from metaeval.training.dataset import CaptionedImages
from metaeval.vision.regions import augment
from metaeval.vision.regions.gold import GoldRegions

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SplitBatch:
    """b images by row, and how their captions are split."""

    images: Ints
    splits: Splits


class FaierTask:
    """Batches and loss of one training, for `metaeval.training.loop.fit`.

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
    similarity
        Of the images' captions, for `settings.similarity_margin`.
    """

    def __init__(
        self,
        model: FaierNetwork,
        images: CaptionedImages,
        parser: TripletParser,
        vocabulary: Vocabulary,
        settings: FaierSettings,
        similarity: CaptionSimilarity | None = None,
    ) -> None:
        self.model, self.settings = model, settings
        self.device = next(model.parameters()).device
        self.c = min(len(texts) for texts in images.captions)
        if self.c < 2:
            raise ConfigError(
                f"FAIEr learns from two captions per image; '{images.name}' has fewer"
            )
        if settings.mirrored and images.regions.dim != GoldRegions.dim:
            raise ConfigError("task.model.mirrored is for gold regions only")
        if len(images) < settings.batch:
            raise ConfigError(f"task.model.batch is above the {len(images):,} training images")
        if settings.similarity_margin and similarity is None:
            raise ConfigError(
                "task.model.similarity_margin needs word vectors: vectors=minilm, or 0"
            )
        self._similarity = similarity if settings.similarity_margin else None
        texts = [text for captions in images.captions for text in captions[: self.c]]
        self.captions: ParsedCaptions = encode([*texts, NO_REFERENCE], parser, vocabulary)
        self.n = len(images)
        self._regions = images.regions.tensors()
        self._counts = images.regions.mask.sum(axis=1)

    def batches(self, epoch: int, rng: np.random.Generator) -> list[SplitBatch]:
        """One pass over the images; in each batch `splits` candidates of every image."""
        order, size = rng.permutation(self.n), self.settings.batch
        cut = [np.sort(order[i : i + size]) for i in range(0, self.n, size)]
        return [
            SplitBatch(images, self._splits(len(images), rng))
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
        references = np.stack([slots[:, 1:] for slots in turned])
        references[counts == 0] = c  # the empty reference
        rng.integers(2**31)  # drawn for corrupted copies once: a seed still gives the same splits
        return Splits(
            torch.from_numpy(np.stack([slots[:, 0] for slots in turned])),
            torch.from_numpy(references),
            torch.from_numpy(np.maximum(counts, 1)),
        )

    def loss(self, batch: SplitBatch, epoch: int) -> torch.Tensor:
        """The loss of a batch, a candidate's mean share."""
        settings, b = self.settings, len(batch.images)
        rows = (batch.images[:, None] * self.c + np.arange(self.c)).ravel()
        nodes = self._read(self.captions, np.append(rows, len(self.captions) - 1))
        by_split = step.make_levels(self.model, self._see(batch), nodes, self.c, batch.splits)
        here = torch.arange(b, device=self.device)
        total = torch.zeros((), device=self.device)
        right, wrong = [], []
        for split, levels in enumerate(by_split):
            negatives = step.hardest_negatives(levels, self._margin(batch, split))
            parts = step.by_level(
                levels,
                torch.cat([here, negatives.image, here]),
                torch.cat([here, here, negatives.caption]),
            ).view(len(levels), 3, b)
            scores = parts.sum(dim=0)
            total = total + negatives.triplet_loss(scores)
            if settings.levels and len(levels) > 1:
                for part in parts:
                    of_level = negatives.triplet_loss(part, 1 / len(parts))
                    total = total + settings.levels * of_level
            right.append(scores[0])
            wrong += [scores[1], scores[2]]
        if settings.across:
            term = step.across_loss(torch.cat(right), torch.cat(wrong), settings.margin)
            total = total + settings.across * term
        return total / (b * len(by_split))

    def _margin(self, batch: SplitBatch, split: int) -> float | torch.Tensor:
        """The margin, or that of each image with each candidate of a split, [b, b]."""
        if self._similarity is None:
            return self.settings.margin
        rows = self._similarity.of_image[batch.images, batch.splits.candidates[split].numpy()]
        return self._similarity.margins(rows, self.settings.similarity_margin).to(self.device)

    def _see(self, batch: SplitBatch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
        """Features, boxes and mask of a batch's images, changed as the settings say."""
        if not self.model.shape.seen:
            return None
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
        return self.model.read(texts)
