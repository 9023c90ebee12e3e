"""Footnotes of a table of metrics: what a metric's training has to do with what the table says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

from reports.shared.elements import Row
from reports.shared.formatting import count, listed, number
from reports.shared.row_kind import Record, row_kind

NEW = "new"  # what `versions_in_training` calls versions of which training drew nothing


class Footnote(NamedTuple):
    """A mark, what it says, and the metrics that bear it."""

    mark: str
    text: str
    metrics: tuple[str, ...]


def footnotes(records: Sequence[Record], experiment: str) -> list[Footnote]:
    """One footnote for each thing to be said, in the order of the records; parts bear no mark."""
    bearers: dict[str, list[str]] = {}
    for record in records:
        if row_kind(record) == "result" and record.get("training"):
            for text in _notes(record, record["training"], experiment):
                bearers.setdefault(text, []).append(record["metric"])
    texts = [*bearers, *_seeds(records, bearers)]
    return [
        Footnote(mark, text, tuple(bearers[text]))
        for mark, text in zip(ascii_lowercase, texts, strict=False)
    ]


def marked(rows: Iterable[Row], notes: Sequence[Footnote]) -> list[Row]:
    """The rows with the marks of the footnotes that speak of them."""
    return [
        row._replace(marks=" ".join(note.mark for note in notes if row.metric in note.metrics))
        for row in rows
    ]


def _notes(record: Record, training: Mapping[str, Any], experiment: str) -> Iterable[str]:
    if experiment in training["chosen_on"]:
        yield (
            "Chosen on this experiment's dev images: of the trainings that were tried, the one "
            "was taken that did best here, on images that are not scored. Of metrics without this "
            "mark no such choice is known."
        )
    for model in training["caption_models"]:
        pairs = listed([f"{count(n)} of {name}" for name, n in model["pairs"].items()])
        yield (
            f"Built on, or started from, {model['model']}, which was trained on captions of "
            f"photographs like these: by its own card on {pairs}, in pairs."
        )
    by_status: dict[str, list[str]] = {}
    for name, status in (record.get("versions_in_training") or {}).items():
        by_status.setdefault(status, []).append(name)
    # that a metric which learned from no spoiled caption has seen none of these is no news
    if record["learned_from_corruptions"] or by_status.keys() - {NEW}:
        told = [f"{status}: {listed(names)}" for status, names in by_status.items()]
        yield f"Of the versions here {'; '.join(told)}."


def _seeds(records: Sequence[Record], bearers: dict[str, list[str]]) -> list[str]:
    """The footnote on training seeds, if any were measured on this run; adds its bearers."""
    measured = [r for r in records if row_kind(r) == "result" and r.get("training_seeds")]
    if not measured:
        return []
    spreads = []
    for r in measured:
        rho = r["training_seeds"]["rank_order_rho"]
        spreads.append(f"{r['metric']} {number(rho['mean'])} ± {number(rho['sd'])}")
    n = len(measured[0]["training_seeds"]["seeds"])
    text = (
        f"The weights of one of {n} trainings that differ in their seed. Mean ± standard deviation "
        f"of ρ over all {n}: {'; '.join(spreads)}."
    )
    bearers[text] = [r["metric"] for r in measured]
    return [text]
