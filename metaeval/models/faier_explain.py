"""Which word and which triplet FAIEr finds in which region: the paper's Fig. 6, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from metaeval.models.faier_captions import Captions
from metaeval.models.faier_fusion import matches
from metaeval.models.faier_scorer import FaierScorer
from metaeval.models.faier_triplets import TripletParser
from metaeval.models.regions import Regions
from metaeval.models.vocabulary import Vocabulary

SENTENCE = "(sentence)"


@torch.inference_mode()
def explanation(
    scorer: FaierScorer,
    parser: TripletParser,
    vocabulary: Vocabulary,
    caption: str,
    references: Sequence[str],
    regions: Regions,
    index: int,
) -> dict[str, Any]:
    """The matches of a caption, and of the references, with the union vectors of image `index`.

    Returns {"kind": "matches", "regions": [{"label", "box"}], "words", "matches" (a row of r
    numbers a word), "relations", "relation_matches", "references": [{"words", "matches"}]}.
    """
    union = scorer.unions(index)
    texts = [caption, *references]
    triplets = parser(texts)
    told = []
    for text, own in zip(texts, triplets, strict=True):
        read = Captions.of([text], [own], vocabulary).take(np.array([0]))
        nodes = scorer.model.read(read.to(scorer.device))
        entry = {
            "words": ["<start>", *vocabulary.tokenise([text])[0], "<end>"],
            "matches": _rounded(matches(union.objects, nodes.objects)),
            "relations": [SENTENCE, *(" ".join(triplet) for triplet in own)],
            "relation_matches": _rounded(matches(union.relations, nodes.relations)),
        }
        if not scorer.model.shape.relations:
            entry |= {"relations": [], "relation_matches": []}
        told.append(entry)
    boxes = regions.boxes[index][regions.mask[index]]
    return {
        "kind": "matches",
        "regions": [
            {"label": label, "box": [round(float(x), 4) for x in box]}
            for label, box in zip(regions.labels[index], boxes, strict=True)
        ],
        **told[0],
        "references": [{key: own[key] for key in ("words", "matches")} for own in told[1:]],
    }


def _rounded(table: torch.Tensor) -> list[list[float]]:
    return [[round(x, 4) for x in row] for row in table[0].double().tolist()]
