"""A metric's ρ compared with others and with a paper: hand-worked cases."""

from __future__ import annotations

from typing import Any

import pytest

from metaeval.reports.graded.findings import published
from metaeval.reports.graded.ranking import against_paper, ranked
from metaeval.results.run import PublishedInfo
from tests.reports.graded_results import graded_metric, graded_run


def record(metric: str, rho: float | None = 0.5, **more: Any) -> Any:
    return graded_metric({"metric": metric, "rank_order_rho": rho,
                          "rank_order_rho_ci": [0.48, 0.52], "rank_order_rho_bounds": [0.49, 0.51],
                          **more})  # fmt: skip


def test_only_results_are_ranked() -> None:
    records = [
        record("a", 0.1),
        record("b", 0.9, untrained=True),
        record("c", None, status="failed"),
        record("d", 0.7),
        record("d-part", 0.8, part_of="d"),
        record("e", None),
    ]
    assert [m.name for m in ranked(graded_run(*records))] == ["d", "a"]


def spread(mean: float, seed: float, ties: float | None) -> dict[str, Any]:
    return {
        "n": 4,
        "rank_order_rho": {"mean": mean, "sd": seed},
        "components": {"image": 0.01, "seed": seed, "ties": ties},
    }


@pytest.mark.parametrize(
    ("published", "seeds", "tie_sd", "expected"),
    [
        (0.5015, None, 0.001, "ties"),
        (0.51, None, 0.001, "beyond ties"),  # though it is in the interval over images
        (0.51, None, None, "beyond ties"),
        (0.6, None, 0.001, "beyond ties"),  # though the worst and the best breaking span it
        (0.502, spread(0.5, 0.002, 0.0), 0.0, "within seeds"),
        # sd² = 0.002² · 5/4: 0.014 is 6.3 of them
        (0.514, spread(0.5, 0.002, 0.0), 0.0, "6 sd above"),
        (0.486, spread(0.5, 0.002, None), None, "6 sd below"),
        (0.527, spread(0.5, 0.0, 0.001), 0.001, "27 sd above"),  # ties alone spread it
        (0.51, spread(0.5, 0.0, 0.0), 0.0, "beyond ties"),  # no spread at all: no distance
    ],
)
def test_how_a_published_value_is_compared(
    published: float, seeds: dict[str, Any] | None, tie_sd: float | None, expected: str
) -> None:
    row = record("m", seeds=seeds, rank_order_rho_tie_std=tie_sd, rank_order_rho_bounds=[-0.2, 0.9])
    assert against_paper(row, published)[0] == expected


def test_the_summary_says_how_far_off_a_published_value_is() -> None:
    metrics = [
        record("near", 0.5),
        record("seeds", 0.5, seeds=spread(0.5, 0.002, 0.0)),
        record("close", 0.5, seeds=spread(0.5, 0.1, 0.0)),
        record("alone", 0.5, seeds=None, rank_order_rho_tie_std=0.001),
    ]
    values = {"near": 0.51, "seeds": 0.6, "close": 0.6, "alone": 0.6}
    facts = PublishedInfo(source="a paper", comparable=True, rank_order_rho=values)
    run = graded_run(*metrics, info={"published": facts})
    said = published(run)
    assert said is not None
    assert said.text.startswith("One of four values lies within 0.02 of those published (a paper).")
    assert "seeds 0.500 against 0.600 (45 sd of seeds and ties above; the cause is unknown)" in (
        said.text
    )
    assert "close 0.500 against 0.600 (within what seeds and ties do)" in said.text
    # METEOR's cause was looked for and a nearer score found; nothing is said where it is near
    far, near = (record("METEOR", 0.5, seeds=spread(0.5, sd, 0.0)) for sd in (0.002, 0.1))
    assert against_paper(far, 0.6)[1].endswith("metric.meteor_nltk.references=mean.")
    assert "unknown" not in against_paper(far, 0.6)[1]
    assert "nltk" not in against_paper(near, 0.6)[1]
    assert "nltk" not in said.text
    assert said.text.endswith("alone 0.500 against 0.600.")  # no seeds: nothing is explained
