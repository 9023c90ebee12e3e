"""What the variant that is trained on corruptions learns: texts ranked by their wrong words."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from metaeval.metrics.faier.training import loss
from metaeval.metrics.faier.training.settings import FaierSettings


@dataclass(frozen=True, slots=True)
class Ranks:
    """Scores [n] of n candidates, of their shuffled and replaced copies, and of wrong captions."""

    right: torch.Tensor
    shuffled: torch.Tensor
    replaced: torch.Tensor
    wrong: torch.Tensor

    def within(self, grades: torch.Tensor, settings: FaierSettings) -> torch.Tensor:
        """The ranking of each image's own texts; `grades` [2, n] of the two kinds of copies."""
        ranked, words = loss.ranking_loss, settings.spoiled_words
        by_order = ranked(self.right, self.shuffled, grades[0], settings.spoiled_order)
        return (
            settings.spoiled_shuffled * by_order
            + ranked(self.right, self.replaced, grades[1], words)
            + ranked(self.replaced, self.wrong, 1 - grades[1], words)
        )

    def across(self, grades: torch.Tensor, settings: FaierSettings) -> torch.Tensor:
        """The ranking of all texts of the batch, those with shuffled words by themselves."""
        none = torch.zeros_like(grades[0])
        by_order = loss.graded_loss(
            torch.cat([self.right, self.shuffled]),
            torch.cat([none, grades[0]]),
            settings.spoiled_order,
        )
        by_words = loss.graded_loss(
            torch.cat([self.right, self.replaced, self.wrong]),
            torch.cat([none, grades[1], none + 1]),
            settings.spoiled_words,
        )
        return settings.spoiled_shuffled * by_order + by_words
