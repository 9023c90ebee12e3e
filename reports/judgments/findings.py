"""What a run against human judgements found, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reports.judgments.matrix import Line
from reports.judgments.table import STATISTICS, Table
from reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    number,
    percent,
    spelled,
)


def findings(
    statistics: Mapping[str, Any], table: Table, matrices: Sequence[Sequence[Line]]
) -> list[str]:
    """The first sentence is the one that is set large; the others follow."""
    told: list[str] = []
    for (name, rows), lines in zip(table.bodies, matrices, strict=True):
        results = [row for row in rows if row.kind == "result"]
        if not results:
            continue
        best = results[0]
        value = next(c.value for c in best.cells if c.key == "rho")
        what = (
            f"mean accuracy {percent(value if isinstance(value, float) else None)}"
            if statistics["kind"] == "forced_choice"
            else f"{STATISTICS[statistics['protocol']['statistic']][0]} "
            f"{number(value if isinstance(value, float) else None)}"
        )
        where = f"By {name}, " if len(table.bodies) > 1 else ""
        sentence = f"{where}{best.metric} agrees best with people: {what}."
        told.append(capital(sentence))
        told += _significance(best.metric, lines)
    told += _published(statistics)
    told += _calibration(statistics)
    told += too_few(statistics)
    return told or ["No metric ran."]


def _significance(best: str, lines: Sequence[Line]) -> list[str]:
    line = next((one for one in lines if one.metric == best), None)
    if line is None or len(lines) < 2:
        return []
    names = [one.metric for one in lines]
    equal = [
        name
        for name, square in zip(names, line.squares, strict=True)
        if square.kind in ("even", "mixed")
    ]
    if not equal:
        return [f"It beats {'the other' if len(lines) == 2 else 'each of the others'} "
                "by every test, after Holm's correction."]  # fmt: skip
    return [f"That it beats {listed(equal, 'or')} is not sure: not every test says so."]


def _published(statistics: Mapping[str, Any]) -> list[str]:
    published = (statistics.get("published") or {}).get("values") or {}
    if not published:
        return []
    statistic = statistics["protocol"]["statistic"]
    dimension = statistics["published"]["dimension"]
    ours = {
        r["metric"]: r["human"][dimension][statistic]
        for r in statistics["metrics"]
        if r["status"] == "ok" and r["metric"] in published
    }
    same = [m for m, v in ours.items() if known(v) and abs(v - published[m]) <= 0.0005 + 1e-12]
    if not ours:
        return []
    source = statistics["published"]["source"]
    return [
        f"Of {amount(len(ours), 'value')} that {source} printed, {spelled(len(same))} "
        f"come{'s' if len(same) == 1 else ''} out equal to the last printed digit."
    ]


def too_few(statistics: Mapping[str, Any]) -> list[str]:
    """Tests that cannot call anything significant, because they drew too little for so many pairs.

    With m pairs, the smallest p-value after Holm's correction is m/(R + 1) for R arrangements of
    the permutation test and 2m/(R + 1) for R replicates of the two-sided bootstrap.
    """
    settings, told = statistics["settings"], []
    pairs = max((len(d["pairs"]) for d in statistics["differences"].values()), default=0)
    for sides, drawn, option, test in (
        (1, settings["permutations"], "protocol.permutations", "permutation test"),
        (2, settings["replicates"], "stats.replicates", "bootstrap"),
    ):
        if pairs and sides * pairs / (drawn + 1) > settings["alpha"]:
            needed = math.ceil(sides * pairs / settings["alpha"]) - 1
            told.append(
                f"{count(drawn)} draws are too few for the {test} to call any of {count(pairs)} "
                f"differences significant: set {option} to {count(needed)} or more."
            )
    return told


def _calibration(statistics: Mapping[str, Any]) -> list[str]:
    if statistics["kind"] == "forced_choice":
        return []
    dimension = statistics["dimensions"][0]
    gains = [
        (a["value"] - a["uncalibrated"], r["metric"], a)
        for r in statistics["metrics"]
        if r["status"] == "ok" and r["part_of"] is None
        for a in [r["human"][dimension]["accuracy"]]
        if known(a["value"])
    ]
    if not gains:
        return []
    _, metric, accuracy = max(gains, key=lambda gain: gain[0])
    return [
        f"Tie calibration does most for {metric}: its pairwise accuracy goes from "
        f"{percent(accuracy['uncalibrated'])} to {percent(accuracy['value'])}."
    ]
