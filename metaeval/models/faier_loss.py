"""FAIEr's loss, and what the variant that is trained on corruptions adds to it."""

from __future__ import annotations

import torch

from metaeval.models import faier_step
from metaeval.models.faier_step import Level

Tensor = torch.Tensor


def scores(levels: list[Level], image: Tensor, caption: Tensor) -> Tensor:
    """FAIEr of image `image[k]` with caption `caption[k]`, both levels together: [p]."""
    return by_level(levels, image, caption).sum(dim=0)


def by_level(levels: list[Level], image: Tensor, caption: Tensor) -> Tensor:
    """`scores`, each level for itself: [levels, p]."""
    return torch.stack([
        faier_step.pairs(level.images, level.captions, image, caption) for level in levels
    ])  # fmt: skip


def hardest(levels: list[Level]) -> tuple[Tensor, Tensor]:
    """For each candidate the wrong image, and for each image the wrong candidate, of the highest
    score: int64 [b] each. Candidate i belongs to image i."""
    table = torch.stack([faier_step.matrix(each.images, each.captions) for each in levels])
    table = table.sum(dim=0).fill_diagonal_(float("-inf"))
    return table.argmax(dim=1), table.argmax(dim=0)


def triplet(own: Tensor, wrong_image: Tensor, wrong_caption: Tensor, margin: float) -> Tensor:
    """The paper's loss: [margin − S(I, c) + S(I', c)]₊ + [margin − S(I, c) + S(I, c')]₊, summed.

    I', c' are the hardest negatives of the batch; an image goes with its references. All [b].
    """
    return (margin + wrong_image - own).relu().sum() + (margin + wrong_caption - own).relu().sum()


def across(own: Tensor, other: Tensor, margin: float) -> Tensor:
    """[margin − S + S']₊ of every right score S [n] with every wrong one S' [m] of the batch.

    Mean over the wrong ones, sum over the right ones. It asks for one scale of scores for all
    images, which a loss within images never does.
    """
    return (margin + other[None, :] - own[:, None]).relu().mean(dim=1).sum()


def ranked(better: Tensor, worse: Tensor, apart: Tensor, margin: float) -> Tensor:
    """[margin · apart − S + S']₊ of pairs of scores [n], `apart` [n] saying how far apart they
    should be, from 0 to 1; summed. Pairs that are 0 apart do not count."""
    return ((margin * apart - better + worse).relu() * (apart > 0)).sum()


def graded(scores: Tensor, grades: Tensor, margin: float) -> Tensor:
    """`ranked`, of every pair of n texts of a batch, whatever image they are matched with.

    `grades` [n] say how wrong a text is for its image: 0 not at all, 1 in every word. Mean over the
    n texts that a text is compared with, sum over the texts: as `across`, but each text is to stay
    as far below another as its grade is above.
    """
    apart = grades[None, :] - grades[:, None]
    return ranked(scores[:, None], scores[None, :], apart, margin) / len(scores)
