"""Measures, extras and the three sentences, with cases worked by hand."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import pytest

from metaeval.errors import InputError
from metaeval.results.base import Estimate
from metaeval.results.files import read_result, write_result
from metaeval.results.measured import Extra
from metaeval.results.metric import Measured
from metaeval.results.run import Measure
from metaeval.results.sentences import (
    above_control,
    bold_names,
    definition_of_bold,
    leaders,
    names,
    sentences,
    with_interval,
)
from tests.results.measured_results import ACCURACY, against, measured_result, separated


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([], {"A": "a", "B": "a", "C": "a"}),
        ([("A", "C")], {"A": "a", "B": "ab", "C": "b"}),
        ([("A", "B"), ("A", "C")], {"A": "a", "B": "b", "C": "b"}),
        ([("A", "B"), ("A", "C"), ("B", "C")], {"A": "a", "B": "b", "C": "c"}),
    ],
)
def test_letters_of_three(apart: list[tuple[str, str]], expected: dict[str, str]) -> None:
    assert separated("ABC", apart).letters("ABC") == expected


def test_names_share_a_letter_unless_a_test_separates_them() -> None:
    """Every one of the 1,024 ways to separate five names."""
    pairs = list(combinations("ABCDE", 2))
    for chosen in product((False, True), repeat=len(pairs)):
        apart = [pair for pair, is_apart in zip(pairs, chosen, strict=True) if is_apart]
        letters = separated("ABCDE", apart).letters("ABCDE")
        for a, b in pairs:
            assert bool(set(letters[a]) & set(letters[b])) is ((a, b) not in apart)
        assert all(letters.values())


@pytest.mark.parametrize(
    ("values", "apart", "expected"),
    [
        ({"A": 0.5, "B": 0.6}, [], "No test separates B (60.0) from any other metric."),
        (
            {"A": 0.9, "B": 0.6, "C": 0.5},
            [("A", "C")],
            "A leads (90.0), not separated from B.",
        ),
        (
            {"A": 0.9, "B": 0.6},
            [("A", "B")],
            "A leads (90.0): every other metric is significantly lower.",
        ),
        ({"A": 0.9, "B": None}, [], "A: 90.0, the only metric with a value."),
        ({"A": None}, [], "No metric has a value."),
    ],
)
def test_who_leads(
    values: dict[str, float | None], apart: list[tuple[str, str]], expected: str
) -> None:
    result = measured_result(values, comparisons=separated("".join(values), apart))
    assert leaders(result) == expected


def test_nobody_leads_without_a_test() -> None:
    result = measured_result({"A": 0.5, "B": 0.6})
    assert leaders(result) == "B has the highest value (60.0); no test compares the metrics."
    assert bold_names(result, ACCURACY) == frozenset()
    lowest = Measure("accuracy", "error", unit="share", best="lowest")
    result = measured_result({"A": 0.5, "B": 0.6}, declared=(lowest,))
    assert leaders(result) == "A has the lowest value (50.0); no test compares the metrics."


@pytest.mark.parametrize(
    ("p", "shows", "expected"),
    [
        (
            {"A": 0.01, "B": 0.2},
            "something",
            "Significantly above the best control, Length (40.0): A.",
        ),
        (
            {"A": 0.01, "B": 0.02},
            "something",
            "Every metric is significantly above the best control, Length (40.0).",
        ),
        (
            {"A": 0.3, "B": 0.2},
            "unsure",
            "No metric is significantly above the best control, Length (40.0).",
        ),
        (
            {"A": 0.3, "B": 0.2},
            "undecidable",
            "Whether a metric is above the best control, Length (40.0), cannot be decided with so "
            "few images or draws.",
        ),
    ],
)
def test_who_is_above_the_control(p: dict[str, float], shows: str, expected: str) -> None:
    control = against("Length", 0.4, p, shows)
    result = measured_result(
        {"A": 0.9, "B": 0.6}, {"Length": 0.4}, controls={"accuracy": control}, caveat="Few images."
    )
    assert above_control(result) == expected
    assert sentences(result)[1:] == [expected, "Few images."]


def test_bold_is_the_best_and_those_not_separated_from_it() -> None:
    comparisons = separated("ABC", [("A", "C")])
    result = measured_result({"A": 0.9, "B": 0.6, "C": 0.5}, comparisons=comparisons)
    assert bold_names(result, ACCURACY) == {"A", "B"}
    assert definition_of_bold({"accuracy": comparisons}) == (
        "bold: the best, and those not separated from it at 0.05 (paired bootstrap, Holm over 3 "
        "pairs)"
    )


def test_numbers_and_names_as_a_reader_sees_them() -> None:
    estimate = Estimate(value=-0.0004, low=-0.1234, high=0.5)
    assert with_interval(Measure("r", "r"), estimate) == "0.000 [−0.123, 0.500]"
    assert with_interval(ACCURACY, estimate) == "0.0 [−12.3, 50.0]"
    assert with_interval(Measure("n", "n", unit="count"), Estimate(value=5000)) == "5,000"
    assert names("ABCDEFG") == "A, B, C, D, E, F and G"
    assert names("ABCDEFGH") == "A, B, C, D, E, F and 2 more"


def test_an_extra_is_a_rectangle_with_intervals_as_columns() -> None:
    records = [{"kind": "x", "value": Estimate(value=float("nan"), low=0.1)}, {"kind": "y", "n": 2}]
    extra = Extra.of("kinds", "By kind", records, folded=True)
    assert extra.columns == ("kind", "value", "value_low", "value_high", "n")
    assert extra.rows == (("x", None, 0.1, None, None), ("y", None, None, None, 2))
    assert extra.frame()["kind"].tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="rows of 'kinds' do not have 2 cells each"):
        Extra(name="kinds", title="", columns=("a", "b"), rows=((1,),))


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    extra = Extra.of("kinds", "By kind", [{"kind": "x", "n": 2, "share": 0.5, "ok": True}])
    result = measured_result(
        {"A": 0.9, "B": None},
        {"Length": 0.4},
        separated("AB", []),
        extras=(extra,),
        controls={"accuracy": against("Length", 0.4, {"A": 0.01}, "something")},
    )
    path = tmp_path / "statistics.json"
    write_result(path, result)
    read = read_result(path)
    assert read == result
    assert [m.key for m, _ in result.measures(result.metric("A"))] == ["accuracy"]
    assert list(result.measures(result.metric("B"))) == []
    assert result.table()["accuracy"].tolist()[0] == 0.9
    path.write_text(path.read_text().replace('"declared"', '"declred"'))
    with pytest.raises(InputError, match="declared"):
        read_result(path)


def test_a_pair_is_compared_both_ways() -> None:
    comparisons = separated("AB", [("A", "B")])
    result = measured_result({"A": 0.9, "B": 0.5}, comparisons=comparisons)
    pair = result.comparison("accuracy", "B", "A")
    assert pair is not None
    assert pair.difference.value == -0.1
    assert result.comparison("recall", "A", "B") is None
    assert Measured(values={}).value("accuracy") is None


def test_a_file_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "statistics.json"
    write_result(path, measured_result({"A": 0.9}))
    path.write_text(path.read_text().replace('"schema": 2', '"schema": 1'))
    with pytest.raises(
        InputError, match="has schema 1, and this version of metaeval reads schema 2"
    ):
        read_result(path)
