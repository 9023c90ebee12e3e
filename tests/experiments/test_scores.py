"""All metrics over a run's captions: their order, which run in parallel, one BLEU everywhere."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu

from metaeval.config import build_all, compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.graded.statistics import statistics
from metaeval.experiments.graded.task import Graded
from metaeval.experiments.scores import explanations, score_all, write_scores
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.results.graded import leading_column
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files as results
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import MemoryStore, Store
from metaeval.scoring import MetricScores, look_up, score_captions
from metaeval.stats.ordering.graded import worst_inversion
from tests.reports.graded_results import graded_metric
from tests.test_scoring import LengthRatio, LengthScorer


class Letters(LengthRatio):
    """The share of a caption's letters that its first reference has too, and whether the first
    letter is one of them."""

    name = "letters"

    def __init__(
        self, title: str = "Letters", scorer: type[LettersScorer] | None = None, version: int = 1
    ) -> None:
        super().__init__(version, scorer_class=scorer or LettersScorer)
        self.title = title
        self.columns = (ScoreColumn(title), ScoreColumn(f"{title}-first"))


class LettersScorer(LengthScorer):
    """A scorer that can say which letters a reference has."""

    def prepare(self) -> None:
        super().prepare()
        self._references = [set(group[0]) for group in self.dataset.references]

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        there = [
            [x in self._references[i] for x in caption]
            for caption, i in zip(captions, image_index, strict=True)
        ]
        return np.array([[np.mean(row), row[0]] for row in there], dtype=np.float64)

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        if caption.startswith("x"):
            return None
        return {
            "kind": "letters",
            "letters": [[x, x in self._references[image_index]] for x in caption],
            "third": 1 / 3,
            "row": np.array([-1e-9, 2 / 3]),
        }


class SilentScorer(LettersScorer):
    explain = Scorer.explain


class MuteScorer(LettersScorer):
    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        raise ValueError("no letters left")


def scorer(
    elsewhere: bool = False,
    waits_for: threading.Event | None = None,
    sets: threading.Event | None = None,
    breaks: bool = False,
) -> type[LettersScorer]:
    """A scorer that waits for one event and sets another; `elsewhere`: in another process."""

    class Made(LettersScorer):
        runs_in_subprocess = elsewhere

        def prepare(self) -> None:
            assert waits_for is None or waits_for.wait(30)
            super().prepare()

        def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
            if breaks:
                raise ValueError("no")
            if sets is not None:
                sets.set()
            return super().score(captions, image_index)

    return Made


IDS, HUMAN = (1, 2), ("ax", "bb")
TWO = CaptionDataset("two", IDS, HUMAN, (("a",), ("a",)), IDS, HUMAN)


def _score(**scorers: type[LettersScorer]) -> list[tuple[str, str, object]]:
    metrics = [Letters(*item) for item in scorers.items()]
    captions = pd.DataFrame({"image_id": [1, 2], "caption": HUMAN})
    scored = score_all(metrics, TWO, captions, compose_config(["cache.enabled=false"]))
    return [
        (r.columns[0].name, r.status, None if r.scores is None else r.scores.tolist())
        for r in scored
    ]


def test_metrics_keep_their_order_whichever_is_ready_first() -> None:
    here, there = threading.Event(), threading.Event()
    # A cannot go on before C, which works elsewhere, has scored; nor E before D, which is here
    made = _score(
        A=scorer(waits_for=there), B=scorer(breaks=True), C=scorer(elsewhere=True, sets=there),
        D=scorer(sets=here), E=scorer(elsewhere=True, waits_for=here),
    )  # fmt: skip
    scores = [[0.5, 1.0], [0.0, 0.0]]
    assert made == [(name, "ok", scores) if name != "B" else (name, "failed", None)
                    for name in "ABCDE"]  # fmt: skip


def test_a_failure_elsewhere_is_a_row_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    rows = _score(A=scorer(elsewhere=True, breaks=True), B=scorer())
    assert [status for _, status, _ in rows] == ["failed", "ok"]
    assert "letters failed: ValueError: no" in caplog.text


def test_a_lookup_counts_what_is_to_be_done() -> None:
    metric = Letters("A", scorer(elsewhere=True))
    lookup = look_up(metric, TWO, HUMAN, np.arange(2), MemoryStore())
    assert (lookup.title, lookup.runs_in_subprocess, lookup.todo) == ("A", True, [0, 1])
    of_texts = 4  # two captions, and a reference of each
    assert lookup.usual_seconds == pytest.approx(of_texts * Scorer.usual_ms / 1000)


SETS = ("Random", "Half", "Human")  # levels 0, 1, 2


class Run(NamedTuple):
    """The files of a run, and what explains them."""

    out: Path
    named: dict[str, tuple[Metric, MetricScores]]
    dataset: CaptionDataset
    result: MeasuredResult

    def explained(self, n: int, store: Store | None = None) -> Any:
        images = Graded().explained_images(self.result, n)
        return explanations(self.out, self.named, self.dataset, images, n, store or MemoryStore())


def _run(out: Path, metrics: Mapping[str, Metric], n: int = 30) -> Run:
    """The files of a run of `n` images: random letters, and each metric's own scores."""
    rng = np.random.default_rng(0)
    word = lambda: "".join(rng.choice(list("abcdefgx"), 5))  # noqa: E731
    ids, human = tuple(range(100, 100 + n)), tuple(word() for _ in range(n))
    references = tuple((word(),) for _ in range(n))
    dataset = CaptionDataset("letters", ids, human, references, ids, human)
    frame = pd.DataFrame(
        [
            {"image_id": i, "set": name, "level": level, "source_caption": human[k],
             "caption": human[k] if level == 2 else word(),
             "applied": level == 2 or bool(rng.random() < 0.8), "expected": "lower",
             "requested_rate": 0.5, "realised_rate": 0.5, "effect": None, "harm": None,
             "severity": None, "edits": []}
            for level, name in enumerate(SETS) for k, i in enumerate(ids)
        ]
    )  # fmt: skip
    results.write_table(out / results.CAPTIONS, frame)
    index, texts = frame["image_id"].to_numpy() - 100, frame["caption"].tolist()
    scored = [score_captions(m, dataset, texts, index, MemoryStore()) for m in metrics.values()]
    write_scores(out, frame, scored)
    config = compose_config(["stats.replicates=0", "stats.tie_seeds=2"])
    named = dict(zip(metrics, zip(metrics.values(), scored, strict=True), strict=True))
    return Run(out, named, dataset, statistics(out, scored, config, dataset))


def test_the_worst_inversions_of_each_column_and_of_the_opening_one_are_explained(
    tmp_path: Path,
) -> None:
    letters = Letters()
    # not always the class's own name
    run = _run(tmp_path, {"silent": Letters("Silent", SilentScorer), "letters_neg": letters})
    letters.scorers.clear()
    written = run.explained(4)
    images = written["metrics"]["letters_neg"].pop("images")
    assert written == {
        "schema": 1, "images_per_column": 4,
        "metrics": {"letters_neg": {"columns": ["Letters", "Letters-first"]}},
    }  # fmt: skip
    captions = results.read_run_table(tmp_path / results.CAPTIONS)
    applied = captions["applied"].to_numpy().reshape(3, 30)
    scores = results.read_run_table(tmp_path / results.SCORES)
    expected = set()
    for column in ("Letters", "Letters-first", leading_column(run.result.metrics)):
        values = scores[scores["metric"] == column]["score"].to_numpy().reshape(3, 30)
        severity = worst_inversion(values, [0, 1, 2], applied)
        order = sorted(range(30), key=lambda k: (-severity[k], k))
        expected |= {100 + k for k in order[:4]}
    assert [entry["image_id"] for entry in images] == sorted(expected)
    assert 4 < len(images) < 12
    (bound,) = letters.scorers
    # on these images alone
    assert (bound.prepared, bound.closed, len(bound.dataset)) == (1, 1, len(images))
    texts: dict[tuple[int, str], str] = captions.set_index(["image_id", "set"])["caption"].to_dict()
    for entry in images:
        image = entry["image_id"]
        reference = run.dataset.references[image - 100][0]
        assert entry["sets"] == {
            name: {
                "kind": "letters",
                "letters": [[x, x in reference] for x in texts[image, name]],
                "third": 0.333333,
                "row": [0.0, 0.666667],
            }
            for name in SETS
            if not texts[image, name].startswith("x")
        }


def test_what_is_known_is_not_explained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the explanations is another one."""
    letters, store = Letters(), MemoryStore()
    run = _run(tmp_path, {"letters": letters})
    fewer = run.explained(2, store)
    first, warm = run.explained(4, store), run.explained(4, store)
    assert first == warm == run.explained(4)
    assert len(fewer["metrics"]["letters"]["images"]) < len(first["metrics"]["letters"]["images"])
    monkeypatch.setattr(LettersScorer, "explanation_version", 2)
    assert [run.explained(2, store) for _ in range(2)] == [fewer] * 2
    # the first run scored; of the others, the third and the last found all of it in the store
    assert [bound.prepared for bound in letters.scorers] == [1, 1, 1, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("scorer", "version", "warning"),
    [
        (MuteScorer, 1, "no explanations of letters: ValueError: no letters left"),
        (LettersScorer, 2, "its signature differs"),  # another version than the one that scored
    ],
)
def test_a_metric_that_cannot_explain_is_a_warning(
    scorer: type[LettersScorer], version: int, warning: str, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    run = _run(tmp_path, {"letters": Letters(scorer=scorer)})
    asked = Letters(scorer=scorer, version=version)
    run.named["letters"] = (asked, run.named["letters"][1])
    assert run.explained(3)["metrics"] == {}
    assert warning in caplog.text
    assert [bound.closed for bound in asked.scorers] == [1]


def test_the_leading_column_is_a_result() -> None:
    def metric(name: str, rho: float | None, **fields: Any) -> Any:
        return graded_metric({"metric": name, "rank_order_rho": rho, **fields})

    metrics = [
        metric("TIGEr (x)", 0.6),
        metric("TIGEr-WDS (x)", 0.9, part_of="TIGEr (x)"),
        metric("BLEU-1", 0.7),
        metric("X", None),
        metric("CLIPScore (random)", 0.95, untrained=True),
    ]
    given = (metrics, metrics[-1:], [metric("Y", 0.9, status="failed")])
    assert list(map(leading_column, given)) == ["BLEU-1", "CLIPScore (random)", None]


TOY = (1, 2), ("a dog runs", "a cat sleeps")
DATASET = CaptionDataset("toy", *TOY, (("a dog runs fast",), ("a cat",)), *TOY)
EXPERIMENTS = (
    "replace", "shuffle", "graded", "references", "sensitivity", "pairs", "score", "captioners",
    "attack", "judgments", "forced_choice", "arena", "retrieval",
)  # fmt: skip
PAPERS = ("replace", "shuffle")  # whose published values are of unsmoothed BLEU


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_column_called_bleu_is_pycocoevalcaps_in_every_experiment(experiment: str) -> None:
    """One name, one metric; replace and shuffle have further columns of other names."""
    config = compose_config([f"experiment={experiment}"])
    scorer = build_all(["bleu"], config)["bleu"].bind(DATASET)
    smoothed = [f"BLEU-{n}" for n in (1, 2, 3, 4)]
    more = [f"BLEU-{n} (unsmoothed)" for n in (2, 3, 4)] if experiment in PAPERS else []
    assert [column.name for column in scorer.columns] == [*smoothed, *more]
    scorer.prepare()
    captions = ["a dog sleeps", "zzz", ""]
    scores = scorer.score(captions, np.array([0, 0, 0]))
    references = {k: list(DATASET.references[0]) for k in range(3)}
    _, expected = CocoBleu(4).compute_score(references, {k: [c] for k, c in enumerate(captions)}, 0)
    np.testing.assert_array_equal(scores[:, :4], np.transpose(expected))
    # "a dog" is one of its two pairs of words, 2 of 3 words match, and the reference is longer
    by_hand = math.sqrt(2 / 3 * 1 / 2) * math.exp(1 - 4 / 3)
    np.testing.assert_allclose(scores[0, 4:], [by_hand, 0, 0][: len(more)], rtol=1e-15)
    assert (scores[1:, 4:] == 0).all()
