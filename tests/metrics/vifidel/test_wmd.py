"""WMD: by hand, against POT, and at its edges."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

import ot

from metaeval.errors import ConfigError
from metaeval.metrics.vifidel.wmd import Wmd, WmdScorer
from tests.metrics.vifidel.vifidel_cases import VECTORS, dataset, vector_file
from tests.precision import assert_same_scores

NAN = math.nan


def ready(metric: Wmd, references: list[list[str]]) -> WmdScorer:
    scorer = metric.bind(dataset([[] for _ in references], references, with_objects=False))
    scorer.prepare()
    return scorer


def test_worked_by_hand(tmp_path: Path) -> None:
    """ "A man, a dog" against "dog": half the mass moves from man to dog, over √.8; against
    "the cat": half over |man - cat| = √.4, half over |dog - cat| = √2."""
    scorer = ready(Wmd(vector_file(tmp_path)), [["dog!", "The cat"]])
    near, far = math.exp(-math.sqrt(0.8) / 2), math.exp(-(math.sqrt(0.4) + math.sqrt(2)) / 2)
    mine = scorer.score(["A man, a dog"], np.array([0]))
    np.testing.assert_allclose(mine, [[far, (near + far) / 2, near]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_equals_pot(tmp_path: Path, p: int) -> None:
    """Random bags of up to six words; POT's network simplex. Costs are compared as multiples of
    2^-45 of the greatest (see `compute/transport.py`): 1e-12 is far above that."""
    rng = np.random.default_rng(0)
    names = [f"word{i}" for i in range(30)]
    vectors = {name: tuple(rng.normal(size=5)) for name in names}
    unit = {n: np.array(v) / np.linalg.norm(v) for n, v in vectors.items()}
    references = [
        [" ".join(rng.choice(names, rng.integers(1, 7))) for _ in range(3)] for _ in range(40)
    ]
    captions = [" ".join(rng.choice(names, rng.integers(1, 7))) for _ in references]
    scorer = ready(Wmd(vector_file(tmp_path, vectors), p=p), references)
    mine = scorer.score(captions, np.arange(len(captions)))

    def distance(one: str, other: str) -> float:
        (a, m), (b, n) = (np.unique(text.split(), return_counts=True) for text in (one, other))
        cost = np.array([[np.linalg.norm(unit[x] - unit[y]) ** p for y in b] for x in a])
        return float(ot.emd2(m / m.sum(), n / n.sum(), cost))

    for row, caption, group in zip(mine, captions, references, strict=True):
        each = np.exp([-distance(reference, caption) for reference in group])
        np.testing.assert_allclose(row, [each.min(), each.mean(), each.max()], atol=1e-12)


def test_edges(tmp_path: Path) -> None:
    references = [["dog", "quux"], ["quux"], []]
    scorer = ready(Wmd(vector_file(tmp_path)), references)
    captions = ["", "the", "quux", "hound", "dog", "dog", ""]
    mine = scorer.score(captions, np.array([0, 0, 0, 0, 1, 2, 1]))[:, 2]
    assert_same_scores(mine, [0, 0, NAN, 1, NAN, NAN, NAN])
    counts = scorer.tally(captions, np.zeros(len(captions), dtype=np.intp))
    assert counts.sum(axis=0).tolist() == [1, 3]
    assert VECTORS["hound"] != VECTORS["dog"]  # the same direction, though


def test_alone_as_together_and_unchanged(tmp_path: Path) -> None:
    references = [["dog ball", "a man"], ["cat table", "man dog cat"]]
    metric = Wmd(vector_file(tmp_path))
    before = pickle.dumps(metric)
    captions = ["man ball", "dog cat", "table", "man man dog"] * 2
    index = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    together = ready(metric, references).score(captions, index)
    alone = [ready(metric, references).score([c], index[k : k + 1]) for k, c in enumerate(captions)]
    assert_same_scores(np.concatenate(alone), together)
    assert pickle.dumps(metric) == before
    with pytest.raises(ConfigError, match=r"Wmd\.p: 3 is not"):
        Wmd(vector_file(tmp_path), p=3)
