"""FAIEr on held-out images: retrieval, and the rank-order ρ of Replace and Shuffle.

For choosing (on the dev split) and for cards. Every caption of an image takes its turn as the human
one, with the others as its references, so that few images give steady numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corruptions.random import Random
from corruptions.replace import Replace
from corruptions.shuffle import Shuffle
from metaeval.data.types import CaptionDataset
from metaeval.models.faier import Faier
from metaeval.models.faier_captions import NO_REFERENCE, Captions, encode
from metaeval.models.faier_scorer import FaierScorer, Read
from metaeval.models.faier_triplets import TripletParser
from metaeval.models.grounded_data import CaptionedImages
from metaeval.models.retrieval import recall
from metaeval.models.vocabulary import Vocabulary
from metaeval.stats.rank_order import rank_order
from metaeval.stats.rank_order_within import rank_order_within

_SEED = 90_210  # of the spoiled captions: not the one that runs use
_RETRIEVED = 1000  # retrieval is among the first 1,000 images, as elsewhere in the field
_SETS = {
    "Random": Random(),
    "Replace 50%": Replace(0.5),
    "Replace 25%": Replace(0.25),
    "Shuffle 100%": Shuffle(1.0),
    "Shuffle 50%": Shuffle(0.5),
    "Shuffle 25%": Shuffle(0.25),
}
_LEVELS = {
    "replace": ("Random", "Replace 50%", "Replace 25%", "Human"),
    "shuffle": ("Shuffle 100%", "Shuffle 50%", "Shuffle 25%", "Human"),
}


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
        Of the spoiled captions.
    """

    def __init__(
        self,
        images: CaptionedImages,
        pool: CaptionDataset,
        parser: TripletParser,
        vocabulary: Vocabulary,
        turns: int = 1,
        seed: int = _SEED,
    ) -> None:
        self._seed = seed
        self.images, self.n = images, len(images)
        self.turns = min(turns, *(len(own) for own in images.captions))
        texts = {name: self._spoiled(corruption, pool) for name, corruption in _SETS.items()}
        texts["Human"] = [own[h] for own in images.captions for h in range(self.turns)]
        self._sets = {name: encode(own, parser, vocabulary) for name, own in texts.items()}
        flat = [text for own in images.captions for text in own]
        self._captions = encode([*flat, NO_REFERENCE], parser, vocabulary)
        counts = np.array([len(own) for own in images.captions])
        self._first = np.cumsum(counts) - counts
        self._index = np.arange(self.n * self.turns)

    def _spoiled(self, corruption: Any, pool: CaptionDataset) -> list[str]:
        found = []
        for h in range(self.turns):
            human = tuple(own[h] for own in self.images.captions)
            dataset = CaptionDataset(
                "held out",
                self.images.image_ids,
                human,
                tuple(() for _ in human),
                self.images.image_ids if isinstance(corruption, Random) else pool.pool_ids,
                human if isinstance(corruption, Random) else pool.pool,
            )
            found.append([each.text for each in corruption.apply(dataset, self._seed + h)])
        return [text for own in zip(*found, strict=True) for text in own]

    def measure(self, model: Faier, references: Sequence[int] = (4, 0)) -> dict[str, Any]:
        """Retrieval and rank-order ρ with so many references, by their number."""
        scorer = FaierScorer(model)
        sets = {name: scorer.read(captions) for name, captions in self._sets.items()}
        captions = scorer.read(self._captions) if model.shape.fused else self._captions
        return {str(k): self._with(scorer, sets, captions, k) for k in references}

    def _with(
        self, scorer: FaierScorer, sets: Mapping[str, Read], captions: Captions | Read, k: int
    ) -> dict[str, Any]:
        none = len(self._captions) - 1
        rows = []
        for i, own in enumerate(self.images.captions):
            for h in range(self.turns):
                others = [int(self._first[i]) + j for j in range(len(own)) if j != h]
                rows.append(others[:k] or [none])
        image = np.repeat(np.arange(self.n), self.turns)
        scorer.prepare(self.images.regions.subset(image), captions, rows)
        scores = {name: scorer.score(captions, self._index) for name, captions in sets.items()}
        found: dict[str, Any] = {}
        for name, levels in _LEVELS.items():
            both = np.stack([scores[each] for each in levels], axis=1)
            found[name] = self._rho(both.sum(axis=2))
            for level, column in zip(("object", "relation"), range(both.shape[2]), strict=False):
                found[f"{name}_{level}"] = self._rho(both[:, :, column])
        turn = np.arange(0, self.turns * min(self.n, _RETRIEVED), self.turns)
        table = scorer.matrix(sets["Human"], turn, turn)
        found |= recall(table.T, np.arange(len(turn)))
        ways = (found["image_to_text"], found["text_to_image"])
        found["rsum"] = round(100 * sum(sum(way.values()) for way in ways), 2)
        return found

    def _rho(self, scores: npt.NDArray[np.float64]) -> dict[str, float]:
        levels = np.arange(scores.shape[1])
        return {
            "rho": round(rank_order(scores, levels).rho, 4),
            "rho_within": round(rank_order_within(scores, levels).rho, 4),
        }
