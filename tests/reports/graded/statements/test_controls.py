"""Sentences on controls: said of data for which they are true, and not of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metaeval.experiments.graded.column.statistics import comparable_statistics
from metaeval.experiments.graded.differences import CommonItems, ComparedColumn
from metaeval.experiments.graded.differences import against_controls as against_controls_of
from metaeval.reports.graded.statements.controls import against_controls, floor_isolates, selection
from metaeval.results.comparison import Comparisons
from metaeval.results.graded import MEASURES
from metaeval.runs.records import ScoreColumn
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from tests.reports.graded_results import compared, graded_metric, graded_run


def record(metric: str, pooled: float, within: float | None, **more: Any) -> Any:
    return graded_metric({
        "metric": metric, "rank_order_rho": pooled, "rank_order_rho_within": within, **more,
    })  # fmt: skip


def against(**above: bool) -> dict[Any, Comparisons]:
    """Each metric against Model: significantly above it or not."""
    pairs = {(name, "Model"): 0.001 if wins else 0.5 for name, wins in above.items()}
    return {m: compared(m, pairs) for m in MEASURES}


def degrees(pooled: float, within: float) -> dict[str, Any]:
    return {
        "rank_order_rho": pooled,
        "rank_order_rho_within": within,
        "rank_order_rho_within_ci": [within - 0.01, within + 0.01],
    }


def model(**fields: Any) -> Any:
    return record("Model", 0.761, 0.884, control=True, **fields)


MODEL = model()
CEILING = record("Ceiling", 0.937, 0.956, control=True, family="ceiling")
A, B = record("A", 0.8, 0.8), record("B", 0.7, 0.7)
BEST = "Pooled, the best control is Model with ρ 0.761: "


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (False, False, BEST + "no metric is significantly above it"),
        (True, True, BEST + "every metric is significantly above it"),
        (True, False, "one of two metrics is significantly above it (A)"),
    ],
)
def test_which_metrics_are_above_the_best_control(first: bool, second: bool, expected: str) -> None:
    finding = against_controls(graded_run(A, B, MODEL, against_control=against(A=first, B=second)))
    assert finding is not None
    assert expected in finding.text
    assert "perfect metric" not in finding.text
    assert against_controls(graded_run(A)) is None


def test_every_metric_is_not_said_of_those_that_were_not_tested() -> None:
    finding = against_controls(graded_run(A, B, MODEL, against_control=against(A=True)))
    assert finding is not None
    assert "the one metric is significantly above it (B not tested)" in finding.text
    assert "every metric" not in finding.text


def test_what_cannot_be_decided_is_not_called_a_defeat() -> None:
    """With four images no p-value is below 2^-3: "no metric is above it" would say nothing."""
    rng = np.random.default_rng(0)

    def column(name: str, control: bool) -> ComparedColumn:
        scores = np.tile([0.0, 1.0], (4, 1)) if not control else rng.normal(size=(4, 2))
        counts = bootstrap_counts(4, 50, 0)
        comparable = comparable_statistics(scores, [0, 1], counts, True)
        return ComparedColumn(ScoreColumn(name, control=control), name, scores, comparable)

    columns = [column("A", False), column("Model", True)]
    tested = against_controls_of(
        columns, CommonItems(columns, lambda *_: columns[0].comparable), 0.95
    )
    finding = against_controls(graded_run(A, MODEL, against_control=tested))
    assert finding is not None
    assert "cannot be decided with so few images" in finding.text
    assert "no metric is significantly above" not in finding.text


def test_a_reader_learns_what_the_best_control_is() -> None:
    bigrams = model(family="bigram_model")
    finding = against_controls(graded_run(A, bigrams, against_control=against(A=False)))
    assert finding is not None
    assert finding.text.startswith(
        "Pooled, the best control is Model (a bigram language model of other images' captions, "
        "which sees neither image nor reference) with ρ 0.761: no metric is significantly above "
        "it; within an image, the best control is Model with ρ 0.884"
    )
    other = against_controls(
        graded_run(A, model(family="another"), against_control=against(A=False))
    )
    assert other is not None
    assert "language model" not in other.text


def test_the_ceiling_is_named_only_where_it_is_below_one() -> None:
    finding = against_controls(graded_run(A, MODEL, CEILING, against_control=against(A=True)))
    assert finding is not None
    assert "A perfect metric would get 0.937 pooled and 0.956 within an image" in finding.text
    # nor where it is 1 as printed, or unknown
    for values in ((1.0, 1.0), (0.99999, 0.99999), (0.9, None)):
        whole = record("Ceiling", *values, control=True, family="ceiling")
        finding = against_controls(graded_run(A, MODEL, whole, against_control=against(A=True)))
        assert finding is not None
        assert "perfect metric" not in finding.text


def test_a_floor_that_isolates_content() -> None:
    fluent = record("Model", 0.08, 0.12, control=True, without_floor=degrees(0.77, 0.95))
    metric = record("CIDEr", 0.72, 0.9, without_floor=degrees(0.48, 0.83))
    finding = floor_isolates(graded_run(metric, fluent))
    assert finding is not None
    assert (
        "Model gets ρ 0.770 pooled and 0.950 within an image, above the interval of CIDEr"
        in finding.text
    )
    assert "with Random 0.080 and 0.120. So what Model sees is enough" in finding.text
    bigrams = record("Bigram", 0.08, 0.12, control=True, family="bigram_model",
                     without_floor=degrees(0.77, 0.95))  # fmt: skip
    finding = floor_isolates(graded_run(metric, bigrams))
    assert finding is not None
    assert "So a bigram language model of other images' captions" in finding.text
    # not where the metric keeps up, nor where the control loses little, nor without a floor
    equal = record("CIDEr", 0.72, 0.9, without_floor=degrees(0.48, 0.945))
    assert floor_isolates(graded_run(equal, fluent)) is None
    robust = record("Model", 0.6, 0.9, control=True, without_floor=degrees(0.77, 0.95))
    assert floor_isolates(graded_run(metric, robust)) is None
    assert floor_isolates(graded_run(record("CIDEr", 0.7, 0.9), MODEL)) is None


def test_the_images_in_which_every_level_was_applied() -> None:
    """B has the highest value there; nothing tests it against A, so it is not named as best."""
    a = record("A", 0.1, 0.5, every_level_applied={"n_images": 3, "rank_order_rho_within": 0.4})
    b = record("B", 0.1, 0.3, every_level_applied={"n_images": 3, "rank_order_rho_within": 0.9})
    text = selection(graded_run(a, b), [a, b])
    assert "In 3 of five images every version was changed (60.0%)" in text
    assert "There the ρ within an image of A is 0.400 (0.500 on all images)" in text
    assert "B" not in text
    plain = record("A", 0.1, 0.5)
    assert selection(graded_run(plain), [plain]) == ""
