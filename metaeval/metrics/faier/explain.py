"""Which word and which triplet FAIEr finds in which region: the paper's Fig. 6, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from metaeval.metrics.faier.captions import Captions
from metaeval.metrics.faier.fusion import matches
from metaeval.metrics.faier.scorer import FaierScorer
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import Regions

SENTENCE = "(sentence)"


class Explainer:
    """Matches of captions with the union vectors of a scorer's images.

    Parameters
    ----------
    scorer
        Prepared on the images.
    parser, vocabulary
        How captions are read.
    references
        Per image those that its union is made of; none where the network reads none.
    regions
        Of the same images.
    """

    def __init__(
        self,
        scorer: FaierScorer,
        parser: TripletParser,
        vocabulary: Vocabulary,
        references: Sequence[Sequence[str]],
        regions: Regions,
    ) -> None:
        self._scorer, self._parser, self._vocabulary = scorer, parser, vocabulary
        self._references, self._regions = references, regions
        self._told: dict[int, list[dict[str, Any]]] = {}  # of references, as they serve many

    @torch.inference_mode()
    def explain(self, caption: str, index: int) -> tuple[dict[str, Any], list[float]]:
        """What a caption finds in image `index`, and its score on each level.

        The first is {"kind": "matches", "regions": [{"label", "box"}], "words", "matches" (a row of
        r numbers a word), "relations", "relation_matches", "references": [{"words", "matches"}]}.
        """
        if index not in self._told:
            self._told[index] = [
                {key: own[key] for key in ("words", "matches")}
                for own, _ in self._read(self._references[index], index)
            ]
        ((told, levels),) = self._read([caption], index)
        boxes = self._regions.boxes[index][self._regions.mask[index]]
        labels = self._regions.labels[index]
        return {
            "kind": "matches",
            "regions": [
                {"label": label, "box": [round(float(x), 4) for x in box]}
                for label, box in zip(labels, boxes, strict=True)
            ],
            **told,
            "references": self._told[index],
        }, levels

    def _read(self, texts: Sequence[str], index: int) -> list[tuple[dict[str, Any], list[float]]]:
        """Words, triplets and their matches of some texts, each with the scores of its levels."""
        union = self._scorer.unions(index)
        network, found = self._scorer.model, []
        for text, own in zip(texts, self._parser(texts), strict=True):
            captions = Captions.of([text], [own], self._vocabulary)
            nodes = network.read(captions.take(np.array([0])).to(self._scorer.device))
            objects = matches(union.objects, nodes.objects)[0]
            told: dict[str, Any] = {
                "words": ["<start>", *self._vocabulary.tokenise([text])[0], "<end>"],
                "matches": _rounded(objects),
                "relations": [],
                "relation_matches": [],
            }
            levels = [objects]
            if network.shape.relations:
                relations = matches(union.relations, nodes.relations)[0]
                told["relations"] = [SENTENCE, *(" ".join(triplet) for triplet in own)]
                told["relation_matches"] = _rounded(relations)
                levels.append(relations)
            found.append((told, [float(each.amax(dim=1).double().mean()) for each in levels]))
        return found


def _rounded(table: torch.Tensor) -> list[list[float]]:
    return [[round(x, 4) for x in row] for row in table.double().tolist()]
