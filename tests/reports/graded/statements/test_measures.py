"""Sentences on the three measures: said of data for which they are true, and not of others."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from metaeval.reports.graded.ranking import results
from metaeval.reports.graded.slopes import slope_chart, slopes
from metaeval.reports.graded.statements.measures import by_within, is_masked, leaders, offset
from metaeval.reports.shared.figure_style import label_places
from tests.reports.graded_results import all_compared, graded_metric, graded_run


def record(metric: str, pooled: float, within: float, pairs: float, **more: Any) -> Any:
    return graded_metric({
        "metric": metric,
        "status": "ok",
        "rank_order_rho": pooled,
        "rank_order_rho_ci": [pooled - 0.01, pooled + 0.01],
        "rank_order_rho_within": within,
        "rank_order_rho_within_ci": [within - 0.01, within + 0.01],
        "pairwise_accuracy": pairs,
        "variance": {"image": 0.8, "level": 0.1, "rest": 0.1},
        **more,
    })  # fmt: skip


FLAT: dict[str, Any] = {
    "rank_order_rho": 0.128, "rank_order_rho_ci": [0.118, 0.138],
    "rank_order_rho_within": 0.671, "rank_order_rho_within_ci": [0.661, 0.681],
    "pairwise_accuracy": 0.72, "variance": {"image": 0.8, "level": 0.1, "rest": 0.1},
}  # fmt: skip
CIDER = record("CIDEr", 0.128, 0.671, 0.72)
BLEU = record("BLEU-2", 0.415, 0.618, 0.609)


def test_one_leader_by_all_measures_or_each_measure_its_own() -> None:
    text = leading_sentence(CIDER, BLEU)
    assert "pooled over all captions, BLEU-2 (ρ 0.415); within an image, CIDEr (ρ 0.671)" in text
    assert "by pairs within an image, CIDEr (72.0%)" in text
    text = leading_sentence(record("A", 0.9, 0.9, 0.9), BLEU)
    assert text.startswith("A orders the versions best by all three measures")


def test_the_highest_value_does_not_lead_alone_where_no_test_separates_it() -> None:
    """93.17 % against 93.13 % with p .85: an argmax would name CIDEr alone."""
    cider, faier = record("CIDEr", 0.72, 0.9, 0.9317), record("FAIEr", 0.72, 0.9, 0.9313)
    low = record("BLEU-1", 0.5, 0.6, 0.7)
    text = leading_sentence(cider, faier, low, p={("CIDEr", "FAIEr"): 0.85})
    assert "by pairs within an image, CIDEr (93.2%) and FAIEr (93.1%), not separated" in text
    assert "BLEU-1" not in text
    assert "best by all three" not in text
    # where nothing was tested, no order is claimed
    run = graded_run(cider, low)
    assert "CIDEr (ρ 0.720) and BLEU-1 (ρ 0.500), not separated" in leaders(
        run, [cider, low], "versions", "95%"
    )


def leading_sentence(*metrics: Any, p: dict[tuple[str, str], float] | None = None) -> str:
    """The sentence on the leaders; pairs that `p` does not name are separated."""
    run = graded_run(*metrics, differences=all_compared(metrics, p))
    return leaders(run, list(metrics), "versions", "95%")


def test_offset_is_reported_with_the_runs_numbers() -> None:
    said = offset([BLEU, CIDER])
    assert said is not None
    assert said.text.startswith(
        "CIDEr's pooled ρ of 0.128 is low because its scores differ between images: within an "
        "image its ρ is 0.671 and 72.0% of the pairs are in order. Of the variance of its scores "
        "80% lies between images and 10% between versions"
    )
    assert said.text.endswith("The same holds for BLEU-2 (0.415 pooled, 0.618 within).")
    said = offset([CIDER])
    assert said is not None
    assert "The same holds" not in said.text


@pytest.mark.parametrize(
    "changed",
    [
        {"rank_order_rho_within": 0.13, "rank_order_rho_within_ci": [0.12, 0.14]},  # sees no more
        {"rank_order_rho_within_ci": [0.1, 0.9]},  # not beyond the intervals
        {"variance": {"image": 0.4, "level": 0.3, "rest": 0.3}},  # not between images
        {"variance": None},
        {"rank_order_rho_ci": [None, None]},
    ],
)
def test_offset_is_not_reported_without_cause(changed: dict[str, Any]) -> None:
    assert is_masked(CIDER)
    record = {"metric": "CIDEr", **FLAT, **changed}
    assert offset([graded_metric(record)]) is None


def test_the_ranking_within_an_image_leaves_out_what_is_no_result() -> None:
    rows = results(graded_run(BLEU, CIDER, record("part", 0.9, 0.9, 0.9, part_of="CIDEr")))
    assert [m.name for m in by_within(rows)] == ["CIDEr", "BLEU-2"]


def test_the_slope_chart_has_a_line_and_two_labels_a_metric_and_escapes_names() -> None:
    lines = slopes([CIDER, BLEU, record("<b>", 0.1, 0.2, 0.3), record("no", 0.1, float("nan"), 0)])
    assert [line.metric for line in lines] == ["CIDEr", "BLEU-2", "<b>"]
    chart = slope_chart(lines)
    assert chart.count('class="slope result"') == 3
    assert "<b>" not in chart
    assert "CIDEr 0.128" in chart
    assert "0.671 CIDEr" in chart


def test_labels_keep_their_order_and_their_distance() -> None:
    wanted = [50.0, 52.0, 51.0, 99.0, 100.0]
    places = label_places(wanted, 10, 100)
    order = sorted(range(5), key=lambda k: wanted[k])
    ranked = [places[k] for k in order]
    assert all(b - a >= 10 for a, b in pairwise(ranked))
    assert max(places) <= 100
