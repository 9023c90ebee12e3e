"""FAIEr's loss, and what the variant that is trained on corruptions adds to it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from metaeval.metrics.faier.training import step
from metaeval.metrics.faier.training.settings import FaierSettings
from metaeval.metrics.faier.training.step import Level

Tensor = torch.Tensor


def scores(levels: list[Level], image: Tensor, caption: Tensor) -> Tensor:
    """FAIEr of image `image[k]` with caption `caption[k]`, both levels together: [p]."""
    return by_level(levels, image, caption).sum(dim=0)


def by_level(levels: list[Level], image: Tensor, caption: Tensor) -> Tensor:
    """`scores`, each level for itself: [levels, p]."""
    return torch.stack([
        step.score_pairs(level.images, level.captions, image, caption) for level in levels
    ])  # fmt: skip


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


def ranking_loss(better: Tensor, worse: Tensor, apart: Tensor, margin: float) -> Tensor:
    """[margin · apart − S + S']₊ of pairs of scores [n], `apart` [n] saying how far apart they
    should be, from 0 to 1; summed. Pairs that are 0 apart do not count."""
    return ((margin * apart - better + worse).relu() * (apart > 0)).sum()


def graded_loss(scores: Tensor, grades: Tensor, margin: float) -> Tensor:
    """`ranking_loss` of every pair of n texts of a batch, whatever image they are matched with.

    `grades` [n] say how wrong a text is for its image: 0 not at all, 1 in every word. Mean over the
    n texts that a text is compared with, sum over the texts: as `across_loss`, but each text is to
    stay as far below another as its grade is above.
    """
    apart = grades[None, :] - grades[:, None]
    return ranking_loss(scores[:, None], scores[None, :], apart, margin) / len(scores)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Scores [n] of n candidates, of their shuffled and replaced copies, and of wrong captions."""

    right: Tensor
    shuffled: Tensor
    replaced: Tensor
    wrong: Tensor

    def within(self, grades: Tensor, settings: FaierSettings) -> Tensor:
        """The ranking of each image's own texts; `grades` [2, n] of the two kinds of copies."""
        ranked, words = ranking_loss, settings.spoiled_words
        by_order = ranked(self.right, self.shuffled, grades[0], settings.spoiled_order)
        return (
            settings.spoiled_shuffled * by_order
            + ranked(self.right, self.replaced, grades[1], words)
            + ranked(self.replaced, self.wrong, 1 - grades[1], words)
        )

    def across(self, grades: Tensor, settings: FaierSettings) -> Tensor:
        """The ranking of all texts of the batch, those with shuffled words by themselves."""
        none = torch.zeros_like(grades[0])
        by_order = graded_loss(
            torch.cat([self.right, self.shuffled]),
            torch.cat([none, grades[0]]),
            settings.spoiled_order,
        )
        by_words = graded_loss(
            torch.cat([self.right, self.replaced, self.wrong]),
            torch.cat([none, grades[1], none + 1]),
            settings.spoiled_words,
        )
        return settings.spoiled_shuffled * by_order + by_words
