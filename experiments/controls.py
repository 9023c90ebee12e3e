"""Controls beside metrics: what one gets that sees nothing of the truth, and who gets more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NOTHING, UNSURE, SOMETHING = "nothing", "unsure", "something"


def is_ranked(record: Mapping[str, Any]) -> bool:
    """Whether a metric takes part in comparisons: no part, no untrained weights, no control."""
    return record["part_of"] is None and not record["untrained"] and not record["control"]


def best_of(values: Mapping[str, float], names: Sequence[str]) -> str:
    """The name with the highest value; one without a value (NaN) only where all have none."""
    return max(names, key=lambda name: (values[name] == values[name], values[name]))


def beside_control(
    values: Mapping[str, float], ranked: Sequence[str], control: str, above: Sequence[str]
) -> dict[str, Any]:
    """What a statistic says of metrics beside the best control.

    Parameters
    ----------
    values
        Column → the statistic, higher is better.
    ranked
        The metrics, of which `above` are surely better than the control.

    Returns
    -------
    dict
        `control` and its `value`; `best`, the best metric, and `best_value`; `above`; and `shows`:
        "nothing" where the control is at least as good as every metric, "something" where a metric
        is above, "unsure" in between.
    """
    best = best_of(values, ranked)
    wins = not values[best] > values[control]
    return {
        "control": control,
        "value": values[control],
        "best": best,
        "best_value": values[best],
        "above": list(above),
        "shows": NOTHING if wins else (SOMETHING if above else UNSURE),
    }


def verdicts(controls: Mapping[str, Mapping[str, Any]] | None) -> Iterator[str]:
    """A line for each group of captions (a kind, a category) that shows nothing for sure."""
    said = {NOTHING: "shows nothing", UNSURE: "is not sure to show anything"}
    for group, told in (controls or {}).items():
        if told["shows"] in said:
            yield (
                f"{group} {said[told['shows']]}: {told['control']} alone gets "
                f"{100 * told['value']:.1f}, the best metric ({told['best']}) "
                f"{100 * told['best_value']:.1f}"
            )
