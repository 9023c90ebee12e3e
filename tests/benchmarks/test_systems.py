"""The table of systems, and learned combinations: names that exist, and ridge by scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from benchmarks.judgments import ridge
from benchmarks.numbers.systems import (
    ADDED,
    COMPONENTS,
    GROUNDED,
    NETWORKS,
    RULES,
    SYSTEMS,
    components,
)
from benchmarks.numbers.tables import Result
from metaeval.config import metric_names
from metaeval.results.files import write_result
from metaeval.results.metric import Measured, MetricResult
from metaeval.runs import files
from metaeval.runs.records import ScoreColumn
from tests.results.examples import (
    changed_set,
    ratings_result,
    sensitivity_result,
)


def test_every_row_names_a_metric_or_says_why_not() -> None:
    known = set(metric_names())
    for system in SYSTEMS:
        assert not system.metric or system.metric in known
        assert system.column or system.note, system.name
        assert set(system.papers) <= set("GTVF")
    assert {
        name for part in (RULES, NETWORKS, ADDED, GROUNDED) for name in part.split(",")
    } <= known


def test_ridge_equals_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 3))
    scores -= scores.mean(axis=0)
    ratings = rng.normal(size=50)
    expected = Ridge(alpha=ridge.ALPHA).fit(scores, ratings).coef_
    np.testing.assert_allclose(ridge.ridge(scores, ratings), expected, rtol=0, atol=1e-10)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """400 captions of 100 images: people rate by what A and B see together; C, lower is better,
    sees a part of A; D is a control."""
    rng = np.random.default_rng(1)
    a, b, noise = rng.normal(size=(3, 400))
    scores = {"A": a, "B": b, "C": -a + noise, "D": a + b}
    captions = np.arange(400)
    pd.DataFrame(
        {
            "caption": captions,
            "image_id": [f"image {k // 4}" for k in captions],
            "human_rating": [[round(x, 1)] for x in a + b],
        }
    ).to_parquet(tmp_path / files.JUDGMENTS)
    pd.concat(
        pd.DataFrame({"caption": captions, "metric": name, "score": values})
        for name, values in scores.items()
    ).to_parquet(tmp_path / files.SCORES)
    metrics = tuple(
        MetricResult(
            column=ScoreColumn(name, higher_is_better=name != "C", control=name == "D"), family=name
        )
        for name in scores
    )
    write_result(
        tmp_path / files.STATISTICS, ratings_result({}).model_copy(update={"metrics": metrics})
    )
    return tmp_path


def test_the_best_pair_is_what_people_see(run: Path) -> None:
    lines = ridge.table(run).splitlines()
    cells = {line.split("|")[1].strip(): line.split("|")[2:4] for line in lines if "|" in line}
    held_out = {name: float(values[1]) for name, values in list(cells.items())[2:]}
    assert held_out["*best pair, learned*: A + B"] > 0.95  # rated by nothing else
    assert 0.3 < held_out["A"] < 0.7
    assert 0 < held_out["C"] < held_out["A"]
    assert not any("D" in name.split(":")[-1].split(" + ") for name in held_out)
    images = [f"image {k // 4}" for k in range(400)]
    half = ridge.first_half(images)
    assert half.reshape(-1, 4).all(axis=1).sum() * 4 == half.sum()  # images stay whole
    assert (
        lines[-1] == f"{half.sum()} captions in the fitted half, {(~half).sum()} in the other; τ-b."
    )


def test_what_a_component_costs(tmp_path: Path) -> None:
    """Of two changes of one component the mean, weighted by how many images each has."""
    values = {  # images, fall, AUC
        "other_object": (10, 0.5, 0.9),
        "wrong_verb": (20, -0.01, 0.45),
        "wrong_colour": (30, 0.1, 0.6),
        "wrong_size": (10, 0.5, 0.8),
    }
    assert set(values) == {name for names in COMPONENTS.values() for name in names}
    sets = [changed_set(name.title(), name=name) for name in values]
    columns = {"A": {}, "A-part": {"part_of": "A"}, "C": {"control": True}}
    profile = [
        {"metric": metric, "set": of.title(), "n": n, "auc": auc,
         "share_of_another": None if metric == "C" else fall}
        for metric in columns
        for of, (n, fall, auc) in values.items()
    ]  # fmt: skip
    metrics = [
        MetricResult(column=ScoreColumn(name, **more), family=name, statistics=Measured(values={}))
        for name, more in columns.items()
    ]
    skipped = MetricResult(column=ScoreColumn("B"), family="b", status="skipped")
    result = sensitivity_result(sets, profile, *metrics, skipped)
    write_result(tmp_path / files.STATISTICS, result)
    _, _, *rows, _, note = components([Result(tmp_path, "")]).splitlines()
    assert rows == [
        "| A | 50.0 | .900 | −1.0 | .450 | 20.0 | .650 |",
        "| *C* | – | .900 | – | .450 | – | .650 |",
    ]
    assert note.endswith("other_object 10, wrong_verb 20, wrong_colour 30, wrong_size 10.")
