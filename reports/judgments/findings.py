"""What a run against human judgements found, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reports.judgments.table import STATISTICS
from reports.shared.elements import Finding
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
from reports.shared.matrix import DifferenceRow
from reports.shared.table import MetricsTable


def findings(
    statistics: Mapping[str, Any], table: MetricsTable, matrices: Sequence[Sequence[DifferenceRow]]
) -> list[Finding]:
    """The first sentence is the one that is set large; the others follow."""
    sentences: list[str] = []
    for (name, rows), differences in zip(table.bodies, matrices, strict=True):
        best = next((row for row in rows if row.kind == "result"), None)
        if best is None:
            continue
        value = next(c.value for c in best.cells if c.key == "rho")
        shown = value if isinstance(value, float) else None
        what = (
            f"mean accuracy {percent(shown)}"
            if statistics["kind"] == "forced_choice"
            else f"{STATISTICS[statistics['protocol']['statistic']][0]} {number(shown)}"
        )
        where = f"By {name}, " if len(table.bodies) > 1 else ""
        sentences.append(capital(f"{where}{best.metric} agrees best with people: {what}."))
        sentences += _significance(best.metric, differences)
    sentences += _published(statistics)
    sentences += _calibration(statistics)
    sentences += too_few(statistics)
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def _significance(best: str, rows: Sequence[DifferenceRow]) -> list[str]:
    row = next((row for row in rows if row.metric == best), None)
    if row is None or len(rows) < 2:
        return []
    equal = [
        other.metric
        for other, cell in zip(rows, row.cells, strict=True)
        if cell.kind in ("even", "mixed")
    ]
    if equal:
        return [f"That it beats {listed(equal, 'or')} is not sure: not every test says so."]
    others = "the other" if len(rows) == 2 else "each of the others"
    return [f"It beats {others} by every test, after Holm's correction."]


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
    settings, sentences = statistics["settings"], []
    pairs = max((len(d["pairs"]) for d in statistics["differences"].values()), default=0)
    for sides, drawn, option, test in (
        (1, settings["permutations"], "task.permutations", "permutation test"),
        (2, settings["replicates"], "stats.replicates", "bootstrap"),
    ):
        if pairs and sides * pairs / (drawn + 1) > settings["alpha"]:
            needed = math.ceil(sides * pairs / settings["alpha"]) - 1
            sentences.append(
                f"{count(drawn)} draws are too few for the {test} to call any of {count(pairs)} "
                f"differences significant: set {option} to {count(needed)} or more."
            )
    return sentences


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
