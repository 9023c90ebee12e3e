"""Scoring through the cache: what is computed, what is remembered, what a failure becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scorer, Scores
from metaeval.runs.records import ScoreColumn, Tally
from metaeval.runs.source import source_digest
from metaeval.runs.store import MemoryStore, Store, content_digest
from metaeval.scoring import Pace, bind, score_captions


class LengthRatio(Metric):
    """Words of the candidate over words of the first reference: small, and really computed.

    `scorers` are those that it has given, for a test to look at.
    """

    name = "length_ratio"
    columns = (ScoreColumn("LengthRatio"), ScoreColumn("Words", bounds=(0.0, float("inf"))))

    def __init__(
        self,
        version: int = 1,
        breaks_at: str | None = None,
        scorer_class: type[LengthScorer] | None = None,
    ) -> None:
        self.version, self.breaks_at = version, breaks_at
        self.scorer_class = scorer_class or LengthScorer
        self.scorers: list[LengthScorer] = []

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer | Absent:
        self.scorers.append(self.scorer_class(self, dataset))
        return self.scorers[-1]


class LengthScorer(ReferenceScorer):
    metric: LengthRatio
    batch_size = 2

    def __init__(self, metric: LengthRatio, dataset: CaptionDataset) -> None:
        super().__init__(metric, {"v": metric.version}, dataset)
        self.scored: list[str] = []
        self.prepared = self.closed = 0

    def prepare(self) -> None:
        self.prepared += 1
        self._lengths = np.array([len(refs[0].split()) for refs in self.dataset.references])

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        if self.metric.breaks_at in captions:
            raise RuntimeError("the tenth bolt is loose\nand more lines")
        self.scored += captions
        words = np.array([len(caption.split()) for caption in captions], dtype=np.float64)
        return np.stack([words / self._lengths[image_index], words], axis=1)

    def close(self) -> None:
        self.closed += 1


def _dataset(references: Sequence[str] = ("a b c d", "e f")) -> CaptionDataset:
    n = len(references)
    ids, human = tuple(range(n)), tuple("x" for _ in range(n))
    return CaptionDataset("two", ids, human, tuple((r,) for r in references), ids, human)


# a metric that is not metaeval's own has a digest of its source in the signature
_SOURCE = "+".join({str(source_digest(kind)): 0 for kind in (LengthRatio, LengthScorer)})
SIGNATURES = tuple(f"{name}|v:1|source:{_SOURCE}" for name in ("lengthratio", "words"))

CAPTIONS = ["a b", "a b", "a b", "c", "d e f"]
INDEX = np.array([0, 0, 1, 1, 0])
EXPECTED = np.array([[0.5, 2], [0.5, 2], [1.0, 2], [0.5, 1], [0.75, 3]])


def test_each_distinct_item_is_scored_once_and_lands_in_its_place() -> None:
    metric = LengthRatio()
    done = score_captions(metric, _dataset(), CAPTIONS, INDEX, MemoryStore())
    np.testing.assert_array_equal(done.scores, EXPECTED)
    (scorer,) = metric.scorers
    # "a b" against two images, these again in reverse and alone, and the second batch
    assert scorer.scored == ["a b"] * 2 + ["a b"] * 4 + ["c", "d e f"]
    assert (done.status, done.n_scored, done.n_cached) == ("ok", 4, 0)
    assert done.signatures == SIGNATURES
    assert (scorer.prepared, scorer.closed, done.scorer) == (1, 1, None)


def test_a_second_run_computes_nothing_and_gives_the_same() -> None:
    store = MemoryStore()
    first = score_captions(LengthRatio(), _dataset(), CAPTIONS, INDEX, store)
    metric = LengthRatio()
    second = score_captions(metric, _dataset(), CAPTIONS, INDEX, store)
    assert second.scores.tobytes() == first.scores.tobytes()
    (scorer,) = metric.scorers
    assert (scorer.prepared, scorer.scored, scorer.closed, second.n_cached) == (0, [], 1, 4)


class Counted(MemoryStore):
    """Records the number of scores that each call requests."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def get_many(self, namespace: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        if namespace.startswith("scores:"):
            self.asked.append(len(keys))
        return super().get_many(namespace, keys)


def test_the_same_request_is_looked_up_as_a_whole_and_equals_its_rows() -> None:
    store = Counted()
    for _ in range(2):
        done = score_captions(LengthRatio(), _dataset(), CAPTIONS, INDEX, store)
        np.testing.assert_array_equal(done.scores, EXPECTED)
    assert store.asked == [1, 4, 1]
    backwards = score_captions(LengthRatio(), _dataset(), CAPTIONS[::-1], INDEX[::-1], store)
    np.testing.assert_array_equal(backwards.scores, EXPECTED[::-1])
    assert (store.asked[3:], backwards.n_cached) == ([1, 4], 4)
    crossed = score_captions(LengthRatio(), _dataset(), CAPTIONS[:4], 1 - INDEX[:4], store)
    np.testing.assert_array_equal(crossed.scores[:, 0], [1.0, 1.0, 0.5, 0.25])
    assert (store.asked[5:], crossed.n_cached) == ([1, 3], 2)  # "a b" was there for both images


def test_batches_before_a_failure_are_stored() -> None:
    store = MemoryStore()
    metric = LengthRatio(breaks_at="d e f")
    broken = score_captions(metric, _dataset(), CAPTIONS, INDEX, store)
    reason = "RuntimeError: the tenth bolt is loose"
    assert (broken.status, broken.reason, broken.scores) == ("failed", reason, None)
    assert metric.scorers[0].closed == 1
    metric = LengthRatio()
    done = score_captions(metric, _dataset(), CAPTIONS, INDEX, store)
    np.testing.assert_array_equal(done.scores, EXPECTED)
    # the first batch of two was already there; the second one also in reverse and alone
    assert metric.scorers[0].scored == ["c", "d e f", "d e f", "c", "d e f", "c"]


class Needy(LengthRatio):
    """Lacks its weights until they are fetched."""

    fetched = False

    def fetch(self, dataset: CaptionDataset) -> None:
        self.fetched = True

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer | Absent:
        if self.fetched:
            return super().bind(dataset, store)
        return Absent("weights", "no weights", "python -m metaeval doctor --install weights")


# A digest is kept for each class. It depends on whether the package `tests` is imported yet, which
# other test modules decide: so it is computed here, when those above are.
source_digest(Needy)


@pytest.mark.parametrize(
    ("metric", "outcome"),
    [
        (Needy(), ("skipped", "no weights", "python -m metaeval doctor --install weights")),
        (
            LengthRatio(scorer_class=Mock(side_effect=KeyError("no such region"))),
            ("failed", "KeyError: 'no such region'", None),
        ),
    ],
    ids=["absent", "broken"],
)
def test_a_metric_that_cannot_be_bound_has_no_scores(
    metric: LengthRatio, outcome: tuple[str | None, ...]
) -> None:
    metric.fetch = lambda dataset: None  # type: ignore[method-assign]
    done = score_captions(metric, _dataset(), CAPTIONS, INDEX, MemoryStore())
    assert (done.status, done.reason, done.remedy) == outcome
    assert (done.scores, done.columns, done.signatures, metric.scorers) == (
        None, metric.columns, (None, None), [],
    )  # fmt: skip


def test_binding_says_what_a_run_would_say_before_any_score() -> None:
    metric, store = Needy(), MemoryStore()
    assert bind(metric, _dataset(), store).status == "skipped"  # who only looks fetches nothing
    bound = bind(metric, _dataset(), store, fetch=True)
    assert (bound.status, bound.signatures, bound.scores) == ("ok", SIGNATURES, None)
    assert (metric.scorers, metric.scorers[0].prepared) == ([bound.scorer], 0)
    done = score_captions(metric, _dataset(), CAPTIONS, INDEX, store)
    assert (done.columns, done.signatures) == (bound.columns, bound.signatures)


class Counting(LengthScorer):
    """Counts the words of a caption beyond its second, and the images of reference "e f"."""

    counted: Mapping[str, str] = {
        "words cut": "words",
        "short captions": "captions",
        "small images": "images",
    }

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        words = np.array([len(caption.split()) for caption in captions])
        small = self._lengths[image_index] == 2
        return np.stack([np.maximum(words - 2, 0), words == 1, small], axis=1).astype(np.int64)


def test_counts_are_those_of_the_run_whether_scored_now_or_before() -> None:
    captions, images, store = [*CAPTIONS, "d e f", "c"], np.array([*INDEX, 0, 1]), MemoryStore()

    def counted(n: int = 7, data: CaptionDataset | None = None, store: Store = store) -> Any:
        metric = LengthRatio(scorer_class=Counting)
        return score_captions(metric, data or _dataset(), captions[:n], images[:n], store)

    expected = (
        Tally("words cut", "words", 2, None),  # "d e f" occurs twice
        Tally("short captions", "captions", 2, 7),
        Tally("small images", "images", 1, 2),
    )
    for n_scored in (4, 0):
        done = counted()
        np.testing.assert_array_equal(done.scores, [*EXPECTED, [0.75, 3], [0.5, 1]])
        assert (done.counts, done.n_scored) == (expected, n_scored)
    # a part of the captions, all of them from the cache: the counts are this part's own
    done = counted(3)
    assert [(count.n, count.of) for count in done.counts] == [(0, None), (0, 3), (1, 2)]
    assert done.n_scored == 0
    # an image with two sets of references is one image
    together = counted(data=replace(_dataset(), image_ids=(7, 7)), store=MemoryStore())
    assert [(count.n, count.of) for count in together.counts] == [(2, None), (2, 7), (1, 1)]


@pytest.mark.parametrize(
    ("metric", "dataset", "n_scored"),
    [
        (LengthRatio(version=2), _dataset(), 4),
        (LengthRatio(), _dataset(("a b c d", "e f g h")), 2),
        (LengthRatio(scorer_class=Counting), _dataset(), 4),
    ],
    ids=["another signature", "another reference of image 1", "rows with counts"],
)
def test_what_would_change_a_score_is_not_taken_from_the_cache(
    metric: LengthRatio, dataset: CaptionDataset, n_scored: int
) -> None:
    store = MemoryStore()
    score_captions(LengthRatio(), _dataset(), CAPTIONS, INDEX, store)
    assert score_captions(metric, dataset, CAPTIONS, INDEX, store).n_scored == n_scored


@pytest.mark.parametrize(
    ("method", "returned", "complaint"),
    [
        ("score", np.zeros((1, 2)), r"float64 \[1, 2\] instead of float64 \[2, 2\]"),
        ("score", np.zeros((2, 2), dtype=np.float32), "float32"),
        ("score", np.full((2, 2), np.inf), "LengthRatio gives 'a' the score inf, which is outside"),
        ("score", np.array([[0.5, 1], [1.1, 1]]), "gives 'b' the score 1.1, which is outside its"),
        ("score", np.array([[0.5, 1], [-1e-4, 1]]), "gives 'b' the score -0.0001, which is outs"),
        (
            "tally",
            np.zeros((2, 2), dtype=np.int64),
            r"tally\(\) returned \[2, 2\] instead of",
        ),
    ],
)
def test_a_metric_that_breaks_the_contract_fails(
    method: str, returned: Scores, complaint: str
) -> None:
    wrong = type("Wrong", (Counting,), {method: lambda self, captions, image_index: returned})
    metric = LengthRatio(scorer_class=wrong)
    done = score_captions(metric, _dataset(), ["a", "b"], np.array([0, 1]), MemoryStore())
    assert (done.status, bool(re.search(complaint, done.reason))) == ("failed", True)


@pytest.mark.parametrize(
    ("scored", "expected"),
    [("c", ("ok", None)), (None, ("failed", "none of the 5 captions could be scored: all scores"))],
)
def test_nan_is_cached_as_nan_and_nothing_else_is_not_ok(
    scored: str | None, expected: tuple[str, str | None]
) -> None:
    class Undefined(LengthScorer):
        def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
            return np.array([[np.nan, 1.0 if c == scored else np.nan] for c in captions])

    store, metric = MemoryStore(), LengthRatio(scorer_class=Undefined)
    for _ in range(2):  # computed, and from the cache
        done = score_captions(metric, _dataset(), CAPTIONS, INDEX, store)
        assert (done.status, done.reason and done.reason[:50]) == expected
        assert done.scores is None or np.isnan(done.scores).sum() == 2 * len(CAPTIONS) - 1
    assert done.n_cached == (4 if scored else 0)


def test_the_digest_separates_references() -> None:
    texts = (["ab", "c"], ["a", "bc"], ["ab"], ["ab", ""])
    assert len(set(map(content_digest, texts))) == len(texts)


def batches_of(usual_ms: float, each: float, n: int) -> list[tuple[int, float]]:
    """Captions and seconds of each batch of a scorer that takes a fixed time a caption."""
    scorer: Any = SimpleNamespace(
        usual_ms=usual_ms, fixed_cost=False, saves_itself=False, foreign=False
    )
    pace, batches = Pace(scorer, 5000), []
    while n:
        size = min(pace.size, n)
        batches.append((size, each * size))
        pace.update(*batches[-1])
        n -= size
    return batches


@pytest.mark.parametrize("each", [0.2, 0.9, 0.01])
def test_no_batch_of_a_slow_metric_takes_more_than_ten_seconds(each: float) -> None:
    batches = batches_of(1500 * each, each, int(400 / each))
    assert max(seconds for _, seconds in batches) <= 10
    assert np.mean([seconds for _, seconds in batches[4:-1]]) > 6  # nor are they tiny


def test_a_fast_metric_gets_all_captions_and_a_wrong_speed_is_noticed() -> None:
    assert [n for n, _ in batches_of(0.05, 0.00005, 12_000)] == [5000, 5000, 2000]
    wrong = batches_of(1.0, 0.05, 20_000)  # fifty times slower than it declares
    assert max(seconds for _, seconds in wrong[1:]) <= 10
