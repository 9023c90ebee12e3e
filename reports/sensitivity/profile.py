"""The heat map of a profile, the card of each metric, and its examples, as texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from metaeval.reports.shared.formatting import (
    DASH,
    count,
    cut,
    file_stem,
    interval,
    listed,
    number,
    percent,
    with_interval,
)
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult
from metaeval.results.run import CorruptionInfo
from metaeval.results.sensitivity import SensitivityCell, SensitivityResult, SensitivityStatistics
from metaeval.runs import files

Metric = MetricResult[SensitivityStatistics]
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
    the caption and the changed one that is preferred most; `empty` are the sentences where
    `sees`, `blind` or `punishes` is empty."""

    metric: str
    control: bool
    facts: tuple[tuple[str, str], ...]
    sees: tuple[tuple[str, str, str], ...]
    blind: tuple[tuple[str, str, str], ...]
    worst: tuple[tuple[str, str, str], ...]
    punishes: tuple[tuple[str, str, str], ...]
    empty: tuple[str, str, str]
    files: tuple[str, ...]


def shown(result: SensitivityResult) -> list[Metric]:
    """Metrics that ran and are not parts, in the order of the seriation."""
    return [result.metric(name) for name in result.order]


def heat_map(result: SensitivityResult) -> list[HeatGroup]:
    """Rows by kind, alike ones next to each other within it; columns as in `shown`."""
    places = _places(result)
    ordered = [result.sets[places[name]] for name in result.set_order]
    groups = []
    for kind, entries in groupby(ordered, key=lambda e: e.kind):
        rows = tuple(
            HeatRow(
                f"{entry.set} (experimental)" if entry.experimental else entry.set,
                f"set-{places[entry.set]}",
                percent(entry.n_applied / entry.n, 0),
                tuple(_cell(m, entry) for m in shown(result)),
            )
            for entry in entries
        )
        groups.append(HeatGroup(kind, rows))
    return groups


def _cell(metric: Metric, entry: CorruptionInfo) -> HeatCell:
    cell = metric.numbers.profile[entry.set]
    name = f"{metric.name}, {entry.set}"
    if cell.auc.value is None:
        return HeatCell("–", "transparent", "inherit", f"{name}: no caption was changed", False)
    background, ink = colour(cell.auc.value)
    title = [
        f"{name}: AUC {number(cell.auc.value)} {interval(cell.auc.interval)}",
        f"original above {percent(cell.detected.value)}, equal {percent(cell.tied)}",
        f"n {count(cell.n)}",
        f"effect {number(cell.effect.value, 2)} {interval(cell.effect.interval, 2)}",
        cell.verdict,
    ]
    if cell.share_of_another is not None:
        title.append(f"costs {percent(cell.share_of_another)} of another image's caption")
    if (beyond := cell.beyond_fluency) is not None and beyond.value is not None:
        title.append(
            "where the language model does not prefer the human caption "
            f"{number(beyond.value)} (n {beyond.n})"
        )
    if (refined := cell.refined) is not None and refined.n:
        title.append(f"controls balanced {number(refined.value)} (n {refined.n})")
    text = number(100 * cell.auc.value, 0)
    return HeatCell(text, background, ink, "; ".join(title), cell.verdict != "unsure")


def colour(auc: float) -> tuple[str, str]:
    """Background and ink of an AUC: orange below 0.5, blue above, which no deficiency confuses."""
    end, share = (_RIGHT, 2 * auc - 1) if auc >= 0.5 else (_WRONG, 1 - 2 * auc)
    mixed = [round(m + share * (e - m)) for m, e in zip(_MIDDLE, end, strict=True)]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})", "#fff" if share > 0.75 else "#111"


def of_verdict(
    metric: Metric, result: SensitivityResult, *verdicts: str, whole: bool = True
) -> list[tuple[CorruptionInfo, SensitivityCell]]:
    """The sets with these verdicts (`metaeval.experiments.sensitivity.profile.verdict`), the lowest
    AUC first; without `whole`, whole captions are left out, since every metric sees them."""
    cells = [
        (entry, metric.numbers.profile[entry.set])
        for entry in result.sets
        if whole or entry.kind != "whole caption"
    ]
    some = [(entry, cell) for entry, cell in cells if cell.verdict in verdicts and cell.n]
    return sorted(some, key=lambda pair: pair[1].auc.value or 0.0)


def cards(run: LoadedRun[SensitivityResult], people: Mapping[str, Sequence[str]]) -> list[Card]:
    """A card for each metric, controls last, in the order of the heat map; `people` are lines on
    agreement with people."""
    metrics = sorted(shown(run.result), key=lambda m: kind_of(m) == "control")
    return [_card(m, run, people.get(m.name, ())) for m in metrics]


def _card(metric: Metric, run: LoadedRun[SensitivityResult], people: Sequence[str]) -> Card:
    result = run.result
    sees = of_verdict(metric, result, "sees", whole=False)[::-1]
    blind = of_verdict(metric, result, "prefers", "blind")
    punished = of_verdict(metric, result, "punishes")[::-1]
    return Card(
        metric.name,
        kind_of(metric) == "control",
        (*_facts(metric, run), *(("Agreement with people", p) for p in people)),
        _named(sees[:_MOST], result),
        _named(blind, result),
        tuple(_worst(entry, cell) for entry, cell in blind[:_EXAMPLES]),
        tuple(_punished(entry, cell, metric, result) for entry, cell in punished),
        _empty_lists(metric, result),
        tuple(name for name in card_files(metric.name) if (run.directory / name).is_file()),
    )


def _empty_lists(metric: Metric, result: SensitivityResult) -> tuple[str, str, str]:
    """What a card says where it lists nothing that is seen, missed or punished."""
    undecided = of_verdict(metric, result, "unsure")
    n = sum(entry.expected == "lower" for entry, _ in undecided)
    rest = f"; {n} {'is' if n == 1 else 'are'} not decided" if n else ""
    return (
        "Sees no change within a caption significantly.",
        f"Misses no change that harms{rest}.",
        "Punishes no harmless change significantly.",
    )


def _facts(metric: Metric, run: LoadedRun[SensitivityResult]) -> Iterator[tuple[str, str]]:
    result, numbers = run.result, metric.numbers
    undecided = of_verdict(metric, result, "unsure")
    harmful = sum(entry.expected == "lower" for entry, _ in undecided)
    family = next((f for f in run.info.metrics if f.metric == metric.family), None)
    positives = numbers.hard_positives
    yield "Mean AUC over kinds that harm", _estimate(numbers.harm)
    yield "Mean AUC over harmless changes", _estimate(numbers.harmless)
    for severity, value in numbers.severity.items():
        yield f"AUC of {severity} harm", _estimate(value)
    yield "Milder change above severer one", _estimate(numbers.severity_order)
    yield "Rewrite above harmful near-copy", _estimate(positives.rewrites)
    yield "The same without real change", _estimate(positives.no_ops)
    yield "Sets with the interval above the AUC of every control", _above_controls(metric, result)
    yield (
        "Sets not decided by these images",
        f"{harmful} that harm, {len(undecided) - harmful} harmless",
    )
    yield "Model", metric.column.model or DASH
    yield "Learned from", learned_from(metric)
    yield "Captions scored", f"{count(numbers.n - numbers.n_nan)} of {count(numbers.n)}"
    if family is not None and family.n_scored and family.seconds is not None:
        speed = f"{count(round(family.n_scored / max(family.seconds, 1e-3)))} captions per second"
        yield "Speed in this run", f"{speed} ({count(family.n_scored)} computed)"
    yield "Signature", metric.signature or DASH


def _estimate(estimate: Estimate) -> str:
    return with_interval(estimate.value, (estimate.low, estimate.high))


def _above_controls(metric: Metric, result: SensitivityResult) -> str:
    """In how many sets that harm the interval begins above every control's AUC."""
    controls = [m for m in shown(result) if m.column.control and m.name != metric.name]
    if not controls:
        return DASH
    above, comparable = 0, 0
    for entry in result.sets:
        if entry.expected != "lower":
            continue
        auc = metric.numbers.profile[entry.set].auc
        aucs = [m.numbers.profile[entry.set].auc.value for m in controls]
        best = [value for value in aucs if value is not None]
        if auc.value is not None and best:
            comparable += 1
            above += auc.low is not None and auc.low > max(best)
    return f"{above} of {comparable}"


def learned_from(metric: Metric) -> str:
    """What the metric's own training and the models behind it have seen of captions, in words."""
    parts = ["corruptions like these"] if metric.column.learned_from_corruptions else []
    training = metric.training
    if training is not None:
        if training.own is not None:
            parts.append(training.own)
        if training.drawn:
            drawn = listed([f"{d.corruption} ({d.flaw})" for d in training.drawn])
            parts.append(f"negatives: {drawn}")
        for model in training.caption_models:
            pairs = listed([f"{count(n)} of {name}" for name, n in model.pairs.items()])
            parts.append(f"{model.model}: {pairs}" if pairs else model.model)
        if training.chosen_on:
            parts.append(f"recipe chosen on {listed(training.chosen_on)}")
    return "; ".join(parts) or "nothing known"


def _named(
    pairs: Sequence[tuple[CorruptionInfo, SensitivityCell]], result: SensitivityResult
) -> tuple[tuple[str, str, str], ...]:
    places = _places(result)
    return tuple((e.set, f"set-{places[e.set]}", number(c.auc.value)) for e, c in pairs)


def _punished(
    entry: CorruptionInfo, cell: SensitivityCell, metric: Metric, result: SensitivityResult
) -> tuple[str, str, str]:
    """A harmless change, and what it costs against the mildest harm of its size."""
    text = number(cell.auc.value)
    if mildest := metric.numbers.invariance.get(entry.set):
        text += f"; {number(mildest.share.value, 2)} × “{mildest.against}”"
    return entry.set, f"set-{_places(result)[entry.set]}", text


def _worst(entry: CorruptionInfo, cell: SensitivityCell) -> tuple[str, str, str]:
    example = cell.examples[0]
    return entry.set, cut(example.human, 200), cut(example.changed, 200)


def _places(result: SensitivityResult) -> dict[str, int]:
    return {entry.set: k for k, entry in enumerate(result.sets)}


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
