"""FAIEr on held-out images: retrieval, and the rank-order ρ of Replace and Shuffle.

For choosing (on the dev split) and for cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.training.dev_captions import (
    LEVELS,
    SEED,
    captions_in_turns,
    rank_orders,
    turns_of,
)
from metaeval.metrics.faier.captions import NO_REFERENCE, ParsedCaptions, encode
from metaeval.metrics.faier.matcher import CaptionNodes, UnionMatcher
from metaeval.metrics.faier.network import FaierNetwork
from metaeval.metrics.faier.training.retrieval import score_matrix
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.training.dataset import CaptionedImages
from metaeval.training.retrieval import recall, rsum

_RETRIEVED = 1000  # retrieval is among the first 1,000 images, as elsewhere in the field


class HeldOut:
    """Images to measure a model on.

    Parameters
    ----------
    images
        The held-out images.
    pool
        Human captions that corruptions draw on: those of all images, as in a run.
    parser, vocabulary
        How captions are read.
    turns
        How many captions of an image take their turn as the human one.
    seed
        Of the corrupted captions.
    """

    def __init__(
        self,
        images: CaptionedImages,
        pool: CaptionDataset,
        parser: TripletParser,
        vocabulary: Vocabulary,
        turns: int = 1,
        seed: int = SEED,
    ) -> None:
        self.images, self.n = images, len(images)
        self.turns = min(turns, turns_of(images))
        sets = captions_in_turns(images, pool, self.turns, seed)
        self._sets = {name: encode(texts, parser, vocabulary) for name, texts in sets.items()}
        flat = [text for texts in images.captions for text in texts]
        self._captions = encode([*flat, NO_REFERENCE], parser, vocabulary)
        counts = np.array([len(texts) for texts in images.captions])
        self._first = np.cumsum(counts) - counts
        self._index = np.arange(self.n * self.turns)

    def measure(
        self, model: FaierNetwork, references: Sequence[int] = (4, 0)
    ) -> dict[str, dict[str, Any]]:
        """Retrieval and rank-order ρ by the number of references."""
        matcher = UnionMatcher(model)
        sets = {name: matcher.read(captions) for name, captions in self._sets.items()}
        captions = matcher.read(self._captions) if model.shape.fused else self._captions
        return {str(k): self._with(matcher, sets, captions, k) for k in references}

    def _with(
        self,
        matcher: UnionMatcher,
        sets: Mapping[str, CaptionNodes],
        captions: ParsedCaptions | CaptionNodes,
        k: int,
    ) -> dict[str, Any]:
        none = len(self._captions) - 1
        rows = []
        for i, texts in enumerate(self.images.captions):
            for turn in range(self.turns):
                others = [int(self._first[i]) + j for j in range(len(texts)) if j != turn]
                rows.append(others[:k] or [none])
        image = np.repeat(np.arange(self.n), self.turns)
        matcher.prepare(self.images.regions.subset(image), captions, rows)
        scores = {name: matcher.score(captions, self._index) for name, captions in sets.items()}
        measured: dict[str, object] = {}
        for name, levels in LEVELS.items():
            both = np.stack([scores[version] for version in levels], axis=1)
            measured[name] = rank_orders(both.sum(axis=2))
            for level, column in zip(("object", "relation"), range(both.shape[2]), strict=False):
                measured[f"{name}_{level}"] = rank_orders(both[:, :, column])
        rows_of_first = np.arange(0, self.turns * min(self.n, _RETRIEVED), self.turns)
        table = score_matrix(matcher, sets["Human"], rows_of_first, rows_of_first)
        recalls = recall(table.T, np.arange(len(rows_of_first)))
        return {**measured, **recalls, "rsum": rsum(recalls)}
