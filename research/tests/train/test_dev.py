"""What is measured on the images held out."""

import numpy as np
import pytest

from research.train.dev import score_matrix
from tests.metrics.faier.faier_cases import TEXTS, captions
from tests.metrics.faier.test_matcher import CLOSE, matcher


@pytest.mark.parametrize("options", [{}, {"relations": False}, {"fused": False}, {"seen": False}])
def test_every_caption_with_every_image_is_scored_as_one_by_one(options: dict[str, bool]) -> None:
    own, n = matcher(**options), len(TEXTS)
    table = score_matrix(own, own.read(captions()), np.arange(n), np.arange(3))
    for image in range(3):
        one_by_one = own.score(captions(), np.full(n, image)).sum(axis=1)
        assert table[:, image].tolist() == pytest.approx(one_by_one.tolist(), **CLOSE)
