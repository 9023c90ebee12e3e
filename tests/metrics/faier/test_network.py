"""FAIEr's equations against slow loops written from the paper's section 3.

Everything in float64, so that the loops and the batched code differ by rounding alone: 1e-10 is a
thousand times that.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from metaeval.metrics.faier.network import level_score
from tests.metrics.faier import plain
from tests.metrics.faier.faier_cases import NONE, TEXTS, Loops, captions, model, regions

EXACT = {"abs": 1e-10, "rel": 0}
REFERENCES = [[0, 3], [NONE], [1, 2, 3, 5]]


def parts(**options):
    """A model, its loops, three images as tensors, and the nodes of all texts."""
    net = model(**options)
    features, boxes, mask = regions().tensors()
    see = features.double(), boxes.double(), mask
    with torch.no_grad():
        return net, Loops(net), see, net.read(captions().take(np.arange(len(TEXTS))))


def test_visual_objects_and_relations() -> None:
    net, loops, (features, boxes, mask), _ = parts()
    with torch.no_grad():
        seen = net.see(features, boxes, mask)
        gamma = net.visual.attention(boxes, mask)
    assert gamma.sum(dim=2)[mask].numpy() == pytest.approx(1.0, **EXACT)
    for i, n in enumerate(mask.sum(dim=1).tolist()):
        slow = loops.seen(features[i, :n].numpy(), boxes[i, :n].numpy())
        assert seen.objects[i, :n].numpy() == pytest.approx(np.array(slow["objects"]), **EXACT)
        assert seen.relations[i, :n].numpy() == pytest.approx(np.array(slow["relations"]), **EXACT)


def test_text_objects_and_relations() -> None:
    _, loops, _, nodes = parts()
    for k, (text, triplets) in enumerate(TEXTS):
        slow = loops.nodes(text, list(triplets))
        n, m = len(slow["objects"]), len(slow["relations"])
        assert m == 1 + len(triplets)
        assert (nodes.object_mask[k].sum(), nodes.relation_mask[k].sum()) == (n, m)
        assert nodes.objects[k, :n].numpy() == pytest.approx(np.array(slow["objects"]), **EXACT)
        assert nodes.relations[k, :m].numpy() == pytest.approx(np.array(slow["relations"]), **EXACT)


def test_the_union_with_any_number_of_references() -> None:
    """Directly by the equations, and with all regions' attended vectors joined at once."""
    net, loops, see, nodes = parts()
    rows = torch.tensor([own + [0] * (4 - len(own)) for own in REFERENCES])
    counts = torch.tensor([len(own) for own in REFERENCES])
    with torch.no_grad():
        seen = net.see(*see)
        there = seen.mask.nonzero(as_tuple=True)
        joined = {}
        for level, mask in (("objects", nodes.object_mask), ("relations", nodes.relation_mask)):
            vectors, of_texts = getattr(seen, level), getattr(nodes, level)
            attended = net.fuse(level).attended(vectors, of_texts[rows], mask[rows])
            joined[level] = net.fuse(level).join(vectors[there], attended[there], counts[there[0]])
        plain_unions = [
            plain.unite(net, seen, i, nodes, references) for i, references in enumerate(REFERENCES)
        ]
    for i, n in enumerate(see[2].sum(dim=1).tolist()):
        slow = loops.seen(see[0][i, :n].numpy(), see[1][i, :n].numpy())
        for k, level in enumerate(("objects", "relations")):
            others = [loops.nodes(*TEXTS[r])[level] for r in REFERENCES[i]]
            expected = loops.union(level, slow[level], others)
            assert plain_unions[i][k].numpy() == pytest.approx(np.array(expected), **EXACT)
            found = joined[level][there[0] == i]
            assert found.numpy() == pytest.approx(np.array(expected), **EXACT)


@pytest.mark.parametrize("relations", [True, False])
@pytest.mark.parametrize("fused", [True, False])
def test_the_score(relations: bool, fused: bool) -> None:
    net, loops, see, nodes = parts(relations=relations, fused=fused)
    with torch.no_grad():
        seen = net.see(*see)
        for i, n in enumerate(see[2].sum(dim=1).tolist()):
            image = see[0][i, :n].numpy(), see[1][i, :n].numpy()
            unions = plain.unite(net, seen, i, nodes, REFERENCES[i])
            for k in range(len(TEXTS)):
                found = plain.score(unions, nodes, k)
                assert found.shape == (1 + relations,)
                expected = loops.score(*image, REFERENCES[i], k)
                assert found.tolist() == pytest.approx(expected, **EXACT)
                own = plain.nodes_of(nodes, "objects", k)[None]
                level = level_score(unions[0][None], torch.ones(1, n, dtype=torch.bool), own)
                assert level.tolist() == pytest.approx(expected[:1], **EXACT)
