"""Sentences of the graded page that stand outside of its statements, each also where it is false.

The statements of the summary are in `statements/`.
"""

from __future__ import annotations

from typing import Any

import pytest

from metaeval.reports.graded.alerts import alerts
from metaeval.reports.graded.ranking import against_paper
from metaeval.reports.graded.statements.differences import _first_of, _of
from metaeval.reports.graded.statements.measures import _group
from metaeval.reports.graded.summary import saturation, summary
from metaeval.reports.graded.table import metrics_table
from metaeval.results.graded import CaptionSet
from metaeval.results.run import GitInfo, PublishedInfo
from tests.reports.graded_results import compared, graded_metric, graded_run


def record(metric: str = "A", rho: float | None = 0.5, **more: Any) -> Any:
    fields = {"rank_order_rho": rho, "rank_order_rho_within": rho, "pairwise_accuracy": 0.7,
              "rank_order_rho_bounds": [0.49, 0.51], "n": 10}  # fmt: skip
    return graded_metric({"metric": metric, **fields, **more})


def caption_sets(n_unapplied: int = 0, expected: str | None = None, n: int = 10) -> Any:
    lower = CaptionSet(
        name="Swap", level=0, n=n, n_applied=n - n_unapplied, n_unapplied=n_unapplied,
        expected=expected,
    )  # fmt: skip
    return (lower, CaptionSet(name="Human", level=1, n=10, n_applied=0, n_unapplied=0))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"sets": caption_sets(n_unapplied=4)}, ["4 of 10 captions (40.0%) came out unchanged"]),
        ({"sets": caption_sets(expected="same")}, ["These versions are as good as the original"]),
        ({"sets": caption_sets(expected="lower")}, []),
        ({"sets": caption_sets(n=9)}, ["The sets differ in size: Swap 9 and Human 10."]),
        ({"metric": record(n_nan=1)}, ["One caption of 10 could not be scored and is left out."]),
        ({"metric": record(n_nan=2)}, ["Two captions of 10 could not be scored and are left out."]),
        ({"metric": record(untrained=True)}, ["Its weights are random: the numbers are not a"]),
        (
            {"metric": record(rank_order_rho_bounds=[0.1, 0.31])},
            ["Ties decide: ρ lies anywhere from 0.100 to 0.310 by tie-breaking alone; 100.0% of"],
        ),
        ({"metric": record(rank_order_rho_bounds=[0.1, 0.29])}, []),
        ({"metric": record(status="failed", reason="no net")}, ["Failed: no net."]),
        ({"dirty": True}, ["The working tree had changes that no commit records: commit 0000"]),
        ({"published": False}, ["Not comparable: other images."]),
        ({"published": True}, []),
    ],
)
def test_nothing_is_called_complete_that_is_not(
    changed: dict[str, Any], expected: list[str]
) -> None:
    """The page says that all ran and all is there only where there is no alert."""
    facts: dict[str, Any] = {
        "git": GitInfo(commit="0" * 40, dirty=changed.get("dirty", False)),
    }
    if "published" in changed:
        facts["published"] = PublishedInfo(
            source="a paper", comparable=changed["published"], why_not="other images"
        )
    run = graded_run(
        changed.get("metric", record()), sets=changed.get("sets", caption_sets()), info=facts
    )
    made = alerts(run)
    assert len(made) == len(expected)
    for alert, text in zip(made, expected, strict=True):
        assert alert.text.startswith(text)


def test_how_far_a_published_value_is() -> None:
    seeds = {
        "n": 4, "rank_order_rho": {"mean": 0.5, "sd": 0.002},
        "components": {"image": 0.01, "seed": 0.002, "ties": 0.0},
    }  # fmt: skip
    seeded, tied = record(seeds=seeds), record(rank_order_rho_tie_std=0.001)
    # sd² = 0.002² · 5/4: 0.014 is 6.3 of them
    assert against_paper(seeded, 0.514)[1].startswith(
        "The published value lies 6.3 standard deviations of corruption seeds and random "
        "tie-breaking above our mean over 4 seeds: the cause is unknown."
    )
    assert "tie-breaking below our mean" in against_paper(seeded, 0.486)[1]
    assert "cause" not in against_paper(seeded, 0.502)[1]
    assert against_paper(tied, 0.5015)[1] == (
        "Within the spread of random tie-breaking (sd 0.0010): ties can explain it."
    )
    assert against_paper(tied, 0.51)[1].startswith("Beyond what random tie-breaking does.")
    assert against_paper(record(rho=None), 0.51) == ("", "")


def test_how_many_pairs_and_groups() -> None:
    assert [_of(n, 3) for n in (0, 1, 3)] == ["0 of 3 pairs", "1 of 3 pairs", "all 3 pairs"]
    assert [_of(n, 1) for n in (0, 1)] == ["the one pair does not", "the one pair does"]
    assert _first_of(["ab"]) == "a and b"
    assert _first_of(["ab", "bc", "cd"]) == "a and b; b and c; and one group more"
    assert _first_of(["abcdef"]) == "a, b, c, d and two more"
    a, b, c = record("A"), record("B", 0.4), record("C", 0.3)
    assert _group([a], "rank_order_rho") == "A (ρ 0.500)"
    assert _group([a, b], "rank_order_rho") == "A (ρ 0.500) and B (ρ 0.400), not separated"
    assert _group([a, b, c], "rank_order_rho").endswith("which no test separates from the first")


def test_what_learned_from_the_test_is_said_of_those_alone() -> None:
    def leads(*metrics: Any) -> dict[str, str]:
        return {f.lead: f.text for f in summary(graded_run(*metrics))}

    chosen = record("A", training={"chosen_on": ["replace"]})
    assert leads(chosen, record("B"))["Learned from this test."].startswith(
        "A (ρ 0.500 pooled, 0.500 within an image) was chosen on this experiment's dev images"
    )
    elsewhere = record("A", training={"chosen_on": ["shuffle"]})
    assert "Learned from this test." not in leads(elsewhere, record("B"))


def test_the_notes_of_a_cell() -> None:
    control = record("Model", control=True)

    def cells(p: float | None, decidable: bool = True, **more: Any) -> dict[str, Any]:
        tested = compared("rank_order_rho", {("A", "Model"): p})
        (pair,) = tested.pairs
        test = pair.tests[0].model_copy(update={"decidable": decidable})
        tested = tested.model_copy(update={"pairs": (pair.model_copy(update={"tests": (test,)}),)})
        run = graded_run(
            record("A", **more), control, against_control={"rank_order_rho": tested},
            info={"published": PublishedInfo(source="a", comparable=True,
                                             rank_order_rho={"A": 0.52})},
        )  # fmt: skip
        rows = metrics_table(run).bodies[0][1]
        return {cell.key: cell for cell in rows[0].cells}

    above, open_, small = cells(0.001)["rho"], cells(0.5)["rho"], cells(0.5, False)["rho"]
    assert (above.note, above.title) == ("", "")
    assert open_.note == "not above control"
    assert open_.title.startswith(
        "not significantly above Model: difference 0.100 (0.050 to 0.150)"
    )
    assert small.note == "above control: undecided"
    assert small.title.startswith("cannot be decided against Model with so few images")
    assert "tie-breaking alone: 0.4900 to 0.5100" in str(above.text)
    assert "published: 0.5200" in str(above.text)
    other = cells(0.001, variant_of="A", model="x")
    assert "another model" not in other["paper"].note  # "A" itself has the value
    variant = record("A (x)", variant_of="A")
    run = graded_run(
        variant, info={"published": PublishedInfo(source="a", comparable=True,
                                                  rank_order_rho={"A": 0.52})},
    )  # fmt: skip
    shown = {cell.key: cell for cell in metrics_table(run).bodies[0][1][0].cells}
    assert "published for another model: 0.5200" in str(shown["rho"].text)
    assert shown["paper"].title.endswith("The two do not compare, so no difference is given.")
    assert shown["delta"].text == "–"
    assert "do not compare" not in cells(0.001)["paper"].title


def test_metrics_that_order_nearly_all() -> None:
    def text(*values: float | None) -> str:
        rows = [record(name, v) for name, v in zip("ABC", values, strict=False)]
        finding = saturation(graded_run(*rows))
        return "" if finding is None else finding.text

    assert text(0.995, 0.999, 0.5).startswith(
        "A and B order nearly every version of an image (ρ within at least 0.995)"
    )
    assert text(0.999, 0.994, 0.5) == ""  # one metric is no tie
    assert text(None, None) == ""
