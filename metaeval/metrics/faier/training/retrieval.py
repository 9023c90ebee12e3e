"""FAIEr of many captions with many images: what retrieval is measured by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from metaeval.metrics.faier.matcher import CaptionNodes, UnionMatcher
from metaeval.metrics.faier.training import step
from metaeval.metrics.faier.training.step import RaggedVectors

Ints = npt.NDArray[np.int64]


@torch.inference_mode()
def score_matrix(
    matcher: UnionMatcher, captions: CaptionNodes, rows: Ints, images: Ints, budget: int = 2**24
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
        texts = RaggedVectors(
            nodes.vectors[torch.from_numpy(at).to(device)], count.cumsum(0), count
        )
        regions = RaggedVectors.of(unions[places], places < len(unions) - 1)
        total += step.score_matrix(regions, texts, budget).cpu().numpy()
    return total
