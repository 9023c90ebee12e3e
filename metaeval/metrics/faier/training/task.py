"""What FAIEr learns from: batches of images with their captions, and the loss over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from metaeval.errors import ConfigError
from metaeval.metrics.faier.captions import NO_REFERENCE, ParsedCaptions, encode
from metaeval.metrics.faier.network import FaierNetwork
from metaeval.metrics.faier.text import Nodes
from metaeval.metrics.faier.training import loss, step
from metaeval.metrics.faier.training.loss import Ranks
from metaeval.metrics.faier.training.settings import FaierSettings
from metaeval.metrics.faier.training.step import Level, RaggedVectors, Splits
from metaeval.metrics.faier.variants import VARIANTS
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.training import spoiling
from metaeval.training.caption_similarity import CaptionSimilarity
from metaeval.training.dataset import CaptionedImages, forget_words
from metaeval.vision.regions import augment
from metaeval.vision.regions.gold import GoldRegions

Ints = npt.NDArray[np.int64]


class Spoiler:
    """Makes a shuffled and a replaced copy of captions, anew each time.

    Parameters
    ----------
    captions
        All captions that are learned from; the bag is made of their words.
    parser, vocabulary
        How copies are read. The parser keeps nothing of them: no copy comes twice.
    """

    def __init__(
        self, captions: Sequence[str], parser: TripletParser, vocabulary: Vocabulary
    ) -> None:
        self._words = vocabulary.tokenise(captions)
        self._bag = spoiling.bag(self._words)
        self._parser = TripletParser(parser.name, None, parser.cache)
        self._vocabulary = vocabulary

    def __call__(
        self, rows: Ints, rng: np.random.Generator
    ) -> tuple[ParsedCaptions, npt.NDArray[np.float32]]:
        """Copies of n captions, first n shuffled ones, then n replaced ones; and of each the share
        of its words that are not the caption's at that place, float32 [2n]."""
        captions = [self._words[row] for row in rows]
        shuffled = spoiling.spoiled_words(captions, "shuffled", rng)
        replaced = spoiling.spoiled_words(captions, "replaced", rng, self._bag)
        copies = [*shuffled, *replaced]
        wrong = np.array(
            [
                sum(x != y for x, y in zip(copy, words, strict=True)) / max(1, len(words))
                for copy, words in zip(copies, [*captions, *captions], strict=True)
            ],
            dtype=np.float32,
        )
        texts = [" ".join(words) for words in copies]
        return encode(texts, self._parser, self._vocabulary), wrong


@dataclass(frozen=True, slots=True)
class SplitBatch:
    """b images by row, how their captions are split, and the number that seeds their copies."""

    images: Ints
    splits: Splits
    seed: int


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
        self._spoiler: Spoiler | None = None
        if VARIANTS[settings.variant].corruptions:
            self._spoiler = Spoiler(texts, parser, vocabulary)

    def batches(self, epoch: int, rng: np.random.Generator) -> list[SplitBatch]:
        """One pass over the images; in each batch `splits` candidates of every image."""
        order, size = rng.permutation(self.n), self.settings.batch
        cut = [np.sort(order[i : i + size]) for i in range(0, self.n, size)]
        return [
            SplitBatch(images, self._splits(len(images), rng), int(rng.integers(2**31)))
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
            negatives = loss.hardest_negatives(levels, self._margin(batch, split))
            parts = loss.by_level(
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
            term = loss.across_loss(torch.cat(right), torch.cat(wrong), settings.margin)
            total = total + settings.across * term
        if self._spoiler is not None and settings.spoiled:
            total = total + self._spoiled(self._spoiler, batch, by_split, right)
        return total / (b * len(by_split))

    def _margin(self, batch: SplitBatch, split: int) -> float | torch.Tensor:
        """The margin, or that of each image with each candidate of a split, [b, b]."""
        if self._similarity is None:
            return self.settings.margin
        rows = self._similarity.of_image[batch.images, batch.splits.candidates[split].numpy()]
        return self._similarity.margins(rows, self.settings.similarity_margin).to(self.device)

    def _spoiled(
        self,
        spoiler: Spoiler,
        batch: SplitBatch,
        by_split: list[list[Level]],
        right: list[torch.Tensor],
    ) -> torch.Tensor:
        """The loss against shuffled and replaced copies of the candidates of some splits.

        Texts are ranked by how many of their words are wrong: the caption itself; its copies; the
        caption of another image, all of which is wrong. Without the last a network learns that
        broken language is worse than the wrong image.
        """
        settings, b, k = self.settings, len(batch.images), self.settings.spoiled
        slots = batch.splits.candidates[:k].numpy()
        candidates = (batch.images * self.c + slots).ravel()  # split by split
        rng = np.random.default_rng([batch.seed, 0xBAD])
        copies, shares = spoiler(candidates, rng)
        nodes = self._read(copies, np.arange(len(copies)))  # all shuffled, then all replaced
        here = torch.arange(b, device=self.device)
        other = (here + int(rng.integers(1, b))) % b
        kinds = [
            RaggedVectors.of(vectors, mask)
            for vectors, mask in (
                (nodes.objects, nodes.object_mask),
                (nodes.relations, nodes.relation_mask),
            )
        ]
        shuffled, replaced, wrong = [], [], []
        for split in range(k):
            levels = [
                Level(level.images, copy)
                for level, copy in zip(by_split[split], kinds, strict=False)
            ]
            at = torch.cat([split * b + here, (k + split) * b + here])
            both = loss.scores(levels, torch.cat([here, here]), at)
            shuffled.append(both[:b])
            replaced.append(both[b:])
            wrong.append(loss.scores(by_split[split], here, other))
        scores = Ranks(
            torch.cat(right[:k]), torch.cat(shuffled), torch.cat(replaced), torch.cat(wrong)
        )
        grades = torch.from_numpy(shares).to(self.device).view(2, -1)
        # the copies of k splits stand for those of all
        share_of_splits = len(by_split) / (2 * k)
        return settings.spoiled_within * scores.within(grades, settings) + (
            share_of_splits * settings.spoiled_across * scores.across(grades, settings)
        )

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
        share = self.settings.word_dropout
        texts = replace(
            texts,
            words=forget_words(texts.words, share),
            triplets=forget_words(texts.triplets, share),
        )
        return self.model.read(texts)
