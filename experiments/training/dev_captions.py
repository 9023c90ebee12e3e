"""Held-out captions and corrupted copies, by which weights are chosen and which cards report.

Every caption of an image takes its turn as the human one, with the others as its references, so
that few images give steady numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from metaeval.corruptions.base import Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Replace
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.data.dataset import CaptionDataset
from metaeval.stats.correlation.rank_order import rank_order
from metaeval.stats.correlation.rank_order_within import rank_order_within
from metaeval.training.dataset import CaptionedImages

SEED = 90_210  # of the corrupted captions: not the one that runs use
_SETS: Mapping[str, Corruption] = {
    "Random": Random(),
    "Replace 50%": Replace(0.5),
    "Replace 25%": Replace(0.25),
    "Shuffle 100%": Shuffle(1.0),
    "Shuffle 50%": Shuffle(0.5),
    "Shuffle 25%": Shuffle(0.25),
}
LEVELS = {
    "replace": ("Random", "Replace 50%", "Replace 25%", "Human"),
    "shuffle": ("Shuffle 100%", "Shuffle 50%", "Shuffle 25%", "Human"),
}


def turns_of(images: CaptionedImages) -> int:
    """How many captions can take their turn: as many as every image has."""
    return min(len(captions) for captions in images.captions)


def captions_in_turns(
    images: CaptionedImages, pool: CaptionDataset, turns: int, seed: int = SEED
) -> dict[str, list[str]]:
    """The sets by name, "Human" among them: n · turns captions each, image by image.

    Parameters
    ----------
    pool
        Whose human captions corruptions draw on: those of all images, as in a run.
    turns
        How many captions of an image take their turn.
    """
    sets = {
        name: _corrupt(corruption, images, pool, turns, seed) for name, corruption in _SETS.items()
    }
    sets["Human"] = [captions[turn] for captions in images.captions for turn in range(turns)]
    return sets


def _corrupt(
    corruption: Corruption, images: CaptionedImages, pool: CaptionDataset, turns: int, seed: int
) -> list[str]:
    by_turn = []
    for turn in range(turns):
        human = tuple(captions[turn] for captions in images.captions)
        alone = isinstance(corruption, Random)  # another of these images' captions
        dataset = CaptionDataset(
            "held out",
            images.image_ids,
            human,
            tuple(() for _ in human),
            images.image_ids if alone else pool.pool_ids,
            human if alone else pool.pool,
        )
        by_turn.append([version.text for version in corruption.apply(dataset, seed + turn)])
    return [text for texts in zip(*by_turn, strict=True) for text in texts]


def rank_orders(scores: npt.NDArray[np.float64]) -> dict[str, float]:
    """Rank-order ρ over all, and within images, of scores [n, levels], the worst level first."""
    levels = np.arange(scores.shape[1])
    return {
        "rho": round(rank_order(scores, levels).rho, 4),
        "rho_within": round(rank_order_within(scores, levels).rho, 4),
    }
