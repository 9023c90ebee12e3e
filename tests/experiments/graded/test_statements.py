"""What a graded run says besides its numbers: caveat, notes, published values, who is ranked."""

from pathlib import Path
from typing import Any

import pytest

from metaeval.experiments.graded.statistics import CaptionSet, _caveat, _published, _unchanged
from metaeval.experiments.printout import printout
from metaeval.results.graded import paper_distance
from metaeval.results.run import PublishedInfo
from tests.reports.graded_results import graded_metric, graded_result


def metric(name: str, within: float = 0.5, **fields: Any) -> Any:
    rho = {"rank_order_rho": 0.5, "rank_order_rho_within": within}
    return graded_metric({"metric": name, **rho, **fields})


def sets(n_applied: int = 10, expected: str = "lower") -> list[CaptionSet]:
    human = CaptionSet("Human", 1, 10, 10, 0, None, 0.0, 0.0, "none")
    return [CaptionSet("Swap", 0, 10, n_applied, 10 - n_applied, 0.5, 0.5, 0.0, expected), human]


@pytest.mark.parametrize(
    ("metrics", "versions", "expected"),
    [
        ([metric("A"), metric("B")], sets(), ""),
        ([metric("A")], sets(n_applied=0), "No corruption changed a caption"),
        ([metric("A")], sets(expected="same"), "Versions as good as the original"),
        ([metric("A", 0.995), metric("B", 1.0)], sets(), "2 of 2 metrics order nearly every"),
        ([metric("A", 0.995), metric("B", 0.99)], sets(), ""),
        ([metric("A", 1.0), metric("B", 1.0, control=True)], sets(), ""),
    ],
)
def test_the_caveat(metrics: list[Any], versions: list[CaptionSet], expected: str) -> None:
    made = _caveat(metrics, versions)
    assert (made.startswith(expected), bool(made)) == (True, bool(expected))


def test_captions_that_were_not_changed_are_a_note() -> None:
    assert [_unchanged(sets(n_applied=n)) for n in (10, 6)] == [[], ["40.0% of Swap"]]


def test_another_model_than_the_papers_is_not_compared() -> None:
    metrics = [
        metric("BERTScore (MiniLM)", variant_of="BERTScore"),
        metric("ROUGE-L"),
        metric("TIGEr (trained on corruptions)"),
    ]
    paper = PublishedInfo(
        source="a paper", comparable=True, rank_order_rho={"BERTScore": 0.5569, "ROUGE-L": 0.61}
    )
    others = ["BERTScore (MiniLM) (published 0.557)"]
    (printed,), of_others = _published(metrics, paper)
    assert (printed.values, of_others) == ({"ROUGE-L": {"rank_order_rho": 0.61}}, others)
    assert _published(metrics, None) == ((), [])


def spread(seed: float, ties: float | None) -> dict[str, float | None]:
    return {"n": 4, "rank_order_rho_mean": 0.5, "sd_seed": seed, "sd_ties": ties}


@pytest.mark.parametrize(
    ("published", "seeds", "expected"),
    [
        # sd² = 0.002² · 5/4: 0.014 is 6.26 of them
        (0.514, spread(0.002, 0.0), 6.261),
        (0.486, spread(0.002, None), -6.261),
        (0.527, spread(0.0, 0.001), 27.0),  # ties alone spread it
        (0.51, spread(0.0, 0.0), None),  # no spread at all: no distance
        (0.51, spread(float("nan"), 0.0), None),
    ],
)
def test_how_far_a_published_value_is(
    published: float, seeds: dict[str, Any], expected: float | None
) -> None:
    distance = paper_distance(seeds, published)
    assert distance == (None if expected is None else pytest.approx(expected, abs=1e-3))


def test_controls_are_printed_below_and_what_did_not_run_is_named() -> None:
    skipped = {"metric": "SPICE", "family": "spice", "status": "skipped", "reason": "no Java"}
    counts = [{"what": "images without objects", "unit": "images", "n": 48, "of": 5000}]
    metrics = [
        metric("Low", rank_order_rho=0.25, counts=counts),
        graded_metric(skipped),
        metric("Model", rank_order_rho=0.9, control=True),
        metric("High", rank_order_rho=0.75),
    ]
    lines = printout(graded_result(metrics), Path("OUT/report.html")).splitlines()
    assert [*(line.split()[0] for line in lines[1:4]), *lines[-3:]] == [
        *("High", "Low", "(Model)"),
        "Low: 48 of 5,000 images without objects (1.0%)",
        "not run: spice (skipped)",
        "report: OUT/report.html",
    ]
