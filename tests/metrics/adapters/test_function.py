"""A user's function as a metric: what it is given, what it may return, and no stale scores."""

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
import torch

from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.adapters import own as own_module
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.runs.store import MemoryStore
from tests.metrics.adapters.adapter_cases import (
    HUMAN,
    REFERENCES,
    scored,
    scores_of,
    small,
    workplace,
)

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


def test_it_is_given_captions_and_references_in_their_order() -> None:
    # by hand: "A man plays baseball." shares "man" of 4; "two dogs run": 3 of 3; 5 of 5
    expected = [[0.25], [1.0], [1.0]]
    for metric in (FunctionMetric(overlap), FunctionMetric(overlap_of_one, batched=False)):
        assert scores_of(metric, small(), HUMAN, ALL).tolist() == expected
    # in another order, and several captions of one image
    captions, index = ["two dogs run", "a bus", "bus a cow x"], [1, 2, 2]
    found = scores_of(FunctionMetric(overlap), small(), captions, index)[:, 0]
    assert found.tolist() == [1, 1, 0.5]


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
    ],
)
def test_what_is_no_score_for_each_caption_fails(returned: object, reason: str) -> None:
    done = scored(
        FunctionMetric(lambda captions: returned, name="score"), small(), ["a", "b"], [0, 1]
    )
    assert done.status == "failed"
    assert reason in str(done.reason)


def test_several_columns_come_by_their_names() -> None:
    columns = ["letters", "words"]
    metric = FunctionMetric(lambda captions: {"words": [2], "letters": [4]}, columns=columns)
    assert [column.name for column in metric.columns] == columns
    assert scores_of(metric, small(), ["a bc"], [0]).tolist() == [[4, 2]]


def test_a_score_outside_its_bounds_fails_with_value_and_caption() -> None:
    done = scored(FunctionMetric(length, bounds=[0, 2]), small(), ["a b", "one two three"], [0, 1])
    assert (done.status, done.scores) == ("failed", None)
    assert done.reason == (
        "ValueError: length gives 'one two three' the score 3, which is outside its bounds 0 to 2"
    )


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


def test_an_edit_of_the_source_is_a_new_metric_and_no_old_score_answers(workplace: Path) -> None:
    store, data = MemoryStore(), small()

    def run() -> tuple[float, str | None, int]:
        for name in [n for n in sys.modules if n.startswith("edited_")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        sys.dont_write_bytecode = True  # or Python takes the old bytecode of a file of equal size
        done = scored(FunctionMetric("edited_metric.score"), data, ["a b"], [0], store)
        return float(done.scores[0, 0]), done.signatures[0], done.n_scored

    (workplace / "edited_helper.py").write_text("FACTOR = 1\n")
    (workplace / "edited_metric.py").write_text(
        "from edited_helper import FACTOR\n"
        "def score(captions):\n"
        "    return [FACTOR * len(c.split()) for c in captions]\n"
    )
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
        (lambda k: Scale(k), "+unsaved"),
    ],
)
def test_what_is_more_than_a_file_is_never_taken_from_the_cache(
    make: Callable[[int], Callable[..., Any]], source: str
) -> None:
    store, data = MemoryStore(), small()
    for factor in (1, 2):
        done = scored(FunctionMetric(make(factor)), data, ["abc"], [0], store)
        assert (done.scores[0, 0], done.n_scored) == (3 * factor, 1)
        assert str(done.signatures[0]).endswith(source)


def scale_by(captions: list[str], scale: int) -> list[int]:
    return [scale * len(c) for c in captions]


class Scale:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, captions: list[str]) -> list[int]:
        return scale_by(captions, self.factor)


def test_it_travels_to_another_process(workplace: Path) -> None:
    (workplace / "travelling_metric.py").write_text(
        "def score(captions):\n    return [len(c) for c in captions]\n"
    )
    metric = FunctionMetric("travelling_metric.score", tokenizer="ptb")
    copy = pickle.loads(pickle.dumps(metric))
    assert (copy.columns, scores_of(copy, small(), ["ab"], [0]).tolist()) == (metric.columns, [[2]])


class Overlap:
    def __init__(self, scale: int = 1) -> None:
        self.scale = scale

    def __call__(self, captions: list[str], references: list[list[str]]) -> list[float]:
        return [self.scale * value for value in overlap(captions, references)]


def test_a_class_whose_objects_can_be_called_is_made_with_the_options() -> None:
    for metric in (FunctionMetric(Overlap, options={"scale": 4}), FunctionMetric(Overlap(4))):
        assert scores_of(metric, small(), HUMAN, ALL).tolist() == [[1], [4], [4]]
    assert FunctionMetric(Overlap).name == "Overlap"


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
