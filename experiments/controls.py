"""Controls beside metrics: what one gets that sees nothing of the truth, and who gets more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.holm import holm
from metaeval.stats.significance.paired_permutation import permutation_of_gaps

NOTHING, UNSURE, SOMETHING = "nothing", "unsure", "something"


def is_ranked(record: Mapping[str, Any]) -> bool:
    """Whether a metric takes part in comparisons: no part, no untrained weights, no control."""
    return record["part_of"] is None and not record["untrained"] and not record["control"]


def best_of(values: Mapping[str, float], names: Sequence[str]) -> str:
    """The name with the highest value; one without a value (NaN) only where all have none."""
    return max(names, key=lambda name: (values[name] == values[name], values[name]))


def against_controls(
    values: Mapping[str, Mapping[str, float]],
    ranked: Sequence[str],
    controls: Sequence[str],
    gaps: Callable[[str, str, str], Floats],
    *,
    permutations: int,
    alpha: float,
    seed: int,
) -> dict[str, Any] | None:
    """By group of captions the best control, and the metrics that are surely better: by swapping
    images at random, with Holm's correction over all metrics and groups.

    Parameters
    ----------
    values
        Group → column → the share of right answers.
    gaps
        What each image adds to the difference of two columns in a group, [images]: of the group's
        name, the metric's and the control's.

    Returns
    -------
    dict or None
        Group → `beside_control`; `None` without controls or metrics.
    """
    if not controls or not ranked:
        return None
    best = {group: best_of(values[group], controls) for group in values}
    tests = [(group, name) for group in values for name in ranked]
    observed, p = permutation_of_gaps(
        np.stack([gaps(group, name, best[group]) for group, name in tests], axis=1),
        replicates=permutations,
        seed=seed,
    )
    above: dict[str, list[str]] = {group: [] for group in values}
    for (group, name), difference, adjusted in zip(tests, observed, holm(p), strict=True):
        if difference > 0 and adjusted <= alpha:
            above[group].append(name)
    return {
        group: beside_control(values[group], ranked, best[group], above[group]) for group in values
    }


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
