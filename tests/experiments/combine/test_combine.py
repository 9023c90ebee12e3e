"""Combinations of metrics: what is known of them by how their choices were made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

import metaeval
from metaeval.errors import MetaevalError
from metaeval.experiments.combine.benchmarks import READERS, Benchmark
from metaeval.experiments.combine.fits import BEST, METHODS, of_ranks
from metaeval.experiments.combine.task import Combine, CombinedColumns, fitted
from metaeval.metrics.combined.weighted import image_digest
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from metaeval.stats.resampling.items import Floats
from tests.shared import write_json, write_lines

N = 600  # choices, two an image
FITTED = [name for name in METHODS if name != BEST]
RNG = np.random.default_rng(0)
TRUTH = np.abs(RNG.normal(size=N))  # by how much one caption is better
NOISE = RNG.normal(size=(6, N))


def benchmark(name: str, columns: Mapping[str, Floats]) -> Benchmark:
    """Two choices an image."""
    image = np.arange(len(next(iter(columns.values())))) // 2
    images = [f"{name}{k}" for k in range(image[-1] + 1)]
    empty = MeasuredResult(experiment="pairs", dataset=name, metrics=(), declared=())
    return Benchmark(name, columns, image, images, empty)


def result_of(*benchmarks: Benchmark, method: Any = "ridge") -> MeasuredResult:
    parts = CombinedColumns([n for n in benchmarks[0].columns if n != "Length"], ["Length"])
    stats = OmegaConf.create({"replicates": 200, "seed": 0, "confidence": 0.95})
    return Combine(["-"], method=method).result(benchmarks, parts, [], 0, stats)


def weights_of(method: str, of: Benchmark) -> Floats:
    made = fitted(method, [(of, np.ones(of.n_images))], list(of.columns))
    return made.weights / made.scales


HALVES = {"A": TRUTH + 2 * NOISE[0], "B": TRUTH + 2 * NOISE[1]}


@pytest.mark.parametrize("method", FITTED)
def test_two_noisy_halves_of_the_truth_weigh_the_same_and_noise_nothing(method: str) -> None:
    """With n choices the error of a least-squares weight is 1/√n, 5 % of these weights."""
    n = 20_000
    rng = np.random.default_rng(0)
    truth, first, second, noise = np.abs(rng.normal(size=n)), *rng.normal(size=(3, n))
    columns = {"A": truth + 2 * first, "B": truth + 2 * second, "Noise": noise}
    a, b, c = weights_of(method, benchmark("x", columns))
    assert a > 0
    assert a / b == pytest.approx(1, abs=0.2)
    assert method == "equal" or abs(c) / a < 0.2


def test_two_noisy_halves_are_better_than_either() -> None:
    result = result_of(benchmark("x", {**HALVES, "Length": NOISE[2]}))
    for title in ("Equal weights", "Ridge", "Logistic"):
        pair = result.comparison("x_within", title, "Best part")
        assert (pair.is_significant(0.05), pair.difference.value > 0) == (True, True)


@pytest.mark.parametrize("method", ["nnls", "forward"])
def test_a_copy_changes_nothing(method: str) -> None:
    one, two = HALVES, {**HALVES, "Copy": HALVES["B"]}
    first = weights_of(method, benchmark("x", one))
    second = weights_of(method, benchmark("x", two))
    assert [second[0], sum(second[1:])] == pytest.approx(list(first))


def test_where_choices_follow_length_the_controls_are_as_good() -> None:
    parts = {"A": TRUTH + NOISE[0], "B": TRUTH + NOISE[1]}
    result = result_of(benchmark("x", {**parts, "Length": TRUTH}))
    against = result.controls["x_within"]
    assert result.metric("Controls together").numbers.value("x_within") == 1.0
    assert not any(
        p.is_significant(against.alpha) and p.difference.value > 0 for p in against.comparisons
    )


def test_a_part_that_reverses_on_another_benchmark_is_said() -> None:
    length = NOISE[4]
    first = {"A": TRUTH + 2 * NOISE[0], "B": TRUTH + NOISE[1] / 4, "Length": length}
    second = {"A": TRUTH + 2 * NOISE[2], "B": -TRUTH + NOISE[3] / 4, "Length": length}
    third = {"A": TRUTH + NOISE[5] / 4, "B": TRUTH + NOISE[1] / 4, "Length": length}
    result = result_of(benchmark("x", first), benchmark("y", second), benchmark("z", third))
    against = result.controls["y_left_out"]
    ridge = next(p for p in against.comparisons if p.a == "Ridge")
    assert ridge.is_significant(against.alpha)
    assert ridge.difference.value < 0, "worse than chance where the other benchmarks chose it"
    equal = result.extra("gains").records[0]
    assert (equal["above"], equal["below"]) == (2, 0)  # the best part of the others reverses on y


def test_ranks_are_shares_of_the_given_differences() -> None:
    """By hand: of 1, 2, 2 and 4 with weights 1, 1, 1 and 3, half are at most 2 in size."""
    given, weights = np.array([[1.0], [-2.0], [2.0], [4.0]]), np.array([1.0, 1.0, 1.0, 3.0])
    asked = np.array([[-2.0], [0.5], [9.0], [0.0]])
    assert of_ranks(given, weights, asked).tolist() == [-0.5, 0.0, 1.0, 0.0]
    both = np.concatenate([given, 100 * given[::-1]], axis=1)
    assert of_ranks(both, weights, np.array([[4.0, -400.0]])).tolist() == [0.0]


def test_of_changed_captions_the_human_one_is_better_than_those_that_harm(tmp_path: Path) -> None:
    rows = [  # image, set, caption, whether it was changed, expected, score
        (7, "Human", "a dog", True, "none", 5.0),
        (8, "Human", "a cat", True, "none", 6.0),
        (7, "wrong", "a bus", True, "lower", 1.0),
        (8, "wrong", "a cat", False, "lower", 6.0),
        (8, "same", "A cat", True, "same", 6.0),
        (8, "gone", "a", True, "lower", np.nan),
    ]
    names = ["image_id", "set", "caption", "applied", "expected", "score"]
    table = pd.DataFrame(rows, columns=names).assign(metric="A")
    for file in (files.CAPTIONS, files.SCORES):
        table.to_parquet(tmp_path / file)
    better, worse, image = READERS["sensitivity"](tmp_path, 0)
    assert image.tolist() == [7, 8]
    assert better["A"].tolist() == [5.0, 6.0]
    assert worse["A"].fillna(-1).tolist() == [1.0, -1.0]


def test_runs_of_the_same_images_are_not_other_benchmarks() -> None:
    first = benchmark("x", {**HALVES, "Length": NOISE[2]})
    result = result_of(first, first._replace(name="y"))
    assert [measure.key for measure in result.declared] == ["x_within", "y_within"]


PARTS = [
    {"of": "bleu/BLEU-4", "weight": 0.5, "scale": 0.25},
    {"of": "rouge_l", "weight": -1.0},
    {"of": "length", "weight": 0.001},
]
CAPTIONS = ["a dog runs on grass", "a cat sleeps on the red couch"]
REFERENCES = [["a dog runs on the grass", "a dog"], ["a cat sleeps on a red couch"]]


def written(folder: Path, **content: object) -> str:
    whole = {"title": "Mine", "method": "by hand", "parts": PARTS, **content}
    return str(write_json(folder / "combined.json", whole))


def score(file: str, **more: str) -> metaeval.CaptionScores:
    return metaeval.score(
        CAPTIONS,
        REFERENCES,
        metrics=["combined", "bleu", "rouge_l", "length"],
        metric__combined__file=file,
        **more,
    )


def test_the_file_is_a_metric(tmp_path: Path) -> None:
    table = score(written(tmp_path)).table
    right = 0.5 / 0.25 * table["BLEU-4"] - table["ROUGE-L"] + 0.001 * table["Length"]
    assert table["Mine"].to_numpy() == pytest.approx(right.to_numpy(), abs=1e-12)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"parts": [{"of": "bleu"}]}, "combined.json, field 'parts.0.weight': Field required"),
        ({"parts": [{"of": "blue", "weight": 1}] * 2}, "unknown metric 'blue'"),
        ({"parts": [*PARTS[:1], {"of": "rouge_l", "weight": 1, "scale": 0}]}, "parts.1.scale"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, content: Any, problem: str) -> None:
    with pytest.raises(MetaevalError, match=re.escape(problem)):
        score(written(tmp_path, **content))


def test_images_that_the_weights_have_seen_have_no_score(tmp_path: Path) -> None:
    seen = [image_digest("", 1)]
    made = score(written(tmp_path, images=seen))
    assert "Mine" in made.table, "images of an unknown source, with the number of a photograph"
    made = score(written(tmp_path, images=seen), image_source="coco")
    assert "about 1 of these images" in str(made.skipped["combined"])


@pytest.mark.slow
def test_ratings_of_a_hundred_captions_become_a_metric(tmp_path: Path) -> None:
    """A caption is rated by how many of its words are true; the fitted file then scores others."""
    words = ["dog", "cat", "man", "bus", "car", "boat", "house", "tree", "street", "park"]
    rng = np.random.default_rng(0)
    lines = []
    for image in range(60):
        true = " ".join(rng.choice(words, 6, replace=False))
        for _ in range(2):
            n = int(rng.integers(0, 6))
            caption = " ".join([*true.split()[:n], *rng.choice(["sky", "sun", "fox"], 6 - n)])
            lines.append(
                {"image_id": image, "caption": caption, "references": [true], "rating": n / 6}
            )
    file = write_lines(tmp_path / "ratings.jsonl", lines)
    rated = metaeval.run(
        "judgments",
        dataset="table",
        dataset__file=str(file),
        metrics=["rouge_l", "bleu", "length"],
        report="none",
        stats__replicates=100,
        out=tmp_path / "rated",
    )
    made = metaeval.combine(rated, out=tmp_path / "fitted")
    assert {"Ridge", "Best part", "Length"} <= {m.name for m in made.result.metrics}
    assert score(str(tmp_path / "fitted" / "combined.json")).table["Combined (ridge)"].notna().all()
