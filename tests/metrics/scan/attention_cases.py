"""SCAN's attention step by step, and random vectors for it."""

import numpy as np
import torch
from scipy.special import softmax

from metaeval.metrics.scan.network import l2norm


def cosines(
    query: np.ndarray, context: np.ndarray, smooth: float, leak: float = 0.1
) -> list[float]:
    """The cosine of each query with what it attends to, step by step (section 3.2 of the paper)."""
    scores = query @ context.T
    scores = np.where(scores > 0, scores, leak * scores)
    scores /= np.linalg.norm(scores, axis=0) + 1e-8
    attended = softmax(smooth * scores, axis=1) @ context
    lengths = np.linalg.norm(query, axis=1) * np.linalg.norm(attended, axis=1)
    return list((query * attended).sum(axis=1) / np.maximum(lengths, 1e-8))


def random_sets(seed: int, counts: list[int], d: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit vectors float64 [n, longest, d], zeros behind each item's count, and the counts."""
    generator = torch.Generator().manual_seed(seed)
    x = l2norm(torch.randn(len(counts), max(counts), d, generator=generator, dtype=torch.float64))
    n = torch.tensor(counts)
    return x * (torch.arange(max(counts)) < n[:, None])[..., None], n
