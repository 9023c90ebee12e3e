"""FAIEr's plain model, the oracle of training and of the tables, against the loops of the paper."""

import numpy as np
import pytest
import torch

from metaeval.metrics.faier.network import level_score
from research.tests import faier_plain as plain
from research.train.networks import TextBatch, read_nodes
from tests.metrics.faier.faier_cases import TEXTS, Loops, captions, model, regions
from tests.metrics.faier.test_matcher import REFERENCES

EXACT = {"abs": 1e-10, "rel": 0}


def parts(**options):
    net = model(**options)
    features, boxes, mask = regions().tensors()
    see = features.double(), boxes.double(), mask
    with torch.no_grad():
        texts = TextBatch.of(captions(), np.arange(len(TEXTS)))
        return net, Loops(net), see, read_nodes(net.text, texts)


@pytest.mark.parametrize("relations", [True, False])
@pytest.mark.parametrize("fused", [True, False])
def test_the_plain_model_is_the_loops(relations: bool, fused: bool) -> None:
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
