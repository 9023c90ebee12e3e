"""What a run against human judgements found, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.stats.significance.holm import least_draws
from reports.judgments.table import STATISTICS, equal_as_printed
from reports.shared.elements import Finding, Row
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
from reports.shared.matrix import DifferenceRow, beats_the_others, control_sentences
from reports.shared.row_kind import row_kind
from reports.shared.table import MetricsTable

NEARLY_ALL = 0.9  # of the pairs, from where a tie calibration is remarked upon


def findings(
    statistics: Mapping[str, Any], table: MetricsTable, matrices: Sequence[Sequence[DifferenceRow]]
) -> list[Finding]:
    """The first sentence is the one that is set large; the others follow."""
    sentences: list[str] = []
    choice = statistics["kind"] == "forced_choice"
    keys = map(str, statistics["n_references" if choice else "dimensions"])
    for key, (name, rows), differences in zip(keys, table.bodies, matrices, strict=True):
        best = next((row for row in rows if row.kind == "result"), None)
        if best is None:
            continue
        value = next(c.value for c in best.cells if c.key == "rho")
        shown = value if isinstance(value, float) else None
        what = (
            f"mean accuracy {percent(shown)}"
            if choice
            else f"{STATISTICS[statistics['protocol']['statistic']][0]} {number(shown)}"
        )
        word = "With" if choice else "By"
        where = f"{word} {name}, " if len(table.bodies) > 1 else ""
        sentences.append(capital(f"{where}{best.metric} agrees best with people: {what}."))
        sentences += beats_the_others(best.metric, differences, "every test")
        sentences += _controls(statistics, key, rows, where)
    sentences += _systems(statistics)
    sentences += _without_people(statistics)
    sentences += _label_agreement(statistics)
    sentences += _ceiling(statistics)
    sentences += _published(statistics)
    sentences += _calibration(statistics)
    sentences += too_few(statistics)
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def _controls(
    statistics: Mapping[str, Any], key: str, rows: Sequence[Row], where: str
) -> list[str]:
    """What a control gets that sees nothing of the truth: the categories that it wins, or the
    metrics that do not surely agree better with people."""
    told = statistics["controls"][key]
    if told is None:
        return []
    if statistics["kind"] == "forced_choice":
        return control_sentences(told, where)
    beside = f"{told['control']}, a control that is no metric ({number(told['value'])})"
    ranked = [row.metric for row in rows if row.kind == "result"]
    below = [metric for metric in ranked if metric not in told["above"]]
    if not below:
        return [capital(f"{where}every metric is surely above {beside}.")]
    if len(below) == len(ranked):
        return [capital(f"{where}no metric is surely above {beside}.")]
    verb = "is" if len(below) == 1 else "are"
    return [capital(f"{where}{listed(below)} {verb} not surely above {beside}.")]


def _published(statistics: Mapping[str, Any]) -> list[str]:
    """How many of the values that a paper printed for these captions come out, to its digit."""
    if statistics["kind"] == "forced_choice":
        return _published_choice(statistics)
    published = statistics["published"]
    statistic = statistics["protocol"]["statistic"]
    ours = {
        (r["metric"], dimension): (r["human"][dimension][statistic], values[r["metric"]])
        for dimension, values in published["values"].items()
        for r in statistics["metrics"]
        if r["status"] == "ok" and r["metric"] in values
    }
    if not ours:
        return []
    digits = published["digits"]
    same = sum(known(v) and equal_as_printed(v, paper, digits) for v, paper in ours.values())
    return [
        f"Of {amount(len(ours), 'value')} that {published['source']} printed, "
        f"{spelled(same) if same else 'none'} come{'s' if same < 2 else ''} out equal to the last "
        "printed digit."
    ]


def _published_choice(statistics: Mapping[str, Any]) -> list[str]:
    published = statistics["published"]
    if not published["values"]:
        return []
    place = statistics["n_references"].index(published["n_references"])
    gaps = {
        (r["metric"], category): r["choice"][place]["accuracy"][category]["value"] - value
        for r in statistics["metrics"]
        if r.get("choice")
        for category, value in published["values"].get(r["metric"], {}).items()
    }
    if not gaps:
        return []
    (metric, category), gap = max(gaps.items(), key=lambda item: abs(item[1]))
    return [
        f"Of {amount(len(gaps), 'value')} that {published['source']} printed, the one farthest "
        f"from ours is {metric}'s on {category}: ours is {number(abs(100 * gap), 1)} points "
        f"{'higher' if gap > 0 else 'lower'}."
    ]


def _label_agreement(statistics: Mapping[str, Any]) -> list[str]:
    agreement = statistics.get("label_agreement") or {}
    shares = {name: share for name, share in agreement.items() if name != "all"}
    if not shares:
        return []
    least = min(shares, key=lambda name: shares[name])
    return [
        "People who saw the image and people who compared the captions with references prefer the "
        f"same caption in {percent(agreement['all'])} of the pairs, on {least} in "
        f"{percent(shares[least])}."
    ]


def _ceiling(statistics: Mapping[str, Any]) -> list[str]:
    """One person against the others, where single ratings exist."""
    if statistics["kind"] == "forced_choice":
        people = statistics.get("people")
        if people is None:
            return []
        return [
            "One person's vote is the majority's of the others in "
            f"{percent(people['mean'])} of the pairs, averaged over the categories."
        ]
    statistic = STATISTICS[statistics["protocol"]["statistic"]][0]
    return [
        f"One person's ratings agree with those of the {count(people['raters'] - 1)} others by "
        f"{statistic} {number(people['value'])} ({name})."
        for name, people in statistics["people"].items()
        if people is not None
    ]


def _without_people(statistics: Mapping[str, Any]) -> list[str]:
    """How much of a metric's agreement is people's captions against machines'."""
    view = "without Human"
    if view not in (statistics.get("views") or {}):
        return []
    statistic, dimension = statistics["protocol"]["statistic"], statistics["dimensions"][0]
    falls = [
        (whole - part, r["metric"], whole, part)
        for r in statistics["metrics"]
        if r["status"] == "ok" and r["part_of"] is None and not r["control"]
        for whole in [r["human"][dimension][statistic]]
        for part in [r["human"][dimension]["views"][view][statistic]]
        if known(whole) and known(part)
    ]
    if not falls:
        return []
    gap, metric, whole, part = max(falls, key=lambda fall: abs(fall[0]))
    name = STATISTICS[statistic][0]
    verb = "falls" if gap > 0 else "rises"
    return [
        f"Without people's captions {metric}'s {name} {verb} from {number(whole)} to "
        f"{number(part)} ({dimension}), the greatest change of all metrics."
    ]


def _systems(statistics: Mapping[str, Any]) -> list[str]:
    """Which metrics agree with people about systems, in the first dimension."""
    if statistics["kind"] == "forced_choice" or len(statistics.get("systems") or ()) < 2:
        return []
    dimension = statistics["dimensions"][0]
    r = {
        m["metric"]: m["human"][dimension]["system"]["pearson"]
        for m in statistics["metrics"]
        if row_kind(m) == "result"
    }
    r = {name: value for name, value in r.items() if known(value)}
    if not r:
        return []
    positive = sorted((name for name in r if r[name] > 0), key=lambda name: -r[name])
    over = f"Over the {count(len(statistics['systems']))} systems ({dimension})"
    if not positive:
        return [f"{over} no metric's mean scores follow people's mean ratings: every r is below 0."]
    best = f"{positive[0]} (r {number(r[positive[0]], 2)})"
    if len(positive) == len(r):
        return [f"{over} {best} follows people's mean ratings best."]
    if len(positive) == 1:
        return [f"{over} only {best} has a positive correlation with people's mean ratings."]
    others = listed([f"{name} ({number(r[name], 2)})" for name in positive[1:]])
    return [
        f"{over} {best} follows people's mean ratings best; of the other {count(len(r) - 1)} "
        f"metrics only {others} {'has' if len(positive) == 2 else 'have'} a positive r."
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
        if pairs and drawn < (needed := least_draws(pairs, sides, settings["alpha"])):
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
        if r["status"] == "ok" and r["part_of"] is None and not r["control"]
        for a in [r["human"][dimension]["accuracy"]]
        if known(a["value"])
    ]
    if not gains:
        return []
    _, metric, accuracy = max(gains, key=lambda gain: gain[0])
    sentence = (
        f"Tie calibration does most for {metric}: its pairwise accuracy goes from "
        f"{percent(accuracy['uncalibrated'])} to {percent(accuracy['value'])}"
    )
    if accuracy["tied"] >= NEARLY_ALL:
        sentence += (
            f", by tying {percent(accuracy['tied'])} of the pairs: that says how often people tie "
            "captions, not what the metric sees"
        )
    return [f"{sentence}."]
