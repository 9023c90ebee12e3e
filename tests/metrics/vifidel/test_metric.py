"""VIFIDEL and WMD: by hand, against scikit-learn and POT.

Both sides compute in float64 from the same vectors. Scores lie in [0, 1]; 1e-12 is far above what
both can differ by. Labels of the detector: tests/vision/regions/test_detector.py.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import ot
import pytest
from sklearn.feature_extraction import text
from sklearn.metrics import pairwise

from metaeval.config import build, compose_config
from metaeval.corruptions.graded.replace import Replace
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.metrics.vifidel.metric import Vifidel, Wmd
from metaeval.runs.records import Tally
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.text.word_vectors.base import MiniLmVectors, VectorFile
from tests.metrics.metric_cases import images, ready, scores_of

# Not of length 1, on purpose: the metric scales them. Scaled, their numbers are simple.
VECTORS = {
    "dog": (2.0, 0.0),
    "cat": (0.0, 3.0),
    "man": (6.0, 8.0),
    "hound": (5.0, 0.0),
    "ball": (-1.0, 0.0),
    "dining": (0.0, -1.0),
    "table": (4.0, -3.0),
    "zero": (0.0, 0.0),
}


def vector_file(folder: Path, vectors: Mapping[str, Sequence[float]] = VECTORS) -> VectorFile:
    path = folder / "vectors.txt"
    lines = [" ".join([word, *map(repr, map(float, row))]) for word, row in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return VectorFile(path, cache=folder / "cache")


# With frequency: dog, dog, cat against "man", "dog": 2/3 and 1/3 of mass against 1/2 and 1/2. Best
# is: 1/2 stays dog, 1/6 goes from dog to man, 1/3 from cat to man. Without: 1/2 stays dog, 1/2 goes
# from cat to man. |dog - man|² = .16 + .64, |cat - man|² = .4.
LABELS = ["dog", "cat", "dog"]
CAPTION = "A Man and the dog!"
# The references "a dog" and "Man" give dog the weight (0 + .2) / 2, man (.2 + 0) / 2, cat
# (.5 + .1) / 2. |.1 dog - .1 man|² = .008, |.3 cat - .1 man|² = .06² + .22² = .052.
REFERENCES = ["a dog", "Man."]
BY_HAND = {  # p, frequency → the distances of VIFIDEL and VIFIDEL-ref
    (1, True): (
        math.sqrt(0.8) / 6 + math.sqrt(0.4) / 3,
        math.sqrt(0.008) / 6 + math.sqrt(0.052) / 3,
    ),
    (2, True): (0.8 / 6 + 0.4 / 3, 0.008 / 6 + 0.052 / 3),
    (1, False): (math.sqrt(0.4) / 2, math.sqrt(0.052) / 2),
    (2, False): (0.4 / 2, 0.052 / 2),
}


@pytest.mark.parametrize(
    ("options", "distances"),
    [({}, BY_HAND[2, True])]  # the paper's: labels with their frequency, squared distances
    + [({"p": p, "frequency": frequency}, ds) for (p, frequency), ds in BY_HAND.items()],
)
def test_worked_by_hand(
    tmp_path: Path, options: dict[str, int], distances: tuple[float, float]
) -> None:
    data = images([REFERENCES], labels=[LABELS])
    scores = scores_of(Vifidel(vector_file(tmp_path), **options), data, [CAPTION])  # type: ignore[arg-type]
    # float64 throughout: a few units in the last place
    assert scores == pytest.approx(np.exp(-np.array([distances])), abs=1e-12, rel=0)


def test_configuration_counts_repeated_objects(tmp_path: Path) -> None:
    vector_file(tmp_path)
    vectors = [f"vectors.path={tmp_path / 'vectors.txt'}", f"paths.cache={tmp_path / 'cache'}"]
    config = compose_config(["metrics=[vifidel]", "vectors=file", *vectors])
    scores = scores_of(build("vifidel", config), images([REFERENCES], labels=[LABELS]), [CAPTION])
    assert scores == pytest.approx(np.exp(-np.array([BY_HAND[2, True]])), abs=1e-12, rel=0)


@pytest.mark.parametrize("p", [1, 2])
def test_the_plan_adds_up_to_the_score(tmp_path: Path, p: int) -> None:
    metric = Vifidel(vector_file(tmp_path), p=p, frequency=True)
    scorer = ready(metric, images([REFERENCES], labels=[LABELS]))
    explanation = scorer.explain(CAPTION + " quux", 0)
    assert json.loads(json.dumps(explanation)) == explanation
    assert (explanation["kind"], explanation["p"]) == ("transport", p)
    assert (explanation["unknown_words"], explanation["unknown_objects"]) == (["quux"], [])
    plans = explanation["plans"]
    moved = {(f["object"], f["word"]): f["mass"] for f in plans["VIFIDEL (gold objects)"]["flows"]}
    assert moved == pytest.approx(
        {("dog", "dog"): 1 / 2, ("dog", "man"): 1 / 6, ("cat", "man"): 1 / 3}
    )
    scores = scorer.score([CAPTION + " quux"], np.array([0]))[0]
    for column, score, distance in zip(scorer.columns, scores, BY_HAND[p, True], strict=True):
        plan = plans[column.name]
        assert plan["score"] == score
        assert sum(f["cost"] for f in plan["flows"]) == pytest.approx(distance, abs=1e-12)
        masses = {x["word"]: x["mass"] for x in plan["objects"]}
        assert masses == pytest.approx({"dog": 2 / 3, "cat": 1 / 3})


# Every rule of docs/metrics/vifidel.md, "Where there is nothing to compare".
EDGES = [
    # caption, labels, references → VIFIDEL, VIFIDEL-ref (p = 2)
    ("", LABELS, REFERENCES, 0, 0),
    ("it is on the top of two", LABELS, REFERENCES, 0, 0),  # stop words only
    ("a b c !", LABELS, REFERENCES, 0, 0),  # single letters are not words
    ("quux zero", LABELS, REFERENCES, math.nan, math.nan),  # no vector, or one without direction
    ("dog", [], REFERENCES, math.nan, math.nan),  # no object
    ("", [], REFERENCES, math.nan, math.nan),
    ("dog", ["fire", "quux"], REFERENCES, math.nan, math.nan),  # a stop word, an unknown one
    ("hound", ["dog"], ["a cat"], 1, 1),  # another word in the same place: distance 0
    ("dog dog", ["dog"], REFERENCES, 1, 1),
    ("dog", ["ball"], ["dog ball"], math.exp(-4), 1),  # all weights 0: no cost is left
    ("dog", ["ball"], ["quux", "the"], math.exp(-4), math.nan),  # no reference is usable
    ("dog", ["ball"], ["quux", "dog ball"], math.exp(-4), 1),  # such a reference does not count
    ("dog", ["ball"], [], math.exp(-4), math.nan),
    ("", ["ball"], [], 0, math.nan),
    ("dog quux", ["ball"], ["dog ball"], math.exp(-4), 1),  # unknown words take no mass
    # one label of two words weighs as much as two labels
    ("table", ["dining table"], ["table"], math.exp(-0.5 * (0.64 + 0.16)), math.exp(-0.02)),
]


@pytest.mark.parametrize(("caption", "labels", "references", "without", "with_"), EDGES)
def test_edges(
    tmp_path: Path,
    caption: str,
    labels: list[str],
    references: list[str],
    without: float,
    with_: float,
) -> None:
    scorer = ready(Vifidel(vector_file(tmp_path)), images([references], labels=[labels]))
    scores = scorer.score([caption], np.array([0]))
    assert (scores.shape, scores.dtype) == ((1, 2), np.float64)
    assert scores[0] == pytest.approx([without, with_], abs=1e-12, nan_ok=True)
    plans = scorer.explain(caption, 0)["plans"]  # type: ignore[index]
    assert [column.name in plans for column in scorer.columns] == (scores[0] > 0).tolist()


def test_what_was_left_out_is_counted_from_the_cache_too(tmp_path: Path) -> None:
    data = images([REFERENCES] * 3, labels=[LABELS, [], ["quux"]])
    captions = ["", "a quux, the quux and a dog", "quux", "dog", "man", "quux"]
    index, store = np.array([0, 0, 0, 1, 2, 0]), MemoryStore()
    for n_scored in (5, 0):
        done = score_captions(Vifidel(vector_file(tmp_path)), data, captions, index, store)
        assert (done.status, done.n_scored) == ("ok", n_scored)
        assert done.counts == (
            Tally("content words of captions without a vector", "words", 4, None),
            Tally("captions without content words", "captions", 1, 6),
            Tally("captions none of whose content words has a vector", "captions", 2, 6),
            Tally("images without objects", "images", 1, 3),
            Tally("images none of whose objects has a vector", "images", 1, 3),
        )


@pytest.mark.parametrize(
    ("labels", "caption", "frequency", "expected"),
    [
        (["dog"] * 5 + ["cat"], "dog cat", False, 1),
        (["dog"] * 5 + ["cat"], "dog cat", True, math.exp(-2 / 3)),  # 1/3 goes from dog to cat
        (["dining table", "table"] * 2, "dining table table", False, 1),  # labels, not words
    ],
)
def test_without_frequency_each_label_counts_once(
    tmp_path: Path, labels: list[str], caption: str, frequency: bool, expected: float
) -> None:
    metric = Vifidel(vector_file(tmp_path), frequency=frequency)
    scores = scores_of(metric, images([REFERENCES], labels=[labels]), [caption])
    assert scores[0, 0] == pytest.approx(expected, abs=1e-12)


def test_sources_are_united(tmp_path: Path) -> None:
    file, index = tmp_path / "labels.json", np.array([0, 1])
    file.write_text(json.dumps({"0": ["dog", "dog", "man"], "7": ["ball"]}))
    data = images([REFERENCES] * 2, labels=[["dog", "cat"], ["ball"]])
    vectors = vector_file(tmp_path)
    alone, both, gold, once = (
        ready(Vifidel(vectors, sources=sources, frequency=frequency), data)
        for sources, frequency in (
            ([str(file)], True),
            (["gold", str(file)], True),
            (["gold"], True),
            (["gold", str(file)], False),
        )
    )
    for scorer, caption in ((both, "dog dog cat man"), (once, "dog cat man")):
        assert (scorer.score([caption, "ball"], index)[:, 0] == 1).all()
    # the file does not name the second image
    np.testing.assert_array_equal(alone.score(["dog dog man", "ball"], index)[:, 0], [1, np.nan])
    assert len({scorer.signatures[0] for scorer in (both, alone, gold)}) == 3
    assert both.context(0) != gold.context(0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "image id → labels"),
        ('{"0": "dog"}', "image id 0.*list of labels"),
        ('{"0": ["dog", 3]}', "image id 0"),
        ("{", "labels.json"),
    ],
)
def test_refuses_a_labels_file_that_is_none(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "labels.json"
    file.write_text(content)
    metric = Vifidel(vector_file(tmp_path), sources=[str(file)])
    with pytest.raises(InputError, match=message):
        metric.bind(images([REFERENCES], labels=[LABELS]))


def test_missing_parts_are_reported_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, data = vector_file(tmp_path), images([REFERENCES], labels=[LABELS])

    def absent(data: CaptionDataset = data, **options: Any) -> str:
        return str(Vifidel(vectors, **options).bind(data))

    assert "has no objects" in absent(images([REFERENCES]))
    assert "file of labels no/such.json not found" in absent(sources=["no/such.json"])
    with monkeypatch.context() as patch:
        patch.setattr(
            "metaeval.compute.device.find_spec",
            lambda name: None if name == "sklearn" else object(),
        )
        assert "sklearn is not installed; pip install" in absent()
    vectors.path.unlink()
    assert f"word vectors {vectors.path} not found" in absent()


@pytest.mark.parametrize("p", [1, 2])
def test_equals_pot(tmp_path: Path, p: int) -> None:
    """Random bags of up to six words; POT's network simplex, one pair at a time."""
    rng = np.random.default_rng(0)
    names = [f"word{i}" for i in range(30)]
    vectors = {name: tuple(rng.normal(size=5)) for name in names}
    unit = {n: np.array(v) / np.linalg.norm(v) for n, v in vectors.items()}
    references = [
        [" ".join(rng.choice(names, rng.integers(1, 7))) for _ in range(3)] for _ in range(40)
    ]
    captions = [" ".join(rng.choice(names, rng.integers(1, 7))) for _ in references]
    metric = Wmd(vector_file(tmp_path, vectors), p=p)
    mine = scores_of(metric, images(references), captions, range(len(captions)))

    def distance(one: str, other: str) -> float:
        (a, m), (b, n) = (np.unique(text.split(), return_counts=True) for text in (one, other))
        cost = np.array([[np.linalg.norm(unit[x] - unit[y]) ** p for y in b] for x in a])
        return float(ot.emd2(m / m.sum(), n / n.sum(), cost))

    for row, caption, group in zip(mine, captions, references, strict=True):
        each = np.exp([-distance(reference, caption) for reference in group])
        np.testing.assert_allclose(row, [each.min(), each.mean(), each.max()], atol=1e-12)


def test_edges_of_wmd(tmp_path: Path) -> None:
    references = [["dog", "quux"], ["quux"], []]
    scorer = ready(Wmd(vector_file(tmp_path)), images(references))
    captions = ["", "the", "quux", "hound", "dog", "dog", ""]
    mine = scorer.score(captions, np.array([0, 0, 0, 0, 1, 2, 1]))[:, 2]
    # a hound and a dog have other vectors of the same direction
    np.testing.assert_array_equal(mine, [0, 0, np.nan, 1, np.nan, np.nan, np.nan])
    counts = scorer.tally(captions, np.zeros(len(captions), dtype=np.intp))
    assert counts.sum(axis=0).tolist() == [1, 3]


Table = dict[str, npt.NDArray[np.float64]]


def distances_by_definition(
    table: Table, labels: Collection[str], caption: str, references: list[str], p: int
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


@pytest.mark.coco
@pytest.mark.parametrize(("p", "frequency"), [(1, True), (2, False)])
def test_equals_the_definition_on_coco(val2017: CaptionDataset, p: int, frequency: bool) -> None:
    coco = val2017.limited(40)
    captions = [*coco.human, *(each.text for each in Replace(0.5).apply(coco, seed=0))]
    metric = Vifidel(MiniLmVectors(device="cpu"), p=p, frequency=frequency)
    scorer = ready(metric, coco)
    index = np.tile(np.arange(len(coco)), 2)
    scores = scorer.score(captions, index)
    table = dict(zip(scorer.lexicon.words, scorer.lexicon.rows, strict=True))
    objects = coco.part("objects")
    expected = np.array(
        [
            distances_by_definition(
                table,
                (list if frequency else set)(objects[coco.image_ids[i]].labels),
                caption,
                list(coco.references[i]),
                p,
            )
            for caption, i in zip(captions, index, strict=True)
        ]
    )
    assert np.isfinite(expected).all()
    assert np.abs(scores - np.exp(-expected)).max() < 1e-7
