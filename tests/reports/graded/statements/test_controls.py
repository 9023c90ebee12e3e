"""Sentences on controls: said of data for which they are true, and not of others."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.graded.statements.controls import against_controls, floor_isolates, selection
from tests.reports.run_files import declared


def record(metric: str, pooled: float, within: float, **more: Any) -> dict[str, Any]:
    control = more.pop("control", False)
    return {
        **declared(metric, control=control),
        "status": "ok",
        "rank_order_rho": pooled,
        "rank_order_rho_within": within,
        "without_floor": None,
        "every_level_applied": None,
        **more,
    }


def against(pooled: bool, within: bool) -> dict[str, Any]:
    return {
        "rank_order_rho": {"control": "Model", "beats": pooled},
        "rank_order_rho_within": {"control": "Model", "beats": within},
    }


def degrees(pooled: float, within: float) -> dict[str, Any]:
    return {
        "rank_order_rho": pooled,
        "rank_order_rho_within": within,
        "rank_order_rho_within_ci": [within - 0.01, within + 0.01],
    }


def run(*records: dict[str, Any], **more: Any) -> Any:
    return SimpleNamespace(metrics=records, names=["Random", "Human"], directory=Path(), **more)


MODEL = record("Model", 0.761, 0.884, control=True)
CEILING = record("Ceiling", 0.937, 0.956, control=True) | {"family": "ceiling"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (False, False, "Pooled, the best control is Model with ρ 0.761: no metric beats it"),
        (True, True, "Pooled, the best control is Model with ρ 0.761: every metric beats it"),
        (True, False, "one of two metrics beats it (A)"),
    ],
)
def test_who_beats_the_best_control(first: bool, second: bool, expected: str) -> None:
    a = record("A", 0.8, 0.8, against_control=against(first, first))
    b = record("B", 0.7, 0.7, against_control=against(second, second))
    said = against_controls(run(a, b, MODEL))
    assert said is not None
    assert expected in said.text
    assert "perfect metric" not in said.text
    assert against_controls(run(record("A", 0.8, 0.8))) is None


def test_a_reader_learns_what_the_best_control_is() -> None:
    a = record("A", 0.8, 0.8, against_control=against(False, False))
    bigrams = MODEL | {"family": "bigram_model"}
    said = against_controls(run(a, bigrams))
    assert said is not None
    assert said.text.startswith(
        "Pooled, the best control is Model (a bigram language model of other images' captions, "
        "which sees neither image nor reference) with ρ 0.761: no metric beats it; within an "
        "image, the best control is Model with ρ 0.884"
    )
    other = against_controls(run(a, MODEL | {"family": "another"}))
    assert other is not None
    assert "language model" not in other.text


def test_the_ceiling_is_named_only_where_it_is_below_one() -> None:
    a = record("A", 0.8, 0.8, against_control=against(True, True))
    said = against_controls(run(a, MODEL, CEILING))
    assert said is not None
    assert "A perfect metric would get 0.937 pooled and 0.956 within an image" in said.text
    said = against_controls(run(a, MODEL, CEILING | {"rank_order_rho": 1.0}))
    assert said is not None
    assert "perfect metric" not in said.text


def test_a_floor_that_isolates_content() -> None:
    fluent = record("Model", 0.08, 0.12, control=True, without_floor=degrees(0.77, 0.95))
    metric = record("CIDEr", 0.72, 0.9, without_floor=degrees(0.48, 0.83))
    said = floor_isolates(run(metric, fluent))
    assert said is not None
    assert "Model gets ρ 0.770 pooled and 0.950 within an image, more than CIDEr" in said.text
    assert "with Random 0.080 and 0.120" in said.text
    # not where the metric keeps up, nor where the control loses little, nor without a floor
    equal = record("CIDEr", 0.72, 0.9, without_floor=degrees(0.48, 0.945))
    assert floor_isolates(run(equal, fluent)) is None
    robust = record("Model", 0.6, 0.9, control=True, without_floor=degrees(0.77, 0.95))
    assert floor_isolates(run(metric, robust)) is None
    assert floor_isolates(run(record("CIDEr", 0.7, 0.9), MODEL)) is None


def test_the_images_in_which_every_level_was_applied() -> None:
    kept = {"n_images": 3, "rank_order_rho_within": 0.9}
    a = record("A", 0.1, 0.5, every_level_applied={"n_images": 3, "rank_order_rho_within": 0.4})
    b = record("B", 0.1, 0.3, every_level_applied=kept)
    here = run(a, b, image_ids=range(5))
    text = selection(here, [a, b])
    assert "In 3 of five images every version was changed (60.0%)" in text
    assert "There B is best within an image (ρ 0.900, 0.300 on all)" in text
    assert selection(here, [record("A", 0.1, 0.5)]) == ""
