"""Sentences on the three measures: said of data for which they are true, and not of others."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from reports.graded.slopes import slope_chart, slopes
from reports.graded.statements.measures import by_within, is_masked, leaders, offset
from reports.shared.figure_style import label_places
from tests.reports.run_files import declared


def record(metric: str, pooled: float, within: float, pairs: float, **more: Any) -> dict[str, Any]:
    return {
        **declared(metric),
        "status": "ok",
        "rank_order_rho": pooled,
        "rank_order_rho_ci": [pooled - 0.01, pooled + 0.01],
        "rank_order_rho_within": within,
        "rank_order_rho_within_ci": [within - 0.01, within + 0.01],
        "pairwise_accuracy": pairs,
        "variance": {"image": 0.8, "level": 0.1, "rest": 0.1},
        **more,
    }


CIDER = record("CIDEr", 0.128, 0.671, 0.72)
BLEU = record("BLEU-2", 0.415, 0.618, 0.609)


def test_one_leader_by_all_measures_or_each_measure_its_own() -> None:
    text = leaders([CIDER, BLEU], "versions", "95%")
    assert "BLEU-2 pooled over all captions (ρ 0.415)" in text
    assert "CIDEr within an image (ρ 0.671) and by pairs within an image (72.0%)" in text
    text = leaders([record("A", 0.9, 0.9, 0.9), BLEU], "versions", "95%")
    assert text.startswith("A orders the versions best by all three measures")


def test_offset_is_said_with_the_runs_numbers() -> None:
    said = offset([BLEU, CIDER])
    assert said is not None
    assert said.text.startswith(
        "CIDEr's pooled ρ of 0.128 is offset between images, not blindness: within an image its "
        "ρ is 0.671 and 72.0% of the pairs are in order. Of the variance of its scores 80% lies "
        "between images, 10% between versions"
    )
    assert "BLEU-2 (0.415 pooled, 0.618 within)" in said.text


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
def test_offset_is_not_said_where_it_is_not_so(changed: dict[str, Any]) -> None:
    assert is_masked(CIDER)
    assert offset([{**CIDER, **changed}]) is None


def test_the_ranking_within_an_image_leaves_out_what_is_no_result() -> None:
    rows = [BLEU, CIDER, record("part", 0.9, 0.9, 0.9, part_of="CIDEr")]
    assert [r["metric"] for r in by_within(rows)] == ["CIDEr", "BLEU-2"]


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
