"""Encoded regions in a batch, attended to by captions' words: the paper's equations."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")


from metaeval.metrics.scan.attention import WAYS, l2norm
from metaeval.metrics.scan.grounding import RegionBatch
from tests.metrics.scan.test_attention import random_sets, slow
from tests.precision import assert_same_scores


@pytest.mark.parametrize("smooth", [4.0, 9.0, 20.0, 30.0, 90.0])
@pytest.mark.parametrize("n_regions", [5, 24])  # the two ways to lengths of what is attended to
@pytest.mark.parametrize("leak", [0.1, 0.0])  # the authors' code, and Eq. 3 of TIGEr's paper
def test_cosines_are_the_papers(smooth: float, n_regions: int, leak: float) -> None:
    d = 40
    regions, n = random_sets(0, [n_regions, 1, n_regions - 2], d)
    words, m = random_sets(1, [4, 7, 2, 6], d)
    # captions describe their images, or λ would have little effect; the encoders' numbers are
    # float32
    rows = np.array([2, 0, 1, 0])
    own = (words + 0.5 * regions[rows, :1] * (words != 0)).float()
    own, vectors = l2norm(own) * (own != 0), (1.7 * regions).float()
    batch = RegionBatch.of(vectors)
    found = batch.cosines(rows, own, smooth, leak=leak)
    assert tuple(found) == WAYS
    for k, row in enumerate(rows.tolist()):
        v, w = vectors[row, : n[row]].double().numpy(), own[k, : m[k]].double().numpy()
        # lengths of what regions attend to are in float32
        i2t, t2i = slow(v, w, smooth, leak), slow(w, v, smooth, leak)
        np.testing.assert_allclose(found["i2t"][k, : n[row]], i2t, rtol=0, atol=3e-7)
        np.testing.assert_allclose(found["t2i"][k, : m[k]], t2i, rtol=0, atol=1e-12)
        assert (found["i2t"][k, n[row] :] == 0).all()
        assert (found["t2i"][k, m[k] :] == 0).all()
    for way in WAYS:  # each alone is the same
        assert_same_scores(batch.cosines(rows, own, smooth, (way,), leak)[way], found[way])
