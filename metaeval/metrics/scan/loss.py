"""SCAN's triplet loss with the hardest negatives, computed for the pairs that have a gradient.

Of a batch of b images and b captions, all b² similarities are needed to find the hardest negatives,
but only 3 b of them (the matching pairs and two negatives each) have a gradient. So the search runs
without one, and the loss is computed for those pairs alone: the same loss, the same gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

Similarity = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Image rows [k] and caption rows [k] → similarities [k], with a gradient."""


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
