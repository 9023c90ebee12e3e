"""Which metrics are separated: by tests of pairs, never by whether two intervals overlap."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from metaeval.reports.graded.statements.differences import separated_pairs, tied_groups
from metaeval.reports.graded.summary import is_chance, summarize_steps
from metaeval.results.graded import MEASURES
from tests.reports.graded_results import compared, graded_metric, graded_run


@pytest.mark.parametrize(
    ("untold", "expected"),
    [
        ("", []),
        ("ab", [["a", "b"]]),
        ("ab bc", [["a", "b"], ["b", "c"]]),  # a and c are apart: no group of three
        ("ab bc ac", [["a", "b", "c"]]),
        ("ab cd", [["a", "b"], ["c", "d"]]),
        ("ac ad bc bd", [["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"]]),
    ],
)
def test_groups_of_which_no_two_are_separated_pairs(untold: str, expected: list[list[str]]) -> None:
    equal = [frozenset(names) for names in untold.split()]
    pairs = {(a, b): 0.5 if {a, b} in equal else 0.001 for a, b in combinations("abcd", 2)}
    assert tied_groups("abcd", compared("rank_order_rho", pairs)) == expected


def test_a_sentence_names_no_more_than_it_can_hold() -> None:
    """Nine metrics of which none is separated from its next three: six groups of four."""
    names = "abcdefghi"
    close = {(a, b): 0.5 if j - i <= 3 else 0.001
             for (i, a), (j, b) in combinations(enumerate(names), 2)}  # fmt: skip
    rows = [record(name, 0.9 - 0.1 * k, 0.9 - 0.1 * k) for k, name in enumerate(names)]

    def text(pairs: Any) -> str:
        finding = separated_pairs(
            graded_run(*rows, differences={m: compared(m, pairs) for m in MEASURES})
        )
        assert finding is not None
        return finding.text

    assert (
        "within an image, 15 of 36 pairs differ; not separated: a, b, c and d; b, c, d and e; "
        "and four groups more."
    ) in text(close)
    alike = text(dict.fromkeys(close, 0.5))
    assert "0 of 36 pairs differ; not separated: a, b, c, d and five more." in alike


def record(metric: str, pooled: float, within: float, **more: Any) -> Any:
    return graded_metric({"metric": metric, "rank_order_rho": pooled,
                          "rank_order_rho_within": within, **more})  # fmt: skip


def run(metrics: list[Any], p_within: float | None, p_pooled: float | None) -> Any:
    tested: dict[Any, Any] = {"rank_order_rho_within": p_within, "rank_order_rho": p_pooled}
    return graded_run(
        *metrics,
        differences={m: compared(m, {("CIDEr", "BLEU-1"): p}) for m, p in tested.items()},
    )


CLOSE = [  # intervals that overlap
    record("CIDEr", 0.128, 0.67, rank_order_rho_ci=[0.0, 0.3]),
    record("BLEU-1", 0.1, 0.5, rank_order_rho_ci=[0.0, 0.3]),
]


def test_overlapping_intervals_do_not_keep_metrics_together() -> None:
    said = separated_pairs(run(CLOSE, 0.0001, 0.2))
    assert said is not None
    assert "within an image, the one pair does differ." in said.text
    assert "Pooled over all captions, the one pair does not differ" in said.text
    assert "not separated: CIDEr and BLEU-1" in said.text
    assert said.text.endswith(
        "For half of the pairs a difference in ρ within an image of 0.020 would have been found "
        "with a probability of 80%."
    )
    # with another power, and without one
    within = compared("rank_order_rho_within", {("CIDEr", "BLEU-1"): 0.001}, alpha=0.001)
    said = separated_pairs(
        graded_run(*CLOSE, differences={"rank_order_rho_within": within}, power=0.9)
    )
    assert said is not None
    assert said.text.endswith("with a probability of 90%.")
    assert "(Holm, 0.001): within an image, the one pair does not differ" in said.text
    plain = within.model_copy(
        update={"pairs": tuple(p.model_copy(update={"power": None}) for p in within.pairs)}
    )
    said = separated_pairs(graded_run(*CLOSE, differences={"rank_order_rho_within": plain}))
    assert said is not None
    assert "probability" not in said.text


def test_no_order_is_claimed_without_tests() -> None:
    said = separated_pairs(run(CLOSE, None, None))
    assert said is not None
    assert "claim no order" in said.text
    assert separated_pairs(run(CLOSE[:1], 0.5, 0.5)) is None


@pytest.mark.parametrize(
    ("pooled", "within", "expected"),
    [
        ([-0.01, 0.02], [-0.02, 0.01], True),
        ([-0.2, 0.3], [-0.02, 0.01], False),  # not known well enough
        ([0.01, 0.03], [-0.02, 0.01], True),  # above 0, but by nothing that matters
        ([-0.01, 0.02], [0.4, 0.5], False),  # sees the order within images
        ([None, None], [-0.02, 0.01], False),
    ],
)
def test_no_better_than_chance_only_by_a_margin(
    pooled: list[float], within: list[float], expected: bool
) -> None:
    ends = {"rank_order_rho_ci": pooled, "rank_order_rho_within_ci": within}
    assert is_chance(record("m", 0.0, 0.0, **ends)) is expected


def test_steps_are_named_only_where_a_test_separates_them() -> None:
    step = {"lower": "Random", "upper": "Half"}
    clear = record("A", 0.5, 0.5, clearest_step=step, least_seen_step=None)
    unclear = record("B", 0.5, 0.5, clearest_step=None, least_seen_step=None)
    said = summarize_steps([clear, unclear])
    assert said is not None
    assert said.text.endswith("the step from Random to Half is the clearest by A.")
    both = summarize_steps([clear, record("C", 0.5, 0.5, clearest_step=step)])
    assert both is not None
    assert "by all two metrics" in both.text
    assert summarize_steps([unclear]) is None
    # the lower orders of BLEU have no vote of their own
    assert (
        summarize_steps([record("A", 0.5, 0.5, clearest_step=step, headline=False), unclear])
        is None
    )
