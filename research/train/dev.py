"""Held-out captions and corrupted copies, by which weights are chosen and which cards report.

Every caption of an image takes its turn as the human one, with the others as its references, so
that few images give steady numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from metaeval.corruptions.base import Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Replace
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.faier.matcher import CaptionNodes, UnionMatcher
from metaeval.metrics.faier.network import (
    NO_REFERENCE,
    FaierNetwork,
    ParsedCaptions,
    parse_and_encode,
)
from metaeval.metrics.scan.grounding import Grounder
from metaeval.metrics.scan.metric import ScanSimilarity, Tiger
from metaeval.metrics.scan.network import Scan
from metaeval.metrics.scan.tiger_score import tiger
from metaeval.stats.correlation.rank_order import rank_order, rank_orders_within
from metaeval.stats.resampling.items import mean_of_known
from metaeval.text.scene_graphs.parse import TripletParser
from metaeval.text.vocabulary import Vocabulary
from research.train import faier_loss
from research.train.dataset import CaptionedImages, recall, rsum

Floats = npt.NDArray[np.float64]

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
        "rho_within": round(mean_of_known(rank_orders_within(scores, levels)), 4),
    }


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
        self._sets = {
            name: parse_and_encode(texts, parser, vocabulary) for name, texts in sets.items()
        }
        flat = [text for texts in images.captions for text in texts]
        self._captions = parse_and_encode([*flat, NO_REFERENCE], parser, vocabulary)
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


@torch.inference_mode()
def score_matrix(
    matcher: UnionMatcher,
    captions: CaptionNodes,
    rows: npt.NDArray[np.int64],
    images: npt.NDArray[np.int64],
    budget: int = 2**24,
) -> npt.NDArray[np.float32]:
    """FAIEr of some of the captions with the unions of some images: float32 [captions, images].

    Parameters
    ----------
    matcher, captions
        Prepared on images, and what it has read.
    rows, images
        Which captions and images.
    budget
        How many matches are held at a time.
    """
    device = matcher.device
    total = np.zeros((len(rows), len(images)), np.float32)
    for level, unions in matcher.unions.items():
        places = matcher.places[level][torch.from_numpy(images).to(device)]
        nodes = captions[level]
        starts, counts = nodes.starts[rows], nodes.counts[rows]
        at = np.concatenate([np.arange(s, s + k) for s, k in zip(starts, counts, strict=True)])
        count = torch.from_numpy(counts).to(device)
        texts = faier_loss.RaggedVectors(
            nodes.vectors[torch.from_numpy(at).to(device)], count.cumsum(0), count
        )
        regions = faier_loss.RaggedVectors.of(unions[places], places < len(unions) - 1)
        total += faier_loss.score_matrix(regions, texts, budget).cpu().numpy()
    return total
