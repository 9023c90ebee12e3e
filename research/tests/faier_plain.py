"""FAIEr directly by its equations, in torch: one image with one caption, nothing shared or padded.

The oracle of what scoring and training do in batches; slow loops in NumPy are this one's.
"""

from collections.abc import Sequence

import torch

from metaeval.metrics.faier.network import FaierNetwork, Seen
from research.train.networks import Nodes

Unions = list[torch.Tensor]


def unite(
    model: FaierNetwork, seen: Seen | None, image: int, nodes: Nodes, references: Sequence[int]
) -> Unions:
    """Union vectors [r, d] of an image with references (rows of `nodes`), level by level."""
    unions = []
    for level in model.levels:
        if seen is None:
            said = torch.cat([nodes_of(nodes, level, row) for row in references])
            unions.append(said @ model.said[level].weight.T + model.said[level].bias)
            continue
        z = getattr(seen, level)[image][seen.mask[image]]
        if model.shape.fused:
            fusion = model.fuse(level)
            queries = z * fusion.attention.weight[0]
            texts = [nodes_of(nodes, level, row) for row in references]
            attended = torch.stack([(queries @ h.T).softmax(dim=1) @ h for h in texts], dim=1)
            _, last = fusion.gru(attended)
            z = fusion.union(torch.cat([z, last[0]], dim=1))
        unions.append(z)
    return unions


def score(unions: Unions, nodes: Nodes, caption: int) -> torch.Tensor:
    """The score of a caption (a row of `nodes`) on each level: [levels]."""
    levels = zip(("objects", "relations"), unions, strict=False)
    return torch.stack(
        [(nodes_of(nodes, level, caption) @ z.T).amax(dim=1).mean() for level, z in levels]
    )


def nodes_of(nodes: Nodes, level: str, row: int) -> torch.Tensor:
    mask = nodes.object_mask if level == "objects" else nodes.relation_mask
    vectors: torch.Tensor = getattr(nodes, level)[row][mask[row]]
    return vectors
