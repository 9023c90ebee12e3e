"""SCAN's attention step by step, and random vectors for it."""

import math

import numpy as np
import torch

from metaeval.metrics.scan.network import l2norm


def cosines(
    query: np.ndarray, context: np.ndarray, smooth: float, leak: float = 0.1
) -> list[float]:
    """The cosine of each query with what it attends to, step by step (section 3.2 of the paper)."""
    scores = [[float(q @ c) for c in context] for q in query]
    scores = [[s if s > 0 else leak * s for s in row] for row in scores]
    norms = [math.sqrt(sum(row[j] ** 2 for row in scores)) + 1e-8 for j in range(len(context))]
    found = []
    for q, row in zip(query, scores, strict=True):
        e = [math.exp(smooth * s / n) for s, n in zip(row, norms, strict=True)]
        attended = sum(w / sum(e) * c for w, c in zip(e, context, strict=True))
        lengths = float(np.linalg.norm(q) * np.linalg.norm(attended))
        found.append(float(q @ attended) / max(lengths, 1e-8))
    return found


def random_sets(seed: int, counts: list[int], d: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit vectors float64 [n, longest, d], zeros behind each item's count, and the counts."""
    generator = torch.Generator().manual_seed(seed)
    x = l2norm(torch.randn(len(counts), max(counts), d, generator=generator, dtype=torch.float64))
    n = torch.tensor(counts)
    return x * (torch.arange(max(counts)) < n[:, None])[..., None], n
