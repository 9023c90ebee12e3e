"""Which word and which triplet FAIEr finds in which region: the paper's Fig. 6, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from metaeval.compute.device import inference
from metaeval.compute.threads import divide_products_only
from metaeval.metrics.faier.captions import ParsedCaptions
from metaeval.metrics.faier.fusion import matches
from metaeval.metrics.faier.matcher import UnionMatcher
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import Regions

SENTENCE = "(sentence)"


class Explainer:
    """Matches of captions with the union vectors of the images that the matcher is prepared on.

    `references` are, per image, those that its union is made of; none where the network reads none.
    """

    def __init__(
        self,
        matcher: UnionMatcher,
        parser: TripletParser,
        vocabulary: Vocabulary,
        references: Sequence[Sequence[str]],
        regions: Regions,
    ) -> None:
        self._matcher, self._parser, self._vocabulary = matcher, parser, vocabulary
        self._references, self._regions = references, regions
        self._reference_matches: dict[int, list[dict[str, object]]] = {}  # they serve many captions

    def explain(
        self, captions: Sequence[str], images: Sequence[int]
    ) -> list[tuple[dict[str, object], list[float]]]:
        """What each caption finds in its image, and its score on each level.

        Each is computed by itself. The first of a pair is {"kind": "matches", "regions":
        [{"label", "box"}], "words", "matches" (a row of r numbers per word), "relations",
        "relation_matches", "references": [{"words", "matches"}]}.
        """
        new = [i for i in dict.fromkeys(images) if i not in self._reference_matches]
        with inference(self._matcher.device), divide_products_only():
            self._reference_matches.update((i, self._match_references(i)) for i in new)
            return [self._explain(text, i) for text, i in zip(captions, images, strict=True)]

    def _match_references(self, index: int) -> list[dict[str, object]]:
        return [
            {key: texts[key] for key in ("words", "matches")}
            for texts, _ in self._match(self._references[index], index)
        ]

    def _explain(self, caption: str, index: int) -> tuple[dict[str, object], list[float]]:
        ((matches_of_caption, levels),) = self._match([caption], index)
        boxes = self._regions.boxes[index][self._regions.mask[index]]
        labels = self._regions.labels[index]
        return {
            "kind": "matches",
            "regions": [
                {"label": label, "box": [round(float(x), 4) for x in box]}
                for label, box in zip(labels, boxes, strict=True)
            ],
            **matches_of_caption,
            "references": self._reference_matches[index],
        }, levels

    def _match(
        self, texts: Sequence[str], index: int
    ) -> list[tuple[dict[str, object], list[float]]]:
        """Words, triplets and their matches of some texts, each with the scores of its levels."""
        unions = {level: z[None] for level, z in self._matcher.unions_of(index).items()}
        network, pairs = self._matcher.model, []
        for text, triplets in zip(texts, self._parser(texts), strict=True):
            captions = ParsedCaptions.of([text], [triplets], self._vocabulary)
            nodes = network.read(captions.take(np.array([0])).to(self._matcher.device))
            tables = [matches(unions["objects"], nodes.objects)[0]]
            relations: list[str] = []
            if "relations" in unions:
                tables.append(matches(unions["relations"], nodes.relations)[0])
                relations = [SENTENCE, *(" ".join(triplet) for triplet in triplets)]
            explanation = {
                "words": ["<start>", *self._vocabulary.tokenise([text])[0], "<end>"],
                "matches": _round(tables[0]),
                "relations": relations,
                "relation_matches": _round(tables[1]) if relations else [],
            }
            levels = [float(table.amax(dim=1).double().mean()) for table in tables]
            pairs.append((explanation, levels))
        return pairs


def _round(table: torch.Tensor) -> list[list[float]]:
    return [[round(x, 4) for x in row] for row in table.double().tolist()]
