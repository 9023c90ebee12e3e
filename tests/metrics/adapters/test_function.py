"""A user's function as a metric: what it is given, what it may return, and no stale scores; scorers
of pycocoevalcap, equal to ours; metrics of torchmetrics and of evaluate."""

import importlib
import pickle
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch
import torchmetrics.text
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge

from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.adapters import own as own_module
from metaeval.metrics.adapters.function import CocoScorerMetric, FunctionMetric
from metaeval.metrics.adapters.library import EvaluateMetric, TorchmetricsMetric
from metaeval.metrics.base import Metric
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.runs.store import MemoryStore
from tests.metrics.adapters.adapter_cases import (
    HUMAN,
    REFERENCES,
    scored,
    scores_of,
    small,
    workplace,
)
from tests.shared import write_texts

__all__ = ["workplace"]

ALL = [0, 1, 2]


def overlap(captions: list[str], references: list[list[str]]) -> list[float]:
    return [
        len(set(c.split()) & set(" ".join(r).split())) / len(c.split())
        for c, r in zip(captions, references, strict=True)
    ]


def overlap_of_one(caption: str, references: list[str]) -> float:
    return overlap([caption], [references])[0]


def length(captions: list[str]) -> list[int]:
    return [len(c.split()) for c in captions]


def test_our_tokens_are_given_on_request() -> None:
    def spoken(captions: list[str], references: list[list[str]]) -> list[float]:
        assert captions == ["a man plays baseball"]
        assert references == [[*REFERENCES[0]]]
        return [1.0]

    scores_of(FunctionMetric(spoken, tokenizer="ptb"), small(), HUMAN[:1], [0])
    raw = scored(FunctionMetric(spoken), small(), HUMAN[:1], [0])
    assert raw.status == "failed"  # it saw "A man plays baseball."


def test_images_objects_and_ids_are_those_of_the_caption() -> None:
    data, index = load_scenes(limit=3), [2, 0, 1, 2]

    def seen(captions, images, objects, image_ids, scale):  # type: ignore[no-untyped-def]
        assert all(path.is_file() for path in images)
        assert [path.name for path in images] == [f"{i:012d}.png" for i in image_ids]
        return [scale * len(o.labels) for o in objects]

    metric = FunctionMetric(seen, options={"scale": 2})
    assert metric.needs == {"images", "objects"}
    found = scores_of(metric, data, ["x", "y", "z", "w"], index)[:, 0]
    objects = data.part("objects")
    assert found.tolist() == [2 * len(objects[data.image_ids[i]].labels) for i in index]


def test_captions_that_cannot_be_scored_are_nan_and_not_passed_on() -> None:
    data = small((*REFERENCES[:2], ()))
    asked: list[str] = []

    def score(captions: list[str], references: list[list[str]]) -> list[float | None]:
        asked.extend(captions)
        return [None if c == "nothing" else 0.5 for c in captions]

    values = scores_of(FunctionMetric(score), data, ["a", "nothing", "c"], ALL)
    np.testing.assert_array_equal(values, [[0.5], [np.nan], [np.nan]])
    assert (asked[:2], "c" in asked) == (["a", "nothing"], False)
    # without references a metric has no need of them
    found = scores_of(FunctionMetric(length), data, ["a", "b c", "c"], ALL)
    assert found.tolist() == [[1], [2], [1]]
    absent = scored(FunctionMetric(lambda captions, images: captions), data, ["a"], [0])
    assert (absent.status, absent.reason) == ("skipped", "the dataset 'toy' has no images")


@pytest.mark.parametrize(
    "returned",
    [
        [0.25, 0.5],
        (0.25, 0.5),
        np.array([0.25, 0.5], dtype=np.float32),
        np.array([[0.25], [0.5]], dtype=np.float16),
        torch.tensor([0.25, 0.5], requires_grad=True),
        [torch.tensor(0.25), np.float32(0.5)],
        {"score": [0.25, 0.5], "other": "x"},
    ],
    ids=["list", "tuple", "float32", "column", "tensor", "scalars", "mapping"],
)
def test_numbers_of_any_kind_become_float64(returned: object) -> None:
    metric = FunctionMetric(lambda captions: returned, name="score")
    values = scores_of(metric, small(), ["a", "b"], [0, 1])
    assert (values.dtype, values.tolist()) == (np.float64, [[0.25], [0.5]])


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (0.5, "returned one number for 2 captions, not one for each"),
        ([0.5], "returned numbers [1] for 2 captions and 1 column"),
        ([[1, 2], [3, 4]], "returned numbers [2, 2] for 2 captions and 1 column"),
        (["a", "b"], "returned str where numbers are expected"),
        (None, "returned nothing"),
        ({"f1": [1, 2]}, "gives no 'score', only f1; choose columns of these"),
        ([0.5, np.inf], "score gives 'b' the score inf"),
        ([0.5, 3], "ValueError: score gives 'b' the score 3, which is outside its bounds 0 to 2"),
    ],
)
def test_what_is_no_score_for_each_caption_fails(returned: object, reason: str) -> None:
    metric = FunctionMetric(lambda captions: returned, name="score", bounds=[0, 2])
    done = scored(metric, small(), ["a", "b"], [0, 1])
    assert (done.status, done.scores) == ("failed", None)
    assert reason in str(done.reason)


def bad_second(captions, refs):  # type: ignore[no-untyped-def]
    return []


@pytest.mark.parametrize(
    ("function", "options", "problem"),
    [
        (None, {}, "give the function: metric.callable.function=my_module.my_score"),
        ("overlap", {}, "'overlap' is not of the form module.name"),
        ("no_such_module.f", {}, "no module named 'no_such_module'; is its folder on PYTHONPATH?"),
        ("json.no_such", {}, "module 'json' has no attribute 'no_such'"),
        ("json.encoder.ESCAPE", {}, "is Pattern"),
        (bad_second, {}, "parameter 'refs' has no value"),
        (overlap, {"options": {"lang": "en"}}, "overlap has no parameter 'lang'"),
        (lambda: [], {}, "its first parameter must take the captions"),
        (overlap, {"bounds": [1, 0]}, "bounds must be [lowest, highest]"),
        (overlap, {"batch_size": 0}, "batch_size: 0 is not a whole number from 1"),
        (dict, {}, "cannot be called"),
    ],
)
def test_what_cannot_be_called_is_refused_at_once(function, options, problem) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError) as refused:
        FunctionMetric(function, **options)
    assert problem in str(refused.value).splitlines()[-1] == str(refused.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            "import no_such_package_at_all\n",
            "rude_metric needs the module 'no_such_package_at_all'",
        ),
        ("1 / 0\n", "rude_metric fails on import .ZeroDivision"),
    ],
)
def test_a_module_that_breaks_on_import_is_named(
    workplace: Path, content: str, problem: str
) -> None:
    (workplace / "rude_metric.py").write_text(content)
    with pytest.raises(ConfigError, match=problem):
        FunctionMetric("rude_metric.score")


def test_an_edit_of_the_source_is_a_new_metric_and_no_old_score_answers(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # or Python takes the old bytecode of a file of equal size
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    store, data = MemoryStore(), small()

    def run() -> tuple[float, str | None, int]:
        for name in [n for n in sys.modules if n.startswith("edited_")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        done = scored(FunctionMetric("edited_metric.score"), data, ["a b"], [0], store)
        return float(done.scores[0, 0]), done.signatures[0], done.n_scored

    (workplace / "edited_helper.py").write_text("FACTOR = 1\n")
    (workplace / "edited_metric.py").write_text(
        "from edited_helper import FACTOR\n"
        "def score(captions):\n"
        "    return [FACTOR * len(c.split()) for c in captions]\n"
    )
    metric = FunctionMetric("edited_metric.score")
    assert pickle.loads(pickle.dumps(metric)).columns == metric.columns  # by its name
    first = run()
    assert first[::2] == (2.0, 1)
    assert run() == (2.0, first[1], 0)  # unchanged: from the cache
    (workplace / "edited_helper.py").write_text("FACTOR = 3\n")  # a sibling, not the module itself
    edited = run()
    assert (edited[::2], edited[1] == first[1]) == ((6.0, 1), False)
    (workplace / "notes.txt").write_text("no code\n")
    assert run() == (6.0, edited[1], 0)


@pytest.mark.parametrize("workers", [1, 3])
def test_calls_have_one_size_however_long_they_take(workers: int) -> None:
    sizes: list[int] = []
    at_once = threading.Barrier(workers)

    def slow(captions: list[str]) -> list[float]:
        sizes.append(len(captions))
        if len(captions) == 20 and sizes.count(20) <= 3:
            at_once.wait(30)  # three workers are called at once, or this raises
        time.sleep(0.02 * (len(sizes) % 3))
        return [float(len(c)) for c in captions]

    captions, index = [f"caption {k}" for k in range(75)], [k % 3 for k in range(75)]
    done = scored(FunctionMetric(slow, batch_size=20, workers=workers), small(), captions, index)
    assert not done.columns[0].batch_dependent
    assert sorted(sizes) == [1, 1, 1, 1, 4, 15, 20, 20, 20]  # the small ones are the check


def less_the_mean(captions: list[str]) -> Any:
    lengths = np.array([float(len(c)) for c in captions])
    return lengths - lengths.mean()


def place(captions: list[str]) -> list[float]:
    return [float(k) for k in range(len(captions))]


def of_two_or_more(captions: list[str]) -> list[float]:
    if len(captions) < 2:
        raise ValueError("variance requires at least two data points")
    return [float(len(c)) for c in captions]


def in_single_precision(captions: list[str]) -> list[float]:
    """As a network's scores: another order of additions in another batch."""
    return [float(np.float32(len(c) / 7)) * (1 + 1e-6 * len(captions)) for c in captions]


@pytest.mark.parametrize(
    ("function", "depends"),
    [
        (length, False),
        (overlap, False),
        (in_single_precision, False),
        (less_the_mean, True),
        (place, True),
        (of_two_or_more, True),
    ],
)
def test_a_metric_that_depends_on_its_batch_is_marked(
    function: Callable[..., Any], depends: bool
) -> None:
    captions, index, store = ["a", "a b c d", "a b", "b a b a b a"], [0, 1, 2, 0], MemoryStore()
    for n_scored in (4, 0):  # computed, and from the cache
        done = scored(FunctionMetric(function), small(), captions, index, store)
        assert (done.status, done.n_scored) == ("ok", n_scored)
        assert [column.batch_dependent for column in done.columns] == [depends]
        assert done.note == ("depends on the captions scored with it" if depends else None)


def test_the_content_of_files_is_in_the_signature(tmp_path: Path) -> None:
    weights, signatures = tmp_path / "weights.txt", set()
    for content in ("1", "2"):
        weights.write_text(content)
        metric = FunctionMetric(length, files=[str(weights)])
        signatures.add(scored(metric, small(), ["a"], [0]).signatures)
    assert len(signatures) == 2
    lost = scored(FunctionMetric(length, files=["no/such/file"]), small(), ["a"], [0])
    assert (lost.status, lost.reason) == (
        "failed",
        "InputError: no/such/file: cannot be read (No such file or directory)",
    )


def in_a_notebook(factor: int) -> Callable[[list[str]], list[int]]:
    """The same text of code, in no file, with another value around it."""
    space: dict[str, Any] = {"__name__": "__main__", "factor": factor}
    exec("def score(captions):\n    return [factor * len(c) for c in captions]\n", space)
    space["score"].__module__ = "cell_of_a_notebook"
    return space["score"]


def scaled(scale: int) -> Callable[[list[str]], list[int]]:
    return lambda captions: [scale * len(c) for c in captions]


@pytest.mark.parametrize(
    ("make", "source"),
    [
        (in_a_notebook, "|source:unsaved"),
        (lambda k: partial(scale_by, scale=k), "|source:unsaved"),
        (scaled, "+unsaved"),  # with a digest of its file
        (lambda k: Overlap(k), "+unsaved"),
    ],
)
def test_what_is_more_than_a_file_is_never_taken_from_the_cache(
    make: Callable[[int], Callable[..., Any]], source: str
) -> None:
    store, data, scores = MemoryStore(), small((("abc",),)), []
    for factor in (1, 2):
        done = scored(FunctionMetric(make(factor)), data, ["abc"], [0], store)
        scores.append(done.scores[0, 0])
        assert done.n_scored == 1
        assert str(done.signatures[0]).endswith(source)
    assert scores[1] == 2 * scores[0] > 0


def scale_by(captions: list[str], scale: int) -> list[int]:
    return [scale * len(c) for c in captions]


class Overlap:
    def __init__(self, scale: int = 1) -> None:
        self.scale = scale

    def __call__(self, captions: list[str], references: list[list[str]]) -> list[float]:
        return [self.scale * value for value in overlap(captions, references)]


class Unreliable:
    def __init__(self, failures: int, hang: float = 0.0) -> None:
        self.failures, self.hang, self.asked = failures, hang, list[str]()

    def __call__(self, caption: str) -> float:
        self.asked.append(caption)
        if caption == "b" and self.failures:
            self.failures -= 1
            time.sleep(self.hang)
            raise ConnectionError("the line is dead")
        return float(len(caption))


LINE = Unreliable(1)


def on_the_line(caption: str) -> float:
    return LINE(caption)


def test_a_failing_call_is_repeated_or_leaves_its_caption_unscored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_module, "_FIRST_WAIT", 0.01)
    captions, store = ["a", "b", "c"], MemoryStore()
    broken = scored(FunctionMetric(Unreliable(1), batched=False), small(), captions, ALL)
    assert (broken.status, broken.reason) == ("failed", "ConnectionError: the line is dead")
    patient = FunctionMetric(Unreliable(2), batched=False, retries=2)
    assert scores_of(patient, small(), captions, ALL).tolist() == [[1], [1], [1]]
    metric = FunctionMetric(on_the_line, batched=False, on_error="nan", name="line")
    first = scored(metric, small(), captions, ALL, store)
    assert np.isnan(first.scores[:, 0]).tolist() == [False, True, False]
    assert [str(count) for count in first.counts] == ["1 of 3 captions whose call failed (33.3%)"]
    # failures are not cached: the next run scores only these again
    assert scores_of(metric, small(), captions, ALL, store).tolist() == [[1], [1], [1]]
    # of the first run, "a" and "c" in reverse and alone are asked once more
    assert LINE.asked == ["a", "b", "c", *"ca", *"ca", "b"]


def test_a_call_that_takes_too_long_has_failed() -> None:
    metric = FunctionMetric(Unreliable(1, hang=5), batched=False, on_error="nan", timeout=0.2)
    started = time.perf_counter()
    done = scored(metric, small(), ["a", "b", "c"], ALL)
    assert time.perf_counter() - started < 4
    assert np.isnan(done.scores[:, 0]).tolist() == [False, True, False]


BLEU = {"options": {"n": 4}, "columns": ["B-1", "B-2", "B-3", "B-4"]}


@pytest.mark.parametrize(
    ("brought", "ours"),
    [
        (CocoScorerMetric("pycocoevalcap.cider.cider.Cider"), Cider()),
        (CocoScorerMetric("pycocoevalcap.rouge.rouge.Rouge"), RougeL()),
        (CocoScorerMetric("pycocoevalcap.bleu.bleu.Bleu", **BLEU), Bleu()),
    ],
    ids=["cider", "rouge_l", "bleu"],
)
def test_equals_ours(brought: Metric, ours: Metric, capsys: pytest.CaptureFixture[str]) -> None:
    """Human captions and those of the image before, shuffled: several candidates an image. What
    BLEU's scorer prints is not shown."""
    data = load_scenes(limit=40)
    index = np.random.default_rng(0).permutation(np.tile(np.arange(40), 2))
    captions = [data.human[i - k % 2] for k, i in enumerate(index)]
    # 1e-9: the same formulas, added up in another order
    np.testing.assert_allclose(
        scores_of(brought, data, captions, index),
        scores_of(ours, data, captions, index),
        rtol=0,
        atol=1e-9,
    )
    assert capsys.readouterr().out == ""


def test_document_frequencies_always_come_from_all_images() -> None:
    data = load_scenes(limit=20)
    metric = CocoScorerMetric(CocoCider)
    everything = scores_of(metric, data, list(data.human), list(range(20)))
    assert scores_of(metric, data, [data.human[7]], [7])[0, 0] == everything[7, 0] > 0
    # what the obvious adapter does: each caption on its own is a corpus of one, and CIDEr is 0
    naive, _ = CocoCider().compute_score({7: list(data.references[7])}, {7: [data.human[7]]})
    assert naive == 0
    signature = scored(metric, data, [data.human[7]], [7]).signatures[0]
    other = scored(metric, data.limited(19), [data.human[7]], [7]).signatures[0]
    assert "|corpus:20-images-" in str(signature)
    assert signature != other


class Wordy:
    def compute_score(self, gts, res):  # type: ignore[no-untyped-def]
        return 0.0, {i: len(res[i][0].split()) for i in reversed(list(gts))}


class Corpus:
    def compute_score(self, gts, res):  # type: ignore[no-untyped-def]
        return 0.5


ROUGE = {"options": {"rouge_keys": "rougeL"}}


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        (CocoScorerMetric(CocoBleu), "gives 4 scores a caption: name them, metric.coco.columns=[A"),
        (CocoScorerMetric(Corpus), "returned float, not (corpus score, scores)"),
        (CocoScorerMetric(CocoCider, options={"m": 4}), "metric.coco.options"),
        (
            TorchmetricsMetric(torchmetrics.text.CHRFScore, options={"order": 1}),
            "metric.torchmetrics.options",
        ),
        (
            TorchmetricsMetric(torchmetrics.text.ROUGEScore, **ROUGE),
            "only rougeL_fmeasure, rougeL_precision, rougeL_recall",
        ),
    ],
)
def test_what_returns_no_scores_fails(metric: Metric, reason: str) -> None:
    assert reason in str(scored(metric, small(), ["a"], [0]).reason)


CAPTIONS = ["a baseball player jumps", "two dogs", "the road"]

MODULE = """
import datasets
import evaluate

class Overlap(evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features=datasets.Features({
                "predictions": datasets.Value("string"),
                "references": datasets.Sequence(datasets.Value("string")),
            }),
        )

    def _compute(self, predictions, references, lower=False):
        scores = []
        for p, r in zip(predictions, references):
            words = set((p.lower() if lower else p).split())
            scores.append(len(words & set(" ".join(r).split())) / len(words))
        return {"overlap": sum(scores) / len(scores), "n": len(scores)}
"""


TWO_DOGS = "Two dogs run over the grass."
EDIT_RATE = torchmetrics.text.WordErrorRate


@pytest.mark.parametrize(
    ("metric", "captions", "index", "expected"),
    [
        # "A man plays baseball." shares "man" of 4; "two dogs run": 3 of 3; 5 of 5
        *(
            (metric, HUMAN, ALL, [[0.25], [1.0], [1.0]])
            for metric in (FunctionMetric(overlap), FunctionMetric(overlap_of_one, batched=False))
        ),
        # in another order, and several captions of one image
        (
            FunctionMetric(overlap),
            ["two dogs run", "a bus", "bus a cow x"],
            [1, 2, 2],
            [[1], [1], [0.5]],
        ),
        # an object that can be called, made with the options
        *(
            (metric, HUMAN, ALL, [[1], [4], [4]])
            for metric in (
                FunctionMetric(Overlap, options={"scale": 4}),
                FunctionMetric(Overlap(4)),
            )
        ),
        # columns by their names
        (
            FunctionMetric(
                lambda captions: {"letters": [4], "words": [2]}, columns=["words", "letters"]
            ),
            ["a bc"],
            [0],
            [[2, 4]],
        ),
        # the words of the first reference, as pycocoevalcap has them tokenised; without, 5 of 6
        (CocoScorerMetric(Rouge), [TWO_DOGS], [1], [[1.0]]),
        (CocoScorerMetric(Rouge, tokenizer=None), [TWO_DOGS], [1], [[5 / 6]]),
        # scores by id
        (CocoScorerMetric(Wordy), ["a b", "c"], [2, 0], [[2], [1]]),
        # the best reference: 3 words are missing of 6, and 3 of 3 of the other
        (TorchmetricsMetric(EDIT_RATE, references="each"), ["two dogs run"], [1], [[3 / 6]]),
        # LCS "the road" of 2 and of 8 words: P 1, R 2/8, F 2/5
        (
            TorchmetricsMetric(torchmetrics.text.ROUGEScore, columns=["rougeL_fmeasure"], **ROUGE),
            ["the road"],
            [2],
            [[2 / 5]],
        ),
    ],
)
def test_scores_by_hand(
    metric: Metric, captions: list[str], index: list[int], expected: list[list[float]]
) -> None:
    assert scores_of(metric, small(), captions, index) == pytest.approx(np.array(expected))


def test_a_class_says_its_name_and_whether_higher_is_better() -> None:
    assert FunctionMetric(Overlap).name == "Overlap"
    assert not TorchmetricsMetric(EDIT_RATE).columns[0].higher_is_better


def test_chrf_of_torchmetrics_is_sacrebleus() -> None:
    # sacrebleu is what torchmetrics' CHRFScore follows; it gives per cent. 1e-6: single precision
    metric = TorchmetricsMetric("torchmetrics.text.CHRFScore", options={"n_word_order": 0})
    ours = scores_of(metric, small(), CAPTIONS, ALL)
    theirs = [
        sacrebleu.sentence_chrf(c, list(r), eps_smoothing=True).score / 100
        for c, r in zip(CAPTIONS, REFERENCES, strict=True)
    ]
    np.testing.assert_allclose(ours[:, 0], theirs, atol=1e-6)
    assert [column.name for column in metric.columns] == ["CHRFScore"]


def test_a_library_that_is_not_there_is_a_skipped_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchmetricsMetric, "library", "torchmetrics_of_nobody")
    done = scored(TorchmetricsMetric(torchmetrics.text.CHRFScore), small(), ["a"], [0])
    assert (done.status, done.remedy) == ("skipped", "pip install torchmetrics_of_nobody")


def test_a_module_of_evaluate_from_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = write_texts(tmp_path / "overlap", {"overlap.py": MODULE})
    metric = EvaluateMetric(folder)
    # by hand: a, baseball, player of 4 words; two, dogs; the, road
    expected = [[3 / 4], [1], [1]]
    assert scores_of(metric, small(), CAPTIONS, ALL).tolist() == expected
    lower = EvaluateMetric(folder, options={"lower": True})
    assert scores_of(lower, small(), ["TWO dogs"], [1]).tolist() == [[1]]
    before = scored(metric, small(), ["a"], [0]).signatures
    (folder / "overlap.py").write_text(MODULE + "# edited\n")
    assert scored(metric, small(), ["a"], [0]).signatures != before


@pytest.mark.parametrize(
    ("metric", "of", "options", "message"),
    [
        (CocoScorerMetric, [object], {}, "object has no compute_score"),
        (CocoScorerMetric, [], {}, r"give the scorer's class: metric\.coco\.scorer="),
        (TorchmetricsMetric, [], {}, "give the metric's class"),
        (
            TorchmetricsMetric,
            ["json.JSONDecoder"],
            {},
            r"json\.JSONDecoder has no update and compute",
        ),
        (TorchmetricsMetric, ["torchmetrics.text.CHRF"], {}, "has no attribute 'CHRF'"),
        (
            TorchmetricsMetric,
            [torchmetrics.text.CHRFScore],
            {"references": "some"},
            "references: 'some' is not one of all, each",
        ),
        # nothing is fetched
        (EvaluateMetric, ["bleu"], {}, r"module bleu not found .*; give its folder"),
        (EvaluateMetric, [Path(__file__).parent], {}, r"adapters\.py not found"),
    ],
)
def test_what_is_no_metric_is_refused(
    metric: type, of: list[object], options: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        metric(*of, **options)
