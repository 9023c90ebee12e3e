"""FAIEr's loss."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from metaeval.metrics.faier.training import step
from metaeval.metrics.faier.training.step import Level

Tensor = torch.Tensor


def by_level(levels: list[Level], image: Tensor, caption: Tensor) -> Tensor:
    """FAIEr of image `image[k]` with caption `caption[k]` on each level: [levels, p]."""
    scores = [step.score_pairs(level.images, level.captions, image, caption) for level in levels]
    return torch.stack(scores)


@dataclass(frozen=True, slots=True)
class HardestNegatives:
    """For each candidate a wrong image, and for each image a wrong candidate.

    `image`, `caption` int64 [b]; `image_margin`, `caption_margin`: the margins of these, [b] or
    one number.
    """

    image: Tensor
    caption: Tensor
    image_margin: Tensor | float
    caption_margin: Tensor | float

    def triplet_loss(self, scores: Tensor, share: float = 1.0) -> Tensor:
        """The paper's: [margin − S(I, c) + S(I', c)]₊ + [margin − S(I, c) + S(I, c')]₊, summed.

        `scores` [3, b] are S of the right pairs, with the wrong images I', and with the wrong
        candidates c'; an image goes with its references. `share` is the part of the margins that is
        used.
        """
        right, image, caption = scores
        by_image: Tensor = (share * self.image_margin + image - right).relu().sum()
        by_caption: Tensor = (share * self.caption_margin + caption - right).relu().sum()
        return by_image + by_caption


def hardest_negatives(levels: list[Level], margin: Tensor | float) -> HardestNegatives:
    """The wrong partners that cost most: those of the highest score, or of score and margin.

    `margin` is one for all, or each image's with each candidate [b, b]. Candidate i belongs to
    image i.
    """
    table = torch.stack([step.score_matrix(level.images, level.captions) for level in levels])
    cost = table.sum(dim=0).T  # [images, candidates]
    cost = (cost + margin).fill_diagonal_(float("-inf"))
    image, caption = cost.argmax(dim=0), cost.argmax(dim=1)
    if not isinstance(margin, Tensor):
        return HardestNegatives(image, caption, margin, margin)
    here = torch.arange(len(image), device=image.device)
    return HardestNegatives(image, caption, margin[image, here], margin[here, caption])


def across_loss(right: Tensor, wrong: Tensor, margin: float) -> Tensor:
    """[margin − S + S']₊ of every right score S [n] with every wrong one S' [m] of the batch.

    Mean over the wrong ones, sum over the right ones. It needs one scale of scores for all
    images, which a loss within images never does.
    """
    return (margin + wrong[None, :] - right[:, None]).relu().mean(dim=1).sum()
