"""Footnotes of a table of metrics: what a metric's training has to do with what the table says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from metaeval.reports.shared.formatting import count, listed, number
from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.base import NEW, MetricResult, TrainingRecord


class Footnote(NamedTuple):
    """A mark, what it says, and the metrics that bear it."""

    mark: str
    text: str
    metrics: tuple[str, ...]


def training_footnotes(metrics: Sequence[MetricResult], experiment: str) -> list[Footnote]:
    """One footnote for each fact about training, in the order of the metrics; parts have none."""
    bearers: dict[str, list[str]] = {}
    results = [metric for metric in metrics if kind_of(metric) == "result"]
    for metric in results:
        if metric.training is not None:
            learned = metric.column.learned_from_corruptions
            for text in _training_texts(metric.training, learned, experiment):
                bearers.setdefault(text, []).append(metric.name)
    if (seeds := _seed_text(results)) is not None:
        bearers[seeds] = [m.name for m in results if m.training and m.training.seeds]
    return [
        Footnote(mark, text, tuple(names))
        for mark, (text, names) in zip(ascii_lowercase, bearers.items(), strict=False)
    ]


def _training_texts(training: TrainingRecord, learned: bool, experiment: str) -> Iterable[str]:
    if experiment in training.chosen_on:
        yield (
            "Chosen on this experiment's dev images: of the trainings that were tried, this one "
            "did best here, on images that are not scored. No such choice is known of the metrics "
            "without this mark."
        )
    for model in training.caption_models:
        pairs = listed([f"{count(n)} of {name}" for name, n in model.pairs.items()])
        yield (
            f"Built on, or started from, {model.model}, which was trained on captions of "
            f"photographs like these: by its own card on {pairs}, in pairs."
        )
    by_status: dict[str, list[str]] = {}
    for name, status in (training.versions or {}).items():
        by_status.setdefault(status, []).append(name)
    # a metric that learned from no corrupted caption has seen none of these: not worth a footnote
    if learned or by_status.keys() - {NEW}:
        parts = [f"{status}: {listed(names)}" for status, names in by_status.items()]
        yield f"Of the versions here {'; '.join(parts)}."


def _seed_text(metrics: Sequence[MetricResult]) -> str | None:
    """The footnote on training seeds; `None` where none were measured on this run."""
    spreads = [(m.name, m.training.seeds) for m in metrics if m.training and m.training.seeds]
    if not spreads:
        return None
    values = [
        f"{name} {number(s.rank_order_rho.mean)} ± {number(s.rank_order_rho.sd)} "
        f"({len(s.seeds)} seeds)"
        for name, s in spreads
    ]
    return (
        "The weights of one of several trainings that differ in their seed. Mean ± standard "
        f"deviation of ρ over all training seeds: {'; '.join(values)}."
    )
