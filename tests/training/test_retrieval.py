"""Recall at k against cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.training.dataset import recall, rsum


def test_by_hand() -> None:
    # two captions for image 0, one each for 1 and 2
    owner = np.array([0, 0, 1, 2])
    similarity = np.array(
        [
            [0.1, 0.9, 0.5, 0.2],  # own caption 1 is first: found
            [0.8, 0.1, 0.7, 0.0],  # own caption 2 is second
            [0.3, 0.2, 0.1, 0.3],  # own caption 3 ties with caption 0: not first
        ]
    )
    found = recall(similarity, owner)
    assert found["image_to_text"]["R@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["image_to_text"]["R@5"] == 1
    # caption 0: image 1 first, own image last; 1: found; 2: found; 3: found
    assert found["text_to_image"]["R@1"] == pytest.approx(0.75)
    assert rsum(found) == pytest.approx(33.33 + 75 + 400)


def test_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(40), 3)
    similarity = rng.normal(size=(40, 120))
    similarity[owner, np.arange(120)] += 1
    found = recall(similarity, owner)
    for k in (1, 5, 10):
        top = np.argsort(-similarity, axis=1)[:, :k]
        hits = [i in owner[row] for i, row in enumerate(top)]
        assert found["image_to_text"][f"R@{k}"] == pytest.approx(np.mean(hits), abs=1e-4)
        top = np.argsort(-similarity, axis=0)[:k]
        hits = [owner[j] in top[:, j] for j in range(120)]
        assert found["text_to_image"][f"R@{k}"] == pytest.approx(np.mean(hits), abs=1e-4)


def test_what_is_not_a_number_is_refused() -> None:
    similarity = np.array([[0.9, np.nan], [0.1, 0.8]])
    with pytest.raises(ValueError, match="not numbers"):
        recall(similarity, np.array([0, 1]))
