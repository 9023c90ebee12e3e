"""Small FAIEr models, images and captions, and FAIEr by slow loops, as in the paper's section 3.

The loops take one region and one reference at a time, in float64 NumPy; of the model they
read the parameters and nothing else.
"""

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import softmax

from metaeval.metrics.faier.network import FaierNetwork, FaierShape, ParsedCaptions
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.vision.regions.base import Regions, stack_regions

Vector = npt.NDArray[np.float64]

WORDS = ("a", "dog", "man", "ride", "rides", "on", "horse", "two", "cats", "sit", "near")
VOCABULARY = Vocabulary((*SPECIAL, *WORDS))
TEXTS = (
    ("a man rides a horse", [("man", "ride", "horse")]),
    ("two cats near a dog", [("cats", "near", "dog"), ("dog", "sit on", "cats")]),
    ("a dog", []),
    ("a man on a horse near a dog", [("man", "on", "horse"), ("horse", "near", "dog")]),
    ("zebra", []),
    ("man a horse rides a", [("man", "ride", "horse")]),
    (".", []),
)
NONE = len(TEXTS) - 1


def captions() -> ParsedCaptions:
    return ParsedCaptions.of([text for text, _ in TEXTS], [list(t) for _, t in TEXTS], VOCABULARY)


def model(seed: int = 0, dtype: torch.dtype = torch.float64, **options: bool) -> FaierNetwork:
    """A model of width 6 with large random weights, so that no nonlinearity is close to a line."""
    torch.manual_seed(seed)
    found = FaierNetwork(FaierShape(5, len(VOCABULARY), width=4, d=6, **options)).to(dtype).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.copy_(0.8 * torch.randn_like(parameter))
    return found


def regions(counts: tuple[int, ...] = (3, 1, 4), seed: int = 0) -> Regions:
    rng = np.random.default_rng(seed)
    features = [rng.normal(size=(n, 5)).astype(np.float32) for n in counts]
    corners = [np.sort(rng.random((n, 2, 2)), axis=1).reshape(n, 4) for n in counts]
    boxes = [each.astype(np.float32) for each in corners]
    labels = [["thing"] * n for n in counts]
    return stack_regions(list(zip(features, boxes, labels, strict=True)), 5)


class Loops:
    def __init__(self, of: FaierNetwork) -> None:
        self.p = {name: value.detach().double().numpy() for name, value in of.named_parameters()}
        self.shape = of.shape

    def gru(self, name: str, inputs: list[Vector], direction: str = "") -> list[Vector]:
        """The states of torch's own cell, one step after the other."""
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = [torch.from_numpy(self.p[f"{name}.{kind}_l0{direction}"]) for kind in kinds]
        states = [weights[1].new_zeros(1, weights[1].shape[1])]
        for x in inputs:
            states.append(torch.gru_cell(torch.from_numpy(x)[None], states[-1], *weights))
        return [state[0].numpy() for state in states[1:]]

    def both_ways(self, name: str, ids: list[int]) -> tuple[list[Vector], Vector]:
        """States of a sequence of words, and its last state, the two directions averaged."""
        inputs = [self.p["text.embedding.weight"][i] for i in ids]
        ahead = self.gru(f"{name}.gru", inputs)
        back = self.gru(f"{name}.gru", inputs[::-1], "_reverse")
        states = [(a + b) / 2 for a, b in zip(ahead, back[::-1], strict=True)]
        return states, (ahead[-1] + back[-1]) / 2

    def nodes(self, text: str, triplets: list[tuple[str, str, str]]) -> dict[str, list[Vector]]:
        objects, last = self.both_ways("text.words", VOCABULARY.encode(text))
        if not self.shape.relations:
            return {"objects": objects}
        weight, bias = self.p["text.sentence.weight"], self.p["text.sentence.bias"]
        relations = [weight @ last + bias]
        for triplet in triplets:
            ids = [VOCABULARY.number(word) for part in triplet for word in part.split()]
            relations.append(self.both_ways("text.triplets", ids)[1])
        return {"objects": objects, "relations": relations}

    def seen(self, u: Vector, b: Vector) -> dict[str, list[Vector]]:
        p = self.p
        objects = [
            p["visual.outer.weight"]
            @ np.tanh(p["visual.inner.weight"] @ x + p["visual.inner.bias"])
            + p["visual.outer.bias"]
            for x in u
        ]
        if not self.shape.relations:
            return {"objects": objects}
        gammas = [softmax(np.tanh((box - b) @ p["visual.offset.weight"][0])) for box in b]
        mixed = [gamma @ np.array(objects) for gamma in gammas]
        return {"objects": objects, "relations": [p["visual.relation.weight"] @ x for x in mixed]}

    def union(
        self, level: str, regions: list[Vector], references: list[list[Vector]]
    ) -> list[Vector]:
        """z of every region, from the nodes of one reference after another."""
        if not self.shape.fused:
            return regions
        w = self.p[f"fusion.{level}.attention.weight"][0]
        weight, bias = (self.p[f"fusion.{level}.union.{k}"] for k in ("weight", "bias"))
        found = []
        for v in regions:
            attended = [
                softmax(np.array(nodes) @ (w * v)) @ np.array(nodes) for nodes in references
            ]
            m = self.gru(f"fusion.{level}.gru", attended)[-1]
            found.append(weight @ np.concatenate([v, m]) + bias)
        return found

    def said(self, level: str, references: list[list[Vector]]) -> list[Vector]:
        """z of every node of every reference, where no image is seen."""
        weight, bias = (self.p[f"said.{level}.{k}"] for k in ("weight", "bias"))
        return [weight @ h + bias for nodes in references for h in nodes]

    def score(self, u: Vector, b: Vector, references: list[int], caption: int) -> list[float]:
        own = self.nodes(*TEXTS[caption])
        others = [self.nodes(*TEXTS[r]) for r in references]
        seen = self.seen(u, b) if self.shape.seen else {}
        scores = []
        for level, nodes in own.items():
            said = [other[level] for other in others]
            z = self.union(level, seen[level], said) if seen else self.said(level, said)
            scores.append(float(np.mean([max(zi @ h for zi in z) for h in nodes])))
        return scores
