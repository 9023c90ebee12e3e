"""FAIEr's equations against slow loops from the paper, and scoring in batches against them."""

import numpy as np
import pytest
import torch

from metaeval.metrics.faier.matcher import UnionMatcher
from metaeval.text.scene_graphs.parse import TripletParser
from metaeval.vision.regions.base import Regions
from research.train.networks import vocabulary_with_triplets
from tests.metrics.faier.faier_cases import NONE, TEXTS, Loops, captions, model, regions

# float32 against float64 loops; scores are of the order of 1, and 1e-5 is some forty roundings
CLOSE = {"abs": 1e-5, "rel": 0}
REFERENCES = [[0, 3], [NONE], [1, 2, 3, 5]]


def matcher(**options: bool) -> UnionMatcher:
    found = UnionMatcher(model(dtype=torch.float32, **options))
    found.prepare(regions() if found.model.shape.seen else None, captions(), REFERENCES)
    return found


@pytest.mark.parametrize(
    "options",
    [{}, {"relations": False}, {"fused": False}, {"seen": False}],
)
def test_scores_are_those_of_the_loops(options: dict[str, bool]) -> None:
    own = matcher(**options)
    loops, seen = Loops(own.model), regions()
    image = np.array([0, 1, 2, 0, 1, 2, 0])
    found = own.score(captions(), image)
    for k, i in enumerate(image):
        n = int(seen.mask[i].sum())
        parts = seen.features[i, :n].astype(float), seen.boxes[i, :n].astype(float)
        slow = loops.score(*parts, REFERENCES[i], k)
        assert found[k].tolist() == pytest.approx(slow, **CLOSE)


def test_an_image_without_regions_breaks_nothing() -> None:
    seen = regions()
    empty = Regions(
        seen.features * 0, seen.boxes, np.zeros_like(seen.mask), tuple(() for _ in range(3))
    )
    own = UnionMatcher(model(dtype=torch.float32))
    own.prepare(empty, captions(), REFERENCES)
    assert not np.isfinite(own.score(captions(), np.zeros(len(TEXTS), dtype=np.intp))).any()


def test_the_vocabulary_contains_the_lemmas_of_triplets() -> None:
    texts = ["a man rides a horse"] * 4 + ["a man eats"] * 3
    found = vocabulary_with_triplets(texts, TripletParser()(texts))
    assert "ride" in found
    assert "rides" in found
    assert "eats" not in found
