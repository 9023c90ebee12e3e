"""What the page shows of a profile: the heat map, each metric's card, examples; arrays of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from reports.shared.formatting import count, interval, known, number, percent
from reports.shared.row_kind import row_kind
from reports.shared.run import FinishedRun

Record = Mapping[str, Any]
_MOST = 6  # changes that a card names as seen best
_WRONG, _MIDDLE, _RIGHT = (217, 112, 27), (247, 247, 245), (44, 111, 187)  # orange, grey, blue


class HeatCell(NamedTuple):
    """A cell: AUC in words, its colours, the hover text, and whether it is sure."""

    text: str
    background: str
    ink: str
    title: str
    sure: bool


class HeatRow(NamedTuple):
    """A set of changed captions: its place in the list of examples, and a cell a metric."""

    name: str
    anchor: str
    applied: str
    cells: tuple[HeatCell, ...]


class HeatGroup(NamedTuple):
    """A kind of corruptions and its rows."""

    kind: str
    rows: tuple[HeatRow, ...]


class Card(NamedTuple):
    """What one metric sees: lists of (set, AUC), and facts."""

    metric: str
    control: bool
    facts: tuple[tuple[str, str], ...]
    sees: tuple[tuple[str, str], ...]
    misses: tuple[tuple[str, str], ...]
    punishes: tuple[tuple[str, str], ...]


def shown(run: FinishedRun) -> list[Record]:
    """Metrics that ran and are no parts, in the order of the seriation."""
    by_name = {r["metric"]: r for r in run.statistics["metrics"]}
    return [by_name[name] for name in run.statistics["order"]]


def heat_map(run: FinishedRun) -> list[HeatGroup]:
    """Rows by kind in the order of the run, columns as in `shown`."""
    alpha = 1 - run.statistics["settings"]["confidence"]
    groups = []
    places = {entry["set"]: k for k, entry in enumerate(run.statistics["sets"])}
    for kind, entries in groupby(run.statistics["sets"], key=lambda e: e["kind"]):
        rows = tuple(
            HeatRow(
                entry["set"],
                f"set-{places[entry['set']]}",
                percent(entry["n_applied"] / entry["n"], 0),
                tuple(_cell(r, entry, alpha) for r in shown(run)),
            )
            for entry in entries
        )
        groups.append(HeatGroup(kind, rows))
    return groups


def _cell(record: Record, entry: Mapping[str, Any], alpha: float) -> HeatCell:
    cell = record["profile"][entry["set"]]
    name = f"{record['metric']}, {entry['set']}"
    if not known(cell["auc"]):
        return HeatCell("–", "transparent", "inherit", f"{name}: no caption was changed", False)
    background, ink = colour(cell["auc"])
    beyond = cell["beyond_fluency"]
    title = [
        f"{name}: AUC {number(cell['auc'])} {interval(cell['ci'])}",
        f"original above {percent(cell['detected'])}, equal {percent(cell['tied'])}",
        f"n {count(cell['n'])}",
        f"effect {number(cell['effect'], 2)}",
    ]
    if known(cell["share_of_another"]):
        title.append(f"costs {percent(cell['share_of_another'])} of another image's caption")
    if beyond and known(beyond["auc"]):
        title.append(f"where the language model is wrong {number(beyond['auc'])} (n {beyond['n']})")
    text = number(100 * cell["auc"], 0)
    return HeatCell(text, background, ink, "; ".join(title), is_sure(cell, alpha))


def colour(auc: float) -> tuple[str, str]:
    """Background and ink of an AUC: orange below 0.5, blue above, which no deficiency confuses."""
    end, share = (_RIGHT, 2 * auc - 1) if auc >= 0.5 else (_WRONG, 1 - 2 * auc)
    mixed = [round(m + share * (e - m)) for m, e in zip(_MIDDLE, end, strict=True)]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})", "#fff" if share > 0.75 else "#111"


def is_sure(cell: Mapping[str, Any], alpha: float) -> bool:
    """Whether the AUC differs from 0.5 after Holm's correction."""
    return known(cell["p_holm"]) and cell["p_holm"] <= alpha + 1e-12


def misses(record: Record, run: FinishedRun) -> list[tuple[str, float]]:
    """Harmful sets that the metric does not surely see, the least seen first."""
    alpha = 1 - run.statistics["settings"]["confidence"]
    cells = [
        (entry["set"], record["profile"][entry["set"]])
        for entry in run.statistics["sets"]
        if entry["expected"] == "lower"
    ]
    blind = [
        (name, cell["auc"])
        for name, cell in cells
        if known(cell["auc"]) and known(cell["p_holm"])
        and not (cell["auc"] > 0.5 and is_sure(cell, alpha))
    ]  # fmt: skip
    return sorted(blind, key=lambda pair: pair[1])


def surely_above(record: Record, run: FinishedRun, expected: str) -> list[tuple[str, float]]:
    """Sets of this expectation that the metric surely scores below the human caption, the clearest
    first; whole captions are left out, since every metric sees them."""
    alpha = 1 - run.statistics["settings"]["confidence"]
    cells = [
        (entry["set"], record["profile"][entry["set"]])
        for entry in run.statistics["sets"]
        if entry["expected"] == expected and entry["kind"] != "whole caption"
    ]
    above = [(n, c["auc"]) for n, c in cells if known(c["auc"]) and c["auc"] > 0.5]
    sure = {name for name, cell in cells if is_sure(cell, alpha)}
    return sorted((pair for pair in above if pair[0] in sure), key=lambda pair: -pair[1])


def cards(run: FinishedRun) -> list[Card]:
    """A card a metric, in the order of the heat map."""
    return [_card(record, run) for record in shown(run)]


def _card(record: Record, run: FinishedRun) -> Card:
    seen = surely_above(record, run, "lower")
    punished = surely_above(record, run, "same")
    positives = record["hard_positives"]["all"]
    facts = [
        ("Kind", "control, no metric" if row_kind(record) == "control" else "metric"),
        ("Model", record["model"] or "–"),
        ("A harmless rewrite above a harmful near-copy", percent(positives)),
        ("Captions scored", f"{count(record['n'] - record['n_nan'])} of {count(record['n'])}"),
        ("Trained on corruptions", "yes" if record["learned_from_corruptions"] else "no"),
        ("Signature", record["signature"] or "–"),
    ]
    return Card(
        record["metric"],
        row_kind(record) == "control",
        tuple(facts),
        _told(seen[:_MOST]),
        _told(misses(record, run)),
        _told(punished),
    )


def _told(pairs: Sequence[tuple[str, float]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, number(auc)) for name, auc in pairs)
