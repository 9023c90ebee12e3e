"""TIGEr and SCAN on held-out images: the rank-order ρ of Replace and Shuffle, for cards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.training.dev_captions import (
    LEVELS,
    captions_in_turns,
    rank_orders,
    turns_of,
)
from metaeval.metrics.scan.grounding import Grounder
from metaeval.metrics.scan.network import Scan
from metaeval.metrics.scan.similarity import ScanSimilarity
from metaeval.metrics.scan.tiger import Tiger
from metaeval.metrics.scan.tiger_score import tiger
from metaeval.text.vocabulary import Vocabulary
from metaeval.training.dataset import CaptionedImages

Floats = npt.NDArray[np.float64]

_COLUMNS = (*Tiger.plain_columns, *ScanSimilarity.plain_columns)


def measure(
    model: Scan,
    vocabulary: Vocabulary,
    images: CaptionedImages,
    pool: CaptionDataset,
    smooth: float,
    device: str = "auto",
) -> dict[str, dict[str, float]]:
    """ρ by column and experiment: {"TIGEr": {"replace": …, "shuffle": …}, …}.

    Each caption of an image is the human one in turn, the others are its references.

    Parameters
    ----------
    images
        With the regions that the model looks at.
    pool
        Whose captions corruptions draw on.
    smooth
        λ of the attention.
    """
    turns = turns_of(images)
    grounder = Grounder(model, vocabulary, images.regions, smooth, device)
    image = np.repeat(np.arange(len(images)), turns)
    flat = [text for texts in images.captions for text in texts]
    counts = np.array([len(texts) for texts in images.captions])
    vectors = grounder.grounding(flat, np.repeat(np.arange(len(images)), counts))
    first = np.cumsum(counts) - counts
    others = np.repeat(np.add.reduceat(vectors, first, axis=0), turns, axis=0)
    others -= vectors[np.repeat(first, turns) + np.tile(np.arange(turns), len(images))]
    references = others / (counts[image] - 1)[:, None]
    mask = images.regions.mask[image]
    scores: dict[str, dict[str, Floats]] = {}
    for name, texts in captions_in_turns(images, pool, turns).items():
        reference, candidate, there = map(
            torch.from_numpy, (references, grounder.grounding(texts, image), mask)
        )
        tigers = [column.numpy() for column in tiger(reference, candidate, there)]
        i2t, t2i = grounder.similarity(texts, image).T
        columns = [column.name for column in _COLUMNS]
        scores[name] = dict(zip(columns, (*tigers, i2t, t2i, i2t + t2i), strict=True))
    return {
        column: {
            name: rank_orders(np.stack([scores[set_][column] for set_ in levels], axis=1))["rho"]
            for name, levels in LEVELS.items()
        }
        for column in scores["Human"]
    }
