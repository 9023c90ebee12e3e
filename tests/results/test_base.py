"""Results in general: what is undefined, what is refused, what comes back from JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from metaeval.errors import InputError
from metaeval.results.base import Estimate, Measured, MetricResult, Test
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.files import dump, read_info, write_info
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import Measure, RunInfo
from metaeval.runs.records import ScoreColumn, Tally
from tests.shared import write_json


def test_an_undefined_number_is_none_and_numpy_scalars_are_numbers() -> None:
    estimate = Estimate(value=np.float64("nan"), low=np.float32(0.5), high=math.inf, n=np.int64(3))
    assert estimate == Estimate(value=None, low=0.5, high=None, n=3)
    assert estimate.interval is None
    assert Estimate(value=1, low=0, high=2).interval == (0, 2)


def test_a_field_that_is_not_declared_is_an_error_and_results_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Estimate(value=1.0, lower=0.5)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Estimate(value=1.0).value = 2.0  # type: ignore[misc]


def test_a_metric_comes_back_from_json_as_it_was() -> None:
    column = ScoreColumn("CIDEr", bounds=(0.0, math.inf), variant_of="CIDEr-D")
    metric = MetricResult(
        column=column,
        family="cider",
        signature="cider|v:1",
        counts=(Tally("captions cut", "captions", 2, 7),),
        statistics=Measured(values={"a": Estimate(value=0.1 + 0.2, low=0.25, high=0.35)}),
    )
    text = json.dumps(json.loads(metric.model_dump_json()))
    assert MetricResult.model_validate_json(text) == metric


def test_a_metric_that_is_there_twice_is_refused() -> None:
    metrics = [MetricResult(column=ScoreColumn(name), family="x") for name in ("A", "B", "A")]
    given = {"experiment": "x", "dataset": "y", "declared": (Measure("a", "A"),)}
    assert MeasuredResult(**given, metrics=metrics[:2]).metric("B") is metrics[1]
    with pytest.raises(ValidationError, match="the metric 'A' occurs twice"):
        MeasuredResult(**given, metrics=metrics)


def test_an_error_is_one_line_whatever_names_stand_in_it() -> None:
    assert str(InputError("no 'a\nb'", file="x\ry.csv")) == "x y.csv: no 'a b'"


def test_comparisons_are_found_in_either_direction() -> None:
    def compare(a: str, b: str, difference: float, p: float) -> Comparison:
        return Comparison(
            a=a,
            b=b,
            measure="rho",
            difference=Estimate(value=difference, low=difference - 0.1, high=difference + 0.2),
            tests=(Test(p=p, p_adjusted=p, method="bootstrap"),),
        )

    family = Comparisons(
        measure="rho",
        alpha=0.05,
        pairs=(
            compare("A", "B", 0.3, 0.01),
            compare("A", "C", 0.1, 0.05),  # at alpha: not below it
            compare("B", "C", -0.2, 0.2),
        ),
    )
    turned = family.between("B", "A").difference
    assert (turned.value, turned.interval) == (-0.3, pytest.approx((-0.5, -0.2), abs=1e-15))
    not_separated = [family.not_separated_from(name) for name in "AC"]
    assert not_separated == [{"C"}, {"A", "B"}]
    assert family.between("A", "D") is None


def test_a_damaged_or_foreign_file_is_refused_with_file_and_field(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    info = RunInfo(status="finished", seed=3)
    write_info(path, info)
    assert read_info(path) == info
    data = dump(info)
    for change, field in (
        ({"schema": 1}, "schema"),
        ({"seed": "three"}, "seed"),
        ({"status": "done"}, "status"),
        ({"stages": [{"name": "scores"}]}, "stages.0.seconds"),
        ({"stagse": []}, "stagse"),
    ):
        write_json(path, {**data, **change})
        with pytest.raises(InputError) as caught:
            read_info(path)
        assert (caught.value.file, caught.value.field) == (path, field)
    with pytest.raises(InputError, match="JSON object"):
        read_info(write_json(path, [1, 2]))
