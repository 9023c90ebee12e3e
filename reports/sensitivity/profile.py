"""What the page shows of a profile: the heat map, each metric's card, examples; arrays of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from metaeval.runs import files
from reports.shared.formatting import (
    DASH,
    count,
    cut,
    file_stem,
    interval,
    known,
    listed,
    number,
    percent,
    with_interval,
)
from reports.shared.row_kind import row_kind
from reports.shared.run import FinishedRun

Record = Mapping[str, Any]
_MOST = 6  # changes that a card names as seen best
_EXAMPLES = 3  # blind spots that a card shows with captions
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
    """What one metric sees: facts, and lists of (set, its anchor, AUC); `worst` are sets with
    the caption and the changed one that is preferred most."""

    metric: str
    control: bool
    facts: tuple[tuple[str, str], ...]
    sees: tuple[tuple[str, str, str], ...]
    blind: tuple[tuple[str, str, str], ...]
    worst: tuple[tuple[str, str, str], ...]
    punishes: tuple[tuple[str, str, str], ...]
    files: tuple[str, ...]


def shown(run: FinishedRun) -> list[Record]:
    """Metrics that ran and are no parts, in the order of the seriation."""
    by_name = {r["metric"]: r for r in run.statistics["metrics"]}
    return [by_name[name] for name in run.statistics["order"]]


def heat_map(run: FinishedRun) -> list[HeatGroup]:
    """Rows by kind, within it those side by side that metrics see alike; columns as in `shown`."""
    places = _places(run)
    sets = run.statistics["sets"]
    ordered = [sets[places[name]] for name in run.statistics["set_order"]]
    groups = []
    for kind, entries in groupby(ordered, key=lambda e: e["kind"]):
        rows = tuple(
            HeatRow(
                entry["set"],
                f"set-{places[entry['set']]}",
                percent(entry["n_applied"] / entry["n"], 0),
                tuple(_cell(r, entry) for r in shown(run)),
            )
            for entry in entries
        )
        groups.append(HeatGroup(kind, rows))
    return groups


def _cell(record: Record, entry: Mapping[str, Any]) -> HeatCell:
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
        f"effect {number(cell['effect'], 2)} {interval(cell['effect_ci'], 2)}",
        cell["verdict"],
    ]
    if known(cell["share_of_another"]):
        title.append(f"costs {percent(cell['share_of_another'])} of another image's caption")
    if beyond and known(beyond["auc"]):
        title.append(f"where the language model is wrong {number(beyond['auc'])} (n {beyond['n']})")
    if (refined := cell.get("refined")) and refined["n"]:
        title.append(f"controls balanced {number(refined['auc'])} (n {refined['n']})")
    text = number(100 * cell["auc"], 0)
    return HeatCell(text, background, ink, "; ".join(title), cell["verdict"] != "unsure")


def colour(auc: float) -> tuple[str, str]:
    """Background and ink of an AUC: orange below 0.5, blue above, which no deficiency confuses."""
    end, share = (_RIGHT, 2 * auc - 1) if auc >= 0.5 else (_WRONG, 1 - 2 * auc)
    mixed = [round(m + share * (e - m)) for m, e in zip(_MIDDLE, end, strict=True)]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})", "#fff" if share > 0.75 else "#111"


def of_verdict(
    record: Record, run: FinishedRun, *verdicts: str, whole: bool = True
) -> list[tuple[str, Mapping[str, Any]]]:
    """The (set, cell) of these verdicts (`experiments.sensitivity.profile.verdict`), the lowest AUC
    first; without `whole`, whole captions are left out, since every metric sees them."""
    cells = [
        (entry["set"], record["profile"][entry["set"]])
        for entry in run.statistics["sets"]
        if whole or entry["kind"] != "whole caption"
    ]
    some = [(name, cell) for name, cell in cells if cell["verdict"] in verdicts and cell["n"]]
    return sorted(some, key=lambda pair: pair[1]["auc"])


def cards(run: FinishedRun, people: Mapping[str, Sequence[str]]) -> list[Card]:
    """A card a metric, controls last, in the order of the heat map; `people` are lines on agreement
    with them."""
    records = sorted(shown(run), key=lambda record: row_kind(record) == "control")
    return [_card(record, run, people.get(record["metric"], ())) for record in records]


def _card(record: Record, run: FinishedRun, people: Sequence[str]) -> Card:
    sees = of_verdict(record, run, "sees", whole=False)[::-1]
    blind = of_verdict(record, run, "prefers", "blind")
    punished = of_verdict(record, run, "punishes")[::-1]
    undecided = of_verdict(record, run, "unsure")
    return Card(
        record["metric"],
        row_kind(record) == "control",
        (*_facts(record, run, len(undecided)), *(("Agreement with people", p) for p in people)),
        _named(sees[:_MOST], run),
        _named(blind, run),
        tuple(_worst(pair, run) for pair in blind[:_EXAMPLES]),
        tuple(_punished(pair, record, run) for pair in punished),
        tuple(name for name in card_files(record["metric"]) if (run.directory / name).is_file()),
    )


def _facts(record: Record, run: FinishedRun, undecided: int) -> Iterator[tuple[str, str]]:
    positives = record["hard_positives"]["all"]
    told: Record = next((m for m in run.info["metrics"] if m["metric"] == record["family"]), {})
    yield (
        "Harmless rewrite above harmful near-copy",
        with_interval(positives["mean"], positives["ci"]),
    )
    yield "Sets that it sees better than every control", _above_controls(record, run)
    yield "Sets not decided by these images", str(undecided)
    yield "Model", record["model"] or DASH
    yield "Learned from", learned_from(record)
    yield "Captions scored", f"{count(record['n'] - record['n_nan'])} of {count(record['n'])}"
    if told.get("n_scored"):
        speed = f"{count(round(told['n_scored'] / max(told['seconds'], 1e-3)))} captions a second"
        yield "Speed in this run", f"{speed} ({count(told['n_scored'])} computed)"
    yield "Signature", record["signature"] or DASH


def _above_controls(record: Record, run: FinishedRun) -> str:
    """In how many sets that harm the interval begins above every control's AUC."""
    controls = [r for r in shown(run) if r["control"] and r["metric"] != record["metric"]]
    if not controls:
        return DASH
    harmful = [e["set"] for e in run.statistics["sets"] if e["expected"] == "lower"]
    above, comparable = 0, 0
    for name in harmful:
        cell = record["profile"][name]
        best = [r["profile"][name]["auc"] for r in controls if known(r["profile"][name]["auc"])]
        if known(cell["auc"]) and best:
            comparable += 1
            above += known(cell["ci"][0]) and cell["ci"][0] > max(best)
    return f"{above} of {comparable}"


def learned_from(record: Record) -> str:
    """What the models behind a metric have seen of captions, in words."""
    told = ["corruptions like these"] if record["learned_from_corruptions"] else []
    for model in (record["training"] or {}).get("caption_models", ()):
        pairs = listed([f"{count(n)} of {name}" for name, n in model["pairs"].items()])
        told.append(f"{model['model']}: {pairs}" if pairs else model["model"])
    return "; ".join(told) or "nothing known"


def _named(
    pairs: Sequence[tuple[str, Mapping[str, Any]]], run: FinishedRun
) -> tuple[tuple[str, str, str], ...]:
    places = _places(run)
    return tuple((name, f"set-{places[name]}", number(cell["auc"])) for name, cell in pairs)


def _punished(
    pair: tuple[str, Mapping[str, Any]], record: Record, run: FinishedRun
) -> tuple[str, str, str]:
    """A harmless change, and what it costs beside the mildest harm of its size."""
    name, cell = pair
    beside = record["invariance"].get(name)
    told = number(cell["auc"])
    if beside:
        told += f"; {number(beside['share'], 2)} × “{beside['against']}”"
    return name, f"set-{_places(run)[name]}", told


def _worst(pair: tuple[str, Mapping[str, Any]], run: FinishedRun) -> tuple[str, str, str]:
    name, cell = pair
    example = cell["examples"][0]
    return name, cut(example["human"], 200), cut(example["changed"], 200)


def _places(run: FinishedRun) -> dict[str, int]:
    return {entry["set"]: k for k, entry in enumerate(run.statistics["sets"])}


def card_stem(metric: str) -> str:
    """What the files of a metric's card for print are called."""
    return f"{file_stem(metric)}-card"


def card_files(metric: str) -> list[str]:
    """The files of a metric's card for print, relative to the run."""
    stem = card_stem(metric)
    return [
        f"{files.FIGURES}/{stem}.svg",
        f"{files.TABLES}/{stem}.tex",
        f"{files.TABLES}/{stem}.csv",
    ]
