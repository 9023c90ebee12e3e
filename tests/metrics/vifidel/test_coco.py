"""VIFIDEL on COCO, against its definition put together from scikit-learn and POT.

Bags are counted by CountVectorizer, distances are scikit-learn's or NumPy's own, transport is
POT's: none of it is our code but the vectors. scikit-learn takes distances from inner products and
POT's network simplex adds in another order, each good to about 1e-8 where words nearly coincide.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import ot
import pytest
from sklearn.feature_extraction import text
from sklearn.metrics import pairwise

from metaeval.corruptions.graded.replace import Replace
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.vifidel.metric import Vifidel
from metaeval.text.word_vectors.minilm import MiniLmVectors
from tests.metrics.vifidel.vifidel_cases import ready

pytestmark = pytest.mark.coco
Table = dict[str, npt.NDArray[np.float64]]


@pytest.fixture(scope="module")
def data(coco_root: Path) -> CaptionDataset:
    return load_coco("coco_val2017", data=coco_root, limit=150)


@pytest.fixture(scope="module")
def captions(data: CaptionDataset) -> list[str]:
    spoilt = Replace(0.5).apply(data, seed=0)
    return [*data.human, *(each.text for each in spoilt)]


@pytest.fixture(scope="module")
def vectors() -> MiniLmVectors:
    source = MiniLmVectors(device="cpu")
    if (absent := source.missing()) is not None:
        pytest.skip(str(absent))
    return source


def distance(
    table: Table, labels: list[str], caption: str, references: list[str], p: int
) -> list[float]:
    """Without references, and with."""
    counter = text.CountVectorizer(stop_words="english")
    counts = counter.fit_transform([" ".join(labels), caption]).toarray().astype(float)
    a, b = counts / counts.sum(axis=1, keepdims=True)
    x = np.array([table[word] for word in counter.get_feature_names_out()])
    weights = []
    for reference in references:
        said = text.CountVectorizer(stop_words="english").fit([reference])
        cosines = pairwise.cosine_similarity(
            x, np.array([table[word] for word in said.get_feature_names_out()])
        )
        weights.append(np.maximum(0, 1 - cosines.max(axis=1)) / 2)
    y = np.mean(weights, axis=0)[:, None] * x
    costs = [np.sqrt(((z[:, None] - z[None]) ** 2).sum(axis=2)) ** p for z in (x, y)]
    return [float(ot.emd2(a, b, cost)) for cost in costs]


@pytest.mark.parametrize("p", [1, 2])
def test_equals_the_definition(
    data: CaptionDataset, captions: list[str], vectors: MiniLmVectors, p: int
) -> None:
    scorer = ready(Vifidel(vectors, p=p), data)
    index = np.tile(np.arange(len(data)), 2)
    scores = scorer.score(captions, index)
    table = dict(zip(scorer.lexicon.words, scorer.lexicon.rows, strict=True))
    objects = data.part("objects")
    expected = np.array(
        [
            distance(
                table,
                list(objects[data.image_ids[i]].labels),
                caption,
                list(data.references[i]),
                p,
            )
            for caption, i in zip(captions, index, strict=True)
        ]
    )
    assert np.isfinite(expected).all()
    assert np.abs(scores - np.exp(-expected)).max() < 1e-7


@pytest.mark.slow
def test_twenty_thousand_problems_of_coco_cost_as_much_as_by_pot(
    coco_root: Path, vectors: MiniLmVectors
) -> None:
    """Ours and POT's cost of the very same problems, those with references and those without."""
    data = load_coco("coco_val2017", data=coco_root)
    scorer = ready(Vifidel(vectors), data)
    lexicon = scorer.lexicon
    captions = [*data.human, *(each.text for each in Replace(0.5).apply(data, seed=0))]
    lexicon.learn(captions)
    bags = [lexicon.bag(lexicon.count(caption)) for caption in captions]
    images = np.tile(np.arange(len(data)), 2)
    objects = [scorer.object_bags[i] for i in images]
    whole = [k for k in range(len(bags)) if bags[k] and objects[k]]
    pairs = [(objects[k], bags[k]) for k in whole]
    checked: Counter[str] = Counter()
    for name, where in (("without", None), ("with", images[whole])):
        distances = scorer.distance.of_pairs(pairs, where)
        for problems, prices in scorer.distance.problems(pairs, where).priced():
            for place, k in enumerate(problems.which):
                rows, columns = problems.supply[:, place] > 0, problems.demand[:, place] > 0
                supply, demand = problems.supply[rows, place], problems.demand[columns, place]
                cost = np.ascontiguousarray(prices[..., place][rows][:, columns])
                best = ot.emd2(supply / supply.sum(), demand / demand.sum(), cost)
                # 2^-45 of the greatest cost (at most 4), and float64 on both sides
                assert abs(distances[k] - best) < 1e-12
                checked[name] += 1
    assert checked["without"] + checked["with"] > 19_000
