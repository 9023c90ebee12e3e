"""What SCAN learns from: batches of images and captions, and the losses over them.

Of a batch of b images and b captions, all b² similarities are needed to find the hardest negatives,
but only 3 b of them (the matching pairs and two negatives each) have a gradient. So the search runs
without one, and the loss is computed for those pairs alone: the same loss, the same gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, Interval

from metaeval.errors import ConfigError
from metaeval.metrics.scan.network import WAYS, Scan
from metaeval.options import Below1, NonNegativeInt, NotNegative, Positive, checked
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import Regions
from metaeval.vision.regions.gold import GoldRegions
from research.train.augment import flipped, staying, to_front
from research.train.caption_similarity import CaptionSimilarity
from research.train.dataset import (
    CaptionedImages,
    EncodedCaptions,
    Ints,
    forget_words,
    recall,
    rsum,
)
from research.train.networks import cosines, mean_cosines, read_words, see_regions

# images and captions per block: what fits a processor's cache
_BLOCKS = {"cpu": (16, 32), "cuda": (256, 256)}
_CAPTIONS = 256  # encoded at a time
_LEVELS = (4, 8, 12, 20)  # pairs are compared by their image's number of regions

# image rows [k] and caption rows [k] → similarities [k], with a gradient
Similarity = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def all_pairs(
    regions: torch.Tensor,
    n_regions: torch.Tensor,
    words: torch.Tensor,
    n_words: torch.Tensor,
    smooth: float,
) -> dict[str, torch.Tensor]:
    """`mean_cosines` for any number of images and captions, without their padding.

    Images are taken by their number of regions, captions by their number of words, so that the
    blocks hold little else. Arguments as for `mean_cosines`.
    """
    sizes = _BLOCKS["cuda" if regions.is_cuda else "cpu"]
    images = torch.split(torch.argsort(n_regions, stable=True), sizes[0])
    captions = torch.split(torch.argsort(n_words, stable=True), sizes[1])
    shape, dtype = (len(regions), len(words)), torch.promote_types(regions.dtype, torch.float32)
    similarities = {way: regions.new_empty(shape, dtype=dtype) for way in WAYS}
    for rows in images:
        n = n_regions[rows]
        vectors = regions[rows, : int(n.max())]
        for columns in captions:
            m = n_words[columns]
            block = mean_cosines(vectors, n, words[columns, : int(m.max())], m, smooth)
            for way, part in block.items():
                similarities[way][rows[:, None], columns[None, :]] = part.to(dtype)
    return similarities


@torch.inference_mode()
def retrieval(
    model: Scan, regions: Regions, captions: EncodedCaptions, smooth: float
) -> Mapping[str, object]:
    """R@1, R@5 and R@10 among these images and captions, and further measures of the weights.

    Returns {"rsum": the sum of the six recalls in per cent, "image_to_text", "text_to_image": the
    recalls as shares, each by the sum of both similarities; "rsum_i2t", "rsum_t2i": the same sums
    by one similarity alone; "human_cosine": the mean over all captions of the mean cosine of their
    own image's regions, whose sign TIGEr depends on}.
    """
    device = next(model.parameters()).device
    features, _, mask = regions.tensors(device)
    vectors = see_regions(model.image, features, mask)
    longest = captions.tokens.shape[1]
    states = []
    for start in range(0, len(captions), _CAPTIONS):
        ids, lengths = captions.pick(torch.arange(start, min(start + _CAPTIONS, len(captions))))
        words = read_words(model.text, ids.to(device), lengths)
        states.append(torch.nn.functional.pad(words, (0, 0, 0, longest - words.shape[1])))
    similarities = all_pairs(
        vectors, mask.sum(dim=1), torch.cat(states), captions.lengths.to(device), smooth
    )
    i2t, t2i = (similarities[way].double().cpu().numpy() for way in WAYS)
    if not (np.isfinite(i2t).all() and np.isfinite(t2i).all()):
        raise FloatingPointError("similarities are not finite: lower the learning rate")
    both = recall(i2t + t2i, captions.owner)
    own_cosine = i2t[captions.owner, np.arange(len(captions))]
    return {
        "rsum": rsum(both),
        **both,
        "rsum_i2t": rsum(recall(i2t, captions.owner)),
        "rsum_t2i": rsum(recall(t2i, captions.owner)),
        "human_cosine": round(float(own_cosine.mean()), 4),
    }


class Pairs:
    """Similarities of matched pairs, with a gradient, by rows of encoded images and captions."""

    def __init__(
        self,
        regions: torch.Tensor,
        n_regions: torch.Tensor,
        words: torch.Tensor,
        n_words: torch.Tensor,
        smooth: float,
    ) -> None:
        self._regions, self._images = _packed(regions, n_regions)
        self._words, self._captions = _packed(words, n_words)
        self._n_regions, self._n_words, self._smooth = n_regions, n_words, smooth

    def of(self, way: str) -> Similarity:
        """A function (image rows [k], caption rows [k]) → similarities [k]."""

        def similar(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
            dtype = torch.promote_types(self._regions.dtype, torch.float32)  # under bfloat16
            out = self._regions.new_zeros(len(images), dtype=dtype)
            n, m = self._n_regions[images], self._n_words[captions]
            least = 0
            for most in (*_LEVELS, self._images.shape[1]):
                rows = ((n > least) & (n <= most)).nonzero()[:, 0]
                least = max(least, most)
                if len(rows):
                    # little padding is compared where images have few regions
                    regions = _picked(self._regions, self._images[images[rows], :most])
                    longest = int(m[rows].max())
                    words = _picked(self._words, self._captions[captions[rows], :longest])
                    if way == "i2t":
                        total, count = cosines(regions, words, self._smooth).sum(dim=1), n
                    else:
                        total, count = cosines(words, regions, self._smooth).sum(dim=1), m
                    out = out.index_copy(0, rows, (total / count[rows]).to(dtype))
            return out

        return similar


def _packed(vectors: torch.Tensor, counts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Without padding, [total + 1, d], the first a zero; and where each was, [n, most], 0 for none.

    So the gradients that are added up hold no padding either.
    """
    n, most, d = vectors.shape
    there = torch.arange(most, device=counts.device)[None, :] < counts[:, None]
    rows = there.flatten().nonzero()[:, 0]
    place = torch.zeros(n * most, dtype=torch.int64, device=counts.device)
    place[rows] = torch.arange(1, len(rows) + 1, device=counts.device)
    flat = vectors.reshape(n * most, d).index_select(0, rows)
    return torch.cat([flat.new_zeros(1, d), flat]), place.view(n, most)


def _picked(packed: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """[k, r, d] The vectors at these places [k, r]."""
    return packed.index_select(0, place.flatten()).view(*place.shape, packed.shape[1])


class Negatives(NamedTuple):
    """A wrong caption for each image and a wrong image for each caption: int64 [b]."""

    caption: torch.Tensor
    image: torch.Tensor


def hardest_negatives(similarity: torch.Tensor) -> Negatives:
    """The most similar wrong partners by a matrix [b images, b captions]; pairs match by row."""
    wrong = similarity.masked_fill(_diagonal(similarity), -torch.inf)
    return Negatives(wrong.argmax(dim=1), wrong.argmax(dim=0))


def draw_negatives(similarity: torch.Tensor, margin: float | torch.Tensor) -> Negatives:
    """Wrong partners drawn at random among those that violate the margin, or among all if none do.

    `margin` is one number, or one for each image and caption [b, b].

    For the first steps: while all vectors are near one another the hardest negatives teach nothing.
    """
    matching = similarity.diagonal()
    least = torch.full_like(similarity, 1e-6).masked_fill(_diagonal(similarity), 0)
    picks = []
    asked = margin + similarity
    for violation in (asked - matching[:, None], asked.T - matching[:, None]):
        weights = least + (violation > 0).to(similarity.dtype).masked_fill(_diagonal(similarity), 0)
        picks.append(torch.multinomial(weights, 1)[:, 0])
    return Negatives(*picks)


class TripletLoss(NamedTuple):
    """The loss, and the similarities [n] of the matching pairs that it holds."""

    loss: torch.Tensor
    matching: torch.Tensor


def triplet_loss(
    similarity: Similarity, n: int, negatives: Negatives, margin: float | torch.Tensor
) -> TripletLoss:
    """The loss over n matching pairs and their negatives, summed over the batch.

    Σ max(0, margin + s(I, T⁻) - s(I, T)) + max(0, margin + s(I⁻, T) - s(I, T)); `margin` is one
    number, or one for each image and caption [n, n].
    """
    rows = torch.arange(n, device=negatives.caption.device)
    images = torch.cat([rows, rows, negatives.image])
    captions = torch.cat([rows, negatives.caption, rows])
    matching, wrong_caption, wrong_image = torch.split(similarity(images, captions), n)
    of_caption = of_image = margin
    if isinstance(margin, torch.Tensor):
        of_caption, of_image = margin[rows, negatives.caption], margin[negatives.image, rows]
    cost = (of_caption + wrong_caption - matching).clamp(min=0)
    cost = cost + (of_image + wrong_image - matching).clamp(min=0)
    return TripletLoss(cost.sum(), matching)


def anchor_loss(matching: torch.Tensor, least: float) -> torch.Tensor:
    """Σ max(0, least - s(I, T)): what fixes the sign that the triplet loss leaves free.

    The triplet loss looks at differences only, so a network may come out with matching pairs at
    negative cosines. TIGEr's norm term would then read better grounding as worse.
    """
    return (least - matching).clamp(min=0).sum()


def _diagonal(similarity: torch.Tensor) -> torch.Tensor:
    return torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)


@checked
@dataclass(frozen=True, slots=True)
class ScanLosses:
    """What is made small: the losses of both similarities, added.

    Attributes
    ----------
    margin, smooth
        Of the triplet loss; λ of the attention.
    similarity_margin
        Whether the margin of a wrong pair is margin · (1 - similarity of its caption and the
        image's own captions); see `research.train.caption_similarity`.
    easy_epochs
        In this number of first epochs, negatives are drawn at random instead of taking the hardest.
    anchor, anchor_weight
        The least similarity of a matching pair, and the weight of the shortfall; see
        `anchor_loss`. 0 for none.
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
    easy_epochs: NonNegativeInt = 1
    anchor: Annotated[float, Interval(ge=-1, le=1)] = 0.5
    anchor_weight: NotNegative = 1.0
    batch: Annotated[int, Ge(2)] = 128
    dropout: Below1 = 0.0
    unknown: Below1 = 0.0
    lost_regions: Below1 = 0.0
    lost_whole: Below1 = 0.0
    mirrored: Below1 = 0.0


class ScanTask:
    """Batches, loss and validation of one training, for `research.train.loop.fit`.

    Parameters
    ----------
    model
        Whose encoders are trained.
    train, dev
        Images to learn from, and to choose the best epoch by.
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
        similarity: CaptionSimilarity | None = None,
    ) -> None:
        self._model, self._losses = model, losses
        self._device = next(model.parameters()).device
        self._captions, self._dev = train.encoded(vocabulary), dev.encoded(vocabulary)
        self._dev_regions = dev.regions
        self._features, _, self._mask = train.regions.tensors(self._device)
        if losses.similarity_margin and similarity is None:
            raise ConfigError(
                "task.losses.similarity_margin needs word vectors: vectors=minilm, or false"
            )
        self._similarity = similarity if losses.similarity_margin else None
        for name in ("mirrored", "lost_whole"):
            if getattr(losses, name) and train.regions.dim != GoldRegions.dim:
                raise ConfigError(f"task.losses.{name} is for gold regions only")

    def batches(self, epoch: int, rng: np.random.Generator) -> Sequence[Ints]:
        """The rows of captions of each batch of an epoch."""
        return self._captions.batches(self._losses.batch, rng, bucket=8)

    def validate(self, model: Scan) -> Mapping[str, object]:
        """Retrieval among the dev images."""
        return retrieval(model, self._dev_regions, self._dev, self._losses.smooth)

    def loss(self, rows: Ints, epoch: int) -> torch.Tensor:
        """The losses of one step, per pair."""
        options, n = self._losses, len(rows)
        ids, lengths = self._captions.pick(rows)
        ids = forget_words(ids, options.unknown).to(self._device)
        words = read_words(self._model.text, ids, lengths, options.dropout)
        features, mask, first = self._regions(self._captions.owner[rows])
        regions, n_regions = see_regions(self._model.image, features, mask, first), mask.sum(dim=1)
        n_words = lengths.to(self._device)
        pairs = Pairs(regions, n_regions, words, n_words, options.smooth)
        with torch.no_grad():
            similarities = all_pairs(
                regions.detach(), n_regions, words.detach(), n_words, options.smooth
            )
        margin = self._margin(rows)
        total = regions.new_zeros(())
        for way in WAYS:
            if epoch < options.easy_epochs:
                negatives = draw_negatives(similarities[way], margin)
            else:
                negatives = hardest_negatives(similarities[way] + margin)  # those that cost most
            loss, matching = triplet_loss(pairs.of(way), n, negatives, margin)
            total = total + loss + options.anchor_weight * anchor_loss(matching, options.anchor)
        return total / n

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
