"""What follows from tested differences: groups that are not below the best, images needed."""

import pytest

from metaeval.results.base import Estimate
from metaeval.results.comparison import Comparisons, Power
from tests.results.measured_results import against, comparison_of


def test_only_what_a_test_puts_below_the_best_is_below_it() -> None:
    pairs = (
        comparison_of("A", "separated", 0.1, 0.001),
        comparison_of("A", "open", 0.1, 0.5),
        comparison_of("turned", "A", -0.1, 0.001),
        comparison_of("above", "A", 0.1, 0.001),  # another statistic than the one that ranks
        comparison_of("A", "undefined", None, None),
    )
    family = Comparisons(measure="m", alpha=0.05, pairs=pairs)
    names = ["A", "separated", "open", "turned", "above", "undefined", "untested"]
    assert family.not_below("A", names) == ["open", "above", "undefined", "untested"]
    lowest = family.not_below("A", names, lowest=True)
    assert ("separated" in lowest, "above" in lowest) == (True, False)
    assert Comparisons(measure="m", alpha=0.05, pairs=()).not_below("A", ["A", "B"]) == ["B"]


def test_a_metric_that_no_data_could_put_above_the_control_is_not_said_to_be_not_above_it() -> None:
    given = {"higher": 0.01, "open": 0.5, "undecidable": 0.5}
    tested = against("Length", 0.6, given, "something")
    *others, last = tested.comparisons
    undecidable = last.tests[0].model_copy(update={"decidable": False})
    last = last.model_copy(update={"tests": (undecidable,)})
    tested = tested.model_copy(update={"comparisons": (*others, last)})
    assert (tested.above, tested.not_above) == (("higher",), ("open",))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.1, 100.0), (-0.1, -0.01, 100.0), (-0.01, 0.1, None), (0.0, 0.1, None),
     (None, None, None)],
)  # fmt: skip
def test_images_needed_only_where_the_direction_is_known(
    low: float | None, high: float | None, expected: float | None
) -> None:
    pair = comparison_of("A", "B", 0.05, 0.5).model_copy(
        update={
            "difference": Estimate(value=0.05, low=low, high=high),
            "power": Power(effect=0.1, detectable=0.1, images_needed=100.0),
        }
    )
    assert pair.images_needed == expected
    assert pair.model_copy(update={"power": None}).images_needed is None
