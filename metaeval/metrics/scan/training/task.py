"""What SCAN learns from: batches of images and captions, and the losses over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge, Interval

from metaeval.errors import ConfigError
from metaeval.metrics.scan.attention import WAYS
from metaeval.metrics.scan.network import Scan
from metaeval.metrics.scan.training.loss import (
    anchor_loss,
    draw_negatives,
    hardest_negatives,
    triplet_loss,
)
from metaeval.metrics.scan.training.pairs import Pairs
from metaeval.metrics.scan.training.retrieval import all_pairs, retrieval
from metaeval.options import Below1, NonNegativeInt, NotNegative, Positive, checked
from metaeval.text.vocabulary import Vocabulary
from metaeval.training import spoiling
from metaeval.training.caption_similarity import CaptionSimilarity
from metaeval.training.dataset import CaptionedImages, Ints, forget_words
from metaeval.vision.regions.augment import flipped, staying, to_front
from metaeval.vision.regions.gold import GoldRegions


@checked
@dataclass(frozen=True, slots=True)
class ScanLosses:
    """What is made small.

    Attributes
    ----------
    margin, smooth
        Of the triplet loss; λ of the attention.
    similarity_margin
        Whether the margin of a wrong pair is margin · (1 - similarity of its caption and the
        image's own captions); see `metaeval.training.caption_similarity`.
    way
        Which similarity: regions attending to words ("i2t"), words to regions ("t2i"), or the
        losses of both added ("both").
    easy_epochs
        In this number of first epochs, negatives are drawn at random instead of taking the hardest.
    anchor, anchor_weight
        The least similarity of a matching pair, and the weight of the shortfall; see
        `anchor_loss`. 0 for none.
    corrupted_weight, corrupted_margin
        Weight and margin of a hinge against a shuffled and a word-replaced copy of each caption;
        with a weight above 0 the network is of the variant "corruptions".
    batch, dropout, unknown
        Pairs a step; dropout on word embeddings; the share of words read as `<unk>`.
    lost_regions, lost_whole
        The share of regions that are left out, and that of whole-image regions (not where nothing
        else is left). Objects have to speak for themselves where the whole image does not.
    mirrored
        The share of images whose boxes are mirrored, left to right. For gold regions only.
    """

    margin: Positive = 0.2
    smooth: Annotated[float, Interval(gt=0, le=40)] = 9.0
    similarity_margin: bool = False
    way: Literal["i2t", "t2i", "both"] = "both"
    easy_epochs: NonNegativeInt = 1
    anchor: Annotated[float, Interval(ge=-1, le=1)] = 0.5
    anchor_weight: NotNegative = 1.0
    corrupted_weight: NotNegative = 0.0
    corrupted_margin: Positive = 0.2
    batch: Annotated[int, Ge(2)] = 128
    dropout: Below1 = 0.0
    unknown: Below1 = 0.0
    lost_regions: Below1 = 0.0
    lost_whole: Below1 = 0.0
    mirrored: Below1 = 0.0


@dataclass(frozen=True, slots=True)
class PairBatch:
    """One step's pairs: caption rows, and corrupted copies of them (tokens, lengths)."""

    rows: Ints
    spoiled: tuple[torch.Tensor, torch.Tensor] | None


class ScanTask:
    """Batches, loss and validation of one training, for `metaeval.training.loop.fit`.

    Parameters
    ----------
    model
        Whose encoders are trained.
    train, dev
        Images to learn from, and to choose the best epoch by.
    seed
        Of the corrupted copies.
    similarity
        Of the training captions, for `losses.similarity_margin`.
    """

    def __init__(
        self,
        model: Scan,
        vocabulary: Vocabulary,
        train: CaptionedImages,
        dev: CaptionedImages,
        losses: ScanLosses,
        seed: int,
        similarity: CaptionSimilarity | None = None,
    ) -> None:
        self._model, self._losses, self._seed = model, losses, seed
        self._device = next(model.parameters()).device
        self._captions, self._dev = train.encoded(vocabulary), dev.encoded(vocabulary)
        self._dev_regions, self._bag = dev.regions, spoiling.bag_numbers(vocabulary)
        self._features, _, self._mask = train.regions.tensors(self._device)
        if losses.similarity_margin and similarity is None:
            raise ConfigError(
                "task.losses.similarity_margin needs word vectors: vectors=minilm, or false"
            )
        self._similarity = similarity if losses.similarity_margin else None
        for name in ("mirrored", "lost_whole"):
            if getattr(losses, name) and train.regions.dim != GoldRegions.dim:
                raise ConfigError(f"task.losses.{name} is for gold regions only")
        if losses.lost_whole and model.shape.context:
            raise ConfigError("task.losses.lost_whole leaves nothing to task.network.context")

    def batches(self, epoch: int, rng: np.random.Generator) -> Sequence[PairBatch]:
        """The batches of an epoch, with corrupted copies where they are wanted."""
        cut = self._captions.batches(self._losses.batch, rng, bucket=8)
        if not self._losses.corrupted_weight:
            return [PairBatch(rows, None) for rows in cut]
        spoiling_rng = spoiling.generator(self._seed, epoch)
        return [PairBatch(rows, self._spoiled(rows, spoiling_rng)) for rows in cut]

    def _spoiled(self, rows: Ints, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        tokens, lengths = self._captions.pick(rows)
        captions = tokens.numpy(), lengths.numpy()
        copies = np.concatenate([
            spoiling.shuffled(*captions, rng),
            spoiling.replaced(*captions, rng, self._bag),
        ])  # fmt: skip
        return torch.from_numpy(copies), torch.cat([lengths, lengths])

    def validate(self, model: Scan) -> Mapping[str, object]:
        """Retrieval among the dev images."""
        return retrieval(model, self._dev_regions, self._dev, self._losses.smooth)

    def loss(self, batch: PairBatch, epoch: int) -> torch.Tensor:
        """The losses of one step, per pair."""
        options, n = self._losses, len(batch.rows)
        ids, lengths = self._captions.pick(batch.rows)
        if batch.spoiled is not None:
            ids = torch.cat([ids, batch.spoiled[0]])
            lengths = torch.cat([lengths, batch.spoiled[1]])
        ids = forget_words(ids, options.unknown).to(self._device)
        words = self._model.text(ids, lengths, options.dropout)
        features, mask, first = self._regions(self._captions.owner[batch.rows])
        regions, n_regions = self._model.image(features, mask, first), mask.sum(dim=1)
        n_words = lengths.to(self._device)
        pairs = Pairs(regions, n_regions, words, n_words, options.smooth)
        ways = WAYS if options.way == "both" else (options.way,)
        with torch.no_grad():
            similarities = all_pairs(
                regions.detach(), n_regions, words[:n].detach(), n_words[:n], options.smooth, ways
            )
        margin = self._margin(batch.rows)
        total = regions.new_zeros(())
        for way in ways:
            if epoch < options.easy_epochs:
                negatives = draw_negatives(similarities[way], margin)
            else:
                negatives = hardest_negatives(similarities[way] + margin)  # those that cost most
            similarity = pairs.of(way)
            loss, matching = triplet_loss(similarity, n, negatives, margin)
            total = total + loss
            if options.anchor_weight:
                total = total + options.anchor_weight * anchor_loss(matching, options.anchor)
            if batch.spoiled is not None:
                rows = torch.arange(n, device=self._device)
                spoiled = similarity(rows.repeat(2), torch.arange(n, 3 * n, device=self._device))
                cost = (options.corrupted_margin + spoiled - matching.repeat(2)).clamp(min=0)
                total = total + options.corrupted_weight * cost.sum()
        mean: torch.Tensor = total / n
        return mean

    def _margin(self, rows: Ints) -> float | torch.Tensor:
        """The margin, or that of each image and caption [b, b]."""
        if self._similarity is None:
            return self._losses.margin
        return self._similarity.margins(rows, self._losses.margin).to(self._device)

    def _regions(self, images: Ints) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features and mask of these images, augmented, and which regions are not one object."""
        index = torch.from_numpy(images).to(self._device)
        mask = self._mask[index]
        if self._losses.lost_regions or self._losses.lost_whole:
            mask = staying(mask, self._losses.lost_regions, self._losses.lost_whole)
        # those that are left move up, so that an image's n regions are its first n
        order, mask = to_front(mask)
        features = self._features[index[:, None], order]
        if self._losses.mirrored:
            turn = torch.rand(len(mask), device=self._device) < self._losses.mirrored
            features = torch.where(turn[:, None, None], flipped(features), features)
        return features * mask[..., None], mask, order < self._model.shape.wholes
